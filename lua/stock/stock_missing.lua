-- Which of these entries wait no more: they are neither in `waiting` nor, where somebody else has written, in the stream.
-- KEYS: the stream, waiting. ARGV: the group of an entry's ids, and the entry; and the next.
-- Answers their numbers, from 0 on.
local missing = {}
for i = 1, #ARGV, 2 do
    local entry = ARGV[i + 1]
    if redis.call('HEXISTS', KEYS[2], ARGV[i]) == 0 and #redis.call('XRANGE', KEYS[1], entry, entry) == 0 then
        missing[#missing + 1] = (i - 1) / 2
    end
end
return missing
