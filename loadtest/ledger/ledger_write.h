/*
 * Writes a ledger's file (docs/LEDGER.md). What was begun and answered is in the kernel's hands
 * once ledger_flush has come back, whatever becomes of this process: call it before anything of it
 * is sent. A write that fails is remembered and reported by the next flush.
 */
#ifndef SECKILL_LOADTEST_LEDGER_LEDGER_WRITE_H
#define SECKILL_LOADTEST_LEDGER_LEDGER_WRITE_H

#include "loadtest/ledger/ledger.h"

struct ledger_writer;

/* Makes the file anew. NULL with the error when it cannot. */
struct ledger_writer *ledger_create(const char *path, int64_t seed, struct error *error);

void ledger_write_product(struct ledger_writer *writer, const struct ledger_product *product);
void ledger_write_begin(struct ledger_writer *writer, const struct ledger_op *op);
void ledger_write_end(struct ledger_writer *writer, const struct ledger_op *op);
/* What was done to the servers meanwhile, or anything else that a reader should know. */
void ledger_write_note(struct ledger_writer *writer, int64_t at_us, const char *text);
/* The recording came to its end. */
void ledger_write_done(struct ledger_writer *writer, int64_t at_us);

bool ledger_flush(struct ledger_writer *writer, struct error *error);

/* Also flushes. False when something of it is not in the file. NULL is allowed. */
bool ledger_close(struct ledger_writer *writer, struct error *error);

#endif
