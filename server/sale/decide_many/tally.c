/* See tally.h. Here is what needs no I/O: the sets, and the deciding. */
#include "sale/decide_many/tally.h"

#include <string.h>

void pairs_init(struct pairs *pairs)
{
    pairs->count = 0;
    memset(pairs->slots, 0xff, sizeof pairs->slots);
}

/* The slot that holds the pair, or the free one where it belongs. */
static size_t slot_of(const struct pairs *pairs, int64_t a, int64_t b)
{
    uint64_t hash = ((uint64_t)a * 31 + (uint64_t)b) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = hash >> 53;

    while (pairs->slots[at] >= 0 &&
           (pairs->a[pairs->slots[at]] != a || pairs->b[pairs->slots[at]] != b))
        at = (at + 1) % TALLY_SLOTS;
    return at;
}

int pairs_find(const struct pairs *pairs, int64_t a, int64_t b)
{
    return pairs->slots[slot_of(pairs, a, b)];
}

bool pairs_add(struct pairs *pairs, int64_t a, int64_t b, int *index)
{
    int16_t *slot = &pairs->slots[slot_of(pairs, a, b)];
    bool new = *slot < 0;

    if (new) {
        pairs->a[pairs->count] = a;
        pairs->b[pairs->count] = b;
        *slot = (int16_t)pairs->count++;
    }
    *index = *slot;
    return new;
}

void tally_init(struct tally *tally, struct pg *pg, int64_t fence, int64_t until_us)
{
    tally->pg = pg;
    tally->fence = fence;
    tally->committing = tally->key_missed = false;
    tally->until_us = until_us;
    pairs_init(&tally->products);
    pairs_init(&tally->shares);
}

int tally_product(struct tally *tally, int64_t product_id)
{
    int at;

    if (pairs_add(&tally->products, product_id, 0, &at)) {
        tally->known[at] = tally->busy[at] = false;
        tally->asked[at] = tally->taken[at] = 0;
    }
    return at;
}

void tally_want(struct tally *tally, int product, int64_t user_id, int64_t units)
{
    int at;

    tally->asked[product] += units;
    if (tally->known[product] && tally->rows[product].limit_per_user != NO_LIMIT &&
        pairs_add(&tally->shares, product, user_id, &at))
        tally->held[at] = tally->added[at] = 0;
}

enum order_outcome tally_judge(struct tally *tally, int product, int64_t user_id, int64_t units)
{
    const struct product_row *row = &tally->rows[product];

    if (!tally->known[product])
        return ORDER_UNKNOWN_PRODUCT;
    if (!row->open)
        return ORDER_SALE_NOT_OPEN;
    if (units > row->stock - tally->taken[product])
        return ORDER_SOLD_OUT;
    if (row->limit_per_user != NO_LIMIT) {
        int share = pairs_find(&tally->shares, product, user_id);
        if (tally->held[share] + tally->added[share] + units > row->limit_per_user)
            return ORDER_LIMIT_REACHED;
        tally->added[share] += units;
    }
    tally->taken[product] += units;
    return ORDER_PENDING;
}
