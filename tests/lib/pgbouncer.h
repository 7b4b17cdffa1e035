/*
 * A PgBouncer of a test's own, in transaction mode, in front of a PostgreSQL's unix socket.
 *
 * It listens on a unix socket in a folder of its own, so stack_database_through(conninfo, its
 * folder) leads through it. Root runs it as the user postgres. It ends with the test program, by
 * SIGKILL where nobody stops it. The program is the installed pgbouncer, or the one in
 * SECKILL_TEST_PGBOUNCER. Every function ends the test when it does not do as it is told; its log
 * is printed then.
 */
#ifndef SECKILL_TESTS_LIB_PGBOUNCER_H
#define SECKILL_TESTS_LIB_PGBOUNCER_H

#include <stdbool.h>

struct pgbouncer;

bool pgbouncer_is_there(void);
/* Skips the program (exit status 77) where there is none. */
void pgbouncer_need(void);
/* Whether it can keep named prepared statements apart: from 1.21 on. */
bool pgbouncer_can_keep_names(void);

/* `folder` holds PostgreSQL's socket; at most `pool` server sessions for each database and role.
 * With `names`, which it must be able to, it keeps named prepared statements apart. */
struct pgbouncer *pgbouncer_start(const char *folder, int pool, bool names);
void pgbouncer_stop(struct pgbouncer *bouncer); /* NULL is allowed */
/* The folder of its socket. */
const char *pgbouncer_folder(const struct pgbouncer *bouncer);
/* Changes that while it runs; where it cannot keep them, to false alone. */
void pgbouncer_keep_names(struct pgbouncer *bouncer, bool names);

#endif
