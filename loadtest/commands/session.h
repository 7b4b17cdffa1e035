/*
 * What `run`, `sweep` and the bench have in common: the out folder, wrk, the witness, the HTTP
 * client, the machine, and a fleet of servers, started here or named by --server.
 */
#ifndef SECKILL_LOADTEST_COMMANDS_SESSION_H
#define SECKILL_LOADTEST_COMMANDS_SESSION_H

#include "loadtest/fleet/api.h"
#include "loadtest/fleet/machine.h"
#include "loadtest/phase/phase.h"

enum { SESSION_STRATEGIES_MAX = 64 };

struct session {
    const struct options *options; /* borrowed */
    char folder[1024];
    bool made_folder; /* it was not there before */
    char binary[1200];
    struct api *api;         /* owned */
    struct witness *witness; /* owned */
    struct machine machine;
    struct instance instances[OPTIONS_MAX_INSTANCES];
    struct fleet fleet;
    struct api_strategy strategies[SESSION_STRATEGIES_MAX];
    size_t strategies_count;
};

/* A phase is over: where no terminal shows what is going on, a line on stderr says how it ended.
 * `all`: how many there will be. */
void session_phase_over(const struct session *session, const struct phase_result *result,
                        size_t number, size_t all);

bool session_init(struct session *session, const struct options *options, struct error *error);
/* Also stops a fleet that still runs. */
void session_fini(struct session *session);

/* Starts `count` servers, or takes the first `count` of --server, and reads what strategies they
 * have. */
bool session_open_fleet(struct session *session, int count, struct error *error);
/* False when a server did not end as it should. */
bool session_close_fleet(struct session *session, struct error *error);

const struct api_strategy *session_strategy(const struct session *session, const char *name);

#endif
