/*
 * Reads a shop's ledger (shop_ledger.h) back to what the claims are judged by. A file that is not
 * wholly as a run leaves it is refused with its line: what is not understood is not judged, and
 * what was cut off before its end has no verdict.
 */
#ifndef SECKILL_LOADTEST_SHOP_LOAD_SHOP_LEDGER_READ_H
#define SECKILL_LOADTEST_SHOP_LOAD_SHOP_LEDGER_READ_H

#include "loadtest/shop/load/shop_ledger.h"

#include <stdio.h>

struct shop_record {
    char *shop; /* owned; its name */
    int64_t product, stock, limit;
    struct shop_load load;
    struct send_result sent;
    struct shop_history history;
    struct shop_books books;
};

/* `out` is filled anew; with false it is empty, and the error names the file and the line. */
bool shop_ledger_read_file(struct shop_record *out, const char *path, struct error *error);
bool shop_ledger_read(struct shop_record *out, FILE *from, struct error *error);
void shop_record_fini(struct shop_record *record); /* a zeroed one is allowed */

#endif
