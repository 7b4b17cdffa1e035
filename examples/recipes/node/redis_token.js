// redis-token: a lock in Redis with an owner, around a body that is right without it.
//
// SET NX PX in one command, or a crash between two leaves a lock for ever; deleted by a script that compares the token,
// or a holder who comes late deletes the next one's. What a lock with a lease cannot do is to stop a holder who was
// paused past it: so the body is conditional.js's statement. The lock keeps the crowd off the row; the statement keeps
// the stock.
'use strict';
const crypto = require('node:crypto');
const { setTimeout: wait } = require('node:timers/promises');
const conditional = require('./conditional.js');

const WAIT_MS = 10000;
const LEASE_MS = 5000;
const RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

async function acquire(memory, name, token) {
  const end = Date.now() + WAIT_MS;
  for (let pause = 1; Date.now() < end; pause = Math.min(2 * pause, 20)) {
    if (await memory.set(name, token, { NX: true, PX: LEASE_MS })) return true;
    await wait(Math.random() * pause);
  }
  return false;
}

async function buy(pool, memory, order) {
  const name = `lock:${order.product}`;
  const token = crypto.randomBytes(16).toString('hex');
  if (!await acquire(memory, name, token)) return ['busy'];
  try {
    return await conditional.buy(pool, memory, order); // committed when it returns: commit first, release then
  } finally {
    await memory.eval(RELEASE, { keys: [name], arguments: [token] });
  }
}

module.exports = { buy };
