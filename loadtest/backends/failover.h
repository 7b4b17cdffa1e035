/*
 * Failing over to a double: a PostgreSQL standby or a Redis replica becomes a primary. Each
 * function returns when it is so, or says why not within its time.
 *
 * Redis replicates over TCP alone: a replica follows a relay (relay.h) that leads to the primary's
 * socket, and that can be stalled, so that it is behind when it takes over. A replica that is
 * merely stopped still gets what stands in its socket's buffer.
 *
 * Sources: PostgreSQL documentation, pg_promote, pg_stat_replication; Redis documentation,
 * REPLICAOF, "Redis replication", SENTINEL MONITOR.
 */
#ifndef SECKILL_LOADTEST_BACKENDS_FAILOVER_H
#define SECKILL_LOADTEST_BACKENDS_FAILOVER_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Waits until the standby that calls itself "standby" has replayed all that the primary has written
 * so far. `primary` as a superuser. */
bool failover_wait_standby(const char *primary, int64_t limit_us, struct error *error);
/* Commits wait for that standby from now on, or no longer. `primary` as a superuser. */
bool failover_set_synchronous(const char *primary, bool synchronous, struct error *error);
/* `standby` as a superuser. */
bool failover_promote_standby(const char *standby, int64_t limit_us, struct error *error);

/* `replica` is its URL, `port` of 127.0.0.1 where its primary is to be found; waits until it has
 * all of its data. `own_port` is where others find it, as it tells Sentinel. */
bool failover_follow(const char *replica, int own_port, int port, int64_t limit_us,
                     struct error *error);
bool failover_promote_replica(const char *replica, struct error *error);

/* Sentinel watches the primary at that port under this name, alone, and calls it down after so
 * long; waits until it has met a replica, which can take over from then on. */
bool failover_watch(const char *sentinel, const char *name, int port, int64_t down_after_ms,
                    int64_t limit_us, struct error *error);
/* Waits until Sentinel names another primary than that port. */
bool failover_wait_sentinel(const char *sentinel, const char *name, int port, int64_t limit_us,
                            struct error *error);

#endif
