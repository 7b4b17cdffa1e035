-- Takes entries that nobody has let go of for long: of members that do not get on, and what is nobody's.
-- KEYS: the stream. ARGV: the consumer group, the consumer, ms that an entry may be as it is, how many at most
-- Answers as XCLAIM does: entries, [id, fields].
local time = redis.call('TIME')
local before = time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[3]
local old = redis.call('XRANGE', KEYS[1], '-', string.format('%.0f', before), 'COUNT', ARGV[4])
if #old == 0 then return {} end
local claim = {'XCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3]}
for i = 1, #old do claim[#claim + 1] = old[i][1] end
claim[#claim + 1] = 'FORCE'
return redis.call(unpack(claim))
