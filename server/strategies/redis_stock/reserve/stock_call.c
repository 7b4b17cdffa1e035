/* See stock_call.h: the orders' ids and lines; sending, and what is done about a lost answer. */
#include "strategies/redis_stock/reserve/stock_call.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/put.h"
#include "base/random/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* The id, four numbers, what stands between them, the key, the end of the line and of the text.
     */
    LINE_MAX = UUID_TEXT_LENGTH + 4 * 20 + 5 + ORDER_KEY_MAX + 2,
    KEY_LIFE_MS = 86400000, /* a bound for what no writer ever decides */
    WAITING_PER_QUEUE = 10, /* orders that may wait in all, for each that may queue here */
    RECONNECT_PAUSE_US = 50000
};
enum { CALL_KEYS = 5 };

/* Gives the orders new ids of one group, by which they are found while they wait; no client knows
 * their ids yet. Two groups that wait can hardly be the same (48 random bits, 40 in a cell); the
 * orders of one would then not be found until they are decided. */
static void number_orders(struct order **orders, int count, unsigned cell,
                          const struct stock_shards *shards, char group[UUID_TEXT_LENGTH + 1])
{
    uint64_t number = stock_group_in(shards, stock_shard_of(shards, orders[0]->product_id),
                                     random_below(UINT64_C(1) << UUID_GROUP_BITS));
    char text[UUID_TEXT_LENGTH + 1];

    for (int i = 0; i < count; i++) {
        orders[i]->id = uuid_v7_of_group(orders[i]->created_us, number, (unsigned)i);
        uuid_set_cell(&orders[i]->id, cell);
    }
    uuid_format(&orders[0]->id, text);
    snprintf(group, sizeof text, "%s", uuid_group_text(text));
}

/* As the stream will have them (stock_waiting.h); a line is shorter than LINE_MAX. */
static void write_lines(struct order **orders, int count, char *out)
{
    for (int i = 0; i < count; i++) {
        const struct order *order = orders[i];

        uuid_format(&order->id, out);
        out = put_text(out + UUID_TEXT_LENGTH, " ");
        out = put_text(put_number(out, order->user_id), " ");
        out = put_text(put_number(out, order->quantity), " ");
        out = put_number(out, order->created_us);
        if (order->hold_s != ORDER_HOLD_NOT_SAID)
            out = put_number(put_text(out, ":"), order->hold_s);
        out = put_text(out, " ");
        out = put_text(put_text(out, order->key), "\n");
    }
}

static bool have_keys(struct order **orders, int count)
{
    for (int i = 0; i < count; i++)
        if (orders[i]->key[0])
            return true;
    return false;
}

static int64_t units(struct order **orders, int count)
{
    int64_t sum = 0;

    for (int i = 0; i < count; i++)
        sum += orders[i]->quantity;
    return sum;
}

void stock_call_prepare(struct stock_call *call, const struct settings *settings,
                        const struct stock_shards *shards, struct order **orders, int count)
{
    const struct stock_shard *shard = &shards->at[stock_shard_of(shards, orders[0]->product_id)];

    call->shard = shard;
    stock_key(shard, "mirror", orders[0]->product_id, call->mirror);
    stock_key(shard, "orders", -1, call->stream);
    stock_key(shard, "waiting", -1, call->waiting);
    stock_key(shard, "units", -1, call->units);
    stock_number(orders[0]->product_id, call->product);
    stock_number(settings->queue_capacity * WAITING_PER_QUEUE, call->most);
    stock_number(KEY_LIFE_MS, call->key_life);
    number_orders(orders, count, settings->cell_number, shards, call->group);
    stock_member(settings, call->member);
    call->keyed = have_keys(orders, count);
    stock_number(count, call->count);
    stock_number(units(orders, count), call->sum);
    call->lines = malloc((size_t)count * LINE_MAX);
    if (!call->lines)
        abort();
    write_lines(orders, count, call->lines);
}

/* This worker's place for its last answer, and the call's number. */
static void number_call(struct stock_call *call)
{
    static _Thread_local char token[RANDOM_TOKEN_LENGTH + 1];
    static _Thread_local int64_t calls;

    if (!*token)
        random_token(token);
    stock_key(call->shard, "call:", -1, call->caller);
    stock_key_add(call->caller, token);
    stock_number(++calls, call->number);
}

/* Asks what became of a call whose answer was lost. A Redis that refuses to answer (it still reads
 * its file, or a script keeps it busy) is asked again. */
static enum redis_status recall(struct session *session, const struct stock_call *call,
                                int64_t until_us, struct redis_reply **reply)
{
    const char *anew = redis_server_replicas(redis_server_of(session->stock)) > 0 ? "1" : "0";

    log_warn("redis-stock: an answer was lost: %s", redis_error(session->stock)->text);
    FAILPOINT("stock-recall");
    while (clock_mono_us() < until_us) {
        if (redis_connect(session->stock, until_us) &&
            redis_eval(session->stock, LUA_STOCK_RECALL, 1, 3,
                       (const char *const[]){call->caller, call->number, anew}, until_us,
                       reply) == REDIS_OK)
            return REDIS_OK;
        clock_sleep_until(clock_mono_us() + RECONNECT_PAUSE_US);
    }
    return REDIS_LOST;
}

enum redis_status stock_call_send(struct session *session, struct stock_call *call, int64_t epoch,
                                  int64_t settle_until_us, struct redis_reply **reply)
{
    number_call(call);
    stock_number(epoch, call->known);
    stock_number(pg_epoch_base(session->pg), call->above);
    stock_number(pg_epoch_base(session->pg) + PG_EPOCHS, call->below);
    const char *const arguments[] = {call->mirror,
                                     call->stream,
                                     call->waiting,
                                     call->units,
                                     call->caller,
                                     call->shard->prefix,
                                     call->product,
                                     call->known,
                                     call->most,
                                     call->key_life,
                                     call->number,
                                     call->group,
                                     call->keyed ? "1" : "0",
                                     call->count,
                                     call->sum,
                                     call->lines,
                                     STOCK_GROUP,
                                     call->member,
                                     call->above,
                                     call->below};
    FAILPOINT("stock-reserving");
    enum redis_status status =
        redis_eval(session->stock, LUA_STOCK_RESERVE, CALL_KEYS,
                   sizeof arguments / sizeof *arguments, arguments, session->work_until_us, reply);
    FAILPOINT("stock-reserved");
    if (status == REDIS_OK && FAILPOINT_FAILS("stock-reply")) {
        redis_reply_free(*reply);
        redis_close(session->stock);
        status = REDIS_LOST;
    }
    return status == REDIS_LOST ? recall(session, call, settle_until_us, reply) : status;
}

void stock_call_free(struct stock_call *call)
{
    free(call->lines);
}
