// early lock release: the row is free before the disk has it, and nobody is answered before the disk has it.
//
// The sale is conditional.js's, committed without waiting for the disk; the answer waits for a flush that began after
// it, one for all who wait. Refusals wait as well: they rest on sales that may not be on the disk yet. A flusher's
// session that is younger than the sale proves nothing (docs/strategies/early-release.md); such an answer is unknown, and the
// buyer repeats it with the same key.
'use strict';
const conditional = require('./conditional.js');

const FLUSH = "SELECT pg_logical_emit_message(true, 'shop', '')"; // a commit of its own, with nothing in it
let parked = [];
let flusher; // the session that is open; undefined: none
let flushing = false;

async function flushAll(pool) {
  if (flushing) return;
  flushing = true;
  while (parked.length) {
    const batch = parked; // taken before the statement is sent
    parked = [];
    const session = flusher;
    const flushed = await session?.query(FLUSH).then(() => true, () => false);
    for (const slot of batch) {
      if (flushed && slot.session === session) slot.resolve();
      else slot.reject(new Error('not known to be on the disk'));
    }
    if (!flushed) await connect(pool);
  }
  flushing = false;
}

async function connect(pool) {
  flusher?.release(true);
  flusher = undefined;
  flusher = await pool.connect().catch(() => undefined);
  flusher?.on('error', () => {}); // the next flush fails, and says so
  if (!flusher) setTimeout(connect, 1000, pool);
}

async function buy(pool, memory, order) {
  const session = flusher; // before the commit: one that opens after it proves nothing
  const client = await pool.connect();
  let answer;
  try {
    await client.query(`SET synchronous_commit = ${session ? 'off' : 'on'}`);
    answer = await conditional.buy(client, memory, order);
  } finally {
    client.release();
  }
  if (session) {
    await new Promise((resolve, reject) => {
      parked.push({ session, resolve, reject });
      flushAll(pool);
    });
  }
  return answer;
}

module.exports = { buy, start: connect };
