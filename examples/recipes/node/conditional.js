// conditional: one statement decides, and is the whole transaction. Take this one unless something speaks against it.
//
// The UPDATE asks whether there is stock at the moment at which it writes, under the row's lock; nobody can come
// between. Its row feeds the INSERT: no unit, no order; and an order that a UNIQUE refuses takes the unit back with it.
'use strict';

const BUY = `
WITH taken AS (UPDATE product SET stock = stock - 1 WHERE id = $2 AND stock >= 1 RETURNING id)
INSERT INTO orders (id, product_id, user_id, key) SELECT $1, id, $3, $4 FROM taken`;
const UNIQUE_VIOLATION = '23505';

// A "no" is said only when the key has no order: the first request of a repeat may have taken the last unit.
async function said(db, { user, key }, word) {
  const { rows } = await db.query('SELECT id FROM orders WHERE user_id = $1 AND key = $2', [user, key]);
  return rows.length ? ['again', rows[0].id] : [word];
}

async function buy(db, memory, order) {
  let result;
  try {
    result = await db.query(BUY, [order.id, order.product, order.user, order.key]); // its own transaction
  } catch (error) {
    if (error.code === UNIQUE_VIOLATION) return said(db, order, 'bought_already');
    throw error;
  }
  return result.rowCount === 1 ? ['sold', order.id] : said(db, order, 'sold_out');
}

module.exports = { buy, said, UNIQUE_VIOLATION };
