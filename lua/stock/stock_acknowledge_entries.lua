-- Lets go of whole entries, all of whose orders PostgreSQL has and none of which has a key: stock_acknowledge for the
-- usual case. An entry stands in the stream or, where that has lost it, in `waiting` until this or stock_acknowledge has
-- ended it, so its reservations end once; one that was acknowledged in part is stock_acknowledge's alone.
-- One may be named twice: it was handed over, and then read from the history as well.
-- KEYS: the stream, waiting, units, partly (orders that were acknowledged before their entries were done)
-- ARGV: the consumer group; then an entry's id, its ids' group, "product:epoch", units, and how many orders; and the
-- next.
-- Answers 1; or 0: some entry was acknowledged in part, and nothing was done.
if redis.call('EXISTS', KEYS[4]) == 1 then return 0 end

-- A script is not rolled back, and its user may not be allowed some command. So each is used once before the first
-- entry goes, in a way that changes nothing; HDEL first, which a Redis without memory obeys, and after it the others,
-- too. What is no figure, because somebody has written into this Redis, is counted from nothing.
local function see(field)
    local figure = redis.pcall('HINCRBY', KEYS[3], field, 0)
    if type(figure) ~= 'table' then return end
    if figure.err:find('not an integer', 1, true) then redis.call('HDEL', KEYS[3], field) end
    redis.call('HINCRBY', KEYS[3], field, 0)
end

redis.call('HDEL', KEYS[2], '')
redis.call('HDEL', KEYS[3], '')
redis.call('XACK', KEYS[1], ARGV[1], '0-0')
for i = 4, #ARGV, 5 do
    see(ARGV[i])
    see(ARGV[i] .. ':orders')
end
see('orders')

local acknowledge, forget = {'XACK', KEYS[1], ARGV[1]}, {'HDEL', KEYS[2]}
local released, named = {orders = 0}, {}
for i = 2, #ARGV, 5 do
    local units, orders = ARGV[i + 2], ARGV[i + 2] .. ':orders'
    acknowledge[#acknowledge + 1] = ARGV[i]
    released[units], released[orders] = released[units] or 0, released[orders] or 0
    local there = redis.call('XDEL', KEYS[1], ARGV[i]) == 1 or redis.call('HGET', KEYS[2], ARGV[i + 1]) == ARGV[i]
    if there and not named[ARGV[i]] then
        named[ARGV[i]] = true
        forget[#forget + 1] = ARGV[i + 1]
        forget[#forget + 1] = ARGV[i + 1] .. ':orders'
        released[units] = released[units] + tonumber(ARGV[i + 3])
        released[orders] = released[orders] + tonumber(ARGV[i + 4])
        released.orders = released.orders + tonumber(ARGV[i + 4])
    end
end
redis.call(unpack(acknowledge))
if #forget > 2 then redis.call(unpack(forget)) end
for field, n in pairs(released) do
    if redis.call('HINCRBY', KEYS[3], field, 0 - n) <= 0 then redis.call('HDEL', KEYS[3], field) end
end
return 1
