-- Asks whether this Redis does what the strategies need, and writes nothing but KEYS[2], once: each command is tried so
-- that it changes nothing, on a key that does not exist or has another type. SET is refused by a Redis that takes no
-- writes or has no memory left.
-- KEYS: one that does not exist; a hash for this. ARGV: locks, redlock or stock; PUBLISH or SPUBLISH.
-- Answers "", or which commands its user may not use or it does not have, and its words.
local absent, hash = KEYS[1], KEYS[2]
local needs = {
    redlock = {{'GET', absent}, {'DEL', absent}, {'PEXPIRE', absent, 1}},
    locks = {
        {'GET', absent}, {'DEL', absent}, {'PEXPIRE', absent, 1}, {'PTTL', absent}, {'EXISTS', absent}, {'TIME'},
        {'SETNX', hash, ''}, {'GETSET', hash, ''}, {'INCR', hash}, {'HEXISTS', hash, ''}, {'HINCRBY', hash, '', 1},
        {'RPUSH', hash, ''}, {'BLPOP', hash, 0}, {'ZADD', hash, 1, ''}, {'ZREM', hash, ''}, {'ZRANGE', hash, 0, 0},
        {'ZSCORE', hash, ''}, {'ZPOPMIN', hash}, {ARGV[2], absent, ''},
    },
    stock = {
        {'GET', absent}, {'DEL', absent}, {'UNLINK', absent}, {'PEXPIRE', absent, 1}, {'PERSIST', absent},
        {'EXISTS', absent}, {'TIME'}, {'HGET', hash, ''}, {'HMGET', hash, ''}, {'HEXISTS', hash, ''}, {'HLEN', hash},
        {'HSCAN', hash, 0}, {'HDEL', absent, ''}, {'HSETNX', hash, '', ''}, {'HINCRBY', hash, '', 1},
        {'SADD', hash, ''}, {'SREM', hash, ''}, {'SSCAN', hash, 0}, {'XADD', hash, '*', '', ''},
        {'XACK', hash, 'g', '0-0'}, {'XDEL', hash, '0-0'}, {'XLEN', hash}, {'XRANGE', hash, '-', '+'},
        {'XCLAIM', hash, 'g', 'c', 0, '0-0'}, {'XGROUP', 'CREATE', hash, 'g', '0'},
        {'XREADGROUP', 'GROUP', 'g', 'c', 'STREAMS', hash, '0'},
    },
}
local refused, words = {}, nil

-- Its words where it is the command that is refused, and not what it was to be done to.
local function why(answer)
    local err = type(answer) == 'table' and answer.err
    for _, other in ipairs({'WRONGTYPE', 'not an integer', 'NOGROUP', 'the key to exist', 'allowed from script'}) do
        if err and err:find(other, 1, true) then return nil end
    end
    return err
end

local function try(command)
    local err = why(redis.pcall(unpack(command)))
    if not err then return true end
    refused[#refused + 1] = command[1]
    words = words or err
    return false
end

if not try({'SET', absent, '', 'XX'}) then
    local of_user = words:find('no permissions', 1, true) or words:find('executing the script', 1, true)
    if not of_user and not words:find('Unknown', 1, true) then return {err = words} end
end
if redis.pcall('HGET', hash, '') == 'x' or try({'HSET', hash, '', 'x'}) then
    for _, command in ipairs(needs[ARGV[1]]) do try(command) end
end
return words and table.concat(refused, ', ') .. ' refused: ' .. words or ''
