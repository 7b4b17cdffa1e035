/*
 * Numbers the call, sends it, and reads one code an order from the answer: reserved, sold out,
 * limit, key taken, window. "Not loaded" and "another epoch" load the mirror and call again, a few
 * times; after that all of it is tried again. A store that is out of reach refuses the orders for
 * now.
 */
#include "strategy/stock_reserve.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/random.h"
#include "metrics/cost.h"
#include "strategy/purchase.h"
#include "strategy/stock_flag.h"
#include "strategy/stock_waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CALLS_MAX = 5,
    LINE_MAX = 192,
    KEY_LIFE_MS = 86400000, /* a bound for what no writer ever decides */
    WAITING_PER_QUEUE = 10, /* orders that may wait in all, for each that may queue here */
    RECONNECT_PAUSE_US = 50000,
    ROW_PATIENCE_US = 200000
};

enum verdict { VERDICT_DONE, VERDICT_NOT_LOADED, VERDICT_EPOCH, VERDICT_FULL, VERDICT_GIVEN_UP };
enum code { CODE_RESERVED = 1, CODE_KEY, CODE_LIMIT, CODE_SOLD_OUT, CODE_NOT_OPEN };
enum { ANSWER_EPOCH = 1, ANSWER_LEFT = 2, ANSWER_CODES = 3 };
enum { CALL_KEYS = 5, CALL_ARGUMENTS = CALL_KEYS + 6, ORDER_ARGUMENTS = 5 };

/* What the script is told of an order, beside its key. */
struct texts {
    char id[UUID_TEXT_LENGTH + 1];
    char user[STOCK_NUMBER_MAX];
    char quantity[STOCK_NUMBER_MAX];
    char line[LINE_MAX];
};

struct call {
    char prefix[STOCK_KEY_MAX];
    char mirror[STOCK_KEY_MAX];
    char stream[STOCK_KEY_MAX];
    char waiting[STOCK_KEY_MAX];
    char units[STOCK_KEY_MAX];
    char caller[STOCK_KEY_MAX];
    char number[STOCK_NUMBER_MAX];
    char product[STOCK_NUMBER_MAX];
    char most[STOCK_NUMBER_MAX];
    char key_life[STOCK_NUMBER_MAX];
    char known[STOCK_NUMBER_MAX]; /* epoch */
    struct texts *texts;          /* owned */
    const char **arguments;       /* owned */
    int count;
};

struct stock_link stock_link_of(struct session *session)
{
    return (struct stock_link){.settings = session->services->settings,
                               .pg = session->pg,
                               .redis = session->stock,
                               .until_us = session->work_until_us};
}

static void set_all(struct order **orders, int count, enum order_outcome outcome)
{
    for (int i = 0; i < count; i++)
        orders[i]->outcome = outcome;
}

/* Sorts out those whose key has an order in PostgreSQL; returns how many are left, moved to the
 * front. */
static int drop_known_keys(struct session *session, struct order **orders, int count)
{
    int64_t users[RESERVE_MAX];
    const char *keys[RESERVE_MAX];
    struct order *keyed[RESERVE_MAX];
    int n = 0;
    int left = 0;

    for (int i = 0; i < count; i++)
        if (orders[i]->key[0]) {
            users[n] = orders[i]->user_id;
            keys[n] = orders[i]->key;
            keyed[n++] = orders[i];
        }
    if (n == 0)
        return count;
    enum pg_status status =
        pg_exec(session->pg, SQL_BATCH_KEYS, PG_ARGS(pg_int8s(users, n), pg_texts(keys, n)),
                session->work_until_us);
    for (int i = 0; i < n && status != PG_OK; i++)
        purchase_failed(session, keyed[i], status, false);
    for (int row = 0; status == PG_OK && row < pg_rows(session->pg); row++)
        keyed[pg_get_int8(session->pg, row, 0) - 1]->outcome = ORDER_KEY_TAKEN;
    for (int i = 0; i < count; i++)
        if (orders[i]->outcome == ORDER_PENDING)
            orders[left++] = orders[i];
    return left;
}

