/*
 * A shop's ledger: what was asked and answered, a line of JSON each, written down before it is sent
 * and again when it is answered, and then what the books said; so it can be judged again without
 * the shop. docs/SHOPS.md has the format.
 */
#ifndef SECKILL_LOADTEST_SHOP_LOAD_SHOP_LEDGER_H
#define SECKILL_LOADTEST_SHOP_LOAD_SHOP_LEDGER_H

#include "loadtest/ledger/json_lines.h"
#include "loadtest/shop/claims/history.h"

/* Makes the file anew. NULL with the error when it cannot. */
struct json_lines *shop_ledger_create(const char *path, const struct target *target,
                                      struct error *error);

/* `number` is the purchase's place in the history. */
void shop_ledger_begin(struct json_lines *ledger, size_t number,
                       const struct shop_purchase *purchase);
void shop_ledger_end(struct json_lines *ledger, size_t number,
                     const struct shop_purchase *purchase);
void shop_ledger_books(struct json_lines *ledger, const struct shop_books *books);

#endif
