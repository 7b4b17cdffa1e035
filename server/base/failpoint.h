/*
 * Failpoints: named places where a test can make this process die, stop or pause.
 *
 * Built in by SECKILL_FAILPOINTS alone (the development presets have it, release does not); armed
 * by the environment: SECKILL_FAILPOINTS="NAME=ACTION[@N],…", where ACTION is kill (SIGKILL), stop
 * (SIGSTOP the whole process) or pause:MS (this thread alone), and N says at which passage it
 * happens (default 1, the first). Idea: FreeBSD's fail(9) and etcd's gofail.
 */
#ifndef SECKILL_BASE_FAILPOINT_H
#define SECKILL_BASE_FAILPOINT_H

#include <stdbool.h>

#ifdef SECKILL_FAILPOINTS
void failpoint_reach(const char *name);
#define FAILPOINT(name) failpoint_reach(name)
#else
#define FAILPOINT(name) ((void)0)
#endif

/* False when `spec` cannot be obeyed: malformed, or this build has no failpoints. NULL and "" are
 * fine. */
bool failpoint_check(const char *spec);

#endif
