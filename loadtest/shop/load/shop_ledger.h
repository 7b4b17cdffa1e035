/*
 * A shop's ledger: what was asked and answered, a line of JSON each, written down before it is sent
 * and again when it is answered, and then what the books said; so it can be judged again without
 * the shop. docs/JUDGING.md says what is in it.
 */
#ifndef SECKILL_LOADTEST_SHOP_LOAD_SHOP_LEDGER_H
#define SECKILL_LOADTEST_SHOP_LOAD_SHOP_LEDGER_H

#include "loadtest/ledger/json_lines.h"
#include "loadtest/shop/claims/history.h"
#include "loadtest/shop/load/send_result.h"

/* 2: the books say how many orders they have, and what is told of the load stands there too. */
enum { SHOP_LEDGER_FORMAT = 2 };

/* How the load is made: told, and asked for by no claim. */
struct shop_load {
    int64_t connections, rate_per_s, seed;
};

/* Makes the file anew. NULL with the error when it cannot. */
struct json_lines *shop_ledger_create(const char *path, const struct target *target,
                                      const struct shop_load *load, struct error *error);

/* `number` is the purchase's place in the history. */
void shop_ledger_begin(struct json_lines *ledger, size_t number,
                       const struct shop_purchase *purchase);
void shop_ledger_end(struct json_lines *ledger, size_t number,
                     const struct shop_purchase *purchase);

/* The load is over. */
void shop_ledger_sent(struct json_lines *ledger, const struct send_result *sent);
/* The books, and the end: what has no end was cut off. */
void shop_ledger_books(struct json_lines *ledger, const struct shop_books *books);

#endif
