/*
 * Batches whose content the test decides: the statement of an order for a product of its own,
 * HELD_PRODUCT, is held on its way (pg_proxy.h); the lane's one worker waits with that order in
 * hand, and whatever is sent meanwhile is the next batch.
 */
#ifndef SECKILL_TESTS_INTEGRATION_DATABASE_BATCH_LANE_H
#define SECKILL_TESTS_INTEGRATION_DATABASE_BATCH_LANE_H

#include "lib/fixtures/cases.h"
#include "lib/fixtures/proxied.h"

#include "base/clock.h"

#include <stddef.h>

enum { HELD_PRODUCT = 1000, LANE_PATIENCE_US = 60000000 };

struct lane {
    struct server *server;
    struct proxied db;
    struct witness *witness; /* borrowed: db */
    const char *conninfo;    /* borrowed: db */
    int64_t product;         /* each test's own, and the next one */
    int64_t users;           /* who have bought: ++users is another one */
};
extern struct lane lane;

/* Runs the group on a server and a database of its own; each test begins with other products. */
int lane_run(const char *group);

struct buy lane_buy(int64_t product, int64_t user, int64_t quantity);
/* Begins a sale of 10 of which the server sees no more than its epoch, by an order of another
 * strategy that gets this answer; so one statement is tried next. The order's user. */
int64_t lane_put_seen(const char *more, int status, const char *code);
/* Sends HELD_PRODUCT's order, the crowd's first; the worker waits for its answer. */
struct crowd *lane_begin(void);
/* Stands behind what was sent before it. */
void lane_queue(struct crowd *crowd, const struct buy *buy);
/* Waits until so many stand in the queue. */
void lane_wait_queued(int64_t count);
/* Lets HELD_PRODUCT's order be decided. */
void lane_release(void);
/* The same, and all answers have come. */
void lane_end(struct crowd *crowd);
/* All of it: two batches, HELD_PRODUCT's order, and so many of one unit behind it. */
void lane_sell(int count);
void lane_expect(const struct crowd *crowd, int i, int status, const char *code);

/* How many transactions have written the products' orders. */
int64_t lane_transactions(void);

/* What batches have cost. */
struct spent {
    int64_t orders;
    int64_t round_trips;
    int64_t flushes;
};
struct spent lane_spent(const char *ended);
void lane_expect_spent(const char *ended, struct spent before, struct spent more);

#endif
