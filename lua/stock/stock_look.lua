-- A product's mirror and what is reserved, in one look. KEYS: mirror, units. ARGV: product.
-- Answers {epoch, stock, units reserved under that epoch, stock when it was loaded}, or {} when it is not loaded.
local mirror = redis.call('HMGET', KEYS[1], 'epoch', 'stock', 'loaded')
if not mirror[2] then return {} end
local units = redis.call('HGET', KEYS[2], ARGV[1] .. ':' .. mirror[1])
return {tonumber(mirror[1]), tonumber(mirror[2]), tonumber(units or 0), tonumber(mirror[3])}
