-- Gives a lock up, or a place in its queue, and hands a free lock to whoever waits longest.
-- KEYS: lock, queue of waiters, next, tickets
-- ARGV: token, grace in ms, prefix of the waiters' wake lists
-- Answers 1 when the token owned the lock, 0 when it did not (it lapsed, or it was only waiting).
-- The reservation lasts a grace period only: a waiter that has died costs the others that long, once.
local owned = 0
redis.call('ZREM', KEYS[2], ARGV[1])
if redis.call('GET', KEYS[1]) == ARGV[1] then
    redis.call('DEL', KEYS[1])
    owned = 1
elseif redis.call('GET', KEYS[3]) == ARGV[1] then
    redis.call('DEL', KEYS[3])
else
    return 0
end
local waiter = redis.call('ZPOPMIN', KEYS[2])[1]
if waiter then
    redis.call('SET', KEYS[3], waiter, 'PX', ARGV[2])
    redis.call('RPUSH', ARGV[3] .. waiter, 1)
    redis.call('PEXPIRE', ARGV[3] .. waiter, 1000)
end
return owned
