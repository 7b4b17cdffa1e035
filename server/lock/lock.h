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
 * A lock is shared and has no state of its own. A client (a worker's connections) and a lease
 * belong to one thread; only the lease's atomics are written by the thread that renews it.
 *
 * A lease is a promise that a paused process cannot keep (Kleppmann, "How to do distributed
 * locking", 2016): `lost` narrows the window, a fence in the database closes it.
 */
#ifndef SECKILL_LOCK_LOCK_H
#define SECKILL_LOCK_LOCK_H

#include "base/random/random.h"
#include "redis/redis.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pg;
struct renewer;
struct settings;

enum lock_result { LOCK_OWNED, LOCK_BUSY, LOCK_UNKNOWN };
enum lock_release { LOCK_RELEASED, LOCK_NOT_OWNER, LOCK_RELEASE_UNKNOWN };

enum { LOCK_NAME_MAX = 191 };

struct lease {
    int64_t key;                  /* what is locked: a product's id */
    char name[LOCK_NAME_MAX + 1]; /* and its name in the lock's store */
    char token[RANDOM_TOKEN_LENGTH + 1];
    _Atomic int64_t valid_until_us; /* monotonic, from before the request was sent */
    atomic_bool lost;               /* set by the renewer; never cleared */
    enum lua renewal;               /* the renewer's script: KEYS name, ARGV token, ms; 1 or 0 */
    int64_t renew_until_us;         /* the renewer lets it run out then */
    int64_t retry_us;               /* and tries it no sooner; the renewer's */
    void (*on_lost)(void *context); /* NULL, or called once by the renewer when it marks it lost */
    void *on_lost_context;
    struct lease *next; /* the renewer's list */
};

/* The connections that a worker's lock calls use; all of it belongs to the worker. */
struct lock_client {
    struct redis *redis;             /* borrowed */
    struct renewer *renewer;         /* borrowed: app */
    const struct settings *settings; /* borrowed: app */
    struct pg *pg;                   /* borrowed; outside any transaction */
    void *const *sessions;           /* borrowed: with each backend, by its id (backend.h) */
};

struct lock {
    const char *name;
    /* Of a lock that is polled for: once, without waiting. valid_until_us is set before, for a
     * whole lease from then. NULL: it has an `acquire` of its own. */
    enum lock_result (*attempt)(struct lock_client *client, struct lease *lease);
    int64_t pause_us; /* between attempts; 0: jitter under a growing bound */
    enum lock_result (*acquire)(struct lock_client *client, int64_t key, bool once,
                                int64_t until_us, struct lease *lease);
    enum lock_release (*release)(struct lock_client *client, struct lease *lease, int64_t until_us);
    /* For a reentrant lock, else NULL: once more by the same owner, without waiting; each must be
     * released. */
    enum lock_result (*reenter)(struct lock_client *client, struct lease *lease);
    /* Instead of a release, after an unknown commit: leaves the lock to its lease. NULL when it
     * ends by itself. */
    void (*abandon)(struct lock_client *client, struct lease *lease);
    /* Why the store failed, after UNKNOWN; NULL when the session in Redis or PostgreSQL says it. */
    const char *(*why)(const struct lock_client *client);
};

/* False once the lease was lost or its time is over by our own clock. */
bool lease_holds(const struct lease *lease);

/* Acquires: polls with the lock's attempt, or lets it wait in its own way. */
enum lock_result lock_acquire(const struct lock *lock, struct lock_client *client, int64_t key,
                              bool once, int64_t until_us, struct lease *lease);

/* For the files of locks: a new lease with the name SYSTEM:lock:LOCK:KEY, so that no lock meets
 * another one's format, and a new token. */
void lease_begin(struct lock_client *client, const struct lock *lock, int64_t key,
                 struct lease *lease);

/* Each in the file of its name. Between instances that use different ones nobody is excluded. */
extern const struct lock lock_memcached;
extern const struct lock lock_pg_row;
extern const struct lock lock_redis_expiry;
extern const struct lock lock_redis_fair;
extern const struct lock lock_redis_getset;
extern const struct lock lock_redis_reentrant;
extern const struct lock lock_redis_setnx;
extern const struct lock lock_redis_token;
extern const struct lock lock_redis_uuid;
extern const struct lock lock_redis_watchdog;
extern const struct lock lock_redlock;
extern const struct lock lock_wllock;
extern const struct lock lock_zookeeper;
#ifdef SECKILL_FAILPOINTS
extern const struct lock lock_control_setnx_no_expiry;
extern const struct lock lock_control_watchdog_explicit_lease;
#endif

#endif
