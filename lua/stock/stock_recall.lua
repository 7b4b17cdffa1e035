-- What became of a call of stock_reserve whose answer was lost. KEYS: the caller's last answer. ARGV: its number; "1":
-- what is found is written once more, so that a wait for this connection's writes covers it.
-- Answers as the call did; or {} when it has not run, or has undone what it did, and then it never will; or {6}: it has
-- begun and not come to its end, and nobody can tell what it did.
local last = redis.call('GET', KEYS[1]) or ''
if last == ARGV[1] .. ' ?' then return {6} end
local number, epoch, left, codes, entry = last:match('^(%d+) (%d+) (%-?%d+) (%d+) (%S+)$')
if number == ARGV[1] then
    if ARGV[2] == '1' then redis.call('SET', KEYS[1], last, 'PX', 600000) end
    return {0, tonumber(epoch), tonumber(left), codes, entry}
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', 600000)
return {}
