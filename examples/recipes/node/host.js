#!/usr/bin/env node
// What the recipes beside this file have around them: HTTP, sessions with PostgreSQL and Redis, the tables. The same
// addresses and answers as ../python/host.py, which describes them; SHOP_WAY names the recipe.
//
// A recipe is a module with buy(pool, memory, order), which gives [word, id of the order], and, where it wants them,
// start(pool, memory), put(memory, product, stock), status(pool, memory, id) and quiet(memory).
'use strict';
const crypto = require('node:crypto');
const http = require('node:http');
const { Pool } = require('pg');
const { createClient } = require('redis');

const SCHEMA = `
CREATE TABLE IF NOT EXISTS product (id bigint PRIMARY KEY, stock int NOT NULL, version int NOT NULL DEFAULT 1);
CREATE TABLE IF NOT EXISTS orders (
    id uuid PRIMARY KEY, product_id bigint NOT NULL REFERENCES product, user_id bigint NOT NULL, key text NOT NULL,
    UNIQUE (user_id, key), UNIQUE (product_id, user_id));`;
const STATUS = { sold: 201, again: 200, accepted: 202, busy: 503 }; // any other word is a "no": 409

const recipe = require(`./${(process.env.SHOP_WAY || 'conditional').replace('-', '_')}.js`);
const pool = new Pool({ ...conninfo(process.env.SHOP_DATABASE), max: 16 });
pool.on('error', (error) => console.error(error.message)); // a session that nobody was using
const memory = createClient({ socket: { path: process.env.SHOP_REDIS.replace('unix://', '') } });

// "host=/run/x port=5432 dbname=shop user=me", as libpq takes it; pg takes an object.
function conninfo(text) {
  const names = { host: 'host', port: 'port', dbname: 'database', user: 'user', password: 'password' };
  const fields = text.trim().split(/\s+/).map((pair) => pair.split('='));
  return Object.fromEntries(fields.map(([name, value]) => [names[name], value]));
}

async function putProduct(product, stock) {
  await pool.query('DELETE FROM orders WHERE product_id = $1', [product]);
  await pool.query('INSERT INTO product (id, stock) VALUES ($1, $2) ON CONFLICT (id)'
    + ' DO UPDATE SET stock = $2, version = product.version + 1', [product, stock]);
  await recipe.put?.(memory, product, stock);
  return [200, { stock }];
}

async function buy({ product, user }, key) {
  const [word, id] = await recipe.buy(pool, memory, { id: crypto.randomUUID(), product, user, key });
  return [STATUS[word] || 409, id ? { id } : { code: word }];
}

async function route(request, body) {
  const [, folder, name] = request.url.split('/');
  switch (`${request.method} ${folder}`) {
    case 'POST orders': return buy(JSON.parse(body), request.headers['idempotency-key']);
    case 'PUT products': return putProduct(Number(name), JSON.parse(body).stock);
    case 'GET quiet': return [200, Number(await recipe.quiet?.(memory) ?? 1)];
    case 'GET orders': {
      const status = await recipe.status?.(pool, memory, name);
      return [status ? 200 : 202, { status: status || 'waiting' }];
    }
    default: return [404, { code: 'no such address' }];
  }
}

async function answer(request, response) {
  let body = '';
  for await (const part of request) body += part;
  const [status, said] = await route(request, body).catch((error) => {
    console.error(request.method, request.url, error);
    return [500, { code: 'unknown' }];
  });
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(said));
}

async function main() {
  await memory.connect();
  await pool.query(SCHEMA);
  await putProduct(1, 100);
  await recipe.start?.(pool, memory);
  const server = http.createServer(answer);
  server.keepAliveTimeout = 60000; // of its own accord it would hang up after 5 s, when the next request may be on its way
  server.listen(Number(process.env.SHOP_PORT || 0), '127.0.0.1', () => {
    console.log(`listening on http://127.0.0.1:${server.address().port}`);
  });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
