-- Adds units to a mirror that is still of this generation; a user's units go back with it ("": nobody's).
-- KEYS: mirror. ARGV: prefix, product, generation, units, user. Answers 1, or 0: another generation, or not loaded.
-- The stock comes last: where the script fails before, the mirror shows too little, which the reconciler finds.
if redis.call('HGET', KEYS[1], 'generation') ~= ARGV[3] then return 0 end
local users = ARGV[1] .. ':users:' .. ARGV[2] .. ':' .. ARGV[3]
if ARGV[5] ~= '' and redis.call('EXISTS', users) == 1 then
    redis.call('HINCRBY', users, ARGV[5], -ARGV[4])
end
redis.call('HINCRBY', KEYS[1], 'stock', ARGV[4])
return 1
