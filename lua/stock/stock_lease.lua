-- Whose this Redis is under this name: each instance has a lease here, "until mark", and takes none while an instance of
-- another database has one.
-- KEYS: leases, streams. ARGV: the instance, its database's mark, with its number of streams where it has several ("": it
-- gives its lease back), ms that a lease lasts
-- Answers {"", or the mark of another database that has a lease; how many streams were used last}.
local time = redis.call('TIME')
local now, lasts = time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[3])
local all = redis.call('HSCAN', KEYS[1], 0, 'COUNT', 1000)[2]
local other, left = nil, 0
for i = 1, #all, 2 do
    local ends, mark = all[i + 1]:match('^(%d+) (.+)$')
    local ms = (ends or now) - now
    -- One that lasts longer was given by a clock that was set back since.
    if ms <= 0 or ms > lasts or (all[i] == ARGV[1] and mark ~= ARGV[2]) then redis.call('HDEL', KEYS[1], all[i])
    elseif all[i] == ARGV[1] then left = ms
    elseif mark ~= ARGV[2] then other = mark end
end
if ARGV[2] == '' then return {} end
if other then
    redis.call('HDEL', KEYS[1], ARGV[1])
elseif left < lasts / 2 then -- not at each look: it is a write
    redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f %s', now + lasts, ARGV[2]))
    redis.call('PEXPIRE', KEYS[1], lasts)
end
return {other or '', redis.call('GET', KEYS[2]) or '1'}
