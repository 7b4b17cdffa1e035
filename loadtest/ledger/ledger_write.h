/*
 * Writes a ledger's file (docs/JUDGING.md). Flush (json_lines.h) what was begun before anything of
 * it is sent.
 */
#ifndef SECKILL_LOADTEST_LEDGER_LEDGER_WRITE_H
#define SECKILL_LOADTEST_LEDGER_LEDGER_WRITE_H

#include "loadtest/ledger/json_lines.h"
#include "loadtest/ledger/ledger.h"

/* Makes the file anew. NULL with the error when it cannot. */
struct json_lines *ledger_create(const char *path, int64_t seed, struct error *error);

void ledger_write_product(struct json_lines *writer, const struct ledger_product *product);
void ledger_write_begin(struct json_lines *writer, const struct ledger_op *op);
void ledger_write_end(struct json_lines *writer, const struct ledger_op *op);
/* A note for the ledger's reader, as of a fault that met the servers. */
void ledger_write_note(struct json_lines *writer, int64_t at_us, const char *text);
/* The recording came to its end. */
void ledger_write_done(struct json_lines *writer, int64_t at_us);

#endif
