/*
 * PostgreSQL clusters of a test's own: for what the stack's, which all tests of a build share, must
 * not go through. A standby that stops or falls behind, a failover, a server that is started with
 * other settings or goes read-only, many databases.
 *
 * A test program makes one with initdb, once; further ones are copies. Each listens on a unix
 * socket in a folder of its own, trusts whoever reaches it, and has the role and the database
 * `seckill`, as the stack's has. fsync is on, so that it counts as durable. Root runs them as the
 * user postgres. They end with the test program, by SIGQUIT where nobody stops them. Every function
 * ends the test when PostgreSQL does not do as it is told; a log is printed then.
 *
 * Not with the stack: a program that uses only this needs no backed test, though servers that it
 * starts want a --redis or NULL (server.h).
 */
#ifndef SECKILL_TESTS_LIB_POSTGRES_H
#define SECKILL_TESTS_LIB_POSTGRES_H

#include "lib/witness.h"

#include <stdbool.h>
#include <sys/types.h>

struct postgres;

/* A running primary. `settings` are names and values in turn, NULL at the end or for none:
 * {"max_connections", "30", NULL}. */
struct postgres *postgres_create(const char *const settings[]);
/* A running, streaming standby of it. `name` is its application_name, which the primary's
 * synchronous_standby_names may name; letters and digits alone. */
struct postgres *postgres_standby(struct postgres *primary, const char *name);

/* One that does not run becomes such a standby of another primary, in its old place. */
void postgres_rejoin(struct postgres *postgres, struct postgres *primary, const char *name);

/* Owned by the cluster; a role and a database of it that may be NULL, for seckill. */
const char *postgres_conninfo(struct postgres *postgres, const char *user, const char *database);
/* For seckill, of both hosts, the first one first. Good until the next call. */
const char *postgres_both(const struct postgres *first, const struct postgres *second);
/* The folder of its socket. */
const char *postgres_folder(const struct postgres *postgres);

/* A fast shutdown, then the same cluster again, with the settings that it had. */
void postgres_stop(struct postgres *postgres);
void postgres_start(struct postgres *postgres);
/* SIGKILL for all of its processes: a crash. postgres_start recovers. */
void postgres_kill(struct postgres *postgres);
/* What `pg_ctl stop -m immediate` does: every process ends at once, and postgres_start recovers. */
void postgres_quit(struct postgres *postgres);
/* From its next start on it is a standby without a primary: it can be read from, not written to,
 * until postgres_promote. */
void postgres_demote(struct postgres *postgres);
/* A standby becomes a primary; waits until it can be written to. */
void postgres_promote(struct postgres *postgres);

/* SIGSTOP and SIGCONT for each of its processes: connections stay, nothing answers. */
void postgres_pause(struct postgres *postgres);
void postgres_resume(struct postgres *postgres);

/* As superuser. ALTER SYSTEM, and waits until new sessions have it; NULL resets it. Neither waits
 * for a standby. */
void postgres_set(struct postgres *postgres, const char *name, const char *value);
/* Plain SQL in a database, NULL for seckill. */
void postgres_run(struct postgres *postgres, const char *database, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For cmocka, as a teardown: ends and deletes every cluster; what they are copied from stays until
 * the program's end. */
int postgres_teardown(void **state);

#endif
