-- Lets go of what PostgreSQL has decided. However often it runs, a reservation ends once.
-- KEYS: the stream, waiting, units, partly (entries that were settled in part)
-- ARGV: prefix, the consumer group, ms that a key is still known, orders, entries that are done, entries that are not
-- An order is a line "id product epoch user quantity fate key"; fate: kept, failed, or the mirror's generation to
-- which its stock is credited. Entries are ids with spaces between.
-- Answers how many credits met another generation: their mirrors must be built anew.
local prefix = ARGV[1]
local released = {}
local missed = 0

local function credit(product, user, quantity, generation)
    local mirror = prefix .. ':mirror:' .. product
    if redis.call('HGET', mirror, 'generation') ~= generation then
        missed = missed + 1
        return
    end
    redis.call('HINCRBY', mirror, 'stock', quantity)
    local users = prefix .. ':users:' .. product .. ':' .. generation
    if redis.call('EXISTS', users) == 1 then redis.call('HINCRBY', users, user, -quantity) end
end

for id, product, epoch, user, quantity, fate, key in
    ARGV[4]:gmatch('(%S+) (%d+) (%d+) (%d+) (%d+) (%S+) (%S*)\n') do
    if redis.call('HDEL', KEYS[2], id) == 1 then
        local field = product .. ':' .. epoch
        released[field] = (released[field] or 0) + tonumber(quantity)
        if fate ~= 'kept' and fate ~= 'failed' then credit(product, user, quantity, fate) end
    end
    if key ~= '' then
        local name = prefix .. ':key:' .. user .. ':' .. key
        local first = redis.call('GET', name)
        if first and first:sub(1, #id) == id then
            -- A failed order is not remembered. Another's key is known a little longer, for a repeat that has
            -- looked into PostgreSQL just before the order was there.
            if fate == 'kept' then redis.call('PEXPIRE', name, ARGV[3]) else redis.call('DEL', name) end
        end
    end
end
for field, n in pairs(released) do
    if redis.call('HINCRBY', KEYS[3], field, -n) <= 0 then redis.call('HDEL', KEYS[3], field) end
end
for entry in ARGV[5]:gmatch('%S+') do
    redis.call('XACK', KEYS[1], ARGV[2], entry)
    redis.call('XDEL', KEYS[1], entry)
    redis.call('HDEL', KEYS[4], entry)
end
for entry in ARGV[6]:gmatch('%S+') do redis.call('HSET', KEYS[4], entry, 1) end
return missed
