/*
 * The mailboxes of a lane, by product. One is made for the first order of a product and lives while
 * orders wait in it or are in flight, or it stands in the ready list; a few that are done are kept
 * for the next.
 *
 * Thread rule: the lane's mutex is held.
 */
#ifndef SECKILL_DISPATCH_MAILBOXES_H
#define SECKILL_DISPATCH_MAILBOXES_H

#include "order/order.h"

enum { MAILBOX_BUCKETS = 4096 };

struct mailbox {
    int64_t product_id;
    struct order *first;
    struct order *last;
    int waiting;
    int in_flight;              /* batches */
    int working;                /* orders in hand that nobody has decided */
    bool forming;               /* and more may be taken for it: no other begins */
    bool ready;                 /* stands in the ready list */
    struct mailbox *next_ready; /* or the next spare one */
    struct mailbox *next_in_bucket;
};

/* All zero: none. */
struct mailboxes {
    struct mailbox *buckets[MAILBOX_BUCKETS];
    struct mailbox *spare;
    int spares;
    int count;
};

/* NULL: out of memory. */
struct mailbox *mailboxes_find_or_make(struct mailboxes *boxes, int64_t product_id);
void mailboxes_remove_if_empty(struct mailboxes *boxes, struct mailbox *mailbox);
void mailboxes_free(struct mailboxes *boxes); /* all are empty */

void mailbox_append(struct mailbox *mailbox, struct order *order);

#endif
