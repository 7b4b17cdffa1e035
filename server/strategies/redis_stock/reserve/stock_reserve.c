/*
 * Learns the epoch, sends the call, and reads one code an order from the answer: reserved, sold
 * out, limit, key taken, window. "Not loaded" and "another epoch" load the mirror and call again, a
 * few times; after that all of it is tried again. A store that is out of reach refuses the orders
 * for now.
 */
#include "strategies/redis_stock/reserve/stock_reserve.h"

#include "base/clock.h"
#include "base/log.h"
#include "metrics/cost.h"
#include "sale/purchase.h"
#include "strategies/redis_stock/mirror/stock_loader.h"
#include "strategies/redis_stock/mirror/stock_waiting.h"
#include "strategies/redis_stock/reserve/stock_call.h"
#include "strategies/redis_stock/reserve/stock_replicas.h"
#include "strategies/redis_stock/stock_instance.h"
#include "strategy/parking.h"

#include <stdio.h>
#include <string.h>

enum { CALLS_MAX = 5, LOADER_LOADS_US = 50000 };
_Static_assert(RESERVE_MAX + 0 <= UUID_GROUP_MAX + 0, "a call's orders are one group of ids");

enum verdict {
    VERDICT_DONE,
    VERDICT_NOT_LOADED,
    VERDICT_EPOCH,
    VERDICT_FULL,
    VERDICT_GIVEN_UP,
    VERDICT_REFUSED, /* Redis has refused a command; nothing is reserved */
    VERDICT_UNKNOWN, /* recalled: it broke off, and what it has reserved cannot be told */
    VERDICT_CLOSED
};
enum code { CODE_RESERVED = 1, CODE_KEY, CODE_LIMIT, CODE_SOLD_OUT, CODE_NOT_OPEN };
enum { ANSWER_EPOCH = 1, ANSWER_WHY = 1, ANSWER_LEFT = 2, ANSWER_CODES = 3, ANSWER_ENTRY = 4 };

static struct redis_stock *stock_of(const struct session *session)
{
    return session->instance;
}

struct stock_link stock_link_in(const struct redis_stock *stock, struct session *session,
                                int64_t product_id)
{
    struct stock_link link = {.settings = session->services->settings,
                              .pg = session->pg,
                              .redis = session->stock,
                              .until_us = session->work_until_us};

    stock_aim(&link, &stock->shards.at[stock_shard_of(&stock->shards, product_id)]);
    return link;
}

struct stock_link stock_link_of(struct session *session, int64_t product_id)
{
    return stock_link_in(stock_of(session), session, product_id);
}

static void set_all(struct order **orders, int count, enum order_outcome outcome)
{
    for (int i = 0; i < count; i++)
        orders[i]->outcome = outcome;
}

/* Sorts out the orders whose key has an order in PostgreSQL, and moves the others to the front;
 * returns how many these are. */
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

/* Where the scripts keep an idempotency key: longer than any other of redis-stock's names. */
enum { KEY_NAME_MAX = STOCK_KEY_MAX + 1 + ORDER_KEY_MAX };

/* The id of the key's first order that Redis knows of. */
static enum stock_result read_key(struct stock_link *link, const struct order *order,
                                  char name[KEY_NAME_MAX], struct uuid *id)
{
    struct redis_reply *reply;
    char text[UUID_TEXT_LENGTH + 1];
    char of_user[STOCK_KEY_MAX];

    stock_key(link->shard, "key", order->user_id, of_user);
    snprintf(name, KEY_NAME_MAX, "%s:%s", of_user, order->key);
    if (redis_call(link->redis, 2, (const char *const[]){"GET", name}, link->until_us, &reply) !=
        REDIS_OK)
        return stock_redis_failed(link->redis);
    const char *value = redis_reply_text(reply);
    snprintf(text, sizeof text, "%s", value ? value : "");
    redis_reply_free(reply);
    return uuid_parse(text, id) ? STOCK_DONE : STOCK_ABSENT;
}

/* Redis has the key and not its order, which is decided; or which no store has, because the key is
 * left of a sale that a PUT has ended. */
static void drop_key_of_nothing(struct session *session, const struct order *order,
                                const char *name)
{
    if (pg_exec(session->pg, SQL_ORDER_BY_KEY,
                PG_ARGS(pg_int8(order->user_id), pg_text(order->key)),
                session->work_until_us) == PG_OK &&
        pg_rows(session->pg) == 0)
        redis_send(session->stock, 2, (const char *const[]){"DEL", name}, session->work_until_us);
}

