/*
 * Writes a ledger's file (docs/JUDGING.md), lines of JSON. It is evidence: what was written is in
 * the kernel's hands once json_lines_flush has come back, whatever becomes of this process, and a
 * line that was not is never passed over: a write that fails is remembered and reported by the next
 * flush, and by the end. Flush what was begun before anything of it is sent.
 */
#ifndef SECKILL_LOADTEST_LEDGER_LEDGER_WRITE_H
#define SECKILL_LOADTEST_LEDGER_LEDGER_WRITE_H

#include "loadtest/ledger/ledger.h"

enum { LEDGER_FORMAT = 3 };

struct json_lines;

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

bool json_lines_flush(struct json_lines *lines, struct error *error);

/* Also flushes. False when something of it is not in the file. NULL is allowed. */
bool json_lines_close(struct json_lines *lines, struct error *error);

#endif
