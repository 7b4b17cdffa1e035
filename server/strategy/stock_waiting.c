/*
 * Fields are parsed strictly, because anybody may write into a Redis: what is malformed is no
 * waiting order, asked for or listed.
 */
#include "strategy/stock_waiting.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCAN_COUNT = 1000, DECIDED_PIECE = 1000 };
#define EPOCH_MAX INT64_MAX

/* Digits from 1 to `max`, then `end`. */
static const char *parse_number(const char *at, char end, int64_t max, int64_t *out)
{
    int64_t n = 0;

    if (*at < '1' || *at > '9')
        return NULL;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (n > (max - (*at - '0')) / 10)
            return NULL;
        n = n * 10 + (*at - '0');
    }
    *out = n;
    return *at == end ? at + 1 : NULL;
}

static const char *parse_id(const char *at, struct uuid *out)
{
    char text[UUID_TEXT_LENGTH + 1];

    snprintf(text, sizeof text, "%.*s", UUID_TEXT_LENGTH, at);
    if (strlen(text) != UUID_TEXT_LENGTH || !uuid_parse(text, out) || at[UUID_TEXT_LENGTH] != ' ')
        return NULL;
    return at + UUID_TEXT_LENGTH + 1;
}

const char *waiting_parse_line(const char *line, struct waiting_order *out)
{
    const char *at = parse_id(line, &out->id);

    at = at ? parse_number(at, ' ', ORDER_ID_MAX, &out->user_id) : NULL;
    at = at ? parse_number(at, ' ', ORDER_QUANTITY_MAX, &out->quantity) : NULL;
    at = at ? parse_number(at, ' ', ORDER_ID_MAX, &out->created_us) : NULL;
    if (!at)
        return NULL;
    size_t length = strcspn(at, "\n");
    if (at[length] != '\n' || length > ORDER_KEY_MAX)
        return NULL;
    memcpy(out->key, at, length);
    out->key[length] = '\0';
    return at + length + 1;
}

bool waiting_parse(const char *value, struct waiting_order *out)
{
    size_t length = strcspn(value, " ");

    if (length >= sizeof out->entry || value[length] != ' ')
        return false;
    memcpy(out->entry, value, length);
    out->entry[length] = '\0';
    const char *at = parse_number(value + length + 1, ' ', ORDER_ID_MAX, &out->product_id);
    at = at ? parse_number(at, ' ', EPOCH_MAX, &out->epoch) : NULL;
    return at && waiting_parse_line(at, out);
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
    char waiting[STOCK_KEY_MAX];
    char field[UUID_TEXT_LENGTH + 1];
    struct redis_reply *reply;

    stock_key(link->settings, "waiting", -1, waiting);
    uuid_format(id, field);
    if (redis_call(link->redis, 3, (const char *const[]){"HGET", waiting, field}, link->until_us,
                   &reply) != REDIS_OK)
        return stock_redis_failed(link->redis);
    const char *value = redis_reply_text(reply);
    bool found = value && waiting_parse(value, out);
    redis_reply_free(reply);
    return found ? STOCK_DONE : STOCK_ABSENT;
}

enum stock_result stock_waiting_each(struct stock_link *link,
                                     void (*each)(void *context, const struct waiting_order *order),
                                     void *context)
{
    char waiting[STOCK_KEY_MAX];
    char cursor[STOCK_NUMBER_MAX] = "0";
    char count[STOCK_NUMBER_MAX];

    stock_key(link->settings, "waiting", -1, waiting);
    stock_number(SCAN_COUNT, count);
    do {
        struct redis_reply *reply;
        struct waiting_order order;
        if (redis_call(link->redis, 5,
                       (const char *const[]){"HSCAN", waiting, cursor, "COUNT", count},
                       link->until_us, &reply) != REDIS_OK)
            return stock_redis_failed(link->redis);
        const struct redis_reply *fields = redis_reply_at(reply, 1);
        for (int i = 1; i < redis_reply_count(fields); i += 2) {
            const char *value = redis_reply_text(redis_reply_at(fields, i));
            if (value && waiting_parse(value, &order))
                each(context, &order);
        }
        const char *next = redis_reply_text(redis_reply_at(reply, 0));
        snprintf(cursor, sizeof cursor, "%s", next ? next : "0");
        redis_reply_free(reply);
    } while (strcmp(cursor, "0") != 0);
    return STOCK_DONE;
}

struct collecting {
    struct stock_reservations *into;
    int64_t product_id;
    int64_t epoch;
};

static void collect(void *context, const struct waiting_order *order)
{
    const struct collecting *collecting = context;
    struct stock_reservations *into = collecting->into;

    if (order->product_id != collecting->product_id || order->epoch != collecting->epoch)
        return;
    if (into->count == into->room) {
        into->room = into->room * 2 + 64;
        struct waiting_order *grown = realloc(into->items, (size_t)into->room * sizeof *grown);
        if (!grown)
            abort();
        into->items = grown;
    }
    into->items[into->count++] = *order;
}

static int by_id(const void *a, const void *b)
{
    const struct waiting_order *left = a;
    const struct waiting_order *right = b;

    return memcmp(left->id.bytes, right->id.bytes, sizeof left->id.bytes);
}

/* A scan may show a field twice. */
static void drop_repeats(struct stock_reservations *list)
{
    int n = 0;

    if (list->count == 0)
        return;
    qsort(list->items, (size_t)list->count, sizeof *list->items, by_id);
    for (int i = 0; i < list->count; i++)
        if (n == 0 || !uuid_equal(&list->items[n - 1].id, &list->items[i].id))
            list->items[n++] = list->items[i];
    list->count = n;
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
        log_warn("redis-stock: %s", pg_error(link->pg)->text);
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

    stock_key(link->settings, "units", -1, key);
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
    struct collecting collecting = {out, product_id, epoch};
    int64_t units = 0;
    enum stock_result result = count_units(link, product_id, epoch, &units);

    if (result != STOCK_DONE || units == 0)
        return result; /* the usual case: no need to look at what waits for other products */
    result = stock_waiting_each(link, collect, &collecting);
    if (result != STOCK_DONE)
        return result;
    drop_repeats(out);
    return drop_decided(link, out) ? STOCK_DONE : STOCK_UNREACHABLE;
}
