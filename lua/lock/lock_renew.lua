-- Renews a lease if the token still owns it. KEYS: lock. ARGV: token, lease in ms. Answers 1 or 0.
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
