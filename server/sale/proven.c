/* See proven.h: a table with a place for each product, shared by those that are SLOTS apart. */
#include "sale/proven.h"

#include <stdlib.h>

enum { SLOTS = 4096 };

struct proven {
    struct slot {
        int64_t product_id;
        struct product_version covered;
        unsigned ticket; /* 0: nothing is here */
        int64_t begun_us;
    } slots[SLOTS];
};

struct proven *proven_create(void)
{
    return calloc(1, sizeof(struct proven));
}

void proven_destroy(struct proven *proven)
{
    free(proven);
}

/* Whether the slot speaks of that sale, as that session knows it. */
static bool is_of(const struct slot *slot, int64_t product_id, struct product_version seen,
                  unsigned ticket)
{
    return slot->ticket == ticket && slot->product_id == product_id &&
           slot->covered.epoch == seen.epoch;
}

void proven_note(struct proven *proven, int64_t product_id, struct product_version seen,
                 unsigned ticket, int64_t begun_us)
{
    struct slot *slot = &proven->slots[(uint64_t)product_id % SLOTS];

    /* What an earlier flush has covered, this one has. */
    if (is_of(slot, product_id, seen, ticket) && slot->covered.version > seen.version)
        seen.version = slot->covered.version;
    *slot = (struct slot){product_id, seen, ticket, begun_us};
}

int64_t proven_since_us(const struct proven *proven, int64_t product_id,
                        struct product_version seen, unsigned ticket)
{
    const struct slot *slot = &proven->slots[(uint64_t)product_id % SLOTS];

    return ticket != 0 && seen.version != 0 && is_of(slot, product_id, seen, ticket) &&
                   slot->covered.version >= seen.version
               ? slot->begun_us
               : 0;
}
