/*
 * Three instances that sell through partitioned-queue, for the programs that test it: on a database
 * and under a system name of their own, so that no other program's messages come to them. The first
 * one is up before the others start and is the active consumer of every set; a shop in which it has
 * lost one by then is opened anew.
 */
#ifndef SECKILL_TESTS_INTEGRATION_PARTITIONED_QUEUE_QUEUE_SHOP_H
#define SECKILL_TESTS_INTEGRATION_PARTITIONED_QUEUE_QUEUE_SHOP_H

#include "lib/t.h"

#include "lib/fixtures/crowd.h"
#include "lib/fixtures/shop.h"
#include "lib/stack.h"
#include "lib/witness.h"

enum { QUEUE_INSTANCES = 3 };
#define QUEUE_PATIENCE_US t_patience_us()

struct queue_shop {
    struct server *servers[QUEUE_INSTANCES];
    struct witness *witness;
    char *conninfo;
    char system[64];
};

/* `work_ms` NULL: 0. `failpoints` are the server's alone whose number is `armed`. */
void queue_shop_open(struct queue_shop *shop, const char *work_ms, int armed,
                     const char *failpoints);
void queue_shop_close(
    struct queue_shop *shop); /* stops what is left of it, and all must be sound */

struct buy queue_buy(int64_t product, int64_t user);
/* Buys without waiting: 202, and the id. */
void queue_expect_accepted(struct server *server, const struct buy *buy, char id[SHOP_ID_SIZE]);
/* Buys, and does not wait for long: decided or not. */
void queue_buy_briefly(struct server *server, const struct buy *buy);
/* Until the server says that it has lost the broker. */
void queue_wait_noticed(struct server *server);
/* Waits until one of them is accepted, and undecided. */
void queue_wait_accepted(struct crowd *crowd);
/* Waits until no order of the product is queued. */
void queue_wait_decided(struct queue_shop *shop, int64_t product);
/* What GET says; `reason` may be NULL. */
void queue_expect_status(struct server *server, const char *id, const char *status,
                         const char *reason);
void queue_expect_cancel(struct server *server, const char *id, int status, const char *code);

/* What RabbitMQ's own tool prints for these words; malloc'ed. */
__attribute__((format(printf, 1, 2))) char *queue_ctl(const char *format, ...);
/* Deletes the shop's queues of a kind, "orders" or "replies"; how many there were. */
int queue_delete(const struct queue_shop *shop, const char *kind);
/* Waits until /readyz has the broker so, with this in its detail. */
void queue_wait_shown(struct server *server, bool up, const char *detail);

/* Skips the program where the stack has no RabbitMQ. */
int queue_run(void);

#endif
