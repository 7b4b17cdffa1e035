/*
 * A task pool: a few threads, each with a PostgreSQL session, and bounded queues.
 *
 * Look-ups and admin calls have a pool each, so that PUTs that wait for a product's row, or long
 * audits, delay no look-up and no cancel; and neither delays an order. Pages of metrics have a pool
 * without sessions: they are made while PostgreSQL is away.
 *
 * What waits for something that others do, a row or an order's decision, stands in no thread: it
 * looks, and comes again in a while, the later the more of them there are. Look-ups, writes, long
 * pages and what comes again take turns; of the last two one thread is always free, if there are
 * two.
 *
 * Failure modes:
 * - Too many wait to come again: the next one ends with what it has found.
 * - A task is still queued when its time is over: tasks_expire takes it out, even while every
 *   thread is busy.
 * - PostgreSQL allows no more sessions: a thread asks until the task's time is over, and a worker
 *   closes its session for it.
 */
#ifndef SECKILL_DISPATCH_TASKS_H
#define SECKILL_DISPATCH_TASKS_H

#include "dispatch/task.h"

enum { TASKS_THREADS_MAX = 2, TASKS_CAPACITY = 4096, TASKS_AGAIN_MAX = 1024 };

struct store;
struct tasks;

/* How many threads, and so sessions, each pool has where the instance may open `pg_sessions`. */
int tasks_threads(int64_t pg_sessions);

/* `done` gets every task that has run. `store` NULL: the tasks need no session. */
struct tasks *tasks_create(struct store *store, int threads,
                           void (*done)(void *context, struct task *task), void *context);
bool tasks_put(struct tasks *tasks, struct task *task); /* false: full */
/* Runs every queued task whose time is over at `now_us`, as late. */
void tasks_expire(struct tasks *tasks, int64_t now_us);
/* Wakes idle threads, which close their sessions if another thread needs one. */
void tasks_wake(struct tasks *tasks);
/* Finishes what is queued. NULL is allowed. */
void tasks_destroy(struct tasks *tasks);

#endif
