/*
 * nginx with one worker that answers every request with 200 and does nothing else: what the machine
 * and wrk can do at most. Ours alone: a free port of 127.0.0.1, its files below the out folder, no
 * system configuration read.
 */
#ifndef SECKILL_BENCH_TOOLS_NGINX_H
#define SECKILL_BENCH_TOOLS_NGINX_H

#include "base/error.h"
#include "loadtest/base/process.h"

struct nginx {
    struct process process; /* the master */
    char url[64];
};

/* Finds nginx in PATH or in /usr/sbin; false where it is not installed. */
bool nginx_find(char *out, size_t size);

bool nginx_start(struct nginx *nginx, const char *program, const char *folder, struct error *error);
void nginx_stop(struct nginx *nginx);

#endif
