-- Reserves stock of one product for a batch of orders and queues them for the writer, in one stream entry.
-- KEYS: the product's mirror, the stream, waiting (group of ids: entry; group:orders: "product epoch\nlines", what the
--       entry has, should the stream lose it: stock_restore), units ("product:epoch": reserved;
--       "product:epoch:orders": how many wait; "orders": in all), the caller's last answer ("number epoch left codes entry")
-- ARGV: prefix, product, epoch as the caller knows it (0: not at all), most orders that may wait (of one
--       product no more than there is room for of others: so those whose rows are held, however many, leave room), ms that a key lives, this call's number, the group of the orders' ids, whether some have a key ("1"), how many orders, their
--       units in all, what is queued, a line an order: "id user quantity created[:hold] key\n"; the consumer group, and the
--       consumer whose the entry is from the start; two numbers between which the epochs of this database's sales are
-- Answers {verdict}, or {0, epoch, stock left, codes, entry}: a digit an order, and the entry if there is one.
-- Verdicts: 0 done, 1 not loaded, 2 another epoch, 3 too many wait, 4 this call was given up (stock_recall), 5 Redis
-- refuses a command, {5, its error}: nothing is reserved, 7 closed (stock_close). Codes: 1 reserved, 2 the key has an
-- order, 3 limit reached, 4 sold out, 5 not open.
-- A script is not rolled back, and a user who may not use some command is told so when the script comes to it. So the
-- caller's record is written first ("number ?": it has begun), what changes before XADD is undone where something
-- fails, and XADD is what sells: each command that follows it has been obeyed before, for the same key.
local prefix, product, number, group = ARGV[1], ARGV[2], ARGV[6], ARGV[7]
local undo, entry = {}, nil

local function remember(what) redis.call('SET', KEYS[5], what, 'PX', 600000) end

-- Somebody else may have written into this Redis: HINCRBY takes nothing but this. What is none counts as nothing.
local function is_figure(text) return text and #text < 18 and (text:match('^%-?[1-9]%d*$') or text == '0') end

local function figure(key, field)
    local text = redis.call('HGET', key, field)
    if text and not is_figure(text) then
        redis.call('HDEL', key, field)
        text = nil
    end
    return tonumber(text or 0)
end

local function add(key, field, n)
    redis.call('HINCRBY', key, field, n)
    undo[#undo + 1] = {'HINCRBY', key, field, -n}
end

local function reserve()
    if redis.call('HEXISTS', KEYS[4], 'closed') == 1 then return {7} end
    local mirror = redis.call('HMGET', KEYS[1], 'epoch', 'generation', 'stock', 'limit', 'opens', 'closes')
    local epoch, generation, stock = mirror[1], mirror[2], tonumber(mirror[3])
    local limit, opens, closes = tonumber(mirror[4]), tonumber(mirror[5]), tonumber(mirror[6])
    local last = redis.call('GET', KEYS[5])
    if last and tonumber(last:match('^%d+')) >= tonumber(number) then return {4} end
    -- One of a database that was lost and made again is none.
    local sale = tonumber(epoch) or 0
    local ours = sale > tonumber(ARGV[14]) and sale < tonumber(ARGV[15])
    if not generation or not ours or not is_figure(mirror[3]) then
        redis.call('HDEL', KEYS[1], 'stock') -- so that it is loaded anew
        return {1}
    end
    if ARGV[3] ~= '0' and ARGV[3] ~= epoch then return {2, tonumber(epoch)} end
    local most, of_sale = tonumber(ARGV[4]), product .. ':' .. epoch
    if figure(KEYS[4], 'orders') + figure(KEYS[4], of_sale .. ':orders') >= most then return {3} end

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

        for line, id, user, quantity, key in lines:gmatch('((%S+) (%d+) (%d+) [%d:]+ ([^\n]*)\n)') do
            local n, code = tonumber(quantity), 1
            local name = key ~= '' and prefix .. ':key:' .. user .. ':' .. key
            if limit and not held[user] then held[user] = figure(users, user) end
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

    remember(number .. ' ?')
    redis.call('HSET', KEYS[3], group, '0-0', group .. ':orders', product .. ' ' .. epoch .. '\n' .. lines)
    undo[1] = {'HDEL', KEYS[3], group, group .. ':orders'}
    figure(KEYS[4], of_sale)
    add(KEYS[4], of_sale, sum)
    add(KEYS[4], of_sale .. ':orders', reserved)
    add(KEYS[4], 'orders', reserved)
    add(KEYS[1], 'stock', -sum)
    for user, n in pairs(added) do add(users, user, n) end
    for name, first in pairs(keys) do
        redis.call('SET', name, first, 'PX', ARGV[5])
        undo[#undo + 1] = {'DEL', name}
    end
    entry = redis.call('XADD', KEYS[2], '*', 'product', product, 'epoch', epoch, 'orders', lines)
    redis.call('HSET', KEYS[3], group, entry)
    remember(number .. ' ' .. epoch .. ' ' .. string.format('%.0f', left) .. ' ' .. all .. ' ' .. entry)
    -- It must not fail the call. Where there is no group, as after a FLUSHALL, there is one then.
    local function claim()
        return redis.pcall('XCLAIM', KEYS[2], ARGV[12], ARGV[13], 0, entry, 'FORCE', 'JUSTID')
    end
    if claim().err then
        redis.pcall('XGROUP', 'CREATE', KEYS[2], ARGV[12], '0')
        claim()
    end
    answer[5] = entry
    return answer
end

local done, answer = pcall(reserve)
if done then return answer end
local why = type(answer) == 'table' and answer.err or tostring(answer)
if entry then error(why) end
for i = #undo, 1, -1 do
    local command, key, field = unpack(undo[i])
    if redis.pcall(unpack(undo[i])) == 0 and command == 'HINCRBY' then redis.pcall('HDEL', key, field) end
end
pcall(remember, number)
return {5, why}
