// node typescript_sdk.mjs VISITS, each URL: the TypeScript SDK, 1.x, which speaks the session era only.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { visit } from './visit.mjs';
import { makeVisits } from './visits.mjs';

await makeVisits(async (url) => {
  const client = new Client({ name: 'visitor', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const seen = await visit(client, (params, options) => client.callTool(params, undefined, options));
  await client.close();
  return seen;
});
