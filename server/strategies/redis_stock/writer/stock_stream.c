/*
 * Reading and taking apart. Every failure of Redis ends in reading the own history again, which is
 * where an entry stays until it is acknowledged.
 */
#include "strategies/redis_stock/writer/stock_stream.h"

#include "base/clock.h"
#include "base/log.h"
#include "metrics/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRY_ORDERS_MAX = 500, LEAVE_US = 2000000 };

bool stock_member(const struct settings *settings, char out[STOCK_MEMBER_MAX])
{
    char host[64] = "";
    const char *port = strrchr(settings->listen, ':');
    bool lasting = port && strcmp(port, ":0") != 0;

    gethostname(host, sizeof host - 1);
    if (lasting)
        snprintf(out, STOCK_MEMBER_MAX, "%s/%s", host, settings->listen);
    else
        snprintf(out, STOCK_MEMBER_MAX, "%s/%ld", host, (long)getpid());
    return lasting;
}

struct stock_stream *stock_stream_create(const struct settings *settings, int64_t take_over_ms)
{
    struct stock_stream *stream = calloc(1, sizeof *stream);

    if (!stream)
        return NULL;
    stream->lasting = stock_member(settings, stream->member);
    stream->settings = settings;
    stream->take_over_ms = take_over_ms;
    stream->oldest_ms = -1;
    stock_stream_rewind(stream, STOCK_OWN_HISTORY);
    stock_stream_rewind(stream, STOCK_TAKE_OVER);
    stream->claims = malloc(WRITE_MAX * sizeof *stream->claims);
    stream->lines = malloc((size_t)WRITE_MAX * STREAM_LINE + STREAM_ENTRIES);
    if (!stream->claims || !stream->lines) {
        stock_stream_destroy(stream);
        return NULL;
    }
    return stream;
}

void stock_stream_destroy(struct stock_stream *stream)
{
    if (!stream)
        return;
    redis_reply_free(stream->reply);
    free(stream->claims);
    free(stream->lines);
    free(stream);
}

bool stock_stream_connect(struct stock_stream *stream, struct stock_link *link, bool *fresh)
{
    struct redis *redis = link->redis;
    char key[STOCK_KEY_MAX];

    *fresh = false;
    /* A session that was lost has said so at its last call. */
    if (!redis_connect(redis, link->until_us)) {
        stream->grouped = false;
        return false;
    }
    if (stream->grouped)
        return true;
    stock_key(link->shard, "orders", -1, key);
    /* From 0, not from $: what was reserved before the group was there is to be written, too. */
    if (redis_send(redis, 6,
                   (const char *const[]){"XGROUP", "CREATE", key, STOCK_GROUP, "0", "MKSTREAM"},
                   link->until_us) != REDIS_OK &&
        !strstr(redis_error(redis)->text, "BUSYGROUP")) {
        stock_redis_failed(redis);
        return false;
    }
    *fresh = stream->grouped = true;
    return true;
}

void stock_stream_rewind(struct stock_stream *stream, enum stock_source source)
{
    if (source == STOCK_OWN_HISTORY)
        snprintf(stream->history_from, sizeof stream->history_from, "0");
    else
        snprintf(stream->take_over_from, sizeof stream->take_over_from, "-");
}

static enum redis_status read_history(struct stock_stream *stream, struct stock_link *link,
                                      const char *key)
{
    char count[STOCK_NUMBER_MAX];

    stock_number(STREAM_ENTRIES, count);
    return redis_call(link->redis, 9,
                      (const char *const[]){"XREADGROUP", "GROUP", STOCK_GROUP, stream->member,
                                            "COUNT", count, "STREAMS", key, stream->history_from},
                      link->until_us, &stream->reply);
}

static enum redis_status take_over(struct stock_stream *stream, struct stock_link *link,
                                   const char *key)
{
    char count[STOCK_NUMBER_MAX];
    char idle[STOCK_NUMBER_MAX];
    char above[STOCK_NUMBER_MAX];
    char below[STOCK_NUMBER_MAX];

    stock_number(STREAM_ENTRIES, count);
    stock_number(stream->take_over_ms, idle);
    stock_number(pg_epoch_base(link->pg), above);
    stock_number(pg_epoch_base(link->pg) + PG_EPOCHS, below);
    return redis_eval(link->redis, LUA_STOCK_TAKE_OVER, 1, 8,
                      (const char *const[]){key, STOCK_GROUP, stream->member, idle, count,
                                            stream->take_over_from, above, below},
                      link->until_us, &stream->reply);
}

/* Whether there may be more. */
static bool note_history(struct stock_stream *stream)
{
    int n;

    stream->entries = redis_reply_at(redis_reply_at(stream->reply, 0), 1); /* of one stream */
    n = redis_reply_count(stream->entries);
    if (n == 0)
        return false;
    const char *last = redis_reply_text(redis_reply_at(redis_reply_at(stream->entries, n - 1), 0));
    snprintf(stream->history_from, sizeof stream->history_from, "%s", last ? last : "0");
    return n == STREAM_ENTRIES;
}

static bool note_taken(struct stock_stream *stream)
{
    const char *next = redis_reply_text(redis_reply_at(stream->reply, 0));
    bool more = next && *next;

    stream->entries = redis_reply_at(stream->reply, 2);
    stream->oldest_ms = redis_reply_number(redis_reply_at(stream->reply, 1));
    snprintf(stream->take_over_from, sizeof stream->take_over_from, "%s", more ? next : "-");
    bool strangers = redis_reply_number(redis_reply_at(stream->reply, 3)) > 0;
    if (strangers && !stream->strangers)
        log_warn("redis-stock: orders of another database wait in the stock Redis under the name"
                 " %s; they are left alone, and keep their units (--system-name)",
                 stream->settings->system_name);
    stream->strangers |= strangers;
    return more;
}

