// What both TypeScript clients do: list, call, read, prompt and complete.
// `call(params, options)` is callTool, whose options stand in another place in 1.x.
export async function visit(client, call) {
  const progress = [];
  const tools = await client.listTools();
  const text = await client.callTool({ name: 'test_simple_text', arguments: {} });
  const failed = await client.callTool({ name: 'test_error_handling', arguments: {} });
  const onprogress = ({ progress: value }) => progress.push(value);
  await call({ name: 'test_tool_with_progress', arguments: {} }, { onprogress });
  const resource = await client.readResource({ uri: 'test://static-text' });
  const template = await client.readResource({ uri: 'test://template/123/data' });
  const prompt = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'one', arg2: 'two' } });
  const completion = await client.complete({
    ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
    argument: { name: 'arg1', value: '' },
  });
  return {
    tools: tools.tools.map((tool) => tool.name),
    resources: (await client.listResources()).resources.map((item) => item.uri),
    templates: (await client.listResourceTemplates()).resourceTemplates.map((item) => item.uriTemplate),
    prompts: (await client.listPrompts()).prompts.map((item) => item.name),
    text: text.content[0].text,
    failed: failed.isError,
    progress,
    resource: resource.contents[0].text,
    template: template.contents[0].text,
    prompt: prompt.messages[0].content.text,
    completion: completion.completion.values,
  };
}