/* A repeat of a key whose first order has been reserved: that order as it is now. Only where Redis
 * has said that it is not there may it be gone: it may wait where the look has failed. */
static void replay(struct session *session, struct order *order)
{
    struct stock_link link = stock_link_of(session, order->product_id);
    char name[KEY_NAME_MAX];
    struct uuid id;
    struct waiting_order first;
    enum stock_result known = read_key(&link, order, name, &id);
    enum stock_result waits = known == STOCK_DONE ? stock_waiting_find(&link, &id, &first) : known;

    if (waits == STOCK_DONE) {
        waiting_record(&first, &order->record);
        order->id = id;
        order->outcome = first.product_id == order->product_id && first.quantity == order->quantity
                             ? ORDER_REPLAYED
                             : ORDER_IDEMPOTENCY_MISMATCH;
        return;
    }
    /* Decided since: settle.c finds it. */
    order->outcome = waits == STOCK_ABSENT ? ORDER_KEY_TAKEN : ORDER_BACKEND_UNAVAILABLE;
    if (known == STOCK_DONE && waits == STOCK_ABSENT)
        drop_key_of_nothing(session, order, name);
}

/* The mirror's window is wrong. An order that is tried again loads the mirror, after the other
 * orders of this answer have their replies. */
static void unload(struct session *session, int64_t product_id)
{
    struct stock_link link = stock_link_of(session, product_id);
    int64_t gone;

    if (stock_mirror_forget(&link, product_id, &gone) != STOCK_DONE)
        stock_mend_ask(&stock_work_of(stock_of(session), product_id)->mend, product_id);
}

