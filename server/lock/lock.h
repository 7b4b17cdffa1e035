/*
 * A lock between instances: the contract.
 *
 * acquire waits until `until_us` at most (with `once`: not at all) and answers OWNED, BUSY (the
 * time is over; the lock is not ours and we stand in no queue), or UNKNOWN (the lock's store
 * failed; what could be given back was, and the lease ends the rest). OWNED fills `lease`. Only
 * OWNED may be followed by work.
 *
 * release comes after the commit, always, and never after an unknown one: then the lease ends it.
 * NOT_OWNER means that the lease had lapsed, so some of the work ran unprotected; the caller counts
 * it.
 *
 * A lease is a promise that a paused process cannot keep (Kleppmann, "How to do distributed
 * locking", 2016): `lost` narrows the window, a fence in the database closes it.
 */
#ifndef SECKILL_LOCK_LOCK_H
#define SECKILL_LOCK_LOCK_H

#include "base/random.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pg;
struct redis;
struct renewer;
struct settings;

enum lock_result { LOCK_OWNED, LOCK_BUSY, LOCK_UNKNOWN };
enum lock_release { LOCK_RELEASED, LOCK_NOT_OWNER, LOCK_RELEASE_UNKNOWN };

struct lease {
    int64_t key; /* what is locked: a product's id */
    char token[RANDOM_TOKEN_LENGTH + 1];
    _Atomic int64_t valid_until_us; /* monotonic, from before the request was sent */
    atomic_bool lost;               /* set by the renewer; never cleared */
    struct lease *next;             /* the renewer's list */
};

/* What a worker's lock calls go through; the worker's own, like everything in it. */
struct lock_client {
    struct redis *redis;             /* borrowed */
    struct renewer *renewer;         /* borrowed: app */
    const struct settings *settings; /* borrowed: app */
    struct pg *pg;                   /* borrowed; outside any transaction */
};

struct lock {
    const char *name;
    enum lock_result (*acquire)(struct lock_client *client, int64_t key, bool once,
                                int64_t until_us, struct lease *lease);
    enum lock_release (*release)(struct lock_client *client, struct lease *lease, int64_t until_us);
};

/* False once the lease was lost or its time is over by our own clock. */
bool lease_holds(const struct lease *lease);

extern const struct lock lock_redis_fair; /* redis_fair.c */
extern const struct lock lock_pg_row;     /* pg_row.c */

#endif
