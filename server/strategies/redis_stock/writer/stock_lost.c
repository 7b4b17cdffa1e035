/* See stock_lost.h. */
#include "strategies/redis_stock/writer/stock_lost.h"

#include "base/clock.h"
#include "base/log.h"
#include "strategies/redis_stock/writer/stock_stream.h"

#include <inttypes.h>
#include <stdio.h>

enum { PAGE_ENTRIES = 100, KEYS = 2, GROUP_TEXT = UUID_GROUP_BITS / 4 + 1 };

void stock_lost_begin(struct stock_lost *search)
{
    *search = (struct stock_lost){.before_us = clock_mono_us()};
}

/* Leaves those of the page that do not wait in Redis; *count is how many. */
static enum stock_result find_missing(struct stock_link *link, const struct kept_entry **page,
                                      int *count)
{
    char keys[KEYS][STOCK_KEY_MAX];
    char groups[PAGE_ENTRIES][GROUP_TEXT];
    char entries[PAGE_ENTRIES][STOCK_ENTRY_MAX];
    const char *arguments[KEYS + 2 * PAGE_ENTRIES] = {keys[0], keys[1]};
    struct redis_reply *reply;
    int n = KEYS;

    stock_key(link->shard, "orders", -1, keys[0]);
    stock_key(link->shard, "waiting", -1, keys[1]);
    for (int i = 0; i < *count; i++) {
        snprintf(groups[i], GROUP_TEXT, "%0*" PRIx64, GROUP_TEXT - 1, page[i]->group);
        snprintf(entries[i], STOCK_ENTRY_MAX, "%" PRIu64 "-%" PRIu64, page[i]->ms, page[i]->n);
        arguments[n++] = groups[i];
        arguments[n++] = entries[i];
    }
    stock_give_time(link);
    if (redis_eval(link->redis, LUA_STOCK_MISSING, KEYS, n, arguments, link->until_us, &reply) !=
        REDIS_OK)
        return stock_redis_failed(link->redis);
    *count = redis_reply_count(reply);
    for (int i = 0; i < *count; i++) /* in their order, so none is written over before its turn */
        page[i] = page[redis_reply_number(redis_reply_at(reply, i))];
    redis_reply_free(reply);
    return STOCK_DONE;
}

static void make_claims(const struct kept_entry *entry, struct claim *claims)
{
    for (int i = 0; i < entry->count; i++) {
        const struct kept_order *from = &entry->orders[i];
        claims[i] = (struct claim){.order = {.id = from->id,
                                             .product_id = entry->product_id,
                                             .epoch = entry->epoch,
                                             .user_id = from->user_id,
                                             .quantity = from->quantity,
                                             .created_us = from->created_us,
                                             .hold_s = ORDER_HOLD_NOT_SAID}};
    }
}

/* What became of an entry: it is kept no longer, or something is in the way. */
static int take_fates(struct stock_kept *kept, struct stock_lost *search,
                      const struct kept_entry *entry, const struct claim *claims)
{
    bool decided = true;
    int lost = 0;
    int held = 0;

    for (int i = 0; i < entry->count; i++) {
        decided &= claim_is_decided(&claims[i]);
        held |= claims[i].fate == CLAIM_HELD;
        lost += claims[i].fate == CLAIM_LOST;
    }
    search->held += held;
    if (decided)
        stock_kept_remove(kept, &claims->order.id);
    return lost;
}

/* Ends what is lost of the entries, as many of them as one transaction takes. How many it was;
 * *done is false where PostgreSQL could not say. */
static int end_some(struct stock_link *link, struct stock_kept *kept, struct stock_lost *search,
                    struct claim *claims, const struct kept_entry **entries, int most, int *ended,
                    bool *done)
{
    int count = 0;
    int n = 0;

    for (; n < most && count + entries[n]->count <= WRITE_MAX; n++) {
        make_claims(entries[n], claims + count);
        count += entries[n]->count;
    }
    *done = stock_write_lost(link, claims, count);
    for (int i = 0; i < n; i++) {
        int claims_count = entries[i]->count; /* it may be gone then */
        *ended += take_fates(kept, search, entries[i], claims);
        claims += claims_count;
    }
    return n;
}

enum stock_result stock_lost_step(struct stock_link *link, struct stock_kept *kept,
                                  struct stock_lost *search, struct claim *claims, bool *over,
                                  int *ended)
{
    const struct kept_entry *page[PAGE_ENTRIES];
    int count = stock_kept_page(kept, search->before_us, &search->slot, page, PAGE_ENTRIES);
    bool done = true;

    *over = count < PAGE_ENTRIES;
    *ended = 0;
    enum stock_result result = count > 0 ? find_missing(link, page, &count) : STOCK_DONE;
    for (int i = 0; result == STOCK_DONE && done && i < count;)
        i += end_some(link, kept, search, claims, page + i, count - i, ended, &done);
    search->orders += *ended;
    if (!done)
        result = STOCK_UNREACHABLE;
    if (search->orders > 0 && (*over || result != STOCK_DONE))
        log_error("redis-stock: Redis has lost %lld orders that were answered 202; they have failed"
                  " (lost)",
                  (long long)search->orders);
    return result;
}
