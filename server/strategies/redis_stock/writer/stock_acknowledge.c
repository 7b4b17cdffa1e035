/*
 * One script for everything that a part decided, which acknowledges the entries that are done.
 *
 * A part of which everything was sold, and nobody sent a key, goes entry by entry: Redis looks at
 * each entry, not at each order. Any other goes order by order, and so does one that has company in
 * `partly`: some orders of an entry were acknowledged before the rest of it could be decided.
 */
#include "strategies/redis_stock/writer/stock_acknowledge.h"

#include "base/clock.h"
#include "base/log.h"
#include "metrics/cost.h"

#include <stdio.h>
#include <string.h>

enum {
    ACKNOWLEDGE_KEYS = 4,
    ACKNOWLEDGE_FIXED = ACKNOWLEDGE_KEYS + 3,
    ENTRY_ARGUMENTS = 4,       /* of what goes order by order */
    WHOLE_ENTRY_ARGUMENTS = 5, /* and of what goes entry by entry */
    KEY_KEPT_MS = 60000,
    ACKNOWLEDGE_LATER_US = 50000
};

static void note_wrong(struct stock_stream *stream, int64_t product_id, int64_t ended)
{
    for (int i = 0; i < stream->wrong_count; i++)
        if (stream->wrong[i].product_id == product_id && stream->wrong[i].ended == ended)
            return;
    if (stream->wrong_count < STREAM_WRONG_MAX)
        stream->wrong[stream->wrong_count++] = (struct stream_wrong){product_id, ended};
}

static size_t acknowledge_line(const struct claim *claim, char *out)
{
    const struct waiting_order *order = &claim->order;
    char id[UUID_TEXT_LENGTH + 1];
    const char *fate = "failed";

    if (claim->fate == CLAIM_CONFIRMED || claim->fate == CLAIM_KNOWN)
        fate = "kept";
    else if (claim->fate == CLAIM_POISON && claim->generation[0])
        fate = claim->generation;
    uuid_format(&order->id, id);
    return (size_t)snprintf(out, STREAM_LINE, "%s %lld %lld %lld %lld %s %s\n", id,
                            (long long)order->product_id, (long long)order->epoch,
                            (long long)order->user_id, (long long)order->quantity, fate,
                            order->key);
}

static void name_acknowledge_keys(const struct stock_link *link,
                                  char keys[ACKNOWLEDGE_KEYS][STOCK_KEY_MAX])
{
    static const char *const names[ACKNOWLEDGE_KEYS] = {"orders", "waiting", "units", "partly"};

    for (int i = 0; i < ACKNOWLEDGE_KEYS; i++)
        stock_key(link->shard, names[i], -1, keys[i]);
}

/* What both scripts' answers cost. */
static bool said(struct stock_link *link, enum redis_status status)
{
    if (status != REDIS_OK) {
        stock_redis_failed(link->redis);
        return false;
    }
    cost_add(COST_REDIS, COST_FLUSHES, 1);
    return true;
}

/* That of the entry's ids; "" of one without orders. */
static void entry_group(const struct stock_part *part, const struct part_entry *entry,
                        char out[STREAM_GROUP_MAX])
{
    char id[UUID_TEXT_LENGTH + 1] = "";

    if (entry->count > 0)
        uuid_format(&part->claims[entry->first].order.id, id);
    snprintf(out, STREAM_GROUP_MAX, "%s", entry->count > 0 ? uuid_group_text(id) : "");
}

static bool is_decided(const struct stock_part *part, const struct part_entry *entry)
{
    for (int i = entry->first; i < entry->first + entry->count; i++)
        if (part->claims[i].fate == CLAIM_OPEN)
            return false;
    return true;
}

/* The lines of those that are decided, from `out` on; what follows them. */
static char *acknowledge_lines(const struct stock_part *part, const struct part_entry *entry,
                               char *out)
{
    *out = '\0';
    for (int i = entry->first; i < entry->first + entry->count; i++)
        if (part->claims[i].fate != CLAIM_OPEN)
            out += acknowledge_line(&part->claims[i], out);
    return out + 1;
}

/* What PostgreSQL has said of the mirrors is true whatever becomes of the entries, and of one that
 * is put off, too: when it is read again, its refused orders are known ones and say nothing more.
 */
static void note_wrong_mirrors(struct stock_stream *stream, const struct stock_part *part)
{
    for (int i = 0; i < part->count; i++) {
        const struct waiting_order *order = &part->claims[i].order;
        if (part->claims[i].fate == CLAIM_REFUSED)
            note_wrong(stream, order->product_id, 0);
        if (part->claims[i].fate == CLAIM_ENDED)
            note_wrong(stream, order->product_id, order->epoch);
    }
}

static void note_missed_credits(struct stock_stream *stream, const struct stock_part *part)
{
    for (int i = 0; i < part->count; i++)
        if (part->claims[i].fate == CLAIM_POISON)
            note_wrong(stream, part->claims[i].order.product_id, 0);
}

