/* See stock_waiting.h: lines; one order; and those of a sale. */
#include "strategies/redis_stock/mirror/stock_waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_PIECE = 100, ENTRY_ID_MAX = 64, DECIDED_PIECE = 1000 };
#define EPOCH_MAX INT64_MAX

/* Digits up to a number of `max`, 0 only by itself, then `end`. */
static const char *parse_digits(const char *at, char end, int64_t max, int64_t *out)
{
    int64_t n = 0;

    if (*at < '0' || *at > '9' || (*at == '0' && at[1] != end))
        return NULL;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (n > (max - (*at - '0')) / 10)
            return NULL;
        n = n * 10 + (*at - '0');
    }
    *out = n;
    return *at == end ? at + 1 : NULL;
}

/* The same from 1 on. */
static const char *parse_number(const char *at, char end, int64_t max, int64_t *out)
{
    return *at == '0' ? NULL : parse_digits(at, end, max, out);
}

/* "CREATED" or "CREATED:HOLD", and the space behind it. */
static const char *parse_times(const char *at, struct waiting_order *out)
{
    const char *end = parse_number(at, ' ', ORDER_ID_MAX, &out->created_us);

    out->hold_s = ORDER_HOLD_NOT_SAID;
    if (end)
        return end;
    end = parse_number(at, ':', ORDER_ID_MAX, &out->created_us);
    return end ? parse_digits(end, ' ', ORDER_HOLD_MAX_S, &out->hold_s) : NULL;
}

static const char *parse_id(const char *at, struct uuid *out)
{
    char text[UUID_TEXT_LENGTH + 1];

    if (strnlen(at, UUID_TEXT_LENGTH) < UUID_TEXT_LENGTH || at[UUID_TEXT_LENGTH] != ' ')
        return NULL;
    memcpy(text, at, UUID_TEXT_LENGTH);
    text[UUID_TEXT_LENGTH] = '\0';
    if (!uuid_parse(text, out))
        return NULL;
    return at + UUID_TEXT_LENGTH + 1;
}

/* "ID USER QUANTITY CREATED[:HOLD] KEY" up to the end of the line. */
static bool parse_line(const char *line, struct waiting_order *out)
{
    const char *at = parse_id(line, &out->id);

    at = at ? parse_number(at, ' ', ORDER_ID_MAX, &out->user_id) : NULL;
    at = at ? parse_number(at, ' ', ORDER_QUANTITY_MAX, &out->quantity) : NULL;
    at = at ? parse_times(at, out) : NULL;
    if (!at)
        return false;
    size_t length = 0;
    while (order_key_may_hold(at[length]))
        length++;
    if (at[length] != '\n' || length > ORDER_KEY_MAX)
        return false;
    memcpy(out->key, at, length);
    out->key[length] = '\0';
    return true;
}

static bool read_number(const char *text, int64_t max, int64_t *out)
{
    return text && parse_number(text, '\0', max, out);
}

static bool open_lines(const char *product, const char *epoch, const char *lines,
                       struct waiting_lines *out)
{
    *out = (struct waiting_lines){.at = lines};
    return lines && read_number(product, ORDER_ID_MAX, &out->product_id) &&
           read_number(epoch, EPOCH_MAX, &out->epoch);
}

static const char *field(const struct redis_reply *fields, const char *name)
{
    for (int i = 0; i + 1 < redis_reply_count(fields); i += 2) {
        const char *text = redis_reply_text(redis_reply_at(fields, i));
        if (text && strcmp(text, name) == 0)
            return redis_reply_text(redis_reply_at(fields, i + 1));
    }
    return NULL;
}

void waiting_open(const struct redis_reply *entry, struct waiting_lines *out)
{
    const struct redis_reply *fields = redis_reply_at(entry, 1);

    if (!open_lines(field(fields, "product"), field(fields, "epoch"), field(fields, "orders"), out))
        *out = (struct waiting_lines){.at = "", .malformed = 1};
}

