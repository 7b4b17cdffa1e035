/*
 * The recording crowd: connections that are each kept busy with an operation of the mix, written
 * down before it is sent and after it is answered.
 *
 * The mix: buys with and without a key, repeats of a key, cancels of what was sold, restocks,
 * reads, and reads of what was accepted (202) until it is decided. Where some buys are to be paid
 * later: payments at once, payments when the hold ends, and reads until it is paid or over. The
 * next operation follows from the seed and from the answers so far. Its memory of what was bought
 * is bounded: the latest orders and keys alone are cancelled, read and repeated.
 *
 * Happy path: operations for the time, or the number, that is asked for; then what is under way is
 * answered, and what was accepted is read until it is decided. Failure modes: a connection that
 * ends, or an answer that does not come, leaves its operation unknown and rests for a moment, as
 * after a 5xx, or a crowd without a database would do nothing but ask; the run goes on without it.
 * A ledger that cannot be written ends the run.
 */
#ifndef SECKILL_LOADTEST_LEDGER_RECORD_RECORDER_H
#define SECKILL_LOADTEST_LEDGER_RECORD_RECORDER_H

#include "loadtest/engine/answer.h"
#include "loadtest/ledger/ledger_write.h"

struct mix_plan {
    int64_t seed;
    int64_t first_product, products;
    int64_t users;
    const char *strategy; /* borrowed */
    /* Of a hundred buys so many have a hold of hold_s; of a hundred of these so many are paid at
     * once, and so many around the end of their hold. The rest is never paid. */
    int64_t holds, hold_s, paid, paid_late;
};

struct recorder_plan {
    const char *const *targets; /* borrowed: http://HOST:PORT; connections in turn */
    size_t targets_count;
    int64_t connections;
    int64_t duration_us;
    int64_t operations; /* at most; 0: any number */
    int64_t settle_us;  /* the longest that accepted orders are waited for */
    const char *query;  /* borrowed: what stands behind "strategy=NAME", as "&wait_ms=5" */
    const char *token;  /* borrowed: of admin calls; "": none */
    struct mix_plan mix;
};

struct recorder_result {
    int64_t operations, answered;
    size_t undecided; /* accepted, and not known to be decided */
};

/* False when nobody listens, it is interrupted, or the ledger cannot be written. The ledger has
 * then what was done so far, and no end. */
bool recorder_run(const struct recorder_plan *plan, struct json_lines *writer,
                  struct recorder_result *result, struct error *error);

/* An answer of the servers as the operation's end: its result, status, code, order and state. A 503
 * of the API's own, which has a code, says that nothing was done; any other 5xx says nothing. */
void recorder_take(struct ledger_asked *asked, const struct answer *answer);

#endif
