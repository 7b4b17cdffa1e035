// optimistic: read, work out what to write, and write it only over the version that was read.
//
// For work between reading and writing that a statement cannot do. The work is done outside of any transaction; the
// write and the order are one statement, so that neither is there without the other. Between tries it waits a random
// time, more each time; and there is an end, after which the buyer is told "busy", never "sold out".
'use strict';
const { setTimeout: wait } = require('node:timers/promises');
const { said, UNIQUE_VIOLATION } = require('./conditional.js');

const WAIT_MS = 10000;
const READ = 'SELECT stock, version FROM product WHERE id = $1';
const WRITE = `
WITH taken AS (UPDATE product SET stock = $5, version = version + 1 WHERE id = $2 AND version = $6 RETURNING id)
INSERT INTO orders (id, product_id, user_id, key) SELECT $1, id, $3, $4 FROM taken`;

// "sold", "sold_out", or undefined: somebody else has written since.
async function tryOnce(pool, { id, product, user, key }) {
  const { rows } = await pool.query(READ, [product]);
  if (rows.length === 0 || rows[0].stock < 1) return 'sold_out';
  const { stock, version } = rows[0];
  const written = await pool.query(WRITE, [id, product, user, key, stock - 1, version]);
  return written.rowCount === 1 ? 'sold' : undefined;
}

async function buy(pool, memory, order) {
  const end = Date.now() + WAIT_MS;
  for (let pause = 1; Date.now() < end; pause = Math.min(2 * pause, 50)) {
    let word;
    try {
      word = await tryOnce(pool, order);
    } catch (error) {
      if (error.code === UNIQUE_VIOLATION) return said(pool, order, 'bought_already');
      throw error;
    }
    if (word === 'sold') return [word, order.id];
    if (word) return said(pool, order, word);
    await wait(Math.random() * pause);
  }
  return ['busy'];
}

module.exports = { buy };
