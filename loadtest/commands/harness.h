/*
 * What `run`, `sweep` and the bench have in common: the out folder, wrk, the witness, the HTTP
 * client, the machine, and a fleet of servers, started here or named by --server.
 */
#ifndef SECKILL_LOADTEST_COMMANDS_HARNESS_H
#define SECKILL_LOADTEST_COMMANDS_HARNESS_H

#include "loadtest/fleet/api.h"
#include "loadtest/fleet/machine.h"
#include "loadtest/phase/run_phase.h"

enum { HARNESS_STRATEGIES_MAX = 64 };

struct harness {
    const struct options *options; /* borrowed */
    char folder[1024];
    bool made_folder; /* it was not there before */
    char binary[1200];
    struct api *api;         /* owned */
    struct witness *witness; /* owned */
    struct machine machine;
    struct instance instances[OPTIONS_MAX_INSTANCES];
    struct fleet fleet;
    struct api_strategy strategies[HARNESS_STRATEGIES_MAX];
    size_t strategies_count;
};

/* A phase is over: where no terminal shows what is going on, a line on stderr says how it ended.
 * `all`: how many there will be. */
void harness_phase_over(const struct harness *harness, const struct phase_result *result,
                        size_t number, size_t all);

bool harness_init(struct harness *harness, const struct options *options, struct error *error);
/* Also stops a fleet that still runs. */
void harness_fini(struct harness *harness);

/* Starts `count` servers, or takes the first `count` of --server, and reads what strategies they
 * have. */
bool harness_open_fleet(struct harness *harness, int count, struct error *error);
/* False when a server did not end as it should. */
bool harness_close_fleet(struct harness *harness, struct error *error);

const struct api_strategy *harness_strategy(const struct harness *harness, const char *name);

#endif
