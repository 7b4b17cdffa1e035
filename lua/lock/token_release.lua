-- Deletes a lock if the token still owns it. KEYS: lock. ARGV: token. Answers 1 or 0.
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
end
return 0
