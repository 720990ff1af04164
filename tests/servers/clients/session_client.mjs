// node session_client.mjs VISITS, each URL FOLDER NAME [poll]: the TypeScript client, 2.x, in a session.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { poll, visit } from './session_visit.mjs';
import { makeVisits } from './visits.mjs';

await makeVisits((url, folder, name, what) => {
  const client = new Client({ name: 'visitor', version: '1' });
  const call = (params, options) => client.callTool(params, options);
  const transport = new StreamableHTTPClientTransport(new URL(url));
  return what === 'poll' ? poll(client, transport) : visit(client, transport, call, folder, name);
});
