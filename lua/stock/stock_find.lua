-- An order that waits. KEYS: the stream, waiting, partly. ARGV: its id's group, its id.
-- Answers {product, epoch, "id user quantity created key\n"}, or {}: it does not wait, or is acknowledged already.
local entry, kept = unpack(redis.call('HMGET', KEYS[2], ARGV[1], ARGV[1] .. ':orders'))
if not entry or redis.call('HEXISTS', KEYS[3], ARGV[2]) == 1 then return {} end
local product, epoch, lines = string.match(kept or '', '^(%d+) (%d+)\n(.*)$')
if not product then -- reserved by a server from before these were kept
    local found = redis.call('XRANGE', KEYS[1], entry, entry)[1]
    if not found then return {} end
    product, epoch, lines = found[2][2], found[2][4], found[2][6]
end
local at = lines and ('\n' .. lines):find('\n' .. ARGV[2] .. ' ', 1, true)
if not at then return {} end
return {product, epoch, lines:sub(at, lines:find('\n', at, true))}
