// node session_client.mjs URL FOLDER NAME [poll]: the TypeScript client, 2.x, in a session.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { poll, visit } from './session_visit.mjs';

const [url, folder, name, what] = process.argv.slice(2);
const client = new Client({ name: 'visitor', version: '1' });
const call = (params, options) => client.callTool(params, options);
const transport = new StreamableHTTPClientTransport(new URL(url));
const seen = what === 'poll' ? poll(client, transport) : visit(client, transport, call, folder, name);
console.log(JSON.stringify(await seen));