static void write_order(const struct order *order, struct texts *texts,
                        const char *arguments[ORDER_ARGUMENTS])
{
    uuid_format(&order->id, texts->id);
    stock_number(order->user_id, texts->user);
    stock_number(order->quantity, texts->quantity);
    snprintf(texts->line, sizeof texts->line, "%s %s %s %lld %s\n", texts->id, texts->user,
             texts->quantity, (long long)order->created_us, order->key);
    arguments[0] = texts->id;
    arguments[1] = texts->user;
    arguments[2] = texts->quantity;
    arguments[3] = order->key;
    arguments[4] = texts->line;
}

static void prepare(struct call *call, const struct settings *settings, struct order **orders,
                    int count)
{
    const char *const arguments[CALL_ARGUMENTS] = {
        call->mirror,  call->stream, call->waiting, call->units,    call->caller, call->prefix,
        call->product, call->known,  call->most,    call->key_life, call->number};

    stock_key(settings, NULL, -1, call->prefix);
    stock_key(settings, "mirror", orders[0]->product_id, call->mirror);
    stock_key(settings, "orders", -1, call->stream);
    stock_key(settings, "waiting", -1, call->waiting);
    stock_key(settings, "units", -1, call->units);
    stock_number(orders[0]->product_id, call->product);
    stock_number(settings->queue_capacity * WAITING_PER_QUEUE, call->most);
    stock_number(KEY_LIFE_MS, call->key_life);
    call->count = CALL_ARGUMENTS + count * ORDER_ARGUMENTS;
    call->texts = malloc((size_t)count * sizeof *call->texts);
    call->arguments = malloc((size_t)call->count * sizeof *call->arguments);
    if (!call->texts || !call->arguments)
        abort();
    memcpy(call->arguments, arguments, sizeof arguments);
    const char **at = call->arguments + CALL_ARGUMENTS;
    for (int i = 0; i < count; i++, at += ORDER_ARGUMENTS)
        write_order(orders[i], &call->texts[i], at);
}

/* This worker's place for its last answer, and the call's number. */
static void number_call(struct call *call, const struct settings *settings)
{
    static _Thread_local char token[RANDOM_TOKEN_LENGTH + 1];
    static _Thread_local int64_t calls;

    if (!*token)
        random_token(token);
    stock_key(settings, "call:", -1, call->caller);
    stock_key_add(call->caller, token);
    stock_number(++calls, call->number);
}

/* An answer that was lost: what became of the call? */
static enum redis_status recall(struct session *session, const struct call *call, int64_t until_us,
                                struct redis_reply **reply)
{
    enum redis_status status = REDIS_LOST;

    log_warn("redis-stock: an answer was lost: %s", redis_error(session->stock)->text);
    while (status == REDIS_LOST && clock_mono_us() < until_us) {
        if (redis_connect(session->stock, until_us))
            status = redis_eval(session->stock, LUA_STOCK_RECALL, 1, 2,
                                (const char *const[]){call->caller, call->number}, until_us, reply);
        if (status == REDIS_LOST)
            clock_sleep_until(clock_mono_us() + RECONNECT_PAUSE_US);
    }
    return status;
}

static enum redis_status send_call(struct session *session, struct call *call, int64_t epoch,
                                   int64_t settle_until_us, struct redis_reply **reply)
{
    number_call(call, session->services->settings);
    stock_number(epoch, call->known);
    enum redis_status status = redis_eval(session->stock, LUA_STOCK_RESERVE, CALL_KEYS, call->count,
                                          call->arguments, session->work_until_us, reply);
    FAILPOINT("stock-reserved");
    return status == REDIS_LOST ? recall(session, call, settle_until_us, reply) : status;
}

