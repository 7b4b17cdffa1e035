/*
 * The shop's own books, as its target says how to get at them: put back to the start, waited for
 * until nothing is under way, read. Each question is SQL on PostgreSQL, or a command that prints
 * JSON, with its own deadline, a command also with a bound on what it may say; an error names it.
 * Blocks; SIGINT and SIGTERM end a wait.
 */
#ifndef SECKILL_LOADTEST_SHOP_AUDIT_H
#define SECKILL_LOADTEST_SHOP_AUDIT_H

#include "loadtest/ledger/ledger.h"
#include "loadtest/shop/target.h"

enum { QUERY_LIMIT_MS = 60000 };

/* `log` is the file that a command's stderr is added to. */
struct shop_asker {
    const struct target *target; /* borrowed */
    const char *log;             /* borrowed */
    int limit_ms;                /* of a command */
};

/* What one of the target's commands prints, `most` bytes at most; owned by the caller. NULL with
 * the error. */
char *audit_run(const struct shop_asker *asker, const char *command, size_t most,
                struct error *error);

/* Puts it back to its start, where the target has a reset. False, saying what: the books are not
 * those of a sale that begins. */
bool audit_begin(const struct shop_asker *asker, struct error *error);

/* Until `quiet` says true, or a number above 0; without it at once. False: not in time. */
bool audit_wait_quiet(const struct shop_asker *asker, struct error *error);

/* What the target names of it. The caller frees it, of a false one too. */
bool audit_read(const struct shop_asker *asker, struct rows *out, struct error *error);

#endif
