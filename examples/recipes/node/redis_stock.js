// redis-stock: one script in Redis decides, the buyer is told "accepted", and a writer brings the order to PostgreSQL.
//
// The script looks the key up, then the buyer, then the stock, and writes all it has to in the same act. The stream is
// the hand-over: an entry is acknowledged after its COMMIT, and one that comes twice finds its id there. PostgreSQL has
// the last word (stock >= 1). Redis wants appendonly yes and appendfsync always; a failover forgets what was not copied
// yet. A missing stock key means "not loaded", never 0.
'use strict';
const { UNIQUE_VIOLATION } = require('./conditional.js');

const STREAM = 'sale:entries';
const GROUP = 'writer';
const RESERVE = `
local known = redis.call('HGET', KEYS[2], ARGV[3])
if known then return {'accepted', known} end
if redis.call('SISMEMBER', KEYS[3], ARGV[2]) == 1 then return {'bought_already'} end
local stock = redis.call('GET', KEYS[1])
if not stock then return {'busy'} end
if tonumber(stock) < 1 then return {'sold_out'} end
redis.call('DECR', KEYS[1])
redis.call('HSET', KEYS[2], ARGV[3], ARGV[1])
redis.call('SADD', KEYS[3], ARGV[2])
redis.call('XADD', KEYS[4], '*', 'id', ARGV[1], 'product', ARGV[5], 'user', ARGV[2], 'key', ARGV[4])
return {'accepted', ARGV[1]}`;
const WRITE = `
WITH taken AS (UPDATE product SET stock = stock - 1 WHERE id = $2 AND stock >= 1 RETURNING id)
INSERT INTO orders (id, product_id, user_id, key) SELECT $1, id, $3, $4 FROM taken`;
const CONFIRMED = 'SELECT 1 FROM orders WHERE id = $1';

const names = (product) => [`sale:${product}:stock`, `sale:${product}:keys`, `sale:${product}:users`, STREAM];

async function buy(pool, memory, { id, product, user, key }) {
  return memory.eval(RESERVE, { keys: names(product), arguments: [id, `${user}`, `${user} ${key}`, key, `${product}`] });
}

async function write(pool, memory, entry, { id, product, user, key }) {
  const written = await pool.query(WRITE, [id, product, user, key]).catch((error) => {
    if (error.code !== UNIQUE_VIOLATION) throw error;
    return { rowCount: 0 }; // it was written, and its acknowledgement was lost: status finds it
  });
  if (written.rowCount === 0 && !(await pool.query(CONFIRMED, [id])).rowCount) await memory.hSet('sale:failed', id, 'failed');
  await memory.xAck(STREAM, GROUP, entry); // after the COMMIT
}

async function writeForEver(pool, memory) {
  for (let first = '0'; ;) { // what was read before and not acknowledged comes first
    const streams = await memory.xReadGroup(GROUP, 'one', { key: STREAM, id: first }, { COUNT: 100, BLOCK: 1000 });
    const entries = streams?.[0].messages ?? [];
    if (first === '0' && entries.length === 0) first = '>';
    for (const { id, message } of entries) await write(pool, memory, id, message);
  }
}

async function start(pool, memory) {
  await memory.xGroupCreate(STREAM, GROUP, '0', { MKSTREAM: true }).catch((error) => {
    if (!error.message.includes('BUSYGROUP')) throw error;
  });
  const own = memory.duplicate(); // it blocks
  await own.connect();
  writeForEver(pool, own).catch((error) => {
    console.error('the writer ends:', error);
    process.exit(1);
  });
}

async function put(memory, product, stock) { // between sales: the last one's entries are written
  const [stockName, keys, users] = names(product);
  await memory.del([keys, users, 'sale:failed']);
  await memory.set(stockName, stock);
}

async function status(pool, memory, id) {
  const { rowCount } = await pool.query(CONFIRMED, [id]);
  return rowCount ? 'confirmed' : memory.hGet('sale:failed', id);
}

async function quiet(memory) {
  const [group] = await memory.xInfoGroups(STREAM);
  return group.pending === 0 && group.lastDeliveredId === (await memory.xInfoStream(STREAM)).lastGeneratedId;
}

module.exports = { buy, start, put, status, quiet };
