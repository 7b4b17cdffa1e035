#include "dispatch/mailboxes.h"

#include <stdlib.h>

enum { SPARE_MAX = 1024 };

static struct mailbox **bucket_of(struct mailboxes *boxes, int64_t product_id)
{
    uint64_t hash = (uint64_t)product_id * UINT64_C(0x9e3779b97f4a7c15); /* Fibonacci hashing */

    return &boxes->buckets[hash >> 52];
}

struct mailbox *mailboxes_find_or_make(struct mailboxes *boxes, int64_t product_id)
{
    struct mailbox **bucket = bucket_of(boxes, product_id);
    struct mailbox *mailbox = *bucket;

    while (mailbox && mailbox->product_id != product_id)
        mailbox = mailbox->next_in_bucket;
    if (mailbox)
        return mailbox;
    mailbox = boxes->spare;
    if (mailbox) {
        boxes->spare = mailbox->next_ready;
        boxes->spares--;
    } else {
        mailbox = malloc(sizeof *mailbox);
        if (!mailbox)
            return NULL;
    }
    *mailbox = (struct mailbox){.product_id = product_id, .next_in_bucket = *bucket};
    *bucket = mailbox;
    boxes->count++;
    return mailbox;
}

void mailboxes_remove_if_empty(struct mailboxes *boxes, struct mailbox *mailbox)
{
    struct mailbox **at = bucket_of(boxes, mailbox->product_id);

    if (mailbox->waiting || mailbox->in_flight || mailbox->ready)
        return;
    while (*at != mailbox)
        at = &(*at)->next_in_bucket;
    *at = mailbox->next_in_bucket;
    boxes->count--;
    if (boxes->spares < SPARE_MAX) {
        mailbox->next_ready = boxes->spare;
        boxes->spare = mailbox;
        boxes->spares++;
    } else {
        free(mailbox);
    }
}

void mailboxes_free(struct mailboxes *boxes)
{
    for (struct mailbox *next, *mailbox = boxes->spare; mailbox; mailbox = next) {
        next = mailbox->next_ready;
        free(mailbox);
    }
}

void mailbox_append(struct mailbox *mailbox, struct order *order)
{
    order->next = NULL;
    if (mailbox->first)
        mailbox->last->next = order;
    else
        mailbox->first = order;
    mailbox->last = order;
}
