/* See stock_put_off.h. */
#include "strategies/redis_stock/writer/stock_put_off.h"

#include <stdio.h>

void stock_put_off_clear(struct stock_put_off *put_off)
{
    put_off->count = 0;
    put_off->others = false;
}

bool stock_put_off_is_empty(const struct stock_put_off *put_off)
{
    return put_off->count == 0 && !put_off->others;
}

static void add(struct stock_put_off *to, int64_t product_id, const char *entry)
{
    int i = 0;

    if (stock_put_off_is_empty(to) || stock_entry_is_behind(entry, to->last))
        snprintf(to->last, sizeof to->last, "%s", entry);
    while (i < to->count && to->products[i] != product_id)
        i++;
    if (product_id == 0 || i == PUT_OFF_PRODUCTS)
        to->others = true;
    else if (i == to->count)
        to->products[to->count++] = product_id;
}

/* What the entry's orders wait for: their product's row, another lock (0), or nothing (-1). */
static int64_t waits_for(const struct stock_part *part, const struct part_entry *entry)
{
    int64_t product_id = -1;

    for (int i = entry->first; i < entry->first + entry->count; i++) {
        const struct claim *claim = &part->claims[i];
        if (claim->fate == CLAIM_HELD)
            return claim->order.product_id;
        if (claim->fate == CLAIM_LOCKED)
            product_id = 0;
    }
    return product_id;
}

void stock_put_off_take(struct stock_put_off *put_off, struct stock_part *part)
{
    int n = 0;

    for (int i = 0; i < part->entries_count; i++) {
        const struct part_entry *entry = &part->entries[i];
        int64_t product_id = waits_for(part, entry);
        if (product_id >= 0)
            add(put_off, product_id, entry->id);
        else
            part->entries[n++] = *entry;
    }
    part->entries_count = n;
}
