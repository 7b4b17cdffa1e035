/*
 * The matrix: strategies × faults. What each cell is expected to show follows from what the
 * strategy promises and from the column's controls; what it did show, from its runs.
 */
#ifndef SECKILL_LOADTEST_FAULTS_MATRIX_H
#define SECKILL_LOADTEST_FAULTS_MATRIX_H

#include "loadtest/faults/trial.h"

#include <jansson.h>

/* HOLDS: promised. BREAKS: a control, or whoever --expect says; it must be seen red. MAY_BREAK: not
 * promised, and not needed as a proof. NOTHING: the fault does not concern it. */
enum cell_expectation { CELL_HOLDS, CELL_BREAKS, CELL_MAY_BREAK, CELL_NOTHING };

enum cell_verdict {
    CELL_HELD,         /* promised, and no run was red */
    CELL_SEEN,         /* red, and not promised */
    CELL_NOT_SEEN,     /* not promised, and no run was red */
    CELL_OUTSIDE,      /* the fault does not concern it */
    CELL_INVALID,      /* the fault did not bite, or a control was never red */
    CELL_CONTRADICTED, /* promised, and red */
};

/* Of runs one after the other: the first's and the last's. */
struct seeds {
    int64_t first, last;
};

enum { CELL_SEEDS_MAX = 64 };

struct cell {
    const struct fault *fault;           /* borrowed */
    struct api_strategy strategy;        /* or the control's, by its row's name */
    const struct fault_control *control; /* borrowed; NULL: the servers offer the strategy */
    enum cell_expectation expected;
    size_t runs, red, invalid;          /* runs: those that count, red ones among them */
    struct seeds seeds[CELL_SEEDS_MAX]; /* of all runs that were made */
    size_t seeds_count;
    size_t violations[FINDING_KIND_COUNT];
    int64_t longest_gap_us;
    int64_t first_after_us;    /* -1: after one heal no sale came; the longest of the runs */
    struct trial_result shown; /* the first red run, or else the last one that counts */
};

/* Begins as {0}. */
struct matrix {
    struct cell *cells; /* owned; a strategy's together, in the order of the columns */
    size_t count;
    int64_t seed;    /* that it began with; of a joined one, the first's */
    int64_t runs;    /* asked for; of a joined one, what every cell has at least */
    size_t joined;   /* of how many it was joined; 0: it was made in one go */
    json_t *made_on; /* owned: machine and versions; of a joined one, the first's */
};
void matrix_fini(struct matrix *matrix);

enum cell_expectation cell_expectation_of(const struct fault *fault,
                                          const struct api_strategy *strategy);

void cell_add(struct cell *cell, const struct trial_result *result);
enum cell_verdict cell_verdict(const struct cell *cell);
const char *cell_verdict_name(enum cell_verdict verdict);
const char *cell_expectation_name(enum cell_expectation expectation);

/* NULL: it has no such cell. */
struct cell *matrix_find(const struct matrix *matrix, const char *strategy,
                         const struct fault *fault);

/* Adds the runs of `from` to those of `to`, and the cells that it has not. False, and `to` is of no
 * use any more: a run is in both, a cell is not expected to do the same in both. */
bool matrix_join(struct matrix *to, const struct matrix *from, struct error *error);

/* Whether the column has a control that was red. */
bool matrix_proves(const struct matrix *matrix, const struct fault *fault);

/* 0: as expected. 1: a cell contradicts its expectation. 2: a cell is invalid, or a column has no
 * control that was seen to fail. */
int matrix_status(const struct matrix *matrix);

/* --- confidence.c: what so many runs entitle to say of how often something happens: exact bounds
 * of a binomial proportion (Clopper and Pearson, Biometrika 26, 1934), at 95 % --- */

struct confidence {
    double least, most; /* shares, 0 to 1 */
};

/* Seen `seen` times in `runs`. Never and always are bounded on one side, by 95 %; what lies between
 * on both, by 97.5 % each. Without a run: from 0 to 1. */
struct confidence confidence_of(size_t seen, size_t runs);

/* "0 of 20: less than 14 % with 95 % confidence". */
void confidence_say(size_t seen, size_t runs, char *out, size_t size);

#endif
