/*
 * Which cores a thread may use, while one thread that could do without has more to do than it
 * should.
 *
 * Linux wakes a thread where it ran last if it can, so two threads that met on a core go on meeting
 * there while another core is idle. Where one of them is a link of a chain that everybody waits
 * for, the claim keeps them apart: sched_setaffinity(2).
 *
 * Nothing is touched before the first claim, nor where the process may use one core only. After
 * that the threads have the cores that the claiming one had (taskset, cpusets) before its claim.
 */
#ifndef SECKILL_BASE_CORES_H
#define SECKILL_BASE_CORES_H

#include <stdbool.h>

/* The calling thread stays on the core on which it runs until it releases it. One thread of a
 * process may do so, and as often as it likes. */
void cores_claim(void);
void cores_release(void);

/* Any thread, before each piece of work: `apart` keeps off the claimed core, otherwise every core
 * will do. It costs a system call after a change of either, and an atomic load else. Threads that a
 * claiming one starts begin on its core: they have to call it. */
void cores_choose(bool apart);

#endif
