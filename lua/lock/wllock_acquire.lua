-- wllock's own: SETNX with an empty value and PEXPIRE, together. KEYS: lock. ARGV: lease in ms.
-- Answers 1 or 0. The empty value is why nobody can tell later whose lock it was.
if redis.call('SETNX', KEYS[1], '') == 1 then
    redis.call('PEXPIRE', KEYS[1], ARGV[1])
    return 1
end
return 0
