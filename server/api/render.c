/* Render: one function a record, and the pages made of them. */
#include "api/render.h"

#include "base/clock.h"
#include "base/put.h"
#include "strategies/strategies.h"
#include "strategy/backends.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *put_member(char *out, const char *before, int64_t number)
{
    return put_number(put_text(out, before), number);
}

static char *put_time(char *out, const char *before, int64_t wall_us)
{
    out = put_text(out, before);
    clock_format_rfc3339(wall_us, out);
    return put_text(out + CLOCK_RFC3339_LENGTH, "\"");
}

static char *put_timings(char *out, const struct order *order)
{
    out = put_member(out, ", \"timings\": {\"queue_us\": ", order->queue_us);
    out = put_member(out, ", \"lock_us\": ", order->lock_us);
    out = put_member(out, ", \"work_us\": ", order->work_us);
    return put_text(out, "}");
}

/* "duplicate ID" names the first order with the key. */
static char *put_reason(char *out, const char *reason)
{
    size_t length = strcspn(reason, " ");

    out = put_text(out, ", \"reason\": \"");
    memcpy(out, reason, length);
    out += length;
    if (reason[length] == ' ')
        out = put_text(put_text(out, "\", \"first_order_id\": \""), reason + length + 1);
    return put_text(out, "\"");
}

size_t render_order(const struct order_record *record, const struct order *timings,
                    char out[RENDER_ORDER_MAX])
{
    char *at = put_text(out, "{\"id\": \"");

    uuid_format(&record->id, at);
    at = put_text(at + UUID_TEXT_LENGTH, "\"");
    at = put_member(at, ", \"product_id\": ", record->product_id);
    at = put_member(at, ", \"user_id\": ", record->user_id);
    at = put_member(at, ", \"quantity\": ", record->quantity);
    at = put_text(put_text(at, ", \"strategy\": \""), record->strategy);
    at = put_text(put_text(at, "\", \"status\": \""), order_status_name(record->status));
    at = put_text(at, "\"");
    if (record->status == STATUS_FAILED)
        at = put_reason(at, record->reason);
    if (record->status == STATUS_PENDING)
        at = put_time(at, ", \"hold_until\": \"", record->hold_until_us);
    at = put_time(at, ", \"created_at\": \"", record->created_us);
    if (timings)
        at = put_timings(at, timings);
    at = put_text(at, "}");
    return (size_t)(at - out);
}

char *render_orders(const struct order_record *records, int count, const char *next, bool feed)
{
    enum { FRAME = 192 };
    char *out = malloc((size_t)count * (RENDER_ORDER_MAX + 2) + FRAME);
    char *at;

    if (!out)
        return NULL;
    at = put_text(out, "{\"orders\": [");
    for (int i = 0; i < count; i++) {
        if (i > 0)
            at = put_text(at, ", ");
        at += render_order(&records[i], NULL, at);
        if (feed) /* over the brace */
            at = put_text(put_member(at - 1, ", \"epoch\": ", records[i].epoch), "}");
    }
    at = put_text(at, "], \"next\": ");
    if (next)
        put_text(put_text(put_text(at, "\""), next), "\"}");
    else
        put_text(at, "null}");
    return out;
}

static json_t *integer_or_null(bool given, int64_t number)
{
    return given ? json_integer(number) : json_null();
}

static json_t *time_or_null(bool given, int64_t wall_us)
{
    char text[CLOCK_RFC3339_LENGTH + 1];

    if (!given)
        return json_null();
    clock_format_rfc3339(wall_us, text);
    return json_string(text);
}

static json_t *product_json(const struct product *product)
{
    json_t *json = json_object();

    json_object_set_new(json, "id", json_integer(product->id));
    json_object_set_new(json, "name", product->has_name ? json_string(product->name) : json_null());
    json_object_set_new(json, "initial_stock", json_integer(product->initial_stock));
    json_object_set_new(json, "stock", json_integer(product->stock));
    json_object_set_new(json, "reserved",
                        integer_or_null(product->reserved >= 0, product->reserved));
    json_object_set_new(json, "limit_per_user",
                        integer_or_null(product->has_limit, product->limit_per_user));
    json_object_set_new(json, "opens_at",
                        time_or_null(product->has_opens_at, product->opens_at_us));
    json_object_set_new(json, "closes_at",
                        time_or_null(product->has_closes_at, product->closes_at_us));
    json_object_set_new(json, "hold_s", integer_or_null(product->has_hold, product->hold_s));
    json_object_set_new(json, "epoch", json_integer(product->epoch));
    json_object_set_new(json, "version", json_integer(product->version));
    return json;
}

/* jansson's setters take NULL for "no memory" and fail; json_dumps of what is left then fails or
 * tells less, so an object that did not get all its members is not told at all. */
static char *finish(json_t *json, size_t members)
{
    char *text = NULL;

    if (json && json_object_size(json) == members)
        text = json_dumps(json, 0);
    json_decref(json);
    return text;
}

