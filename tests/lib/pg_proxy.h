/*
 * A relay (loadtest/relay/relay.h) in front of PostgreSQL's unix socket that is unkind at a chosen
 * moment: when a session is about to execute a named prepared statement (the server's statements
 * are prepared under their names in sql/statements.sql), or one without a name that begins with a
 * chosen text, or sends plain SQL with that text in it.
 *
 * Point a server at it with stack_database_through(conninfo, its folder).
 */
#ifndef SECKILL_TESTS_LIB_PG_PROXY_H
#define SECKILL_TESTS_LIB_PG_PROXY_H

#include <stdbool.h>
#include <stdint.h>

struct pg_proxy;

enum pg_fault {
    PG_FAULT_LOSE_REQUEST, /* it never reaches PostgreSQL; both sides see the connection end */
    PG_FAULT_LOSE_REPLY,   /* PostgreSQL does it all; then both sides see the connection end */
    PG_FAULT_DELAY, /* the client sees the connection end; PostgreSQL gets it at pg_proxy_release */
    PG_FAULT_HOLD   /* nobody sees anything; PostgreSQL gets it at pg_proxy_release */
};

/* Makes a folder of its own with a socket in it. `folder` holds the real one. */
struct pg_proxy *pg_proxy_create(const char *folder);
void pg_proxy_destroy(struct pg_proxy *proxy); /* NULL is allowed */
const char *pg_proxy_folder(const struct pg_proxy *proxy);
/* What it has read so far, from both sides. */
int64_t pg_proxy_bytes(struct pg_proxy *proxy);

/* From now on every call takes so much longer. */
void pg_proxy_far_away(struct pg_proxy *proxy, int64_t round_trip_us);

/* The next time a session binds `statement`, once, when `passing` have been let through. */
void pg_proxy_arm_later(struct pg_proxy *proxy, const char *statement, int passing,
                        enum pg_fault fault);
static inline void pg_proxy_arm(struct pg_proxy *proxy, const char *statement, enum pg_fault fault)
{
    pg_proxy_arm_later(proxy, statement, 0, fault);
}
/* Waits until that has happened; not happening ends the test. */
void pg_proxy_wait_fault(struct pg_proxy *proxy);
/* Whether it has. */
bool pg_proxy_has_bitten(struct pg_proxy *proxy);
/* Lets go of what PG_FAULT_DELAY and PG_FAULT_HOLD keep. */
void pg_proxy_release(struct pg_proxy *proxy);
/* Waits until PostgreSQL has answered what was released. */
void pg_proxy_wait_answered(struct pg_proxy *proxy);
/* After a fault that is armed from now on new sessions are turned away, until this is said again
 * with false. */
void pg_proxy_refuse_after_fault(struct pg_proxy *proxy, bool refuse);

#endif
