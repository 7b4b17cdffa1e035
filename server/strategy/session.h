/*
 * A worker's session: its connections, the time its present work may take, and the lock it holds.
 * It belongs to one thread.
 */
#ifndef SECKILL_STRATEGY_SESSION_H
#define SECKILL_STRATEGY_SESSION_H

#include "lock/lock.h"
#include "postgres/pg.h"
#include "strategy/cost_accounting.h"
#include "strategy/strategy.h"

struct session {
    const struct services *services; /* borrowed: app */
    void *with[BACKEND_COUNT];       /* owned: a session of each backend; NULL when there is none */
    struct pg *pg;                   /* these three are of `with`, too */
    struct redis *redis;
    struct redis *stock;
    void *instance;         /* borrowed: of the strategy that sells now (its start) */
    int64_t work_until_us;  /* the end of the work that has begun */
    int64_t stall_until_us; /* it stands still in its work until then; 0: it does not */
    int64_t lock_most_ms;   /* the longest wait for one lock */
    bool has_row; /* the product's row is locked: what is waited for now is the order's own */
    struct early {
        bool marked;     /* what commits now is released early, and its sales are marked */
        unsigned ticket; /* of the flusher, for what is read and committed now; 0: none */
        unsigned opened; /* of `pg`, when it was given */
    } early;             /* early release (sale/flusher.h) */
    struct hold {
        bool held;
        bool abandoned; /* a lost COMMIT outlasted it, or is unknown: the lease ends it */
        struct lease lease;
        int64_t fence;         /* registered once a hold; 0: not yet */
        unsigned fence_opened; /* pg_opened then: a crash may have taken it back since */
        int64_t since_us;
    } hold;
    enum cost_outcome cost_outcome; /* how the last batch ended: its release is charged to that */
};

struct session *session_create(const struct services *services);
void session_destroy(struct session *session); /* NULL is allowed */

/* Makes sure of a connection with each of `needs`. False: `error` says why, or is ERROR_NONE where
 * that has been logged. */
bool session_connect(struct session *session, unsigned needs, int64_t until_us,
                     struct error *error);

/* Work begins that may take --work-timeout-ms. */
void session_begin_work(struct session *session);

/* What the session's lock calls go through. */
struct lock_client session_lock_client(const struct session *session);

/* Did the renewer lose the lease under the work? Looked at before a write; it narrows the window
 * and does not close it. */
bool session_lease_lost(const struct session *session);

/* --work-ms keeps the strategy's protection for that much longer, and a stall until its end; called
 * once between decision and write. */
void session_work_pause(const struct session *session);

#endif
