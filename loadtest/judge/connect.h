/*
 * How the harness's own programs reach PostgreSQL: the witness, the bench, and pgbench as a child.
 * None of them shows a password, in a message or in a command line.
 */
#ifndef SECKILL_LOADTEST_JUDGE_CONNECT_H
#define SECKILL_LOADTEST_JUDGE_CONNECT_H

#include "base/error.h"

#include <libpq-fe.h>

/* Waits at most 10 s for the connection and, but behind a pooler, 5 min for each statement. NULL
 * with libpq's reason, less what it quotes of a conninfo that it cannot read. Owned by the caller.
 */
PGconn *connect_open(const char *conninfo, const char *application, struct error *error);

/* For as long as the connection lasts. Not behind a pooler, which tells another process than the
 * one that serves, and would lend the session to others with it. */
void connect_set(PGconn *connection, const char *name, const char *value);

/* What is wrong with the connection, on one line. Always returns false. */
bool connect_failed(const PGconn *connection, const char *what, struct error *error);

enum { CONNECT_VARIABLES_MAX = 64 };

/* The conninfo as variables for a child's environment: NAME=VALUE, NULL at the end. */
struct connect_environment {
    char *texts[CONNECT_VARIABLES_MAX + 1]; /* owned */
};

/* False when libpq cannot read it, or it has a password for a key file, which no variable takes.
 * What no variable takes else (keepalives, the program's name) is left out. */
bool connect_list(struct connect_environment *out, const char *conninfo, struct error *error);
void connect_drop(struct connect_environment *environment);

#endif
