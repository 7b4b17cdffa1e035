/*
 * The bench's own session with PostgreSQL, for what it does there beside the sales: it empties
 * tables, switches log files and asks for checkpoints. Nothing of that is in what is installed.
 */
#ifndef SECKILL_BENCH_TOOLS_DATABASE_H
#define SECKILL_BENCH_TOOLS_DATABASE_H

#include "base/error.h"

#include <stddef.h>

struct database;

/* `conninfo` "": libpq's PG* variables; `schema`: witness_schema's, borrowed. NULL with the error
 * when it is out of reach. */
struct database *database_create(const char *conninfo, const char *schema, struct error *error);
void database_destroy(struct database *database);

/* Any statement, in which "{schema}" is the tables'; `out`, where it has a size, gets the first
 * field of its first row, or "". */
bool database_ask(struct database *database, const char *sql, char *out, size_t size,
                  struct error *error);

#endif
