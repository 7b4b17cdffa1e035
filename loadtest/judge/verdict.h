/* Verdicts: their rules, as pure functions. */
#ifndef SECKILL_LOADTEST_JUDGE_VERDICT_H
#define SECKILL_LOADTEST_JUDGE_VERDICT_H

#include "loadtest/base/options.h"
#include "loadtest/judge/books.h"

/* In the order in which merging takes them: the later one wins. That gives both columns of the
 * table's rule: where nothing was promised one violation in any phase shows the danger, and where
 * something was, one phase that proved nothing leaves the whole unproved. A run that could not be
 * made hides neither a BROKEN one. */
enum verdict {
    VERDICT_KEPT,
    VERDICT_PROVED_NOTHING,
    VERDICT_UNSAFE,
    VERDICT_NO_RUN,
    VERDICT_BROKEN
};

struct promise {
    bool one_instance, many_instances, paused_holder, redis_failover;
};

/* A guarded body promises every letter, whatever the strategy's own are. */
struct promise promise_with(const struct promise *promise, bool guarded);
/* The promise in force: what the number of instances asks for. */
bool promise_in_force(const struct promise *promise, int instances, bool guarded);
/* The condition under which the promise holds: "anything happens", "no failover", "one instance",
 * "never". */
const char *promise_right_if(const struct promise *promise);

struct evidence {
    enum scenario scenario;
    bool promised;
    bool complete;   /* the phase reached its end: stock gone, everybody refused */
    int64_t done;    /* orders (or restocks) that a row proves */
    int64_t refused; /* final noes */
    int64_t internal_errors;
    const struct books *audit;
};

enum verdict verdict_of(const struct evidence *evidence);
enum verdict verdict_merge(enum verdict a, enum verdict b);
const char *verdict_name(enum verdict verdict);
/* The same for a row of a table: what was kept, and what nobody has put to the test. */
const char *verdict_in_words(enum verdict verdict, const struct promise *promise);

/* 0, 1 or 2, from all merged verdicts. */
struct verdict_tally {
    size_t counts[VERDICT_BROKEN + 1];
};
int verdict_exit_status(const struct verdict_tally *tally);

#endif