int stock_stream_read(struct stock_stream *stream, struct stock_link *link,
                      enum stock_source source, bool *more)
{
    char key[STOCK_KEY_MAX];

    redis_reply_free(stream->reply);
    stream->reply = NULL;
    stream->entries = NULL;
    stream->next = 0;
    stock_key(link->shard, "orders", -1, key);
    enum redis_status status =
        source == STOCK_TAKE_OVER ? take_over(stream, link, key) : read_history(stream, link, key);
    if (status != REDIS_OK) {
        stream->grouped = false; /* NOGROUP after a FLUSHALL, or a lost session */
        stock_redis_failed(link->redis);
        return -1;
    }
    *more = source == STOCK_TAKE_OVER ? note_taken(stream) : note_history(stream);
    int n = redis_reply_count(stream->entries);
    if (n > 0 && source == STOCK_TAKE_OVER) {
        cost_add(COST_REDIS, COST_FLUSHES, 1); /* who has which entry is written down, too */
        log_info("redis-stock: took over %d entries", n);
    }
    return n;
}

bool stock_stream_look(struct stock_stream *stream, struct stock_link *link)
{
    char key[STOCK_KEY_MAX];
    struct redis_reply *first = NULL;
    struct redis_reply *time = NULL;

    stock_key(link->shard, "orders", -1, key);
    bool said =
        redis_connect(link->redis, link->until_us) &&
        redis_call(link->redis, 6, (const char *const[]){"XRANGE", key, "-", "+", "COUNT", "1"},
                   link->until_us, &first) == REDIS_OK &&
        redis_call(link->redis, 1, (const char *const[]){"TIME"}, link->until_us, &time) ==
            REDIS_OK;
    if (said) {
        const char *id = redis_reply_text(redis_reply_at(redis_reply_at(first, 0), 0));
        int64_t now_ms =
            redis_reply_number(redis_reply_at(time, 0)) * (CLOCK_US_PER_S / CLOCK_US_PER_MS) +
            redis_reply_number(redis_reply_at(time, 1)) / CLOCK_US_PER_MS;
        int64_t age_ms = id ? now_ms - strtoll(id, NULL, 10) : -1;
        stream->oldest_ms = id && age_ms < 0 ? 0 : age_ms;
    } else {
        stream->grouped = false;
    }
    redis_reply_free(first);
    redis_reply_free(time);
    return said;
}

/* Makes claims of the entry's orders. How many. */
static int take_entry(struct waiting_lines *lines, struct claim *claims)
{
    int n = 0;

    while (n < ENTRY_ORDERS_MAX && waiting_next(lines, &claims[n].order)) {
        claims[n].fate = CLAIM_OPEN;
        claims[n].reason[0] = claims[n].generation[0] = '\0';
        n++;
    }
    return n;
}

bool stock_stream_next(struct stock_stream *stream, struct stock_part *part)
{
    part->claims = stream->claims;
    part->fresh = false;
    part->count = part->entries_count = 0;
    while (stream->next < redis_reply_count(stream->entries) &&
           part->count + ENTRY_ORDERS_MAX <= WRITE_MAX) {
        const struct redis_reply *entry = redis_reply_at(stream->entries, stream->next++);
        const char *id = redis_reply_text(redis_reply_at(entry, 0));
        if (!id)
            continue; /* Redis 6.2 shows a claimed entry that was deleted as nothing */
        struct part_entry *at = &part->entries[part->entries_count++];
        struct waiting_lines lines;
        waiting_open(entry, &lines);
        snprintf(at->id, sizeof at->id, "%s", id);
        at->first = part->count;
        at->count = take_entry(&lines, part->claims + part->count);
        at->whole = lines.malformed == 0 && *lines.at == '\0' && at->count > 0;
        part->count += at->count;
    }
    return part->entries_count > 0;
}

bool stock_entry_is_behind(const char *entry, const char *other)
{
    char *end;
    char *other_end;
    unsigned long long ms = strtoull(entry, &end, 10);
    unsigned long long other_ms = strtoull(other, &other_end, 10);

    if (ms != other_ms || *end != '-' || *other_end != '-')
        return ms > other_ms;
    return strtoull(end + 1, NULL, 10) > strtoull(other_end + 1, NULL, 10);
}

void stock_stream_leave(struct stock_stream *stream, struct stock_link *link)
{
    char key[STOCK_KEY_MAX];
    struct redis_reply *reply;

    link->until_us = clock_mono_us() + LEAVE_US;
    if (stream->lasting || !redis_connect(link->redis, link->until_us))
        return;
    stock_key(link->shard, "orders", -1, key);
    /* Entries pending under a deleted consumer are lost to everybody. */
    if (redis_call(
            link->redis, 7,
            (const char *const[]){"XPENDING", key, STOCK_GROUP, "-", "+", "1", stream->member},
            link->until_us, &reply) != REDIS_OK)
        return;
    if (redis_reply_count(reply) == 0)
        redis_send(link->redis, 5,
                   (const char *const[]){"XGROUP", "DELCONSUMER", key, STOCK_GROUP, stream->member},
                   link->until_us);
    redis_reply_free(reply);
}
