/*
 * What this instance remembers of products sold by redis-stock: the epoch of their rows, and the
 * sold-out flag.
 *
 * The script gets the epoch, so that it sells nothing of a sale that a PUT has ended. A PUT
 * replaces the mirror; where it cannot reach Redis the old sale's mirror stays. A Redis that was
 * out of reach for the PUT has lost this instance's sessions too. So an epoch is known only as long
 * as no session with Redis is newer than the look at the row: after that it is read again.
 *
 * The flag refuses orders without a lane or a round trip. It is a lease: a script that found
 * nothing left sets it for STOCK_LEASE_US from the moment the script was sent, and only another
 * script renews it. So whoever adds stock to the mirror and then waits one lease knows that no
 * instance refuses on old news, however many there are and whatever their clocks say.
 *
 * A direct-mapped table of fixed size: two products that share a slot forget each other, which
 * costs a round trip and nothing else. Any thread.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_FLAG_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_FLAG_H

#include "order/order.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define STOCK_LEASE_US INT64_C(20000)

enum { STOCK_FLAG_SLOTS = 4096 };

struct stock_flag {
    pthread_mutex_t mutex; /* of all that follows; held for a few loads or stores and for no I/O */
    int64_t doubted_us;
    struct stock_flag_slot {
        int64_t product_id;
        int64_t epoch;
        int64_t asked_us;
        int64_t sold_out_until_us;
    } slots[STOCK_FLAG_SLOTS];
};

void stock_flag_init(struct stock_flag *flag);
void stock_flag_fini(struct stock_flag *flag);

/* A script sent at `sent_us` found this. */
void stock_flag_note(struct stock_flag *flag, int64_t product_id, int64_t epoch, bool sold_out,
                     int64_t sent_us);
/* The row's epoch; 0: it is to be read. */
int64_t stock_flag_epoch(struct stock_flag *flag, int64_t product_id);
/* The row was asked at `asked_us`, and has this one. */
void stock_flag_learn(struct stock_flag *flag, int64_t product_id, int64_t epoch, int64_t asked_us);
/* Mirrors that Redis has may be of ended sales: what was asked before then is not known any more.
 */
void stock_flag_doubt(struct stock_flag *flag, int64_t since_us);
/* This one is: the script has met another epoch. */
void stock_flag_forget(struct stock_flag *flag, int64_t product_id);
/* A strategy's refuse_now: a buy without a key, and nothing left. */
bool stock_flag_refuses(struct stock_flag *flag, struct order *order);
/* Until every flag that was set before this call has lapsed, in every instance. */
void stock_flag_wait(void);

#endif
