/* wllock's Redis lock alone, as the library has it; lock_wllock gives it a deadline. */
#ifndef SECKILL_LOCK_WLLOCK_H
#define SECKILL_LOCK_WLLOCK_H

#include "lock/lock.h"

/* Spins for half of `left_ms`, in whole milliseconds, of which 0 means for ever; `until_us` ends it
 * all the same (the original has no such end). BUSY stands for every failure. */
enum lock_result wllock_spin(struct lock_client *client, int64_t key, int left_ms, int64_t until_us,
                             struct lease *lease);

#endif
