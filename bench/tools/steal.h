/*
 * What a machine's cores did: they ran something, or there was something to run and the host gave
 * their time to somebody else. Linux calls the second "steal" (proc(5), /proc/stat); a guest that
 * is robbed of a tenth is slower by more than that, because whoever holds a lock or a row is
 * stopped with it, and no figure of the server's shows why.
 */
#ifndef SECKILL_BENCH_TOOLS_STEAL_H
#define SECKILL_BENCH_TOOLS_STEAL_H

#include <stdbool.h>
#include <stdint.h>

/* Ticks of all cores together, since the machine began. */
struct steal {
    int64_t ran, stolen;
};

/* The first line of /proc/stat. False when it is none; `out` is then all 0. */
bool steal_parse(const char *line, struct steal *out);

/* All 0 where the system does not say: nothing was stolen then. */
void steal_look(struct steal *out);

/* Of the time that was wanted between two looks, the share that was stolen: 0 to 1. */
double steal_share(const struct steal *before, const struct steal *after);

/* The same of the next milliseconds, with every core wanted all the time: steal is not seen while
 * there is nothing to run. */
double steal_probe(int ms);

#endif
