/*
 * A task pool: a few threads, each with a PostgreSQL session, and one bounded queue. Look-ups have
 * one and admin calls another, so that PUTs that wait for a product's row, or long audits, stand in
 * the way of no look-up and no cancel, and none of them in an order's. Pages of metrics have one
 * without sessions: they are made while PostgreSQL is away.
 *
 * A task that is still queued when its time is over is taken out by tasks_expire, even while every
 * thread waits.
 */
#ifndef SECKILL_DISPATCH_TASKS_H
#define SECKILL_DISPATCH_TASKS_H

#include "dispatch/dispatch.h"

enum { TASKS_THREADS_MAX = 2, TASKS_CAPACITY = 4096 };

struct tasks;

/* How many threads, and so sessions, each pool has where the instance may open `pg_sessions`. */
int tasks_threads(int64_t pg_sessions);

/* `done` gets every task that has run. `store` NULL: the tasks need no session. */
struct tasks *tasks_create(struct store *store, int threads,
                           void (*done)(void *context, struct task *task), void *context);
bool tasks_put(struct tasks *tasks, struct task *task); /* false: full */
/* Runs every queued task whose time is over at `now_us`, as late. */
void tasks_expire(struct tasks *tasks, int64_t now_us);
/* Idle threads look whether somebody needs their session. */
void tasks_wake(struct tasks *tasks);
/* Finishes what is queued. NULL is allowed. */
void tasks_destroy(struct tasks *tasks);

#endif
