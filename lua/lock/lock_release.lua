-- Gives a lock up, or a place in its queue, and hands a free lock to whoever waits longest.
-- KEYS: lock, queue of waiters, next, tickets
-- ARGV: token, grace in ms, prefix of the waiters' wake lists
-- Answers 1 when the token owned the lock, 0 when it did not (it lapsed, or it was only waiting).
-- The reservation lasts a grace period only. All others in line are woken too, and try again at its end: waiters that
-- have died cost them that long, once, however many. An instance has one waiter, so they are few.
local function wake(waiter)
    redis.call('RPUSH', ARGV[3] .. waiter, 1)
    redis.call('PEXPIRE', ARGV[3] .. waiter, 1000)
end
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
    wake(waiter)
    for _, next in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do wake(next) end
end
return owned
