-- Lets go of whole entries, all of whose orders PostgreSQL has and none of which has a key: stock_settle for the usual
-- case. An entry is there until this or stock_settle has ended it, so its reservations end once; one that was settled
-- in part is stock_settle's alone.
-- KEYS: the stream, waiting, units, partly (orders that were settled before their entries were done)
-- ARGV: the consumer group, the consumer, how many entries it takes next, 0 for none; then an entry's id, its ids'
-- group, "product:epoch", units, and how many orders; and the next.
-- Answers {1} and, if entries were there to take, what XREADGROUP says; or {0}: some entry was settled in part, and
-- nothing was done.
if redis.call('EXISTS', KEYS[4]) == 1 then return {0} end

local function less(field, n)
    if redis.call('HINCRBY', KEYS[3], field, -n) <= 0 then redis.call('HDEL', KEYS[3], field) end
end

for i = 4, #ARGV, 5 do
    redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
    if redis.call('XDEL', KEYS[1], ARGV[i]) == 1 then
        redis.call('HDEL', KEYS[2], ARGV[i + 1])
        less(ARGV[i + 2], ARGV[i + 3])
        less('orders', ARGV[i + 4])
    end
end
if ARGV[3] == '0' then return {1} end
local next = redis.pcall('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', ARGV[3], 'STREAMS', KEYS[1], '>')
return next and {1, next} or {1}
