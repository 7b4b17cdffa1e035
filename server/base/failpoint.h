/*
 * Failpoints: named places where a test can make this process die, stop or pause.
 *
 * Built in by SECKILL_FAILPOINTS alone (the development presets have it, release does not); armed
 * by the environment: SECKILL_FAILPOINTS="NAME[#ID]=ACTION[@N[+]],…", where ACTION is kill
 * (SIGKILL), stop (SIGSTOP the whole process), pause:MS (this thread alone), hold (this thread
 * alone, until the process gets SIGUSR1; there is one go for every hold, those to come too), fail
 * (what the place says fails) or skew:MS (a clock that is wrong, from then on), and N says at which
 * passage it happens (default 1, the first); with a + behind it, at that one and every later one.
 * With an ID only those passages count that concern it, at a place that knows what it concerns:
 * what comes twice, or a second time, of something else is none. `git grep FAILPOINT server` lists
 * the places. Idea: FreeBSD's fail(9) and etcd's gofail.
 */
#ifndef SECKILL_BASE_FAILPOINT_H
#define SECKILL_BASE_FAILPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef SECKILL_FAILPOINTS
void failpoint_reach(const char *name);
bool failpoint_fails(const char *name);
int64_t failpoint_skew_ms(const char *name);
/* The same where many are concerned: the id of each of `count` is `member` of items[0], [1] … */
void failpoint_reach_with(const char *name, const int64_t *first, size_t stride, int count);
#define FAILPOINT(name) failpoint_reach(name)
#define FAILPOINT_WITH(name, items, count, member)                                                 \
    failpoint_reach_with(name, &(items)[0].member, sizeof *(items), count)
#define FAILPOINT_FAILS(name)   failpoint_fails(name)
#define FAILPOINT_SKEW_MS(name) failpoint_skew_ms(name)
#else
#define FAILPOINT(name)                            ((void)0)
#define FAILPOINT_WITH(name, items, count, member) ((void)0)
#define FAILPOINT_FAILS(name)                      false
#define FAILPOINT_SKEW_MS(name)                    INT64_C(0)
#endif

/* To be asked once, before there are threads: from then on SIGUSR1 lets go. False when `spec`
 * cannot be obeyed: malformed, or this build has no failpoints. NULL and "" are fine. */
bool failpoint_check(const char *spec);

#endif
