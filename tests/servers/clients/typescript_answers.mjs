// node typescript_answers.mjs VISITS, each URL MODE: the TypeScript client, 2.x, answers all that can be asked.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { makeVisits } from './visits.mjs';

await makeVisits(async (url, mode) => {
  const progress = [];
  const pages = [];
  const versionNegotiation = { mode: mode === 'legacy' || mode === 'auto' ? mode : { pin: mode } };
  const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
  const client = new Client({ name: 'visitor', version: '1' }, { versionNegotiation, capabilities });
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    if (params.mode === 'url') {
      pages.push(params.url);
      return { action: 'accept' };
    }
    return { action: 'accept', content: { word: 'filled' } };
  });
  client.setRequestHandler('sampling/createMessage', async () => ({
    role: 'assistant',
    content: { type: 'text', text: 'sampled' },
    model: 'm',
  }));
  client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///home' }] }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const onprogress = ({ progress: value }) => progress.push(value);
  const result = await client.callTool({ name: 'everything', arguments: {} }, { onprogress });
  const resource = await client.readResource({ uri: 'site://word' });
  const prompt = await client.getPrompt({ name: 'wordy' });
  await client.close();
  return {
    text: result.content[0].text,
    progress,
    pages,
    resource: resource.contents[0].text,
    prompt: prompt.messages[0].content.text,
  };
});
