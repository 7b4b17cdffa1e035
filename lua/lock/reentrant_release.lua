-- Gives a reentrant lock back once. KEYS: lock. ARGV: owner, lease in ms, channel, PUBLISH or SPUBLISH. (A channel is
-- no key: beside the lock it would have to be there for a script to run while their slot moves to another node.)
-- Answers nil to a stranger, 0 while the owner still holds it (the lease starts anew), 1 when it is free,
-- and then says so on the channel.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
    return nil
end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return 0
end
redis.call('DEL', KEYS[1])
redis.call(ARGV[4], ARGV[3], 'free')
return 1
