/* How the harness's own programs reach PostgreSQL. None of them shows a password. */
#ifndef SECKILL_LOADTEST_JUDGE_CONNECT_H
#define SECKILL_LOADTEST_JUDGE_CONNECT_H

#include "base/error.h"

#include <libpq-fe.h>
#include <stdint.h>

/* Of several hosts the one that is no standby; there must be one. Waits at most 10 s for the
 * connection and, but behind a pooler, 5 min for each statement. NULL with libpq's reason, less
 * what it quotes of a conninfo that it cannot read. Owned by the caller.
 */
PGconn *connect_open(const char *conninfo, const char *application, struct error *error);

/* A database with the servers' tables; schema and role as identifiers. */
enum { CONNECT_IDENTIFIER_SIZE = 160 };
struct tables {
    PGconn *connection; /* owned; NULL: there is none */
    char schema[CONNECT_IDENTIFIER_SIZE];
    char role[CONNECT_IDENTIFIER_SIZE];
};

/* As connect_open, to read: in the schema that is named, as --schema takes it, or with the default
 * name where the search_path has the tables of a server that knew no --schema. They may still have
 * to be made there. The caller ends the connection in either case. */
bool tables_open(struct tables *out, const char *conninfo, const char *application,
                 const char *schema, struct error *error);

/* Owned: `sql` with the schema in place of each "{schema}". Statements name it, because a
 * search_path would be lost in a pooler, or stay behind in it. */
char *connect_qualify(const char *sql, const char *schema);

/* Asks for rows; `sql` as connect_qualify takes it. NULL, with what somebody has to do where a
 * right or the tables are missing, unless it gave some. Owned by the caller. */
PGresult *tables_ask(const struct tables *tables, const char *sql, int count,
                     const char *const *values, struct error *error);
/* The same with numbers, of which there are TABLES_NUMBERS_MAX at the most; and one of the answer.
 */
enum { TABLES_NUMBERS_MAX = 3 };
PGresult *tables_ask_numbers(const struct tables *tables, const char *sql, int count,
                             const int64_t *numbers, struct error *error);
int64_t tables_number(const PGresult *result, int row, int column);

/* Sets the error to the connection's own message, on one line. Always returns false. */
bool connect_failed(const PGconn *connection, const char *what, struct error *error);

/* Whether libpq takes it for a connection string and not for the name of a database. */
bool connect_is_conninfo(const char *text);
/* NULL when libpq cannot read it; the error then has nothing of what it quotes. Owned by
 * the caller. */
PQconninfoOption *connect_parse(const char *conninfo, struct error *error);

#endif
