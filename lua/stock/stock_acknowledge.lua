-- Lets go of what PostgreSQL has decided. However often it runs, a reservation ends once: an entry is there until all
-- of its orders are decided, and those that were acknowledged before are noted until then.
-- KEYS: the stream, waiting, units, partly (orders that were acknowledged before their entries were done)
-- ARGV: prefix, the consumer group, ms that a key is still known; then four an entry: its id, its ids' group, whether
-- all its orders are decided ("1"), and those that are, lines "id product epoch user quantity fate key"; fate: kept,
-- failed, or the mirror's generation to which its stock is credited.
-- Answers how many credits met another generation, or could not be made: their mirrors must be built anew.
local prefix = ARGV[1]
local released = {orders = 0}
local missed = 0

-- A script is not rolled back, and its user may not be allowed some command. So each is used once before the first
-- entry goes, in a way that changes nothing; HDEL first, which a Redis without memory obeys, and after it the others,
-- too. What is no figure, because somebody has written into this Redis, is counted from nothing.
local function see(field)
    local figure = redis.pcall('HINCRBY', KEYS[3], field, 0)
    if type(figure) ~= 'table' then return end
    if figure.err:find('not an integer', 1, true) then redis.call('HDEL', KEYS[3], field) end
    redis.call('HINCRBY', KEYS[3], field, 0)
end

local function see_all()
    local lines = {}

    redis.call('HDEL', KEYS[2], '')
    redis.call('HDEL', KEYS[3], '')
    redis.call('XACK', KEYS[1], ARGV[2], '0-0')
    redis.call('HSETNX', KEYS[4], '', 1)
    redis.call('HDEL', KEYS[4], '')
    for i = 4, #ARGV, 4 do lines[#lines + 1] = ARGV[i + 3] end
    for product, epoch in table.concat(lines):gmatch('%S+ (%d+) (%d+) [^\n]*\n') do
        local field = product .. ':' .. epoch
        for _, of in ipairs({field, field .. ':orders'}) do
            if not released[of] then see(of) end
            released[of] = 0
        end
    end
    see('orders')
end

local function credit(product, user, quantity, generation)
    local mirror = prefix .. ':mirror:' .. product
    local users = prefix .. ':users:' .. product .. ':' .. generation
    local failed = redis.pcall('HGET', mirror, 'generation') ~= generation
    local function add(key, field, n) failed = failed or type(redis.pcall('HINCRBY', key, field, n)) == 'table' end
    if redis.pcall('EXISTS', users) == 1 then add(users, user, -quantity) end
    add(mirror, 'stock', quantity)
    if failed then missed = missed + 1 end
end

-- Whether the entry had yet to be acknowledged: it stands in the stream, or is gone from there alone.
local function take(entry, group, done)
    local waits = redis.call('HGET', KEYS[2], group) == entry
    if not done then return waits or #redis.call('XRANGE', KEYS[1], entry, entry) == 1 end
    redis.call('XACK', KEYS[1], ARGV[2], entry)
    local there = redis.call('XDEL', KEYS[1], entry) == 1
    if waits then redis.call('HDEL', KEYS[2], group, group .. ':orders') end
    return there or waits
end

local function is_first(id, done)
    if done then return redis.call('HDEL', KEYS[4], id) == 0 end
    return redis.call('HSETNX', KEYS[4], id, 1) == 1
end

see_all()
for i = 4, #ARGV, 4 do
    local done = ARGV[i + 2] == '1'
    local there = take(ARGV[i], ARGV[i + 1], done)
    for id, product, epoch, user, quantity, fate, key in
        ARGV[i + 3]:gmatch('(%S+) (%d+) (%d+) (%d+) (%d+) (%S+) (%S*)\n') do
        if there and is_first(id, done) then
            local field = product .. ':' .. epoch
            released[field] = released[field] + tonumber(quantity)
            released[field .. ':orders'] = released[field .. ':orders'] + 1
            released.orders = released.orders + 1
            if fate ~= 'kept' and fate ~= 'failed' then credit(product, user, quantity, fate) end
        end
        if key ~= '' then
            local name = prefix .. ':key:' .. user .. ':' .. key
            local first = redis.pcall('GET', name)
            if type(first) == 'string' and first:sub(1, #id) == id then
                -- A failed order is not remembered. Another's key is known a little longer, for a repeat that has
                -- looked into PostgreSQL just before the order was there.
                if fate == 'kept' then redis.pcall('PEXPIRE', name, ARGV[3]) else redis.pcall('DEL', name) end
            end
        end
    end
end
for field, n in pairs(released) do
    if redis.call('HINCRBY', KEYS[3], field, 0 - n) <= 0 then redis.call('HDEL', KEYS[3], field) end
end
return missed
