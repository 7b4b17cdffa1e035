-- Reserves stock of one product for a batch of orders and queues them for the writer, in one stream entry.
-- KEYS: the product's mirror, the stream, waiting (group of ids: entry), units ("product:epoch": reserved; "orders":
--       how many wait in all), the caller's last answer ("number epoch left codes entry")
-- ARGV: prefix, product, epoch as the caller knows it (0: not at all), most orders that may wait, ms that a key
--       lives, this call's number, the group of the orders' ids, whether some have a key ("1"), how many orders, their
--       units in all, what is queued, a line an order: "id user quantity created key\n"; the consumer group, and the
--       consumer whose the entry is from the start
-- Answers {verdict}, or {0, epoch, stock left, codes, entry}: a digit an order, and the entry if there is one.
-- Verdicts: 0 done, 1 not loaded, 2 another epoch, 3 too many wait, 4 this call was given up (stock_recall). Codes:
-- 1 reserved, 2 the key has an order, 3 limit reached, 4 sold out, 5 not open.
-- Every key's type is seen before the first write, and nothing after it can fail: a script is not rolled back.
local prefix, product, number, group = ARGV[1], ARGV[2], ARGV[6], ARGV[7]
local mirror = redis.call('HMGET', KEYS[1], 'epoch', 'generation', 'stock', 'limit', 'opens', 'closes')
local epoch, generation, stock = mirror[1], mirror[2], tonumber(mirror[3])
local limit, opens, closes = tonumber(mirror[4]), tonumber(mirror[5]), tonumber(mirror[6])
redis.call('XLEN', KEYS[2])
redis.call('HLEN', KEYS[3])
local waiting = tonumber(redis.call('HGET', KEYS[4], 'orders') or 0)
local last = redis.call('GET', KEYS[5])
if last and tonumber(last:match('^%d+')) >= tonumber(number) then return {4} end
if not stock then return {1} end
if ARGV[3] ~= '0' and ARGV[3] ~= epoch then return {2, tonumber(epoch)} end
if waiting >= tonumber(ARGV[4]) then return {3} end

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local open = (not opens or now >= opens) and (not closes or now < closes)
local count, units, lines = tonumber(ARGV[9]), tonumber(ARGV[10]), ARGV[11]
local users = prefix .. ':users:' .. product .. ':' .. generation
local added, keys = {}, {}
local sum, reserved, all = 0, 0, nil

-- Where the product has a limit, an order a key, or not everybody gets what they want: the orders one by one.
local function judge()
    local held, codes, kept = {}, {}, {}

    -- The key's order, unless a PUT has ended its sale: "id product epoch".
    local function taken(name)
        if keys[name] then return true end
        local first = redis.call('GET', name)
        if not first then return false end
        local of, at = first:match('^%S+ (%d+) (%d+)$')
        return of ~= product or at == epoch
    end

    for line, id, user, quantity, key in lines:gmatch('((%S+) (%d+) (%d+) %d+ ([^\n]*)\n)') do
        local n, code = tonumber(quantity), 1
        local name = key ~= '' and prefix .. ':key:' .. user .. ':' .. key
        if limit and not held[user] then held[user] = tonumber(redis.call('HGET', users, user) or 0) end
        if name and taken(name) then code = 2
        elseif not open then code = 5
        elseif limit and held[user] + n > limit then code = n > stock - sum and 4 or 3 -- as everywhere else
        elseif n > stock - sum then code = 4
        else
            sum = sum + n
            if limit then
                held[user] = held[user] + n
                added[user] = (added[user] or 0) + n
            end
            if name then keys[name] = id .. ' ' .. product .. ' ' .. epoch end
            reserved = reserved + 1
            kept[reserved] = line
        end
        codes[#codes + 1] = code
    end
    return table.concat(codes), table.concat(kept)
end

if open and not limit and ARGV[8] ~= '1' and units <= stock then
    sum, reserved, all = units, count, string.rep('1', count)
else
    all, lines = judge()
end
local left = stock - sum
local answer = {0, tonumber(epoch), left, all}
if reserved == 0 then return answer end

local entry = redis.call('XADD', KEYS[2], '*', 'product', product, 'epoch', epoch, 'orders', lines)
redis.call('HSET', KEYS[3], group, entry)
redis.call('HINCRBY', KEYS[4], product .. ':' .. epoch, sum)
redis.call('HINCRBY', KEYS[4], 'orders', reserved)
redis.call('HINCRBY', KEYS[1], 'stock', -sum)
-- It must not fail the call. Where there is no group, as after a FLUSHALL, there is one then.
local function claim()
    return redis.pcall('XCLAIM', KEYS[2], ARGV[12], ARGV[13], 0, entry, 'FORCE', 'JUSTID')
end
if claim().err then
    redis.pcall('XGROUP', 'CREATE', KEYS[2], ARGV[12], '0')
    claim()
end
for user, n in pairs(added) do redis.call('HINCRBY', users, user, n) end
for name, first in pairs(keys) do redis.call('SET', name, first, 'PX', ARGV[5]) end
redis.call('SET', KEYS[5], number .. ' ' .. epoch .. ' ' .. string.format('%.0f', left) .. ' ' .. all .. ' ' .. entry,
    'PX', 600000)
answer[5] = entry
return answer
