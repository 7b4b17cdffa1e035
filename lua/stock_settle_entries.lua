-- Lets go of whole entries, all of whose orders PostgreSQL has and none of which has a key: stock_settle for the usual
-- case. An entry is there until this or stock_settle has ended it, so its reservations end once; one that was settled
-- in part is stock_settle's alone.
-- KEYS: the stream, waiting, units, partly (entries that were settled in part)
-- ARGV: the consumer group; then an entry's id, "product:epoch", units, how many orders, and their ids; and the next.
-- Answers 1, or 0: some entry was settled in part, and nothing was done.
if redis.call('EXISTS', KEYS[4]) == 1 then return 0 end
local i = 2
while i < #ARGV do
    local entry, field, count = ARGV[i], ARGV[i + 1], ARGV[i + 3]
    redis.call('XACK', KEYS[1], ARGV[1], entry)
    if redis.call('XDEL', KEYS[1], entry) == 1 then
        redis.call('HDEL', KEYS[2], unpack(ARGV, i + 4, i + 3 + count))
        if redis.call('HINCRBY', KEYS[3], field, -ARGV[i + 2]) <= 0 then redis.call('HDEL', KEYS[3], field) end
    end
    i = i + 4 + count
end
return 1
