-- What became of a call of stock_reserve whose answer was lost. KEYS: the caller's last answer. ARGV: its number.
-- Answers as the call did; or {} when it has not run, and then it never will.
local last = redis.call('GET', KEYS[1])
local number, answer = (last or ''):match('^(%d+)(.*)$')
local numbers = {}
if number ~= ARGV[1] then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', 600000)
else
    for n in answer:gmatch('%S+') do numbers[#numbers + 1] = tonumber(n) end
end
return numbers
