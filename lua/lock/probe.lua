-- Asks whether scripts may run and write here, and writes nothing: SET is refused by a Redis that takes no writes or
-- has no memory left, and with XX does nothing where there is no such key, to disk and replicas neither.
-- KEYS: one that does not exist
return redis.call('SET', KEYS[1], '', 'XX') and 1 or 0
