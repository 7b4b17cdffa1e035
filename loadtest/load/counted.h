/*
 * A load that ends by count: every call of a list is sent once, so many at a time, to the instances
 * in turn, and what was answered is kept with it. wrk ends by time and abandons what is in flight
 * then; the experiments of the articles are "5,000 times" and "two at once".
 *
 * A call that gets no answer ends the load: nobody knows then what was done.
 */
#ifndef SECKILL_LOADTEST_LOAD_COUNTED_H
#define SECKILL_LOADTEST_LOAD_COUNTED_H

#include "loadtest/load/wrk.h"

struct counted_call {
    int64_t product, user;
    int quantity;
    int wait_ms; /* sent as it is */
    int status;  /* what was answered */
    int64_t took_us;
};

/* The calls of a phase, and what must come of them. */
struct counted {
    struct counted_call *calls; /* owned by whoever made them */
    size_t count;
    int64_t
        expected;   /* rows: exactly these when nothing is shed, at least these when calls may be */
    bool may_shed;  /* 503 is part of the experiment; whoever does not get it must be served */
    bool must_shed; /* and without one the experiment showed nothing */
};

struct counted_load {
    const char *const *targets; /* borrowed: http://HOST:PORT, one an instance */
    size_t targets_count;
    const char *path;  /* with a query, to which wait_ms is added */
    const char *token; /* "": none */
    bool restock;
    int64_t connections; /* calls under way at a time */
    struct counted *counted;
    void (*tick)(void *context); /* about five times a second; may be NULL */
    void *context;
};

/* Fills the calls' answers, and the same figures that wrk would give. */
bool counted_run(const struct counted_load *load, struct wrk_result *result, struct error *error);

#endif