/* By Redis's clock the sale is not open; PostgreSQL's clock decides. */
static void check_window(struct session *session, struct order **orders, int count)
{
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
                unload(session, orders[i]->product_id);
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
            parking_accept(orders[i]);
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

/* When the first of them has to have its reply. */
static int64_t earliest_end(struct order *const *orders, int count)
{
    int64_t end_us = INT64_MAX;

    for (int i = 0; i < count; i++)
        end_us = clock_earlier(end_us, orders[i]->settle_until_us);
    return end_us;
}

/* Of work that begins now: the answer may have been long in coming. */
static int64_t work_ends(const struct session *session)
{
    return clock_mono_us() + session->services->settings->work_timeout_ms * CLOCK_US_PER_MS;
}

/* LOCK_TIMEOUT, and each order has its outcome. */
static enum order_outcome set_waited(struct order **orders, int count)
{
    for (int i = 0; i < count; i++)
        purchase_waited(orders[i]);
    return ORDER_LOCK_TIMEOUT;
}

/* Waits for the product's row until the first order's wait ends. LOCK_TIMEOUT: the row was held for
 * longer, and each order has its outcome. */
static enum order_outcome load(struct session *session, struct order **orders, int count)
{
    struct stock_link link = stock_link_of(session, orders[0]->product_id);
    struct stock_loader *loader = stock_of(session)->loader;
    int64_t product_id = orders[0]->product_id;
    int64_t until_us = earliest_end(orders, count);

    if (stock_loader_will_load(loader, product_id)) { /* it needs the row */
        clock_sleep_until(clock_mono_us() + LOADER_LOADS_US);
        return set_waited(orders, count);
    }
    purchase_many_may_wait(session, orders, count, session->lock_most_ms);
    enum stock_result result = stock_mirror_load(&link, product_id, false, until_us);
    bool late = clock_mono_us() >= until_us;
    switch (result) {
    case STOCK_DONE: /* which was not this order's work */
        session_begin_work(session);
        return late ? ORDER_BACKEND_UNAVAILABLE : ORDER_PENDING;
    case STOCK_ABSENT:
        return ORDER_UNKNOWN_PRODUCT;
    case STOCK_HELD:
        return set_waited(orders, count);
    default:
        if (late)
            stock_loader_ask(loader, product_id);
        return ORDER_BACKEND_UNAVAILABLE;
    }
}

static void take_refusal(const struct session *session, const char *why)
{
    if (!why)
        return;
    log_warn("redis-stock: %s", why);
    redis_caught(session->stock, why);
    stock_flag_doubt(&stock_of(session)->flag,
                     clock_mono_us()); /* it may have refused to hear of a PUT, too */
}

static enum order_outcome row_failed(struct session *session, struct order *first,
                                     enum pg_status status)
{
    purchase_failed(session, first, status, false);
    /* No row was waited for; LOCK_TIMEOUT would say that each order has its outcome. */
    return first->outcome == ORDER_LOCK_TIMEOUT ? ORDER_BACKEND_UNAVAILABLE : first->outcome;
}

/* Another instance may be about to commit the same, and be slow: that is no order's wait. */
static enum pg_status leave_mark(const struct session *session, int64_t product_id, int64_t epoch,
                                 int64_t until_us)
{
    const struct pg_value values[] = {pg_int8(product_id), pg_int8(epoch),
                                      pg_text(stock_of(session)->strategy->name)};
    enum pg_status status;

    pg_lock_until(session->pg, until_us, session->lock_most_ms);
    do
        status = pg_exec(session->pg, SQL_STOCK_MARK, values, 3, until_us);
    while (status == PG_BUSY && clock_mono_us() < until_us);
    return status;
}

/* The row's epoch and terms, and PostgreSQL knows that orders of this sale may wait in Redis.
 * PENDING, or what is to be said of the orders. */
static enum order_outcome ask_row(struct session *session, struct order *first, int64_t until_us,
                                  int64_t *epoch, char terms[STOCK_TERMS_MAX])
{
    struct pg *pg = session->pg;
    enum pg_status status =
        pg_exec(pg, SQL_STOCK_TERMS, PG_ARGS(pg_int8(first->product_id)), until_us);

    if (status != PG_OK)
        return row_failed(session, first, status);
    if (pg_rows(pg) == 0)
        return ORDER_UNKNOWN_PRODUCT;
    *epoch = pg_get_int8(pg, 0, 0);
    stock_read_terms(pg, 1, terms);
    if (!pg_get_bool(pg, 0, 4))
        status = leave_mark(session, first->product_id, *epoch, until_us);
    return status == PG_OK ? ORDER_PENDING : row_failed(session, first, status);
}

/* The epoch that was read last, if it is still known. Else the mirror may have missed a PATCH, too:
 * it goes unless it has the row's terms. */
static enum order_outcome know_epoch(struct session *session, struct order *first, int64_t *epoch)
{
    struct stock_flag *flag = &stock_of(session)->flag;
    struct stock_link link = stock_link_of(session, first->product_id);
    char terms[STOCK_TERMS_MAX];

    /* Of a cluster's nodes this one alone. */
    if (!redis_connect(session->stock, session->work_until_us)) {
        stock_redis_failed(session->stock);
        return ORDER_BACKEND_UNAVAILABLE;
    }
    stock_flag_doubt(flag, redis_since_us(session->stock));
    *epoch = stock_flag_epoch(flag, first->product_id);
    if (*epoch)
        return ORDER_PENDING;
    int64_t asked_us = clock_mono_us();
    enum order_outcome outcome = ask_row(session, first, session->work_until_us, epoch, terms);
    if (outcome != ORDER_PENDING)
        return outcome;
    if (stock_mirror_check_terms(&link, first->product_id, terms) != STOCK_DONE)
        return ORDER_BACKEND_UNAVAILABLE;
    stock_flag_learn(flag, first->product_id, *epoch, asked_us);
    return ORDER_PENDING;
}

/* Redis was away between the call and its answer, so a PUT may have ended the sale in which the
 * orders were reserved. Then they are sold in the new sale; the writer drops the old reservations.
 */
static enum order_outcome recheck_epoch(struct session *session, struct order *first,
                                        int64_t reserved_in)
{
    char terms[STOCK_TERMS_MAX];
    int64_t epoch = 0;

    /* The time for the work has gone into waiting for the answer. */
    if (ask_row(session, first, first->settle_until_us, &epoch, terms) != ORDER_PENDING)
        return ORDER_OUTCOME_UNKNOWN;
    return epoch == reserved_in ? ORDER_PENDING : ORDER_RETRY;
}

static enum order_outcome take_codes(struct session *session, struct order **orders, int count,
                                     int64_t sent_us, const struct redis_reply *reply)
{
    int64_t epoch = redis_reply_number(redis_reply_at(reply, ANSWER_EPOCH));
    int64_t left = redis_reply_number(redis_reply_at(reply, ANSWER_LEFT));
    const char *entry = redis_reply_text(redis_reply_at(reply, ANSWER_ENTRY));
    int64_t since_us = redis_since_us(session->stock);

    if (since_us > sent_us) {
        enum order_outcome outcome = recheck_epoch(session, orders[0], epoch);
        if (outcome != ORDER_PENDING)
            return outcome;
    }
    stock_flag_note(&stock_of(session)->flag, orders[0]->product_id, epoch, left <= 0, sent_us);
    read_codes(session, orders, count, reply);
    if (entry)
        stock_handover_put(&stock_work_of(stock_of(session), orders[0]->product_id)->handover,
                           entry, epoch, orders, count);
    stock_replicas_wait(session, stock_link_of(session, orders[0]->product_id).shard, orders, count,
                        since_us, clock_earlier(earliest_end(orders, count), work_ends(session)));
    return ORDER_CONFIRMED;
}

/* What one call's answer says of all orders; PENDING: call again. */
static enum order_outcome take_answer(struct session *session, struct order **orders, int count,
                                      int64_t sent_us, const struct redis_reply *reply)
{
    if (redis_reply_count(reply) == 0)
        return ORDER_PENDING; /* recalled: it has not run */
    switch (redis_reply_number(redis_reply_at(reply, 0))) {
    case VERDICT_DONE:
        return take_codes(session, orders, count, sent_us, reply);
    case VERDICT_NOT_LOADED:
        return load(session, orders, count);
    case VERDICT_EPOCH:
        /* Our epoch is old, or the mirror's is: read the row. A load that finds the row's epoch
         * loaded changes nothing. */
        stock_flag_forget(&stock_of(session)->flag, orders[0]->product_id);
        return load(session, orders, count);
    case VERDICT_FULL:
        return ORDER_QUEUE_FULL;
    case VERDICT_REFUSED:
        take_refusal(session, redis_reply_text(redis_reply_at(reply, ANSWER_WHY)));
        return ORDER_BACKEND_UNAVAILABLE;
    case VERDICT_UNKNOWN:
        log_error("redis-stock: the script broke off: what it has reserved cannot be told");
        return ORDER_OUTCOME_UNKNOWN;
    case VERDICT_CLOSED:
        stock_lease_doubt(&stock_of(session)->lease);
        return ORDER_BACKEND_UNAVAILABLE;
    default:
        return ORDER_PENDING;
    }
}

/* One call, with what has to be known for it. PENDING: call again. */
static enum order_outcome call_once(struct session *session, struct stock_call *call,
                                    struct order **orders, int count)
{
    struct redis_reply *reply = NULL;
    int64_t epoch = 0;
    enum order_outcome all = know_epoch(session, orders[0], &epoch);

    if (all != ORDER_PENDING)
        return all;
    int64_t sent_us = clock_mono_us();
    switch (stock_call_send(session, call, epoch, orders[0]->settle_until_us, &reply)) {
    case REDIS_OK:
        all = take_answer(session, orders, count, sent_us, reply);
        break;
    case REDIS_REFUSED:
        stock_redis_failed(session->stock);
        stock_flag_doubt(&stock_of(session)->flag, clock_mono_us());
        all = ORDER_BACKEND_UNAVAILABLE;
        break;
    case REDIS_LOST:
        all = ORDER_OUTCOME_UNKNOWN;
        break;
    }
    redis_reply_free(reply);
    return all;
}

void stock_reserve(struct session *session, struct order **orders, int count)
{
    struct stock_call call;
    enum order_outcome all = ORDER_PENDING;

    if (stock_of(session)->shards.count > 1 && !stock_lease_agreed(&stock_of(session)->lease)) {
        set_all(orders, count, ORDER_BACKEND_UNAVAILABLE);
        return;
    }
    count = drop_known_keys(session, orders, count);
    if (count == 0)
        return;
    session_work_pause(session);
    stock_call_prepare(&call, session->services->settings, &stock_of(session)->shards, orders,
                       count);
    for (int i = 0; all == ORDER_PENDING && i < CALLS_MAX; i++)
        all = call_once(session, &call, orders, count);
    stock_call_free(&call);
    if (all == ORDER_PENDING)
        all = ORDER_RETRY; /* it was unloaded as often as it was loaded */
    if (all != ORDER_CONFIRMED && all != ORDER_LOCK_TIMEOUT)
        set_all(orders, count, all);
}