enum { PRODUCT_MEMBERS = 11, PAGE_MEMBERS = 2, AUDIT_MEMBERS = 15 };

char *render_product(const struct product *product)
{
    return finish(product_json(product), PRODUCT_MEMBERS);
}

char *render_products(const struct product *products, int count, int64_t next)
{
    json_t *page = json_object();
    json_t *list = json_array();

    for (int i = 0; i < count; i++)
        json_array_append_new(list, product_json(&products[i]));
    json_object_set_new(page, "products", list);
    json_object_set_new(page, "next", integer_or_null(next > 0, next));
    return finish(page, PAGE_MEMBERS);
}

/* "a,b" to ["a", "b"]. */
static json_t *names_json(const char *names)
{
    json_t *list = json_array();

    while (*names != '\0') {
        size_t length = strcspn(names, ",");

        json_array_append_new(list, json_stringn(names, length));
        names += length;
        if (*names == ',')
            names++;
    }
    return list;
}

char *render_audit(const struct audit *audit)
{
    json_t *json = json_object();

    json_object_set_new(json, "product_id", json_integer(audit->product_id));
    json_object_set_new(json, "epoch", json_integer(audit->epoch));
    json_object_set_new(json, "initial_stock", json_integer(audit->initial_stock));
    json_object_set_new(json, "restocked", json_integer(audit->restocked));
    json_object_set_new(json, "stock", json_integer(audit->stock));
    json_object_set_new(json, "sold", json_integer(audit->sold));
    json_object_set_new(json, "oversold", json_integer(audit->oversold));
    json_object_set_new(json, "lost_updates", json_integer(audit->lost_updates));
    json_object_set_new(json, "duplicate_orders", json_integer(audit->duplicate_orders));
    json_object_set_new(json, "limit_violations", json_integer(audit->limit_violations));
    json_object_set_new(json, "queued", json_integer(audit->queued));
    json_object_set_new(json, "held", json_integer(audit->held));
    json_object_set_new(json, "lost", json_integer(audit->lost));
    json_object_set_new(json, "strategies", names_json(audit->strategies));
    json_object_set_new(json, "consistent", json_boolean(audit->consistent));
    return finish(json, AUDIT_MEMBERS);
}

static json_t *strategy_json(const struct strategy *strategy, const struct services *services)
{
    const char *reason = strategy_unavailable_reason(strategy, services);
    unsigned guarantees =
        strategy->guarantees |
        (services->settings->stock_redis_replicas > 0 ? strategy->with_replicas : 0);
    json_t *json = json_object();
    json_t *needs = json_array();
    json_t *bodies = json_array();
    json_t *promise = json_object();

    for (int i = 0; i < BACKEND_COUNT; i++)
        if (strategy->needs & 1u << i)
            json_array_append_new(needs, json_string(backend_at(i)->name));
    if (strategy->bodies) {
        json_array_append_new(bodies, json_string("plain"));
        json_array_append_new(bodies, json_string("guarded"));
    }
    json_object_set_new(promise, "one_instance", json_boolean(guarantees & GUARANTEE_ONE));
    json_object_set_new(promise, "many_instances", json_boolean(guarantees & GUARANTEE_MANY));
    json_object_set_new(promise, "paused_holder", json_boolean(guarantees & GUARANTEE_PAUSED));
    json_object_set_new(promise, "redis_failover", json_boolean(guarantees & GUARANTEE_FORGETS));

    json_object_set_new(json, "name", json_string(strategy->name));
    json_object_set_new(json, "family", json_string(strategy_family_name(strategy->family)));
    json_object_set_new(json, "summary", json_string(strategy->summary));
    json_object_set_new(json, "summary_zh",
                        strategy->summary_zh ? json_string(strategy->summary_zh) : json_null());
    json_object_set_new(json, "usual", json_boolean(strategy->usual));
    json_object_set_new(json, "needs", needs);
    json_object_set_new(json, "available", json_boolean(!reason));
    json_object_set_new(json, "unavailable_reason", reason ? json_string(reason) : json_null());
    json_object_set_new(json, "asynchronous", json_boolean(strategy->asynchronous));
    json_object_set_new(json, "bodies", bodies);
    json_object_set_new(json, "flush",
                        strategy->asynchronous
                            ? json_null()
                            : json_string(strategy->shared_flush ? "shared" : "own"));
    json_object_set_new(json, "mixes", json_boolean(strategy->mixes));
    json_object_set_new(json, "stalls", json_boolean(services->settings->stall_ms > 0));
    json_object_set_new(json, "guarantees", promise);
    return json;
}

char *render_strategies(const struct services *services)
{
    json_t *list = json_array();
    char *text;

    for (size_t i = 0; i < strategy_count(); i++)
        json_array_append_new(list, strategy_json(strategy_at(i), services));
    text = json_dumps(list, 0);
    json_decref(list);
    return text;
}
