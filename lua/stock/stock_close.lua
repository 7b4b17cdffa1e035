-- Closes a shard, so that nothing is reserved in it any more, or opens it; either way its mirrors are unloaded.
-- KEYS: units, loaded, the stream, waiting. ARGV: prefix, "1": close, "0": open.
-- Answers how many batches of orders wait in it.
if ARGV[2] == '1' then redis.call('HSET', KEYS[1], 'closed', '1')
elseif redis.call('HDEL', KEYS[1], 'closed') == 0 then return 0 end -- it was open
for _, product in ipairs(redis.call('SMEMBERS', KEYS[2])) do
    local mirror = ARGV[1] .. ':mirror:' .. product
    local generation = redis.call('HGET', mirror, 'generation')
    redis.call('DEL', mirror)
    redis.call('SET', ARGV[1] .. ':unloaded:' .. product, '', 'PX', 25) -- as stock_forget.lua
    if generation then redis.call('UNLINK', ARGV[1] .. ':users:' .. product .. ':' .. generation) end
end
redis.call('DEL', KEYS[2])
return math.max(redis.call('XLEN', KEYS[3]), math.ceil(redis.call('HLEN', KEYS[4]) / 2))
