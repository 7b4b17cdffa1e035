/* What the figures were taken on: for the line under the table and for results.json. */
#ifndef SECKILL_LOADTEST_FLEET_MACHINE_H
#define SECKILL_LOADTEST_FLEET_MACHINE_H

#include "loadtest/judge/witness.h"

#include <stdio.h>

struct machine {
    char cpu[128];
    char kernel[256];
    long cores;
    long memory_mib;
    char wrk[64]; /* "": it was not needed */
    char postgresql[64];
    char server[128]; /* what --version says; "" when the servers are not ours */
    struct {
        const char *name;
        char value[64];
    } database_settings[8];
    size_t database_settings_count;
    bool durable;     /* by /readyz */
    char unsafe[200]; /* the same: a backend that may evict; "": none */
};

/* Everything but `wrk`, `server`, `durable` and `unsafe`, which others learn on their way. */
bool machine_look(struct machine *machine, struct witness *witness, struct error *error);

/* Fills `server` from the binary. */
void machine_ask_server(struct machine *machine, const char *binary);

/* "2 cores of AMD EPYC …, PostgreSQL 15.20, durable", a line. */
void machine_print(FILE *to, const struct machine *machine);

#endif
