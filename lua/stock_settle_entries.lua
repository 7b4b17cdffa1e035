-- Lets go of whole entries, all of whose orders PostgreSQL has and none of which has a key: stock_settle for the usual
-- case. An entry is there until this or stock_settle has ended it, so its reservations end once; one that was settled
-- in part is stock_settle's alone.
-- KEYS: the stream, waiting, units, partly (orders that were settled before their entries were done)
-- ARGV: the consumer group; then an entry's id, its ids' group, "product:epoch", units, and how many orders; and the
-- next.
-- Answers 1; or 0: some entry was settled in part, and nothing was done.
if redis.call('EXISTS', KEYS[4]) == 1 then return 0 end

local acknowledge, forget = {'XACK', KEYS[1], ARGV[1]}, {'HDEL', KEYS[2]}
local released, orders = {}, 0
for i = 2, #ARGV, 5 do
    acknowledge[#acknowledge + 1] = ARGV[i]
    if redis.call('XDEL', KEYS[1], ARGV[i]) == 1 then
        forget[#forget + 1] = ARGV[i + 1]
        released[ARGV[i + 2]] = (released[ARGV[i + 2]] or 0) + tonumber(ARGV[i + 3])
        orders = orders + tonumber(ARGV[i + 4])
    end
end
redis.call(unpack(acknowledge))
if orders == 0 then return 1 end
redis.call(unpack(forget))
released.orders = orders
for field, n in pairs(released) do
    if redis.call('HINCRBY', KEYS[3], field, -n) <= 0 then redis.call('HDEL', KEYS[3], field) end
end
return 1
