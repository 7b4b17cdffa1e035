/*
 * Why something could not be done, as a line for people. The harness acts on "it could not" alone,
 * so there is no code; whoever cannot handle a problem puts what it was doing in front and passes
 * it up.
 */
#ifndef SECKILL_LOADTEST_BASE_PROBLEM_H
#define SECKILL_LOADTEST_BASE_PROBLEM_H

#include <stdbool.h>

struct problem {
    char text[600];
};

/* Sets the text (cut when too long) and returns false, so that a bool function can `return
 * problem_set(…)`. */
__attribute__((format(printf, 2, 3))) bool problem_set(struct problem *problem, const char *format,
                                                       ...);
/* Puts "…: " before the text; returns false. */
__attribute__((format(printf, 2, 3))) bool problem_prefix(struct problem *problem,
                                                          const char *format, ...);

/* Prints "seckill-loadtest: …" to stderr and returns 2, the exit status of what could not be done.
 */
int problem_exit(const char *text);

#endif
