-- Unloads the products' mirrors: whoever needs one loads it from PostgreSQL. Their ids are texts here, because a
-- number holds 53 bits of them.
-- KEYS: loaded. ARGV: prefix, product… Answers how many there were, or had been within a lease of the sold-out flags
-- (STOCK_LEASE_US, and what clocks may differ in it): as long as that an instance may refuse by what one of them said.
local gone = 0
for i = 2, #ARGV do
    local product = ARGV[i]
    local mirror = ARGV[1] .. ':mirror:' .. product
    local unloaded = ARGV[1] .. ':unloaded:' .. product
    local generation = redis.call('HGET', mirror, 'generation')
    -- The mirror first: without it nobody looks at the rest.
    if redis.call('DEL', mirror) == 1 then
        redis.call('SREM', KEYS[1], product)
        redis.call('SET', unloaded, '', 'PX', 25)
        gone = gone + 1
    elseif redis.call('EXISTS', unloaded) == 1 then
        gone = gone + 1
    end
    if generation then redis.call('UNLINK', ARGV[1] .. ':users:' .. product .. ':' .. generation) end
end
return gone
