/*
 * What lets a pipeline go on: loads against --fail-if, and they and what else was found as JUnit's
 * cases. A load is a phase of a run, a shop's sale, a run among faults.
 *
 * Thresholds are for the phases that take time (speed, load), each round for itself; a phase that
 * sells out measures nothing but that. A phase that could not be made, or of which the generator
 * was the limit, has no figures: it is told, and is no pass.
 */
#ifndef SECKILL_LOADTEST_REPORT_PIPELINE_GATE_H
#define SECKILL_LOADTEST_REPORT_PIPELINE_GATE_H

#include "loadtest/phase/phase.h"
#include "loadtest/report/document/document.h"

#include <jansson.h>
#include <stdio.h>

/* --- junit.c: a JUnit file, which a pipeline reads to say which tests failed. There is no
 * standard; this is the part that Jenkins, GitLab and GitHub's reporters agree on: testsuites,
 * testsuite, testcase, and in a case failure, error, skipped or system-out.
 *
 * The file is opened before the load, so that a path that cannot be written ends the command at
 * once and not after minutes; the cases are kept as text, because their counts stand before them
 * --- */

enum junit_outcome {
    JUNIT_PASSED,
    JUNIT_FAILED, /* it was tested, and is not as it must be */
    JUNIT_ERROR,  /* it could not be tested */
    JUNIT_SKIPPED
};

/* Texts are borrowed. Without an end it passed, and nothing is to be said of it. */
struct junit_case {
    const char *group, *name; /* a dotted class and a method, where JUnit has its name from */
    double seconds;
    enum junit_outcome outcome;
    const char *type; /* of a failure or an error, in a word or two; NULL */
    char text[1200];  /* why; of what passed: what is to be said of it, or "" */
};
/* How it ended; `type` is for what has not passed. */
void junit_end(struct junit_case *one, enum junit_outcome outcome, const char *type,
               const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Begins as {0}, which takes cases and writes nothing. It stays where it is while it is open. */
struct junit {
    FILE *file;       /* owned */
    const char *path; /* borrowed; of a file that is open */
    FILE *cases;      /* owned: goes to the text */
    char *text;       /* owned */
    size_t size, count, counts[JUNIT_SKIPPED + 1];
    double seconds;
};
/* "": no file is wanted. */
bool junit_open(struct junit *junit, const char *path, struct error *error);
void junit_add(struct junit *junit, const struct junit_case *one);
/* Writes all cases and frees everything. False when not all of it could be written. */
bool junit_close(struct junit *junit, const char *suite, struct error *error);

/* --- gate.c --- */

struct gate_load {
    char group[96];  /* of the cases of its thresholds; "": a phase, which is one case */
    char whose[200]; /* before what is printed of it; "": there is no other */
    json_t *judged;  /* owned: by each threshold, as gate_load_json; NULL: it had no figures */
};

/* Begins as {0}. */
struct gate {
    struct thresholds fail_if;
    struct junit junit;      /* owned */
    struct gate_load *loads; /* owned: those that have thresholds */
    size_t count;
    size_t judged, failed, unjudged; /* of the loads, once they are printed */
};

/* --fail-if and --junit, before anything is started. */
bool gate_open(struct gate *gate, const struct options *options, struct error *error);
/* Writes the file, and frees everything; `ended`: what ended the command before its time, a case of
 * its own; NULL: nothing. */
bool gate_close(struct gate *gate, const char *command, const char *ended, struct error *error);

/* Judges a load that is no phase. */
void gate_judge(struct gate *gate, const char *group, const char *whose,
                const struct measured *measured);
/* The phases, as they were judged when they were measured, with a case for each, and one for each
 * line's verdict. */
void gate_take(struct gate *gate, const struct document *document);

/* A line for each threshold of a load that fails it, or one that says that all held. Without
 * thresholds nothing is printed. */
void gate_print(FILE *to, struct gate *gate);
/* The exit status, from what the verdicts ask for: 1 when a threshold failed, 2 when one could not
 * be judged. */
int gate_exit_status(const struct gate *gate, int verdicts);

/* What a load came to by each threshold, owned by the caller; of a phase NULL: it has none, or no
 * figures. */
json_t *gate_load_json(const struct thresholds *thresholds, const struct measured *measured);
json_t *gate_json(const struct phase_result *run);

#endif
