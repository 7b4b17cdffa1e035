-- An order that waits. KEYS: the stream, waiting, partly. ARGV: its id's group, its id.
-- Answers {product, epoch, "id user quantity created key\n"}, or {}: it does not wait, or is settled already.
local entry = redis.call('HGET', KEYS[2], ARGV[1])
if not entry or redis.call('HEXISTS', KEYS[3], ARGV[2]) == 1 then return {} end
local found = redis.call('XRANGE', KEYS[1], entry, entry)[1]
local lines = found and found[2][6]
local at = lines and ('\n' .. lines):find('\n' .. ARGV[2] .. ' ', 1, true)
if not at then return {} end
return {found[2][2], found[2][4], lines:sub(at, lines:find('\n', at, true))}
