-- Takes a reentrant lock, a hash {owner: count}, or takes it once more. KEYS: lock. ARGV: owner, lease in ms.
-- Answers 0 when the owner now holds it, else the milliseconds that the other's lease has left (at least 1).
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
    redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return 0
end
local left = redis.call('PTTL', KEYS[1])
return left > 0 and left or 1
