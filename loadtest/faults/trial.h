/*
 * One run of a cell: servers of its own, products put on sale, a recorded crowd, the fault on its
 * schedule, everything healed, the crowd's last orders waited for, the ledger checked against the
 * rows. The same cell and seed make the same schedule and the same crowd; what the two meet is the
 * machine's.
 *
 * Happy path: a verdict, and the fault's word that it met somebody. Failure modes: a fault that did
 * not bite, or a run in which nothing was sold, is invalid: not red, and not clean. False when it
 * could not be made at all: a server does not start, a backend is gone for good, Ctrl-C.
 */
#ifndef SECKILL_LOADTEST_FAULTS_TRIAL_H
#define SECKILL_LOADTEST_FAULTS_TRIAL_H

#include "loadtest/faults/fault.h"
#include "loadtest/judge/claims/findings.h"
#include "loadtest/judge/threshold.h"

/* --- sales.c: what a run sold and when, from its ledger: sales a tenth of a second, and the times
 * without one. A sale is a buy that was answered with success, when it was answered. And what all
 * buys came to, for --fail-if --- */

enum { SALES_STEPS_MAX = 600, SALES_STEP_US = 100000 };

struct sales {
    int steps[SALES_STEPS_MAX]; /* sales in each */
    size_t count;
    struct fault_interval shades[FAULT_EVENTS_MAX]; /* from the start */
    size_t shades_count;
    int64_t sold;
    int64_t longest_gap_us; /* within the load */
    int64_t first_after_us; /* the longest that the first sale after a heal took; -1: none came */
};

/* Of a run whose ledger is read. */
void sales_look(struct sales *out, const struct fault_site *site);
/* Of two times that it took, the longer; -1 where one of them has no end. */
int64_t sales_longer(int64_t a, int64_t b);

/* Times are those of answers. Committed is what PostgreSQL holds as sold, what was cancelled since
 * among it; accepted are answers 202, refused definite noes, failed those that said nothing was
 * done, or nothing at all. A second is one of the load's. */
void sales_measure(struct measured *out, const struct fault_site *site, const struct rows *rows);

/* --- trial.c --- */

enum trial_verdict { TRIAL_CLEAN, TRIAL_RED, TRIAL_INVALID };

struct trial_result {
    enum trial_verdict verdict;
    int64_t seed;
    size_t violations[FINDING_KIND_COUNT];
    struct sales sales;
    struct measured measured;
    char evidence[FAULT_TEXT_SIZE]; /* that it bit, or why it did not */
    char example[FAULT_TEXT_SIZE];  /* the first violation; "": none */
    char ledger[1200];
};

bool trial_run(const struct trial_plan *plan, struct trial_result *result, struct error *error);

#endif
