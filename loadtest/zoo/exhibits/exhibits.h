/*
 * The exhibits: for each strategy that lacks a letter of its promise, the shortest interleaving
 * that breaks it, and the same with one that keeps it. They are data: buyers, and numbered steps of
 * what one of them sends together and waits for, as the server does.
 */
#ifndef SECKILL_LOADTEST_ZOO_EXHIBITS_EXHIBITS_H
#define SECKILL_LOADTEST_ZOO_EXHIBITS_EXHIBITS_H

#include "loadtest/zoo/verbs.h"

#include <stdbool.h>
#include <stddef.h>

enum { ZOO_BUYERS = 3, ZOO_STEP_VERBS = 9, ZOO_STEPS = 16 };
enum zoo_column { A, B, C };

/* What a buyer is told, or what goes on: shown as it stands. */
struct zoo_step {
    enum zoo_column who;
    enum zoo_verb verbs[ZOO_STEP_VERBS + 1];
    /* One of these waits for another buyer's lock; the rest comes when it is resumed. */
    bool waits;
    bool resumes; /* the step that waits ends, and what it has left is done */
    const char *note;
    /* "201", "202 queued": the buyer is told yes, and must have been sold something. Anything else
     * is a no, and it must not. */
    const char *answer;
};

/* How an act has to end. */
enum zoo_end {
    ZOO_KEPT,     /* sold what was told, and no more than there was */
    ZOO_OVERSOLD, /* more units than there were */
    ZOO_LOST,     /* somebody was told yes, and has no order */
    ZOO_STUCK     /* nobody was sold anything, and the lock has no lease */
};

struct zoo_act {
    const char *strategy;
    const char *story; /* what happens, in a sentence or two */
    int stock, buyers;
    enum zoo_end end;
    size_t count;
    const struct zoo_step *steps;
};

/* Besides PostgreSQL. */
enum zoo_need {
    ZOO_NEEDS_REDIS = 1,
    ZOO_NEEDS_REDLOCK = 2,
    ZOO_NEEDS_MEMCACHED = 4,
    ZOO_NEEDS_ZOOKEEPER = 8
};

struct zoo_exhibit {
    const char *title;
    unsigned needs;
    struct zoo_act unsafe; /* its strategy is the exhibit's name */
    const struct zoo_act *safe;
};

#define ZOO_STEPS_OF(array) .count = sizeof(array) / sizeof(array)[0], .steps = (array)

/* In the order of the strategies' tables. */
extern const struct zoo_exhibit *const zoo_exhibits[];
extern const size_t zoo_exhibits_count;

const struct zoo_exhibit *zoo_find(const char *name); /* NULL: there is none */

extern const struct zoo_exhibit zoo_none, zoo_local_lock, zoo_lock_row, zoo_redis_setnx,
    zoo_redis_getset, zoo_redis_expiry, zoo_redis_uuid, zoo_redis_token, zoo_redis_reentrant,
    zoo_redis_watchdog, zoo_redlock, zoo_wllock, zoo_memcached_lock, zoo_zookeeper_lock,
    zoo_redis_stock;

/* The same buyers with a fencing token: one is paused and wakes between the other's read and its
 * write (redis_locks.c). */
extern const struct zoo_act zoo_fenced_paused;

#endif
