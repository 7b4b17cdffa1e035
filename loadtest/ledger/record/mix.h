/*
 * What a recorded crowd does: buys with and without a key, repeats of a key, cancels of what was
 * sold, restocks, reads, and reads of what was accepted (202) until it is decided. Where some buys
 * are to be paid later: payments at once, payments when the hold ends, and reads until it is paid
 * or over. The next operation follows from the seed and from the answers so far.
 *
 * It keeps a bounded memory of what was bought: the latest orders and keys alone are cancelled,
 * read and repeated.
 */
#ifndef SECKILL_LOADTEST_LEDGER_RECORD_MIX_H
#define SECKILL_LOADTEST_LEDGER_RECORD_MIX_H

#include "loadtest/ledger/ledger.h"

struct mix_plan {
    int64_t seed;
    int64_t first_product, products;
    int64_t users;
    const char *strategy; /* borrowed */
    /* Of a hundred buys so many have a hold of hold_s; of a hundred of these so many are paid at
     * once, and so many around the end of their hold. The rest is never paid. */
    int64_t holds, hold_s, paid, paid_late;
};

struct mix;

/* NULL: no memory. `plan` is borrowed. */
struct mix *mix_create(const struct mix_plan *plan);
void mix_destroy(struct mix *mix);

/* The next operation: everything of it but its number and its beginning. With `reads` only what was
 * accepted is read. False: there is nothing to do now. */
bool mix_next(struct mix *mix, int64_t now_us, bool reads, struct ledger_asked *asked);

/* It has ended. */
void mix_learn(struct mix *mix, int64_t now_us, const struct ledger_op *op);

/* How many accepted and held orders are not known to be decided, and how many were too many to
 * remember. */
size_t mix_waiting(const struct mix *mix);
size_t mix_forgotten(const struct mix *mix);

#endif
