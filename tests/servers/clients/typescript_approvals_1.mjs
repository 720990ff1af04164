// node typescript_approvals_1.mjs URL ORDER ANSWERS: as typescript_approvals, with the TypeScript SDK, 1.x.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const [url, order, answers] = process.argv.slice(2);
const results = JSON.parse(answers);
const asked = [];
const client = new Client({ name: 'visitor', version: '1' }, { capabilities: results ? { elicitation: {} } : {} });
if (results) {
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    asked.push(params.message);
    return results[asked.length - 1];
  });
}
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
let failed, text;
try {
  const result = await client.callTool({ name: 'refund', arguments: { order } });
  failed = Boolean(result.isError);
  text = result.content[0].text;
} catch (error) {
  failed = error.code;
  text = error.message;
}
const ledger = await client.callTool({ name: 'ledger', arguments: {} });
console.log(JSON.stringify({ asked, failed, text, ledger: ledger.structuredContent }));
await client.close();