static void accept(struct order *order)
{
    order->outcome = ORDER_ACCEPTED;
    order->record = (struct order_record){.id = order->id,
                                          .product_id = order->product_id,
                                          .user_id = order->user_id,
                                          .quantity = order->quantity,
                                          .status = STATUS_QUEUED,
                                          .created_us = order->created_us};
    snprintf(order->record.strategy, sizeof order->record.strategy, "%s", order->strategy->name);
}

/* The id of the key's first order that Redis knows of. */
static bool read_key(struct stock_link *link, const struct order *order, char name[STOCK_KEY_MAX],
                     struct uuid *id)
{
    struct redis_reply *reply;
    char text[UUID_TEXT_LENGTH + 1];

    stock_key(link->settings, "key", order->user_id, name);
    stock_key_add(name, ":");
    stock_key_add(name, order->key);
    if (redis_call(link->redis, 2, (const char *const[]){"GET", name}, link->until_us, &reply) !=
        REDIS_OK)
        return false;
    const char *value = redis_reply_text(reply);
    snprintf(text, sizeof text, "%s", value ? value : "");
    redis_reply_free(reply);
    return uuid_parse(text, id);
}

/* A repeat of a key whose first order has been reserved: that order as it is now. */
static void replay(struct session *session, struct order *order)
{
    struct stock_link link = stock_link_of(session);
    char name[STOCK_KEY_MAX];
    struct uuid id;
    struct waiting_order first;

    order->outcome = ORDER_KEY_TAKEN; /* decided since: settle.c finds it */
    if (!read_key(&link, order, name, &id))
        return;
    if (stock_waiting_find(&link, &id, &first) == STOCK_DONE) {
        waiting_record(&first, &order->record);
        order->outcome = first.product_id == order->product_id && first.quantity == order->quantity
                             ? ORDER_REPLAYED
                             : ORDER_IDEMPOTENCY_MISMATCH;
        return;
    }
    /* Neither here nor there: the key was left behind by a sale that a PUT has ended. */
    if (pg_exec(session->pg, SQL_ORDER_BY_KEY,
                PG_ARGS(pg_int8(order->user_id), pg_text(order->key)),
                session->work_until_us) == PG_OK &&
        pg_rows(session->pg) == 0)
        redis_send(session->stock, 2, (const char *const[]){"DEL", name}, session->work_until_us);
}

/* The window by Redis's clock is over or not yet begun; PostgreSQL's clock has the last word. */
static void check_window(struct session *session, struct order **orders, int count)
{
    struct stock_link link = stock_link_of(session);
    struct product_row row;
    bool asked = false;
    bool open = false;

    for (int i = 0; i < count; i++) {
        if (orders[i]->outcome != ORDER_SALE_NOT_OPEN)
            continue;
        if (!asked) {
            asked = true;
            if (!purchase_read(session, orders[i], SQL_PRODUCT_READ, session->work_until_us, &row))
                return;
            open = row.open;
            if (open)
                stock_mirror_load(&link, orders[i]->product_id, true);
        }
        if (open)
            orders[i]->outcome = ORDER_RETRY;
    }
}

static void read_codes(struct session *session, struct order **orders, int count,
                       const struct redis_reply *reply)
{
    static const enum order_outcome outcomes[] = {
        [CODE_LIMIT] = ORDER_LIMIT_REACHED,
        [CODE_SOLD_OUT] = ORDER_SOLD_OUT,
        [CODE_NOT_OPEN] = ORDER_SALE_NOT_OPEN,
    };

    const char *codes = redis_reply_text(redis_reply_at(reply, ANSWER_CODES));
    bool whole = codes && strlen(codes) == (size_t)count;
    bool reserved = false;

    for (int i = 0; i < count; i++) {
        int code = whole ? codes[i] - '0' : 0;
        reserved |= code == CODE_RESERVED;
        if (code == CODE_RESERVED)
            accept(orders[i]);
        else if (code == CODE_KEY)
            replay(session, orders[i]);
        else if (code > CODE_KEY && code <= CODE_NOT_OPEN)
            orders[i]->outcome = outcomes[code];
        else
            orders[i]->outcome = ORDER_INTERNAL_ERROR;
    }
    if (reserved) /* a script that only refuses writes nothing */
        cost_add(COST_REDIS, COST_FLUSHES, 1);
    check_window(session, orders, count);
}

