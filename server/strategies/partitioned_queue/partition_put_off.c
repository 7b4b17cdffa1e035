/*
 * Entries that another transaction's lock keeps from being decided: a bounded list, in the order in
 * which they were put off. It belongs to the consumer's thread.
 */
#include "base/clock.h"
#include "sale/decide_many/held.h"
#include "strategies/partitioned_queue/partition.h"

#include <stdlib.h>
#include <string.h>

enum { BUYS_MAX = 2000, ENTRIES_MAX = BUYS_MAX + PARTITION_BATCH, PRODUCTS_MAX = 64 };

struct put_off {
    int count;
    struct item {
        struct partition_entry entry;
        char reply_to[RABBIT_NAME_MAX + 1];
        uint64_t tag; /* 0: the message is acknowledged, or may be */
    } items[ENTRIES_MAX];
};

struct put_off *put_off_create(void)
{
    return calloc(1, sizeof(struct put_off));
}

void put_off_destroy(struct put_off *list)
{
    free(list);
}

bool put_off_is_empty(const struct put_off *list)
{
    return list->count == 0;
}

static bool has(const struct put_off *list, const struct partition_entry *entry)
{
    for (int i = 0; i < list->count; i++)
        if (list->items[i].entry.kind == entry->kind &&
            uuid_equal(&list->items[i].entry.id, &entry->id))
            return true;
    return false;
}

bool put_off_add(struct put_off *list, const struct partition_entry *entry, const char *reply_to,
                 uint64_t tag)
{
    bool buy = entry->kind == ORDER_BUY;

    if (buy && (list->count >= BUYS_MAX || has(list, entry)))
        return true;
    if (list->count == ENTRIES_MAX)
        return false;
    struct item *item = &list->items[list->count++];
    item->entry = *entry;
    item->tag = buy ? 0 : tag;
    memcpy(item->reply_to, reply_to, sizeof item->reply_to);
    return true;
}

/* It waits for something of its own, and is not tried now. */
static bool rests(const struct item *item)
{
    return held_rests(partition_held(), &item->entry.id);
}

static int list_products(const struct put_off *list, int64_t products[PRODUCTS_MAX])
{
    int n = 0;

    for (int i = 0; i < list->count && n < PRODUCTS_MAX; i++) {
        int at = 0;
        if (rests(&list->items[i]))
            continue;
        while (at < n && products[at] != list->items[i].entry.product_id)
            at++;
        products[at] = list->items[i].entry.product_id;
        n += at == n;
    }
    return n;
}

int64_t put_off_find_free(struct put_off *list, struct session *session)
{
    int64_t products[PRODUCTS_MAX];
    int count = list_products(list, products);

    session_begin_work(session);
    return count > 0 && pg_connect(session->pg, session->work_until_us)
               ? held_find_free(partition_held(), session->pg, products, count,
                                session->work_until_us)
               : 0;
}

/* The place of the message with this tag and reply queue; -1: there is no free place. */
static int place_of(const struct item *item, char (*reply_to)[RABBIT_NAME_MAX + 1], uint64_t *tags,
                    int places, int *used)
{
    int at = 0;

    while (at < *used && (tags[at] != item->tag || strcmp(reply_to[at], item->reply_to) != 0))
        at++;
    if (at == places)
        return -1;
    if (at == *used) {
        memcpy(reply_to[at], item->reply_to, sizeof item->reply_to);
        tags[at] = item->tag;
        ++*used;
    }
    return at;
}

int put_off_take(struct put_off *list, int64_t product_id, struct partition_entry *entries,
                 char (*reply_to)[RABBIT_NAME_MAX + 1], uint64_t *tags, int places, int *used)
{
    int taken = 0;
    int left = 0;
    bool room = true;

    *used = 0;
    for (int i = 0; i < list->count; i++) {
        const struct item *item = &list->items[i];
        int place = -1;
        room &= taken < PARTITION_BATCH;
        if (room && item->entry.product_id == product_id && !rests(item)) {
            place = place_of(item, reply_to, tags, places, used);
            room = place >= 0; /* none of the product's passes by another */
        }
        if (place < 0) {
            if (left != i)
                list->items[left] = *item;
            left++;
            continue;
        }
        entries[taken] = item->entry;
        entries[taken++].message = place;
    }
    list->count = left;
    return taken;
}

bool put_off_keeps(const struct put_off *list, uint64_t tag)
{
    for (int i = 0; i < list->count; i++)
        if (list->items[i].tag == tag)
            return true;
    return false;
}

bool put_off_keeps_any(const struct put_off *list)
{
    for (int i = 0; i < list->count; i++)
        if (list->items[i].tag > 0)
            return true;
    return false;
}

void put_off_forget_unacknowledged(struct put_off *list)
{
    int left = 0;

    for (int i = 0; i < list->count; i++)
        if (list->items[i].tag == 0)
            list->items[left++] = list->items[i];
    list->count = left;
}
