// node typescript_approvals.mjs VISITS, each URL MODE ORDER ANSWERS: the TypeScript client, 2.x, has an order paid back.
// ANSWERS is a list of the results that its user gives, in order; null: it cannot be asked.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { makeVisits } from './visits.mjs';

await makeVisits(async (url, mode, order, answers) => {
  const asked = [];
  const versionNegotiation = { mode: mode === 'legacy' || mode === 'auto' ? mode : { pin: mode } };
  const capabilities = answers ? { elicitation: {} } : {};
  const client = new Client({ name: 'visitor', version: '1' }, { versionNegotiation, capabilities });
  if (answers) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
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
