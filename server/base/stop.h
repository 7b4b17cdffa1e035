/*
 * Stopping: SIGTERM and SIGINT, counted.
 *
 * The first one asks for an orderly end. The second one, the first one while the status is 0 (there
 * is nothing to lose, as during the start), or stop_soon, gives that end STOP_GRACE_US: then the
 * process exits, whatever its threads still wait for. What they have
 * committed is committed, and what they have not is not, as after a crash; locks elsewhere end with
 * their leases.
 *
 * All of it lasts as long as the process, so a signal may come at any time, also while everything
 * else is taken down.
 */
#ifndef SECKILL_BASE_STOP_H
#define SECKILL_BASE_STOP_H

#include "base/error.h"

#include <stdbool.h>

#define STOP_GRACE_US 500000

/* From now on both signals are counted. Once, from the main thread. */
bool stop_begin(struct error *error);

/* Readable after the first signal; -1 before stop_begin. */
int stop_fd(void);

/* Signals that have come. */
int stop_count(void);

/* As the second signal. Async-signal-safe. */
void stop_soon(void);

/* What the process exits with when its grace is over; 1 until this is called. */
void stop_set_status(int status);

#endif