static enum order_outcome load(struct session *session, const struct order *first)
{
    struct stock_link link = stock_link_of(session);
    int64_t row_until_us = clock_mono_us() + ROW_PATIENCE_US;

    /* Whoever holds the row is waited for as long as an order may wait. */
    if (first->wait_until_us > row_until_us)
        row_until_us = first->wait_until_us;
    if (row_until_us < link.until_us)
        link.until_us = row_until_us;
    switch (stock_mirror_load(&link, first->product_id, false)) {
    case STOCK_DONE:
        return ORDER_PENDING;
    case STOCK_ABSENT:
        return ORDER_UNKNOWN_PRODUCT;
    default:
        return clock_mono_us() >= row_until_us ? ORDER_LOCK_TIMEOUT : ORDER_BACKEND_UNAVAILABLE;
    }
}

/* What one call's answer says of all orders; PENDING: call again. */
static enum order_outcome take_answer(struct session *session, struct order **orders, int count,
                                      int64_t sent_us, const struct redis_reply *reply)
{
    int64_t product_id = orders[0]->product_id;
    int64_t epoch = redis_reply_number(redis_reply_at(reply, ANSWER_EPOCH));
    int64_t left = redis_reply_number(redis_reply_at(reply, ANSWER_LEFT));

    if (redis_reply_count(reply) == 0)
        return ORDER_PENDING; /* recalled: it has not run */
    switch (redis_reply_number(redis_reply_at(reply, 0))) {
    case VERDICT_DONE:
        stock_flag_note(product_id, epoch, left <= 0, sent_us);
        read_codes(session, orders, count, reply);
        return ORDER_CONFIRMED;
    case VERDICT_NOT_LOADED:
        return load(session, orders[0]);
    case VERDICT_EPOCH:
        /* Ours was older, or the mirror is: whichever, the row knows, and a load that finds the
         * row's own epoch loaded changes nothing. */
        stock_flag_note(product_id, epoch, false, sent_us);
        return load(session, orders[0]);
    case VERDICT_FULL:
        return ORDER_QUEUE_FULL;
    default:
        return ORDER_PENDING;
    }
}

void stock_reserve(struct session *session, struct order **orders, int count)
{
    struct call call;
    enum order_outcome all = ORDER_PENDING;

    count = drop_known_keys(session, orders, count);
    if (count == 0)
        return;
    session_work_pause(session);
    prepare(&call, session->services->settings, orders, count);
    for (int i = 0; all == ORDER_PENDING && i < CALLS_MAX; i++) {
        struct redis_reply *reply = NULL;
        int64_t sent_us = clock_mono_us();
        switch (send_call(session, &call, stock_flag_epoch(orders[0]->product_id),
                          orders[0]->settle_until_us, &reply)) {
        case REDIS_OK:
            all = take_answer(session, orders, count, sent_us, reply);
            break;
        case REDIS_REFUSED:
            stock_redis_failed(session->stock);
            all = ORDER_BACKEND_UNAVAILABLE;
            break;
        case REDIS_LOST:
            all = ORDER_OUTCOME_UNKNOWN;
            break;
        }
        redis_reply_free(reply);
    }
    free(call.texts);
    free(call.arguments);
    if (all == ORDER_PENDING)
        all = ORDER_RETRY; /* it was unloaded as often as it was loaded */
    if (all != ORDER_CONFIRMED)
        set_all(orders, count, all);
}
