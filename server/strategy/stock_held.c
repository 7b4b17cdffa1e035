/* See stock_held.h. A short list: where more rows are held than it has places, the one that is due
 * first makes room, and is waited for as if for the first time. */
#include "strategy/stock_held.h"

#include "base/clock.h"

#include <stddef.h>

enum {
    HELD_MAX = 64,
    PATIENCE_FIRST_US = 25000,
    PATIENCE_MOST_US = 400000,
    REST_OF_ALL = 4, /* times as long as it was waited in vain: no row is waited for */
    REST_OF_ONE = 9  /* nor this one */
};

static struct {
    int count;
    int64_t due_us; /* of any row */
    struct held_row {
        int64_t product_id;
        int64_t patience_us; /* the next time */
        int64_t due_us;
    } rows[HELD_MAX];
} held;

static struct held_row *find(int64_t product_id)
{
    for (int i = 0; i < held.count; i++)
        if (held.rows[i].product_id == product_id)
            return &held.rows[i];
    return NULL;
}

static struct held_row *make_room(void)
{
    struct held_row *first = &held.rows[0];

    if (held.count < HELD_MAX)
        return &held.rows[held.count++];
    for (int i = 1; i < HELD_MAX; i++)
        if (held.rows[i].due_us < first->due_us)
            first = &held.rows[i];
    return first;
}

bool stock_held_is(int64_t product_id)
{
    return find(product_id) != NULL;
}

int64_t stock_held_due_us(int64_t product_id)
{
    const struct held_row *row = find(product_id);

    return row ? row->due_us : 0;
}

int64_t stock_held_patience_us(int64_t product_id)
{
    const struct held_row *row = find(product_id);
    int64_t now_us = clock_mono_us();

    if (now_us < held.due_us || (row && now_us < row->due_us))
        return 0;
    return row ? row->patience_us : PATIENCE_FIRST_US;
}

void stock_held_failed(int64_t product_id, int64_t patience_us)
{
    struct held_row *row = find(product_id);
    int64_t now_us = clock_mono_us();

    if (!row)
        row = make_room();
    row->product_id = product_id;
    row->patience_us = 2 * patience_us < PATIENCE_MOST_US ? 2 * patience_us : PATIENCE_MOST_US;
    row->due_us = now_us + REST_OF_ONE * patience_us;
    held.due_us = now_us + REST_OF_ALL * patience_us;
}

void stock_held_got(int64_t product_id)
{
    struct held_row *row = find(product_id);

    if (row)
        *row = held.rows[--held.count];
}
