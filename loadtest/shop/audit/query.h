/*
 * A question to the shop's books: SQL on PostgreSQL, or a command that prints JSON. Each has its
 * own deadline, a command also a bound on what it may say; an error names the question. Blocks.
 */
#ifndef SECKILL_LOADTEST_SHOP_QUERY_H
#define SECKILL_LOADTEST_SHOP_QUERY_H

#include "loadtest/shop/target.h"

#include <jansson.h>

enum { QUERY_LIMIT_MS = 60000, QUERY_BYTES_MAX = 16 << 20 };

/* `log` is the file that a command's stderr is added to. */
struct shop_asker {
    const struct target *target; /* borrowed */
    const char *log;             /* borrowed */
    int limit_ms;                /* of a command */
};

/* What it answered, as JSON, owned by the caller: of SQL an array of rows that are arrays of texts
 * and nulls. NULL with the error. */
json_t *query_ask(const struct shop_asker *asker, const char *name, const struct shop_query *query,
                  struct error *error);

/* The same when only its success counts. */
bool query_do(const struct shop_asker *asker, const char *name, const struct shop_query *query,
              struct error *error);

#endif
