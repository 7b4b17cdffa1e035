#include "strategy/tally.h"

#include <string.h>

static void pairs_init(struct pairs *pairs)
{
    pairs->count = 0;
    memset(pairs->slots, 0xff, sizeof pairs->slots);
}

/* The slot that holds the pair, or the free one where it belongs. */
static int16_t *slot_of(struct pairs *pairs, int64_t a, int64_t b)
{
    uint64_t hash = ((uint64_t)a * 31 + (uint64_t)b) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = hash >> 54;

    while (pairs->slots[at] >= 0 &&
           (pairs->a[pairs->slots[at]] != a || pairs->b[pairs->slots[at]] != b))
        at = (at + 1) % TALLY_SLOTS;
    return &pairs->slots[at];
}

static int pairs_find(struct pairs *pairs, int64_t a, int64_t b)
{
    return *slot_of(pairs, a, b);
}

/* True when it is new; *index says which one it is. */
static bool pairs_add(struct pairs *pairs, int64_t a, int64_t b, int *index)
{
    int16_t *slot = slot_of(pairs, a, b);
    bool new = *slot < 0;

    if (new) {
        pairs->a[pairs->count] = a;
        pairs->b[pairs->count] = b;
        *slot = (int16_t)pairs->count++;
    }
    *index = *slot;
    return new;
}

/* FNV-1a. Two keys of a user with one hash cost the second order another batch, nothing else. */
static int64_t hash_key(const char *key)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * UINT64_C(0x100000001b3);
    return (int64_t)hash;
}

void tally_init(struct tally *tally, struct order **orders, int count)
{
    tally->orders = orders;
    tally->count = count;
    pairs_init(&tally->products);
    pairs_init(&tally->shares);
    pairs_init(&tally->keys);
    for (int i = 0; i < count; i++) {
        int at;
        if (pairs_add(&tally->products, orders[i]->product_id, 0, &at)) {
            tally->known[at] = false;
            tally->asked[at] = tally->taken[at] = 0;
        }
        tally->product_of[i] = at;
        tally->asked[at] += orders[i]->quantity;
    }
}

void tally_set_row(struct tally *tally, int64_t product_id, const struct product_row *row)
{
    int at = pairs_find(&tally->products, product_id, 0);

    tally->rows[at] = *row;
    tally->known[at] = true;
}

void tally_share(struct tally *tally)
{
    for (int i = 0; i < tally->count; i++) {
        int product = tally->product_of[i];
        int at;
        if (tally->orders[i]->outcome == ORDER_PENDING && tally->known[product] &&
            tally->rows[product].limit_per_user != NO_LIMIT &&
            pairs_add(&tally->shares, product, tally->orders[i]->user_id, &at))
            tally->held[at] = tally->added[at] = 0;
    }
}

static enum order_outcome judge(struct tally *tally, const struct order *order, int product)
{
    const struct product_row *row = &tally->rows[product];
    int share;
    int key;

    if (!tally->known[product])
        return ORDER_UNKNOWN_PRODUCT;
    if (order->key[0] && pairs_find(&tally->keys, order->user_id, hash_key(order->key)) >= 0)
        return ORDER_KEY_TAKEN; /* what becomes of the earlier one is looked up after it */
    if (!row->open)
        return ORDER_SALE_NOT_OPEN;
    if (order->quantity > row->stock - tally->taken[product])
        return ORDER_SOLD_OUT;
    if (row->limit_per_user != NO_LIMIT) {
        share = pairs_find(&tally->shares, product, order->user_id);
        if (tally->held[share] + tally->added[share] + order->quantity > row->limit_per_user)
            return ORDER_LIMIT_REACHED;
        tally->added[share] += order->quantity;
    }
    if (order->key[0])
        pairs_add(&tally->keys, order->user_id, hash_key(order->key), &key);
    tally->taken[product] += order->quantity;
    return ORDER_PENDING;
}

void tally_decide(struct tally *tally)
{
    for (int i = 0; i < tally->count; i++)
        if (tally->orders[i]->outcome == ORDER_PENDING)
            tally->orders[i]->outcome = judge(tally, tally->orders[i], tally->product_of[i]);
}
