/* What dispatch does besides orders: work for a session of PostgreSQL's, or too long for the edge.
 */
#ifndef SECKILL_DISPATCH_TASK_H
#define SECKILL_DISPATCH_TASK_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct pg;

/* A task's kind says for what it may wait: a look-up waits for no lock; an admin call may wait for
 * a product's row, or take long; a page of metrics waits for no backend. */
enum task_kind { TASK_LOOKUP, TASK_ADMIN, TASK_METRICS, TASK_KIND_COUNT };

/* Those of a kind take turns, so that many of one sort keep no other waiting. QUICK is what the
 * caller leaves; AGAIN is what waits to run again. */
enum task_turn { TURN_QUICK, TURN_WRITE, TURN_LONG, TURN_AGAIN, TURN_COUNT };

/* Work that needs a PostgreSQL session, or is too long for the edge's thread. `run` is called on a
 * pool thread with a connected session, or with NULL when PostgreSQL is out of reach (and `error`
 * says why) or the kind needs none (and `error` says nothing). A task that is still queued
 * at `wait_until_us` runs with NULL and `late`, maybe on the janitor's thread: it must not block
 * then. Both times are monotonic. */
struct task {
    struct task *next;
    enum task_kind kind;
    enum task_turn turn;
    bool again; /* `run` sets it: nothing has come of it, and it is to run again in a while. Still
                   set at its end: there was no room for it to wait */
    int64_t due_us; /* when it is to run again */
    bool late;
    bool owed; /* the end of what was accepted: taken while the server drains, too */
    void (*run)(struct task *task, struct pg *pg, struct error *error);
    int64_t wait_until_us; /* for a session, and for a product's row */
    int64_t until_us;      /* the end of its work */
};

#endif
