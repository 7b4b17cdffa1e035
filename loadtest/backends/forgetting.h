/*
 * What a Redis forgets by itself: the newest writes, in a crash before they were synced, and keys
 * that it evicts for want of memory.
 *
 * A process that is killed loses nothing of what it has written to a file: the kernel has it. What
 * a machine without power loses is the file's unsynced end, so that is cut off here: a mark is set,
 * at most as long before the crash as `appendfsync` leaves between two syncs, and all behind it
 * goes.
 *
 * Sources: Redis documentation, "Redis persistence" (append-only file, appendfsync), "Key
 * eviction"; redis-server's multi-part append-only file.
 */
#ifndef SECKILL_LOADTEST_BACKENDS_FORGETTING_H
#define SECKILL_LOADTEST_BACKENDS_FORGETTING_H

#include "loadtest/backends/backends.h"

/* "always", "everysec", "no", from now on. The stock's Redis has "always" when it is started, and
 * again after each restart. */
bool forgetting_set_sync(const char *redis, const char *appendfsync, struct error *error);

struct forgetting_mark {
    char path[1200]; /* of the file that is appended to */
    int64_t bytes;   /* its length */
    int64_t at_us;
};

/* `redis` is the URL of a server with an append-only file, on this machine. */
bool forgetting_mark(struct forgetting_mark *mark, const char *redis, struct error *error);
/* Kills that server, cuts off what it has written since the mark, starts it again: `lost_bytes`, 0
 * when the fault has not bitten. Refuses when more time has passed than the setting leaves
 * unsynced: a second with "everysec", half a minute with "no", nothing with "always". */
bool forgetting_crash(struct backends *backends, const char *server, const char *redis,
                      const struct forgetting_mark *mark, int64_t *lost_bytes, struct error *error);

/* Has a Redis evict until `keys` are gone or none is left that `policy` ("allkeys-random",
 * "volatile-ttl" …) lets it take, within a second, and gives it its memory back. `evicted`: how
 * many went; 0 when the fault has not bitten. Meanwhile it refuses whoever writes. */
bool forgetting_evict(const char *redis, const char *policy, int64_t keys, int64_t *evicted,
                      struct error *error);

#endif
