-- Takes entries that nobody has let go of for long: of members that do not get on, and what is nobody's.
-- KEYS: the stream. ARGV: the consumer group, the consumer, ms that an entry may be as it is, how many to look at,
-- from where on ("-": the first), and two numbers between which the epochs of this database's sales are: what is of
-- another one's is left to its own members
-- Answers from where on to look next ("": there is no more that is old enough), the age of the stream's first entry in
-- ms (-1: it has none), as XCLAIM does the entries taken, [id, fields], and how many were left.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
local age = first and math.max(now - tonumber(first[1]:match('^%d+')), 0) or -1
local old = redis.call('XRANGE', KEYS[1], ARGV[5], string.format('%.0f', now - ARGV[3]), 'COUNT', ARGV[4])
local claim, left = {'XCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3]}, 0
for i = 1, #old do
    local epoch = tonumber(old[i][2][4]) -- none: it cannot be read, and somebody has to drop it
    if not epoch or epoch > tonumber(ARGV[6]) and epoch < tonumber(ARGV[7]) then
        claim[#claim + 1] = old[i][1]
    else
        left = left + 1
    end
end
local taken = {}
if #claim > 5 then
    claim[#claim + 1] = 'FORCE'
    taken = redis.call(unpack(claim))
end
return {#old < tonumber(ARGV[4]) and '' or '(' .. old[#old][1], age, taken, left}
