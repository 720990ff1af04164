// node session_sdk.mjs VISITS, each URL FOLDER NAME [poll]: the TypeScript SDK, 1.x, in a session.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { poll, visit } from './session_visit.mjs';
import { makeVisits } from './visits.mjs';

await makeVisits((url, folder, name, what) => {
  const client = new Client({ name: 'visitor', version: '1' });
  const call = (params, options) => client.callTool(params, undefined, options);
  const transport = new StreamableHTTPClientTransport(new URL(url));
  return what === 'poll' ? poll(client, transport) : visit(client, transport, call, folder, name);
});
