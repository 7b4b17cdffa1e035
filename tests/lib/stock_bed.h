/*
 * A bed for tests of redis-stock: a database and a Redis namespace of their own, instances, a hand
 * on the product's row, and a look into Redis that shares no code with the server.
 *
 * Whoever holds the row (bed_hold) holds the writer, so "queued" lasts as long as the test wants.
 */
#ifndef SECKILL_TESTS_LIB_STOCK_BED_H
#define SECKILL_TESTS_LIB_STOCK_BED_H

#include "lib/settled.h"
#include "lib/shop.h"
#include "lib/t.h"
#include "lib/witness.h"

#include "base/clock.h"

#define BED_PATIENCE_US t_patience_us()

enum { BED_INSTANCES = 3, BED_OTHER_PRODUCT = 99999 };

struct bed {
    char *conninfo; /* owned */
    struct witness *witness;
    struct server *servers[BED_INSTANCES];
    int count;
    int64_t product; /* another one for each test */
};
extern struct bed bed;

/* For cmocka: a group's, and a test's teardown. */
int bed_begin(const char *group);
void bed_end(const char *group);
int bed_teardown(void **state);

/* Starts an instance as servers[count]; `failpoints` NULL: none. Waits until its writer runs. */
struct server *bed_start(const char *failpoints, const char *listen);
/* One whose cancels wait this long. */
struct server *bed_start_waiting(const char *wait_ms);
void bed_start_three(void);
void bed_stop_all(void);
/* It died, or is killed: servers[i] is gone and the others move up. */
void bed_bury(struct server *server);

/* An order of the bed's product. */
struct buy bed_buy(int64_t user, int64_t quantity);
/* Buys and must be answered 202. */
void bed_accept(struct server *server, const struct buy *buy, char id[SHOP_ID_SIZE]);
/* The order's status, or "404", as this instance tells it; `reason` may be NULL. */
void bed_status(struct server *server, const char *id, char status[16], char reason[64]);
void bed_expect_status(struct server *server, const char *id, const char *expected);
/* Waits for it. */
void bed_wait_status(struct server *server, const char *id, const char *expected);

/* witness_hold for the bed's product. */
struct witness *bed_hold(void);

/* A Redis command of the stack's stock server; "@NAME" is the bed's own key, "~" a space
 * within a word. The integer that it
 * answers, digits too; 0 for nil. */
int64_t bed_redis(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for a text; "" for nil. */
void bed_redis_text(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int64_t bed_mirror(void);  /* the product's stock in Redis */
int64_t bed_waiting(void); /* how many orders wait there */

int64_t bed_claims(const char *fate); /* over all instances */

/* Waits until nothing waits in Redis; then the rows must add up, and the mirror, if it is loaded,
 * must be the row's stock at once. */
void bed_expect_settled(void);
/* And whole rounds of the reconciler must find, and must have found, nothing of the product. */
void bed_expect_reconciled(void);

/* Waits for a condition. */
#define BED_WAIT(condition)                                                                        \
    do {                                                                                           \
        int64_t bed_until_us = clock_mono_us() + BED_PATIENCE_US;                                  \
        while (!(condition)) {                                                                     \
            if (clock_mono_us() >= bed_until_us)                                                   \
                fail_msg("still not: %s", #condition);                                             \
            clock_sleep_until(clock_mono_us() + 2000);                                             \
        }                                                                                          \
    } while (0)

#endif
