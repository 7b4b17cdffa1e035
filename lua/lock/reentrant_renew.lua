-- Renews a reentrant lock's lease if the owner still holds it. KEYS: lock. ARGV: owner, lease in ms.
-- Answers 1 or 0.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
    return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
