/*
 * What a machine's cores did: they ran something, or there was something to run and the host gave
 * their time to somebody else. Linux calls the second "steal" (proc(5), /proc/stat); a guest that
 * is robbed of a tenth is slower by more than that, because whoever holds a lock or a row is
 * stopped with it, and no figure of the server's shows why.
 */
#ifndef SECKILL_LOADTEST_CORES_H
#define SECKILL_LOADTEST_CORES_H

#include <stdbool.h>
#include <stdint.h>

/* Ticks of all cores together, since the machine began. */
struct cores {
    int64_t ran, stolen;
};

/* The first line of /proc/stat. False when it is none; `out` is then all 0. */
bool cores_parse(const char *line, struct cores *out);

/* All 0 where the system does not say: nothing was stolen then. */
void cores_look(struct cores *out);

/* Of the time that was wanted between two looks, the share that was stolen: 0 to 1. */
double cores_stolen(const struct cores *before, const struct cores *after);

/* The same of the next milliseconds, with every core wanted all the time: steal is not seen while
 * there is nothing to run. */
double cores_probe(int ms);

#endif
