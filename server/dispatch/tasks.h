/*
 * The task pool: a few threads, each with a PostgreSQL session, and one bounded queue of reads and
 * admin calls. A long PUT or audit does not stand in an order's way, nor an order in theirs.
 */
#ifndef SECKILL_DISPATCH_TASKS_H
#define SECKILL_DISPATCH_TASKS_H

#include "dispatch/dispatch.h"

enum { TASKS_THREADS = 2, TASKS_CAPACITY = 4096 };

struct tasks;

struct tasks *tasks_create(struct store *store, void (*done)(void *context, struct task *task),
                           void *context);
bool tasks_put(struct tasks *tasks, struct task *task); /* false: full */
/* Finishes what is queued. NULL is allowed. */
void tasks_destroy(struct tasks *tasks);

#endif
