/*
 * The steps of a log-linear histogram of microseconds: 16 steps per power of two, so that a value
 * and the end of its step differ by at most 6.25 %.
 *
 * A step ends at a whole number of microseconds and includes it: step 0 holds 0 and 1, steps 1 to
 * 15 one number each, and from then on each step's width is a sixteenth of its power of two. The
 * last step holds whatever took longer than 2^32 us (71 minutes) and has no end.
 */
#ifndef SECKILL_LOADTEST_LOAD_HISTOGRAM_H
#define SECKILL_LOADTEST_LOAD_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum { HISTOGRAM_STEPS_PER_POWER = 16, HISTOGRAM_STEPS = 29 * HISTOGRAM_STEPS_PER_POWER + 1 };

size_t histogram_step(int64_t us);

/* The greatest number that the step holds; INT64_MAX for the last. */
int64_t histogram_step_end(size_t step);

#endif
