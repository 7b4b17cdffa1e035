-- Unloads the mirrors of products first … first + count - 1: whoever needs one loads it from PostgreSQL.
-- KEYS: loaded. ARGV: prefix, first, count. Answers how many there were.
local gone = 0
for i = 0, ARGV[3] - 1 do
    local product = string.format('%.0f', ARGV[2] + i)
    local mirror = ARGV[1] .. ':mirror:' .. product
    local generation = redis.call('HGET', mirror, 'generation')
    -- The mirror first: without it nobody looks at the rest.
    if redis.call('DEL', mirror) == 1 then
        redis.call('SREM', KEYS[1], product)
        gone = gone + 1
    end
    if generation then redis.call('UNLINK', ARGV[1] .. ':users:' .. product .. ':' .. generation) end
end
return gone
