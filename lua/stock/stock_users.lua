-- Adds to what users hold, for a mirror that is being loaded.
-- KEYS: users. ARGV: ms that an unfinished load is kept, lines "user units".
for user, units in ARGV[2]:gmatch('(%d+) (%d+)\n') do redis.call('HINCRBY', KEYS[1], user, units) end
return redis.call('PEXPIRE', KEYS[1], ARGV[1])
