// node typescript_approvals.mjs URL MODE ORDER ANSWERS: the TypeScript client, 2.x, has an order paid back.
// ANSWERS is a JSON list of the results that its user gives, in order; null: it cannot be asked.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, mode, order, answers] = process.argv.slice(2);
const results = JSON.parse(answers);
const asked = [];
const versionNegotiation = { mode: mode === 'legacy' || mode === 'auto' ? mode : { pin: mode } };
const client = new Client({ name: 'visitor', version: '1' }, { versionNegotiation, capabilities: results ? { elicitation: {} } : {} });
if (results) {
  client.setRequestHandler('elicitation/create', async ({ params }) => {
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
