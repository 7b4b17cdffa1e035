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

#include "loadtest/faults/sales.h"
#include "loadtest/judge/claims/findings.h"

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
