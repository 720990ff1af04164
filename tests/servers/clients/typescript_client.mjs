// node typescript_client.mjs VISITS, each URL MODE: the TypeScript client, 2.x; MODE is "legacy", "auto" or a revision.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { visit } from './visit.mjs';
import { makeVisits } from './visits.mjs';

await makeVisits(async (url, mode) => {
  const versionNegotiation = { mode: mode === 'legacy' || mode === 'auto' ? mode : { pin: mode } };
  const client = new Client({ name: 'visitor', version: '1' }, { versionNegotiation });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const seen = await visit(client, (params, options) => client.callTool(params, options));
  await client.close();
  return seen;
});
