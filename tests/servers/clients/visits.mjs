// node PROGRAM VISITS: what visits.py says. `visit(...arguments)` makes one, with a client of its own.
const SECONDS = 50;

export async function makeVisits(visit) {
  const seen = [];
  for (const given of JSON.parse(process.argv[2])) {
    try {
      seen.push(await inTime(visit(...given)));
    } catch (error) {
      seen.push({ raised: error?.stack ?? String(error) });
    }
  }
  console.log(JSON.stringify(seen));
  // A visit that has failed may have left a connection open, which keeps the process.
  if (seen.some(({ raised }) => raised)) process.exit();
}

async function inTime(visiting) {
  let timer;
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the visit takes too long')), SECONDS * 1000);
  });
  try {
    return await Promise.race([visiting, late]);
  } finally {
    clearTimeout(timer);
  }
}