/* Order by order. False: some are left. */
static bool acknowledge_orders(struct stock_stream *stream, struct stock_link *link,
                               const struct stock_part *part)
{
    char keys[ACKNOWLEDGE_KEYS][STOCK_KEY_MAX];
    char prefix[STOCK_KEY_MAX];
    char kept[STOCK_NUMBER_MAX];
    char groups[STREAM_ENTRIES][STREAM_GROUP_MAX];
    const char *arguments[ACKNOWLEDGE_FIXED + STREAM_ENTRIES * ENTRY_ARGUMENTS];
    char *lines = stream->lines;
    int64_t missed = 0;
    bool all = true;
    int n = 0;

    name_acknowledge_keys(link, keys);
    stock_key(link->shard, NULL, -1, prefix);
    stock_number(KEY_KEPT_MS, kept);
    for (int i = 0; i < ACKNOWLEDGE_KEYS; i++)
        arguments[n++] = keys[i];
    arguments[n++] = prefix;
    arguments[n++] = STOCK_GROUP;
    arguments[n++] = kept;
    for (int i = 0; i < part->entries_count; i++) {
        const struct part_entry *entry = &part->entries[i];
        bool decided = is_decided(part, entry);
        if (decided && !entry->whole)
            log_error("redis-stock: entry %s: not all of it can be read; dropped", entry->id);
        entry_group(part, entry, groups[i]);
        arguments[n++] = entry->id;
        arguments[n++] = groups[i];
        arguments[n++] = decided ? "1" : "0";
        arguments[n++] = lines;
        lines = acknowledge_lines(part, entry, lines);
        all &= decided;
    }
    stock_give_time(link);
    if (!said(link, redis_script(link->redis, LUA_STOCK_ACKNOWLEDGE, ACKNOWLEDGE_KEYS, n, arguments,
                                 link->until_us, &missed)))
        return false;
    if (missed > 0)
        note_missed_credits(stream, part);
    return all;
}

/* All of its orders are in PostgreSQL, and none has a key. */
static bool is_kept(const struct stock_part *part, const struct part_entry *entry)
{
    for (int i = entry->first; i < entry->first + entry->count; i++) {
        const struct claim *claim = &part->claims[i];
        if ((claim->fate != CLAIM_CONFIRMED && claim->fate != CLAIM_KNOWN) || claim->order.key[0])
            return false;
    }
    return true;
}

static bool is_plain(const struct stock_part *part)
{
    for (int i = 0; i < part->entries_count; i++) {
        const struct part_entry *entry = &part->entries[i];
        if (!entry->whole || !is_kept(part, entry))
            return false;
    }
    return true;
}

/* Notes the part's entries as such that may be let go of. */
static void note_entries(struct stock_stream *stream, const struct stock_part *part)
{
    if (stream->noted_count == 0)
        stream->noted_since_us = clock_mono_us();
    for (int i = 0; i < part->entries_count; i++) {
        const struct part_entry *entry = &part->entries[i];
        const struct waiting_order *first = &part->claims[entry->first].order;
        struct noted_entry *to = &stream->noted[stream->noted_count++];
        int64_t units = 0;

        for (int at = entry->first; at < entry->first + entry->count; at++)
            units += part->claims[at].order.quantity;
        snprintf(to->id, sizeof to->id, "%s", entry->id);
        entry_group(part, entry, to->group);
        snprintf(to->sale, sizeof to->sale, "%lld:%lld", (long long)first->product_id,
                 (long long)first->epoch);
        stock_number(units, to->units);
        stock_number(entry->count, to->orders);
    }
}

/* Lets go of those that were noted. *done is false when it has to be done order by order. */
static bool let_go(struct stock_stream *stream, struct stock_link *link, int64_t *done)
{
    char keys[ACKNOWLEDGE_KEYS][STOCK_KEY_MAX];
    const char *arguments[ACKNOWLEDGE_KEYS + 1 + STREAM_ENTRIES * WHOLE_ENTRY_ARGUMENTS];
    int n = 0;

    name_acknowledge_keys(link, keys);
    for (int i = 0; i < ACKNOWLEDGE_KEYS; i++)
        arguments[n++] = keys[i];
    arguments[n++] = STOCK_GROUP;
    for (int i = 0; i < stream->noted_count; i++) {
        const struct noted_entry *entry = &stream->noted[i];
        arguments[n++] = entry->id;
        arguments[n++] = entry->group;
        arguments[n++] = entry->sale;
        arguments[n++] = entry->units;
        arguments[n++] = entry->orders;
    }
    stream->noted_count = 0; /* where it fails they are found in the history */
    stock_give_time(link);
    return said(link, redis_script(link->redis, LUA_STOCK_ACKNOWLEDGE_ENTRIES, ACKNOWLEDGE_KEYS, n,
                                   arguments, link->until_us, done));
}

bool stock_acknowledge_noted(struct stock_stream *stream, struct stock_link *link)
{
    int64_t done = 1;

    return stream->noted_count == 0 || (let_go(stream, link, &done) && done == 1);
}

bool stock_acknowledge(struct stock_stream *stream, struct stock_link *link,
                       struct stock_part *part, bool later)
{
    int64_t done = 0;

    note_wrong_mirrors(stream, part);
    if (part->entries_count == 0)
        return stock_acknowledge_noted(stream, link);
    if (!is_plain(part))
        return acknowledge_orders(stream, link, part);
    if (stream->noted_count + part->entries_count > STREAM_ENTRIES &&
        !stock_acknowledge_noted(stream, link))
        return false;
    bool alone = stream->noted_count == 0;
    note_entries(stream, part);
    if (later && clock_mono_us() - stream->noted_since_us < ACKNOWLEDGE_LATER_US)
        return true;
    if (!let_go(stream, link, &done))
        return false;
    return done == 1 || (acknowledge_orders(stream, link, part) && alone);
}
