#!/usr/bin/env node
// A flash sale in Express on PostgreSQL, whose purchase has a hidden address, as such sales have against scripts:
//
//   GET /sale/1?user=42     {"token"}: signed for this user; without it nobody buys
//   POST /buy/TOKEN         with an Idempotency-Key: 201 {"code": 0, "order"} sold, 200 the same order again,
//                           200 {"code": 5001} sold out, 200 {"code": 5002} bought already, 403 no such token
//
// As in many shops, a "no" is a 200 with a code of its own. One unit a user.
//
// It cannot oversell: the stock is taken by one UPDATE that has the condition in it, in the order's own transaction.
// SHOP_UNSAFE=1 takes that out: it reads the stock, awaits something, as a shop does that asks somebody for a price,
// and writes what it has worked out. One thread is no protection: whoever is served during the await sells the same unit.
'use strict';
const crypto = require('node:crypto');
const { setTimeout: moment } = require('node:timers/promises');
const express = require('express');
const { Pool } = require('pg');

const SCHEMA = `
CREATE TABLE IF NOT EXISTS shop_product (id bigint PRIMARY KEY, stock int NOT NULL);
CREATE TABLE IF NOT EXISTS shop_order (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, product_id bigint NOT NULL REFERENCES shop_product,
    user_id bigint NOT NULL, key text NOT NULL, UNIQUE (user_id, key), UNIQUE (product_id, user_id));
INSERT INTO shop_product VALUES (1, 100) ON CONFLICT DO NOTHING;`;
const SOLD_OUT = 5001;
const BOUGHT_ALREADY = 5002;
const MOMENT_MS = 50;

const pool = new Pool({ ...conninfo(process.env.SHOP_DATABASE), max: 16 });
pool.on('error', (error) => console.error(error.message)); // a session that nobody was using
const secret = crypto.randomBytes(32);

// "host=/run/x port=5432 dbname=shop user=me", as libpq takes it; pg takes an object.
function conninfo(text) {
  const names = { host: 'host', port: 'port', dbname: 'database', user: 'user', password: 'password' };
  const fields = text.trim().split(/\s+/).map((pair) => pair.split('='));
  return Object.fromEntries(fields.map(([name, value]) => [names[name], value]));
}

function sign(product, user) {
  const mac = crypto.createHmac('sha256', secret).update(`${product} ${user}`).digest('hex').slice(0, 32);
  return `${product}.${user}.${mac}`;
}

async function takeStock(client, product) {
  const taken = await client.query('UPDATE shop_product SET stock = stock - 1 WHERE id = $1 AND stock >= 1', [product]);
  return taken.rowCount === 1;
}

async function takeStockUnsafely(client, product) {
  const { rows } = await client.query('SELECT stock FROM shop_product WHERE id = $1', [product]);
  if (rows.length === 0 || rows[0].stock < 1) return false;
  await moment(MOMENT_MS);
  await client.query('UPDATE shop_product SET stock = $2 WHERE id = $1', [product, rows[0].stock - 1]);
  return true;
}

const take = process.env.SHOP_UNSAFE ? takeStockUnsafely : takeStock;

async function findOrder(client, user, key) {
  const { rows } = await client.query('SELECT id FROM shop_order WHERE user_id = $1 AND key = $2', [user, key]);
  return rows[0]?.id;
}

// One transaction: [status, answer]. A "no" is said only when the key has no order: it may be a repeat's.
async function sell(client, product, user, key) {
  let code = SOLD_OUT;
  await client.query('BEGIN');
  if (!await findOrder(client, user, key) && await take(client, product)) {
    const { rows } = await client.query(
      'INSERT INTO shop_order (product_id, user_id, key) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING id',
      [product, user, key]);
    if (rows.length === 1) {
      await client.query('COMMIT');
      return [201, { code: 0, order: rows[0].id }];
    }
    code = BOUGHT_ALREADY;
  }
  await client.query('ROLLBACK'); // a unit that was taken goes back
  const order = await findOrder(client, user, key);
  return [200, order ? { code: 0, order } : { code }];
}

async function buy(request, response) {
  const [product, user] = request.params.token.split('.').map(Number);
  if (request.params.token !== sign(product, user)) return response.status(403).json({ code: 4003 });
  const client = await pool.connect(); // waits for one of the 16
  let broken;
  try {
    const [status, answer] = await sell(client, product, user, request.get('Idempotency-Key'));
    return response.status(status).json(answer);
  } catch (error) {
    broken = error;
    throw error;
  } finally {
    client.release(broken); // a session in the middle of a transaction is not lent again
  }
}

async function main() {
  const app = express();
  app.get('/sale/:product', (request, response) => {
    response.json({ token: sign(Number(request.params.product), Number(request.query.user)) });
  });
  app.post('/buy/:token', (request, response, next) => buy(request, response).catch(next));
  await pool.query(SCHEMA);
  const server = app.listen(Number(process.env.SHOP_PORT || 0), '127.0.0.1', () => {
    console.log(`listening on http://127.0.0.1:${server.address().port}`);
  });
  server.keepAliveTimeout = 60000; // of its own accord it would hang up after 5 s, when the next request may be on its way
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
