-- Takes a lease lock, in turn.
-- KEYS: lock, queue of waiters (a sorted set by ticket), next (who may take a free lock first), tickets
-- ARGV: token, lease in ms, 1 to queue up or 0 to try once
-- Answers 0 when the token now owns the lock, else the milliseconds after which it is worth trying again
-- without having been woken (at least 1). One who queues up stands there until it takes the lock, gives the
-- place up (lock_release), or is handed the lock's reservation and lets the grace pass.
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] then
    return 0 -- a repeat of a request whose answer was lost
end
local first = redis.call('GET', KEYS[3])
if not holder and (not first or first == ARGV[1]) then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    redis.call('ZREM', KEYS[2], ARGV[1])
    redis.call('DEL', KEYS[3])
    return 0
end
if ARGV[3] == '1' then
    if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then
        redis.call('ZADD', KEYS[2], redis.call('INCR', KEYS[4]), ARGV[1])
    end
    -- Whoever dies in the queue must not leave it behind for ever.
    local life = tonumber(ARGV[2]) + 120000
    redis.call('PEXPIRE', KEYS[2], life)
    redis.call('PEXPIRE', KEYS[4], life)
end
local left = redis.call('PTTL', holder and KEYS[1] or KEYS[3])
return left > 0 and left or 1
