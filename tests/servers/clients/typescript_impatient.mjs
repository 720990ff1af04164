// node typescript_impatient.mjs VISITS, each URL FILE: the TypeScript client, 2.x, whose user never answers, gives up a
// call and stays connected until FILE is there, for at most 20 seconds; it tells the error, and whether the file came.
import { existsSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { makeVisits } from './visits.mjs';

await makeVisits(async (url, file) => {
  const versionNegotiation = { mode: 'legacy' };
  const client = new Client({ name: 'visitor', version: '1' }, { versionNegotiation, capabilities: { elicitation: {} } });
  const wanted = new AbortController();
  client.setRequestHandler('elicitation/create', () => {
    wanted.abort();
    return new Promise(() => {});
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  let failed = false;
  try {
    await client.callTool({ name: 'ask', arguments: { name: 'impatient' } }, { signal: wanted.signal });
  } catch {
    failed = true;
  }
  const end = Date.now() + 20000;
  while (!existsSync(file) && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 10));
  return { failed, over: existsSync(file) };
});
process.exit(0);
