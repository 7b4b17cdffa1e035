/*
 * The steps of the lock row, for pg_row.c itself and for the controls that leave one of them out.
 * Each is a statement that commits at once.
 */
#ifndef SECKILL_LOCK_PG_ROW_H
#define SECKILL_LOCK_PG_ROW_H

#include "lock/lock.h"
#include "postgres/pg.h"

/* Inserts the row, or else takes over an expired one, for `lease_ms`. PG_OK and *owned, or the
 * trouble. */
enum pg_status pg_row_try(struct lock_client *client, const struct lease *lease, int64_t lease_ms,
                          bool *owned);

/* The whole of acquire over one way to try. */
enum lock_result pg_row_acquire(struct lock_client *client, int64_t key, bool once,
                                int64_t until_us, struct lease *lease, int64_t lease_ms,
                                enum pg_status (*try)(struct lock_client *, const struct lease *,
                                                      int64_t lease_ms, bool *owned));
/* Deletes the row if it is still the lease's. */
enum lock_release pg_row_release(struct lock_client *client, struct lease *lease, int64_t until_us);

#endif
