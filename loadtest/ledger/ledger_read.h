/*
 * Reads a ledger's file (docs/JUDGING.md). A last line that is not whole, as a recorder that was
 * killed leaves it, is left out and told (`cut`). Fields that it does not know are skipped, and so
 * are lines of an unknown sort, which are counted. Everything else that is not as the format says
 * is refused with its line: a file that is not understood is not judged. A shop's has to be whole
 * besides: no line is unknown, each purchase and the load have an end, and the books as many orders
 * as they say.
 */
#ifndef SECKILL_LOADTEST_LEDGER_LEDGER_READ_H
#define SECKILL_LOADTEST_LEDGER_LEDGER_READ_H

#include "loadtest/ledger/ledger.h"

#include <stdio.h>

/* `out` is filled anew; with false it is empty, and the error names the file and the line. */
bool ledger_read_file(struct ledger *out, const char *path, enum ledger_whose whose,
                      struct error *error);
bool ledger_read(struct ledger *out, FILE *from, enum ledger_whose whose, struct error *error);

#endif
