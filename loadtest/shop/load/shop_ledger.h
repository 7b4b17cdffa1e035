/*
 * A shop's ledger: what was asked and answered, a line of JSON each, written down before it is sent
 * and again when it is answered, and then what the books said; so it can be judged again without
 * the shop. docs/SHOPS.md has the format.
 */
#ifndef SECKILL_LOADTEST_SHOP_LOAD_SHOP_LEDGER_H
#define SECKILL_LOADTEST_SHOP_LOAD_SHOP_LEDGER_H

#include "loadtest/shop/claims/history.h"

struct shop_ledger;

/* Makes the file anew. NULL with the error when it cannot. */
struct shop_ledger *shop_ledger_create(const char *path, const struct target *target,
                                       struct error *error);

/* `number` is the purchase's place in the history. */
void shop_ledger_begin(struct shop_ledger *ledger, size_t number,
                       const struct shop_purchase *purchase);
void shop_ledger_end(struct shop_ledger *ledger, size_t number,
                     const struct shop_purchase *purchase);
void shop_ledger_books(struct shop_ledger *ledger, const struct shop_books *books);

/* What was begun is in the kernel's hands once it has come back: before anything of it is sent. */
bool shop_ledger_flush(struct shop_ledger *ledger, struct error *error);

/* Also flushes. False when something of it is not in the file. NULL is allowed. */
bool shop_ledger_close(struct shop_ledger *ledger, struct error *error);

#endif
