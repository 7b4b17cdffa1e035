/* See suited.h. */
#include "strategy/suited.h"

#include <stdatomic.h>

enum { PLACES = 64 };

static _Atomic int64_t unsuited[PLACES]; /* products, each at its id's place; 0: none */

void suited_note(int64_t product_id, bool suited)
{
    _Atomic int64_t *place = &unsuited[product_id % PLACES];

    if (!suited)
        atomic_store_explicit(place, product_id, memory_order_relaxed);
    else if (!suited_is(product_id))
        atomic_store_explicit(place, 0, memory_order_relaxed);
}

bool suited_is(int64_t product_id)
{
    return atomic_load_explicit(&unsuited[product_id % PLACES], memory_order_relaxed) != product_id;
}