bool waiting_next(struct waiting_lines *lines, struct waiting_order *out)
{
    while (*lines->at) {
        const char *line = lines->at;
        const char *end = strchr(line, '\n');
        lines->at = end ? end + 1 : line + strlen(line);
        if (parse_line(line, out)) {
            out->product_id = lines->product_id;
            out->epoch = lines->epoch;
            return true;
        }
        lines->malformed++;
    }
    return false;
}

void waiting_record(const struct waiting_order *order, struct order_record *out)
{
    *out = (struct order_record){
        .id = order->id,
        .product_id = order->product_id,
        .user_id = order->user_id,
        .quantity = order->quantity,
        .strategy = "redis-stock",
        .status = STATUS_QUEUED,
        .created_us = order->created_us,
    };
}

enum stock_result stock_waiting_find(struct stock_link *link, const struct uuid *id,
                                     struct waiting_order *out)
{
    char keys[3][STOCK_KEY_MAX];
    char text[UUID_TEXT_LENGTH + 1];
    struct waiting_lines lines;
    struct redis_reply *reply;

    stock_key(link->shard, "orders", -1, keys[0]);
    stock_key(link->shard, "waiting", -1, keys[1]);
    stock_key(link->shard, "partly", -1, keys[2]);
    uuid_format(id, text);
    if (redis_eval(link->redis, LUA_STOCK_FIND, 3, 5,
                   (const char *const[]){keys[0], keys[1], keys[2], uuid_group_text(text), text},
                   link->until_us, &reply) != REDIS_OK)
        return stock_redis_failed(link->redis);
    bool found = open_lines(redis_reply_text(redis_reply_at(reply, 0)),
                            redis_reply_text(redis_reply_at(reply, 1)),
                            redis_reply_text(redis_reply_at(reply, 2)), &lines) &&
                 waiting_next(&lines, out);
    redis_reply_free(reply);
    return found ? STOCK_DONE : STOCK_ABSENT;
}

enum stock_result stock_waiting_restore(struct stock_link *link, char cursor[STOCK_NUMBER_MAX])
{
    static const char *const names[] = {"orders", "waiting", "units", "partly"};
    enum { KEYS = sizeof names / sizeof *names };
    char keys[KEYS][STOCK_KEY_MAX];
    const char *arguments[KEYS + 1] = {[KEYS] = cursor};
    struct redis_reply *reply;

    for (int i = 0; i < KEYS; i++) {
        stock_key(link->shard, names[i], -1, keys[i]);
        arguments[i] = keys[i];
    }
    if (redis_eval(link->redis, LUA_STOCK_RESTORE, KEYS, KEYS + 1, arguments, link->until_us,
                   &reply) != REDIS_OK)
        return stock_redis_failed(link->redis);
    const char *next = redis_reply_text(redis_reply_at(reply, 0));
    int64_t restored = redis_reply_number(redis_reply_at(reply, 1));
    int64_t lost = redis_reply_number(redis_reply_at(reply, 2));
    snprintf(cursor, STOCK_NUMBER_MAX, "%s", next ? next : "0");
    redis_reply_free(reply);
    if (restored > 0)
        log_warn("redis-stock: the stream has lost %lld entries; put back", (long long)restored);
    if (lost > 0)
        log_error("redis-stock: %lld entries are gone from Redis, and their orders with them",
                  (long long)lost);
    return STOCK_DONE;
}

static void add(struct stock_reservations *to, const struct waiting_order *order)
{
    if (to->count == to->room) {
        to->room = to->room * 2 + 64;
        struct waiting_order *grown = realloc(to->items, (size_t)to->room * sizeof *grown);
        if (!grown)
            abort();
        to->items = grown;
    }
    to->items[to->count++] = *order;
}

/* The entry's orders, if it is of this sale. */
static void collect(const struct redis_reply *entry, int64_t product_id, int64_t epoch,
                    struct stock_reservations *to)
{
    struct waiting_lines lines;
    struct waiting_order order;

    waiting_open(entry, &lines);
    while (lines.product_id == product_id && lines.epoch == epoch && waiting_next(&lines, &order))
        add(to, &order);
}

