-- Puts back what the stream has lost (an XTRIM, an eviction) and `waiting` still has: as new entries, which are nobody's
-- until a writer takes them over. Orders of them that were written meanwhile it finds in their table.
-- KEYS: the stream, waiting, units, partly. ARGV: HSCAN's cursor.
-- Answers the next cursor ("0": that was all), how many were put back, and of how many nothing is left.
local restored, lost = 0, 0

if ARGV[1] == '0' then
    local entries, fields = redis.call('XLEN', KEYS[1]), redis.call('HLEN', KEYS[2])
    if entries == 0 and fields == 0 then -- they tell of what waits, but for one field (stock_close)
        local closed = redis.call('HEXISTS', KEYS[3], 'closed') == 1
        redis.call('DEL', KEYS[3], KEYS[4])
        if closed then redis.call('HSET', KEYS[3], 'closed', '1') end
    end
    if fields <= 2 * entries then return {'0', 0, 0} end
end
local page = redis.call('HSCAN', KEYS[2], ARGV[1], 'COUNT', 50)
for i = 1, #page[2], 2 do
    local group, of_orders = page[2][i]:match('^(%x+)(:?)')
    local entry = group and redis.call('HGET', KEYS[2], group)
    if of_orders ~= '' or not entry then
        if not entry then redis.call('HDEL', KEYS[2], page[2][i]) end -- the rest of what another has acknowledged
    elseif not entry:match('^%d+%-%d+$') or #redis.call('XRANGE', KEYS[1], entry, entry) == 0 then
        local kept = redis.call('HGET', KEYS[2], group .. ':orders') or ''
        local product, epoch, lines = kept:match('^(%d+) (%d+)\n(.+)$')
        if product then
            local anew = redis.call('XADD', KEYS[1], '*', 'product', product, 'epoch', epoch, 'orders', lines)
            redis.call('HSET', KEYS[2], group, anew)
            restored = restored + 1
        else
            redis.call('HDEL', KEYS[2], group, group .. ':orders')
            lost = lost + 1
        end
    end
end
return {page[1], restored, lost}
