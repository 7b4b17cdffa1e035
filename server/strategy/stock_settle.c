/*
 * One script for everything that a part decided, which acknowledges the entries that are done.
 *
 * A part of which everything was sold, and nobody sent a key, goes entry by entry: Redis looks at
 * each entry, not at each order. Any other goes order by order, and so does one that has company in
 * `partly`: some orders of an entry were settled before the rest of it could be decided.
 */
#include "strategy/stock_settle.h"

#include "base/clock.h"
#include "base/log.h"
#include "metrics/cost.h"

#include <stdio.h>
#include <string.h>

enum {
    SETTLE_KEYS = 4,
    ENTRY_ARGUMENTS = 4, /* and an id for each order */
    KEY_KEPT_MS = 60000
};

/* The waiting orders that name a malformed entry. */
struct burial {
    const char *entry;
    struct claim *claims;
    int count;
};

static void bury(void *context, const struct waiting_order *order)
{
    struct burial *burial = context;

    if (strcmp(order->entry, burial->entry) != 0 || burial->count == WRITE_MAX)
        return;
    burial->claims[burial->count++] = (struct claim){.order = *order};
}

static void note_wrong(struct stock_stream *stream, int64_t product_id)
{
    for (int i = 0; i < stream->wrong_count; i++)
        if (stream->wrong[i] == product_id)
            return;
    if (stream->wrong_count < STREAM_WRONG_MAX)
        stream->wrong[stream->wrong_count++] = product_id;
}

static size_t settle_line(const struct claim *claim, char *out)
{
    const struct waiting_order *order = &claim->order;
    char id[UUID_TEXT_LENGTH + 1];
    const char *fate = "failed";

    if (claim->fate == CLAIM_CONFIRMED || claim->fate == CLAIM_KNOWN)
        fate = "kept";
    else if (claim->fate == CLAIM_POISON && claim->generation[0])
        fate = claim->generation;
    uuid_format(&order->id, id);
    return (size_t)snprintf(out, STREAM_SETTLE_LINE, "%s %lld %lld %lld %lld %s %s\n", id,
                            (long long)order->product_id, (long long)order->epoch,
                            (long long)order->user_id, (long long)order->quantity, fate,
                            order->key);
}

static void name_settle_keys(const struct stock_link *link, char keys[SETTLE_KEYS][STOCK_KEY_MAX])
{
    static const char *const names[SETTLE_KEYS] = {"orders", "waiting", "units", "partly"};

    for (int i = 0; i < SETTLE_KEYS; i++)
        stock_key(link->settings, names[i], -1, keys[i]);
}

static bool call_settle(struct stock_link *link, enum lua script, int count,
                        const char *const *arguments, int64_t *answer)
{
    link->until_us = clock_mono_us() + link->settings->work_timeout_ms * CLOCK_US_PER_MS;
    if (redis_script(link->redis, script, SETTLE_KEYS, count, arguments, link->until_us, answer) !=
        REDIS_OK) {
        stock_redis_failed(link->redis);
        return false;
    }
    cost_add(COST_REDIS, COST_FLUSHES, 1);
    return true;
}

/* `done` and `not_done`: entries' ids with a space after each. */
static bool settle_orders(struct stock_stream *stream, struct stock_link *link,
                          const struct claim *claims, int count, const char *done,
                          const char *not_done)
{
    char keys[SETTLE_KEYS][STOCK_KEY_MAX];
    char prefix[STOCK_KEY_MAX];
    char kept[STOCK_NUMBER_MAX];
    int64_t missed = 0;
    size_t length = 0;

    *stream->lines = '\0';
    for (int i = 0; i < count; i++) {
        if (claims[i].fate == CLAIM_OPEN)
            continue;
        length += settle_line(&claims[i], stream->lines + length);
        if (claims[i].fate == CLAIM_REFUSED)
            note_wrong(stream, claims[i].order.product_id);
    }
    name_settle_keys(link, keys);
    stock_key(link->settings, NULL, -1, prefix);
    stock_number(KEY_KEPT_MS, kept);
    if (!call_settle(link, LUA_STOCK_SETTLE, SETTLE_KEYS + 6,
                     (const char *const[]){keys[0], keys[1], keys[2], keys[3], prefix, STOCK_GROUP,
                                           kept, stream->lines, done, not_done},
                     &missed))
        return false;
    for (int i = 0; missed > 0 && i < count; i++)
        if (claims[i].fate == CLAIM_POISON)
            note_wrong(stream, claims[i].order.product_id);
    return true;
}