/* Goes through the stream, some entries at a time. */
static enum stock_result collect_all(struct stock_link *link, int64_t product_id, int64_t epoch,
                                     struct stock_reservations *to)
{
    char stream[STOCK_KEY_MAX];
    char from[ENTRY_ID_MAX] = "-";
    char count[STOCK_NUMBER_MAX];
    int n;

    stock_key(link->shard, "orders", -1, stream);
    stock_number(ENTRIES_PIECE, count);
    do {
        struct redis_reply *reply;
        if (redis_call(link->redis, 6,
                       (const char *const[]){"XRANGE", stream, from, "+", "COUNT", count},
                       link->until_us, &reply) != REDIS_OK)
            return stock_redis_failed(link->redis);
        n = redis_reply_count(reply);
        for (int i = 0; i < n; i++)
            collect(redis_reply_at(reply, i), product_id, epoch, to);
        const struct redis_reply *last = redis_reply_at(reply, n > 0 ? n - 1 : 0);
        if (last)
            snprintf(from, sizeof from, "(%s", redis_reply_text(redis_reply_at(last, 0)));
        redis_reply_free(reply);
    } while (n == ENTRIES_PIECE);
    return STOCK_DONE;
}

static int by_id(const void *a, const void *b)
{
    const struct waiting_order *left = a;
    const struct waiting_order *right = b;

    return memcmp(left->id.bytes, right->id.bytes, sizeof left->id.bytes);
}

/* Marks with quantity 0 those of the piece that PostgreSQL has a row of. */
static bool mark_decided(struct stock_link *link, struct waiting_order *items, int count)
{
    struct uuid ids[DECIDED_PIECE];
    struct waiting_order sought = {.quantity = 0};

    for (int i = 0; i < count; i++)
        ids[i] = items[i].id;
    if (pg_exec(link->pg, SQL_STOCK_DECIDED, PG_ARGS(pg_uuids(ids, count)), link->until_us) !=
        PG_OK) {
        stock_pg_failed(link->pg);
        return false;
    }
    for (int row = 0; row < pg_rows(link->pg); row++) {
        sought.id = pg_get_uuid(link->pg, row, 0);
        struct waiting_order *found = bsearch(&sought, items, (size_t)count, sizeof *items, by_id);
        if (found)
            found->quantity = 0;
    }
    return true;
}

static bool drop_decided(struct stock_link *link, struct stock_reservations *list)
{
    int n = 0;

    if (list->count > 0)
        qsort(list->items, (size_t)list->count, sizeof *list->items, by_id);
    for (int i = 0; i < list->count; i += DECIDED_PIECE) {
        int left = list->count - i;
        if (!mark_decided(link, list->items + i, left < DECIDED_PIECE ? left : DECIDED_PIECE))
            return false;
    }
    for (int i = 0; i < list->count; i++) {
        if (list->items[i].quantity == 0)
            continue;
        list->units += list->items[i].quantity;
        list->items[n++] = list->items[i];
    }
    list->count = n;
    return true;
}

static enum stock_result count_units(struct stock_link *link, int64_t product_id, int64_t epoch,
                                     int64_t *units)
{
    char key[STOCK_KEY_MAX];
    char field[2 * STOCK_NUMBER_MAX];
    struct redis_reply *reply;

    stock_key(link->shard, "units", -1, key);
    snprintf(field, sizeof field, "%lld:%lld", (long long)product_id, (long long)epoch);
    if (redis_call(link->redis, 3, (const char *const[]){"HGET", key, field}, link->until_us,
                   &reply) != REDIS_OK)
        return stock_redis_failed(link->redis);
    *units = redis_reply_number(reply);
    redis_reply_free(reply);
    return STOCK_DONE;
}

enum stock_result stock_waiting_undecided(struct stock_link *link, int64_t product_id,
                                          int64_t epoch, struct stock_reservations *out)
{
    int64_t units = 0;
    enum stock_result result = count_units(link, product_id, epoch, &units);

    if (result != STOCK_DONE || units == 0)
        return result; /* the usual case: no need to look at what waits for other products */
    result = collect_all(link, product_id, epoch, out);
    if (result != STOCK_DONE)
        return result;
    return drop_decided(link, out) ? STOCK_DONE : STOCK_UNREACHABLE;
}
