/*
 * How the harness's own programs reach PostgreSQL: the witness, the bench, and pgbench as a child.
 * None of them shows a password, in a message or in a command line.
 */
#ifndef SECKILL_LOADTEST_JUDGE_CONNECT_H
#define SECKILL_LOADTEST_JUDGE_CONNECT_H

#include "base/error.h"

#include <libpq-fe.h>

/* Of several hosts the one that is no standby; there must be one. Waits at most 10 s for the
 * connection and, but behind a pooler, 5 min for each statement. NULL with libpq's reason, less
 * what it quotes of a conninfo that it cannot read. Owned by the caller.
 */
PGconn *connect_open(const char *conninfo, const char *application, struct error *error);

/* For as long as the connection lasts. Not behind a pooler, which tells another process than the
 * one that serves, and would lend the session to others with it. */
void connect_set(PGconn *connection, const char *name, const char *value);

/* The schema of the servers' tables, and the role that asks; as identifiers. */
enum { CONNECT_IDENTIFIER_SIZE = 160 };
struct connect_place {
    char schema[CONNECT_IDENTIFIER_SIZE];
    char role[CONNECT_IDENTIFIER_SIZE];
};

/* In the schema that is named, as --schema takes it, or with the default name where the search_path
 * has the tables of a server that knew no --schema. They may still have to be made there. */
bool connect_find(PGconn *connection, const char *name, struct connect_place *out,
                  struct error *error);

/* Owned: `sql` with the schema in place of each "{schema}". Statements name it, because a
 * search_path would be lost in a pooler, or stay behind in it. NULL: out of memory. */
char *connect_qualify(const char *sql, const char *schema);

/* Asks for rows of the servers' tables; `sql` as connect_qualify takes it. NULL, with what somebody
 * has to do where a right or the tables are missing, unless it gave some. Owned by the caller. */
PGresult *connect_ask(PGconn *connection, const struct connect_place *place, const char *sql,
                      int count, const char *const *values, struct error *error);

/* Sets the error to the connection's own message, on one line. Always returns false. */
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
