/*
 * Writes a ledger's file (docs/JUDGING.md). Flush (json_lines.h) what was begun before anything of
 * it is sent.
 */
#ifndef SECKILL_LOADTEST_LEDGER_LEDGER_WRITE_H
#define SECKILL_LOADTEST_LEDGER_LEDGER_WRITE_H

#include "loadtest/ledger/json_lines.h"
#include "loadtest/ledger/ledger.h"

/* 1 was of our own servers, 2 of shops (`shop_ledger`). */
enum { LEDGER_FORMAT = 3 };

/* Makes the file anew, and writes what the ledger says of itself: of a shop its name and how the
 * load is made, its seed, and its products. `target`: the shop's file, or NULL. NULL with the error
 * when it cannot. */
struct json_lines *ledger_create(const char *path, const struct ledger *ledger, const char *target,
                                 struct error *error);

void ledger_write_product(struct json_lines *writer, const struct ledger_product *product);
void ledger_write_begin(struct json_lines *writer, const struct ledger_op *op);
void ledger_write_end(struct json_lines *writer, const struct ledger_op *op);
/* A note for the ledger's reader, as of a fault that met the servers. */
void ledger_write_note(struct json_lines *writer, int64_t at_us, const char *text);
/* A shop's load is over; and what its books said. */
void ledger_write_load(struct json_lines *writer, const struct ledger_load *load);
void ledger_write_books(struct json_lines *writer, const struct rows *books);
/* The recording came to its end: a shop's that has none was cut off. */
void ledger_write_done(struct json_lines *writer, int64_t at_us);

#endif
