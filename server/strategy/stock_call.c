/* See stock_call.h: the orders' ids and lines; sending, and what is done about a lost answer. */
#include "strategy/stock_call.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_MAX = 192,
    KEY_LIFE_MS = 86400000, /* a bound for what no writer ever decides */
    WAITING_PER_QUEUE = 10, /* orders that may wait in all, for each that may queue here */
    RECONNECT_PAUSE_US = 50000
};
enum { CALL_KEYS = 5, CALL_ARGUMENTS = CALL_KEYS + 8, ORDER_ARGUMENTS = 2 };

/* What the script is told of an order. */
struct call_texts {
    char quantity[STOCK_NUMBER_MAX];
    char line[LINE_MAX];
};

/* Nobody has been told the orders' ids yet. Those of the call get one group, which is what they are
 * found by while they wait. Were two groups that wait alike, which 48 random bits make as good as
 * impossible, the orders of one might not be found until they are decided, no more. */
static void number_orders(struct order **orders, int count, char group[UUID_TEXT_LENGTH + 1])
{
    uint64_t number = random_below(UINT64_C(1) << UUID_GROUP_BITS);
    char text[UUID_TEXT_LENGTH + 1];

    for (int i = 0; i < count; i++)
        orders[i]->id = uuid_v7_of_group(orders[i]->created_us, number, (unsigned)i);
    uuid_format(&orders[0]->id, text);
    snprintf(group, sizeof text, "%s", uuid_group_text(text));
}

static void write_order(const struct order *order, struct call_texts *texts,
                        const char *arguments[ORDER_ARGUMENTS])
{
    char id[UUID_TEXT_LENGTH + 1];

    uuid_format(&order->id, id);
    stock_number(order->quantity, texts->quantity);
    snprintf(texts->line, sizeof texts->line, "%s %lld %s %lld %s\n", id, (long long)order->user_id,
             texts->quantity, (long long)order->created_us, order->key);
    arguments[0] = texts->quantity;
    arguments[1] = texts->line;
}

static bool have_keys(struct order **orders, int count)
{
    for (int i = 0; i < count; i++)
        if (orders[i]->key[0])
            return true;
    return false;
}

void stock_call_prepare(struct stock_call *call, const struct settings *settings,
                        struct order **orders, int count)
{
    const char *const arguments[CALL_ARGUMENTS] = {call->mirror,
                                                   call->stream,
                                                   call->waiting,
                                                   call->units,
                                                   call->caller,
                                                   call->prefix,
                                                   call->product,
                                                   call->known,
                                                   call->most,
                                                   call->key_life,
                                                   call->number,
                                                   call->group,
                                                   have_keys(orders, count) ? "1" : "0"};

    stock_key(settings, NULL, -1, call->prefix);
    stock_key(settings, "mirror", orders[0]->product_id, call->mirror);
    stock_key(settings, "orders", -1, call->stream);
    stock_key(settings, "waiting", -1, call->waiting);
    stock_key(settings, "units", -1, call->units);
    stock_number(orders[0]->product_id, call->product);
    stock_number(settings->queue_capacity * WAITING_PER_QUEUE, call->most);
    stock_number(KEY_LIFE_MS, call->key_life);
    number_orders(orders, count, call->group);
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
static void number_call(struct stock_call *call, const struct settings *settings)
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
static enum redis_status recall(struct session *session, const struct stock_call *call,
                                int64_t until_us, struct redis_reply **reply)
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

enum redis_status stock_call_send(struct session *session, struct stock_call *call, int64_t epoch,
                                  int64_t settle_until_us, struct redis_reply **reply)
{
    number_call(call, session->services->settings);
    stock_number(epoch, call->known);
    enum redis_status status = redis_eval(session->stock, LUA_STOCK_RESERVE, CALL_KEYS, call->count,
                                          call->arguments, session->work_until_us, reply);
    FAILPOINT("stock-reserved");
    return status == REDIS_LOST ? recall(session, call, settle_until_us, reply) : status;
}

void stock_call_free(struct stock_call *call)
{
    free(call->texts);
    free(call->arguments);
}
