/*
 * A JUnit file: what a pipeline reads to say which tests failed. There is no standard; this is the
 * part that Jenkins, GitLab and GitHub's reporters agree on: testsuites, testsuite, testcase, and
 * in a case failure, error, skipped or system-out.
 *
 * The file is opened before the load, so that a path that cannot be written ends the command at
 * once and not after minutes; the cases are kept, because their counts stand before them.
 */
#ifndef SECKILL_LOADTEST_REPORT_PIPELINE_JUNIT_H
#define SECKILL_LOADTEST_REPORT_PIPELINE_JUNIT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum junit_outcome {
    JUNIT_PASSED,
    JUNIT_FAILED, /* it was tested, and is not as it must be */
    JUNIT_ERROR,  /* it could not be tested */
    JUNIT_SKIPPED
};

struct junit_case {
    char group[96], name[160]; /* a dotted class and a method, where JUnit has its name from */
    double seconds;
    enum junit_outcome outcome;
    char type[40];   /* of a failure or an error, in a word or two */
    char text[1200]; /* why; of what passed: what is to be said of it, or "" */
};

/* Begins as {0}, which takes cases and writes nothing. */
struct junit {
    FILE *file;               /* owned */
    const char *path;         /* borrowed; of a file that is open */
    struct junit_case *cases; /* owned */
    size_t count;
    bool incomplete; /* there was no memory for a case */
};

/* One that passed, of which nothing is to be said. */
struct junit_case junit_case_of(const char *group, const char *name);
/* How it ended; `type` is for what has not passed. */
void junit_end(struct junit_case *one, enum junit_outcome outcome, const char *type,
               const char *format, ...) __attribute__((format(printf, 4, 5)));

/* "": no file is wanted. */
bool junit_open(struct junit *junit, const char *path, struct error *error);
void junit_add(struct junit *junit, const struct junit_case *one);
/* Writes all cases and frees everything. False when not all of it could be written. */
bool junit_close(struct junit *junit, const char *suite, struct error *error);

#endif
