-- Loads a product's mirror, unless another instance has done so for this epoch; the caller holds the row's lock.
-- KEYS: mirror, loaded (a set of products)
-- ARGV: prefix, product, epoch, generation, stock, limit, PostgreSQL's clock, opens, closes (microseconds; "": none),
--       and limit and window once more, as PostgreSQL has them: kept for a comparison
-- The window is kept in this server's time, so that two clocks that differ do not move it. Answers 1 or 0.
-- The mirror itself is written last: whatever fails before leaves none, which says "not loaded".
local old = redis.call('HMGET', KEYS[1], 'epoch', 'stock', 'generation')
local users = ARGV[1] .. ':users:' .. ARGV[2] .. ':'
if old[1] == ARGV[3] and old[2] then
    redis.call('UNLINK', users .. ARGV[4])
    return 0
end
local time = redis.call('TIME')
local ahead = time[1] * 1000000 + time[2] - ARGV[7]
local function here(us) return us == '' and '' or us + ahead end
redis.call('DEL', KEYS[1])
if old[3] then redis.call('UNLINK', users .. old[3]) end
redis.call('PERSIST', users .. ARGV[4])
redis.call('SADD', KEYS[2], ARGV[2])
redis.call('HSET', KEYS[1], 'epoch', ARGV[3], 'generation', ARGV[4], 'stock', ARGV[5], 'loaded', ARGV[5], 'limit', ARGV[6],
    'opens', here(ARGV[8]), 'closes', here(ARGV[9]), 'terms', ARGV[10] or '')
return 1
