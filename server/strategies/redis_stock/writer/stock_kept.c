/* See stock_kept.h: chains of entries, by their groups. */
#include "strategies/redis_stock/writer/stock_kept.h"

#include "base/clock.h"

#include <stdlib.h>

void stock_kept_init(struct stock_kept *kept)
{
    *kept = (struct stock_kept){.bytes = 0};
    pthread_mutex_init(&kept->mutex, NULL);
}

void stock_kept_fini(struct stock_kept *kept)
{
    for (int i = 0; i < KEPT_SLOTS; i++)
        while (kept->slots[i]) {
            struct kept_entry *gone = kept->slots[i];
            kept->slots[i] = gone->next;
            free(gone);
        }
    pthread_mutex_destroy(&kept->mutex);
}

static uint64_t group_of(const struct uuid *id)
{
    enum { FIRST = sizeof id->bytes - UUID_GROUP_BITS / 8 };
    uint64_t group = 0;

    for (size_t i = FIRST; i < sizeof id->bytes; i++)
        group = group << 8 | id->bytes[i];
    return group;
}

static size_t size_of(int count)
{
    return sizeof(struct kept_entry) + (size_t)count * sizeof(struct kept_order);
}

/* Holds the mutex. What points to the group's entry, or to its slot's end. */
static struct kept_entry **find(struct stock_kept *kept, uint64_t group)
{
    struct kept_entry **at = &kept->slots[group % KEPT_SLOTS];

    while (*at && (*at)->group != group)
        at = &(*at)->next;
    return at;
}

static struct kept_entry *make(const char *entry, const struct waiting_order *orders, size_t stride,
                               int count)
{
    struct kept_entry *made = malloc(size_of(count));
    char *end;

    if (!made)
        return NULL;
    *made = (struct kept_entry){.group = group_of(&orders->id),
                                .ms = strtoull(entry, &end, 10),
                                .n = *end ? strtoull(end + 1, NULL, 10) : 0,
                                .since_us = clock_mono_us(),
                                .product_id = orders->product_id,
                                .epoch = orders->epoch,
                                .count = count};
    for (int i = 0; i < count; i++) {
        const void *at = (const char *)orders + (size_t)i * stride;
        const struct waiting_order *from = at;
        made->orders[i] =
            (struct kept_order){from->id, from->user_id, from->quantity, from->created_us};
    }
    return made;
}

/* Holds the mutex. A new entry comes first, so that a page's others stay as they are. */
static void insert(struct stock_kept *kept, struct kept_entry *made)
{
    struct kept_entry **slot = &kept->slots[made->group % KEPT_SLOTS];

    kept->bytes += size_of(made->count);
    made->next = *slot;
    *slot = made;
}

void stock_kept_add(struct stock_kept *kept, const char *entry, const struct waiting_order *orders,
                    size_t stride, int count)
{
    bool says_full = false;

    pthread_mutex_lock(&kept->mutex);
    if (!*find(kept, group_of(&orders->id))) {
        bool fits = kept->bytes + size_of(count) <= KEPT_BYTES_MAX;
        struct kept_entry *made = fits ? make(entry, orders, stride, count) : NULL;
        if (made)
            insert(kept, made);
        says_full = !made && !kept->full;
        kept->full |= !made;
    }
    pthread_mutex_unlock(&kept->mutex);
    if (says_full)
        log_warn("redis-stock: more orders wait than are kept here: should Redis lose the others,"
                 " nobody says so");
}

void stock_kept_remove(struct stock_kept *kept, const struct uuid *id)
{
    pthread_mutex_lock(&kept->mutex);
    struct kept_entry **at = find(kept, group_of(id));
    struct kept_entry *gone = *at;
    if (gone) {
        *at = gone->next;
        kept->bytes -= size_of(gone->count);
        kept->full &= kept->bytes > KEPT_BYTES_MAX / 2;
    }
    pthread_mutex_unlock(&kept->mutex);
    free(gone);
}

int stock_kept_page(struct stock_kept *kept, int64_t before_us, int *slot,
                    const struct kept_entry **page, int most)
{
    int n = 0;

    pthread_mutex_lock(&kept->mutex);
    while (n < most && *slot < KEPT_SLOTS) {
        struct kept_entry *at = kept->slots[*slot];
        while (at && n < most) {
            if (at->since_us < before_us && at->asked_us < before_us) {
                at->asked_us = before_us;
                page[n++] = at;
            }
            at = at->next;
        }
        *slot += !at;
    }
    pthread_mutex_unlock(&kept->mutex);
    return n;
}