static bool is_plain(const struct stock_part *part)
{
    for (int i = 0; i < part->entries_count; i++)
        if (part->entries[i].poison)
            return false;
    for (int i = 0; i < part->count; i++) {
        const struct claim *claim = &part->claims[i];
        if ((claim->fate != CLAIM_CONFIRMED && claim->fate != CLAIM_KNOWN) || claim->order.key[0])
            return false;
    }
    return true;
}

/* *settled is 0 when it has to be done order by order. */
static bool settle_entries(struct stock_link *link, const struct stock_part *part, int64_t *settled)
{
    char fields[STREAM_ENTRIES][2 * STOCK_NUMBER_MAX];
    char sums[STREAM_ENTRIES][STOCK_NUMBER_MAX];
    char counts[STREAM_ENTRIES][STOCK_NUMBER_MAX];
    char ids[WRITE_MAX][UUID_TEXT_LENGTH + 1];
    const char *arguments[SETTLE_KEYS + 1 + STREAM_ENTRIES * ENTRY_ARGUMENTS + WRITE_MAX];
    char keys[SETTLE_KEYS][STOCK_KEY_MAX];
    int n = 0;

    name_settle_keys(link, keys);
    for (int i = 0; i < SETTLE_KEYS; i++)
        arguments[n++] = keys[i];
    arguments[n++] = STOCK_GROUP;
    for (int i = 0; i < part->entries_count; i++) {
        const struct part_entry *entry = &part->entries[i];
        const struct waiting_order *first = &part->claims[entry->first].order;
        int64_t units = 0;
        for (int at = entry->first; at < entry->first + entry->count; at++)
            units += part->claims[at].order.quantity;
        snprintf(fields[i], sizeof fields[i], "%lld:%lld", (long long)first->product_id,
                 (long long)first->epoch);
        stock_number(units, sums[i]);
        stock_number(entry->count, counts[i]);
        arguments[n++] = entry->id;
        arguments[n++] = fields[i];
        arguments[n++] = sums[i];
        arguments[n++] = counts[i];
        for (int at = entry->first; at < entry->first + entry->count; at++) {
            uuid_format(&part->claims[at].order.id, ids[at]);
            arguments[n++] = ids[at];
        }
    }
    return call_settle(link, LUA_STOCK_SETTLE_ENTRIES, n, arguments, settled);
}

/* Every order that names the entry is failed; only then is it dropped. */
static bool drop_malformed(struct stock_stream *stream, struct stock_link *link, const char *entry)
{
    struct burial burial = {entry, stream->claims, 0};
    char entries[STOCK_ENTRY_MAX + 1];
    bool done = stock_waiting_each(link, bury, &burial) == STOCK_DONE;

    log_error("redis-stock: entry %s cannot be read; %d orders name it", entry, burial.count);
    for (int i = 0; done && i < burial.count; i++)
        done = stock_write_poison(link, &burial.claims[i]);
    snprintf(entries, sizeof entries, "%s ", entry);
    return settle_orders(stream, link, burial.claims, burial.count, done ? entries : "",
                         done ? "" : entries) &&
           done;
}

static bool is_decided(const struct stock_part *part, const struct part_entry *entry)
{
    for (int i = entry->first; i < entry->first + entry->count; i++)
        if (part->claims[i].fate == CLAIM_OPEN)
            return false;
    return true;
}

/* Order by order. False: some are left. */
static bool settle_part(struct stock_stream *stream, struct stock_link *link,
                        struct stock_part *part)
{
    char entries[2][STREAM_ENTRIES * (STOCK_ENTRY_MAX + 1) + 1] = {"", ""};
    size_t lengths[2] = {0, 0};
    bool all = true;

    for (int i = 0; i < part->entries_count; i++) {
        const struct part_entry *entry = &part->entries[i];
        if (entry->poison)
            continue;
        bool decided = is_decided(part, entry);
        lengths[!decided] +=
            (size_t)sprintf(entries[!decided] + lengths[!decided], "%s ", entry->id);
        all &= decided;
    }
    all &= settle_orders(stream, link, part->claims, part->count, entries[0], entries[1]);
    /* Last, because it uses the claims' memory. */
    for (int i = 0; i < part->entries_count; i++)
        if (part->entries[i].poison)
            all &= drop_malformed(stream, link, part->entries[i].id);
    return all;
}

bool stock_settle(struct stock_stream *stream, struct stock_link *link, struct stock_part *part)
{
    int64_t settled = 0;

    if (is_plain(part) && !settle_entries(link, part, &settled))
        return false;
    return settled || settle_part(stream, link, part);
}
