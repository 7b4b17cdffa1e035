-- What became of a call of stock_reserve whose answer was lost. KEYS: the caller's last answer. ARGV: its number.
-- Answers as the call did; or {} when it has not run, and then it never will.
local last = redis.call('GET', KEYS[1]) or ''
local number, epoch, left, codes, entry = last:match('^(%d+) (%d+) (%-?%d+) (%d+) (%S+)$')
if number == ARGV[1] then return {0, tonumber(epoch), tonumber(left), codes, entry} end
redis.call('SET', KEYS[1], ARGV[1], 'PX', 600000)
return {}
