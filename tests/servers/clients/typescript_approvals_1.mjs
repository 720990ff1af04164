// node typescript_approvals_1.mjs VISITS, each URL ORDER ANSWERS: as typescript_approvals, with the TypeScript SDK, 1.x.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { makeVisits } from './visits.mjs';

await makeVisits(async (url, order, answers) => {
  const asked = [];
  const client = new Client({ name: 'visitor', version: '1' }, { capabilities: answers ? { elicitation: {} } : {} });
  if (answers) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      asked.push(params.message);
      return answers[asked.length - 1];
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
  await client.close();
  return { asked, failed, text, ledger: ledger.structuredContent };
});
