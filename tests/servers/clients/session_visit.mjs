// What both TypeScript clients do in a session; see session_steps.py.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const SECONDS = 30;

async function until(condition, what) {
  for (const end = Date.now() + SECONDS * 1000; !condition(); await sleep(10)) {
    if (Date.now() > end) throw new Error(`not in time: ${what}`);
  }
}

// `call(params, options)` is callTool, whose options stand in another place in 1.x.
export async function visit(client, transport, call, folder, name) {
  const logs = [];
  const heard = [];
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === 'notifications/message') logs.push(params.data);
    else heard.push(params?.uri ?? method);
  };
  const release = (part) => writeFileSync(join(folder, `${name}.${part}.go`), '');
  const seen = (file) => until(() => existsSync(join(folder, file)), file);
  const tool = async (tool, args = {}) => (await client.callTool({ name: tool, arguments: args })).content[0].text;
  const counted = (method) => heard.filter((item) => item === method).length;

  await client.connect(transport);
  const session = await tool('session');

  // Each stage goes on only when what it sent is here.
  const progress = [];
  const onprogress = async ({ progress: value }) => {
    progress.push(value);
    await until(() => logs.includes(`at ${value}`), 'the log message');
    release(value);
  };
  const staged = await call({ name: 'staged', arguments: { name } }, { onprogress });
  const staging = logs.splice(0);

  await tool('levels');
  const usual = logs.splice(0);
  await client.setLoggingLevel('error');
  await tool('levels');
  const severe = logs.splice(0);

  await tool('grow', { name: `${name}-1` });
  await until(() => counted('notifications/tools/list_changed') === 1, 'list_changed');
  const tools = (await client.listTools()).tools.map((item) => item.name);

  await client.subscribeResource({ uri: 'site://clock' });
  await tool('change', { uri: 'site://clock' });
  await until(() => counted('site://clock') === 1, 'updated');
  await client.unsubscribeResource({ uri: 'site://clock' });
  await tool('change', { uri: 'site://clock' });
  await tool('grow', { name: `${name}-2` });
  await until(() => counted('notifications/tools/list_changed') === 2, 'list_changed again');

  const control = new AbortController();
  const slow = call({ name: 'slow', arguments: { name } }, { signal: control.signal }).then(
    () => 'answered',
    () => 'cancelled',
  );
  await seen(`${name}.started`);
  control.abort();
  const cancelled = await slow;
  await seen(`${name}.ended`);

  const resumed = [];
  const counting = await call(
    { name: 'counting', arguments: { name, count: 20 } },
    { onprogress: ({ progress: value }) => resumed.push(value) },
  );

  await transport.terminateSession();
  await client.close();
  return {
    session, staged: staged.content[0].text, progress, staging, usual, severe, tools, heard, cancelled, resumed,
    counting: counting.content[0].text,
  };
}

// Call the tool that waits for a client that comes back.
export async function poll(client, transport) {
  await client.connect(transport);
  const answer = await client.callTool({ name: 'polled', arguments: { times: 3 } });
  await transport.terminateSession();
  await client.close();
  return { polled: answer.content[0].text };
}
