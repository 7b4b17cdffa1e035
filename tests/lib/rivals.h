/*
 * Servers that compete for one lock, and what became of the stock: for tests that stop one of them
 * at a failpoint while another goes on.
 */
#ifndef SECKILL_TESTS_LIB_RIVALS_H
#define SECKILL_TESTS_LIB_RIVALS_H

#include "lib/shop.h"
#include "lib/witness.h"

#define RIVALS_PATIENCE_US INT64_C(60000000)

struct rivals {
    struct witness *witness;
    int64_t product; /* the test's own, from rivals_put on */
};
extern struct rivals rivals;

/* A database of the program's own, with its schema. */
void rivals_open(const char *name);
void rivals_close(void);

/* A server with this lease and work allowance, and with failpoints (or NULL). */
struct server *rival_start(const char *failpoints, const char *lease_ms, const char *work_ms);

/* A new product, with nothing of anybody's in Redis. */
void rivals_put(struct server *server, int64_t stock);

struct buy rival_order(const char *strategy, int64_t user);
/* Sends an order whose answer is expected later; rival_finish expects it. */
struct crowd *rival_begin(struct server *server, const char *strategy, int64_t user);
void rival_finish(struct crowd *crowd, int status, const char *code);
/* Buys and is confirmed. */
void rival_buys(struct server *server, const char *strategy, int64_t user);
/* Waits a moment for the lock and does not get it. */
void rival_waits_in_vain(struct server *server, const char *strategy, int64_t user);

/* What `command` (EXISTS, PTTL, DEL) answers of this lock's key for the product. */
int64_t rivals_lock(const char *command, const char *lock);
void rivals_expect_oversold(int64_t units);

/* Between two looks at what a test waits for; too many of them end it. */
void look_again(int64_t begun_us);

#endif
