/*
 * Products: look up, list, put one or a run, audit, restock. All but the restock are one call to
 * the catalog; the restock is an order like any other, and a look at the product once it is done.
 */
#include "api/handlers.h"
#include "api/render.h"
#include "api/submission.h"
#include "http/edge/edge.h"
#include "http/reply.h"

#include "base/clock.h"
#include "strategy/external_state.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGE_DEFAULT = 100, ROW_MS = 50, ROW_AGAIN_MS = 500 };

/* How long each kind of call may take, its wait for a session included. A run of a million products
 * and the audit of a long sale are a great deal of work. */
enum { LOOKUP_MS = 5000, PUT_MS = 10000, AUDIT_MS = 30000, RUN_MS = 60000 };

/* For the steps whose answer is what the call rendered. */
static void rendered(struct request *request)
{
    if (request_call_done(request))
        request->answer = reply_call;
}

static const struct services *services_of(const struct call *call)
{
    return call->request->http->services;
}

static enum catalog_result look_up(struct call *call, struct pg *pg, struct error *error)
{
    enum catalog_result result =
        catalog_product(pg, call->request->product_id, call->task.until_us, &call->product, error);

    if (result == CATALOG_OK) {
        external_state_reserved(services_of(call), &call->product, 1, call->task.until_us);
        call->text = render_product(&call->product);
    }
    return result;
}

void products_get(struct request *request)
{
    if (request_query(request, NULL, 0) &&
        request_call(request, look_up, ORDER_UNKNOWN_PRODUCT, LOOKUP_MS))
        request_wait_call(request, rendered);
}

static enum catalog_result list(struct call *call, struct pg *pg, struct error *error)
{
    struct product *products = calloc((size_t)call->limit, sizeof *products);
    enum catalog_result result;
    int n = 0;

    if (!products) {
        error_set(error, ERROR_INTERNAL, "no memory for a page of %d products", call->limit);
        return CATALOG_FAILED;
    }
    result = catalog_products(pg, call->id, call->limit, call->task.until_us, products, &n, error);
    if (result == CATALOG_OK) {
        external_state_reserved(services_of(call), products, n, call->task.until_us);
        call->text = render_products(products, n, n == call->limit ? products[n - 1].id : 0);
    }
    free(products);
    return result;
}

void products_list(struct request *request)
{
    enum { LIMIT, AFTER, PARAM_COUNT };
    struct param params[PARAM_COUNT] = {
        [LIMIT] = {.name = "limit", .integer = true, .min = 1, .max = CATALOG_PAGE_MAX},
        [AFTER] = {.name = "after", .integer = true, .min = 0, .max = ORDER_ID_MAX},
    };
    struct call *call;

    if (!request_query(request, params, PARAM_COUNT))
        return;
    call = request_call(request, list, ORDER_UNKNOWN_PRODUCT, LOOKUP_MS);
    if (!call)
        return;
    call->limit = params[LIMIT].given ? (int)params[LIMIT].number : PAGE_DEFAULT;
    call->id = params[AFTER].number;
    call->task.turn = TURN_LONG;
    request_wait_call(request, rendered);
}

/* After a PUT or a PATCH: whoever keeps something of the product hears of it, also where nobody
 * knows whether it was done. */
static enum catalog_result tell(struct call *call, struct pg *pg, enum catalog_result result)
{
    if (result == CATALOG_OK || result == CATALOG_UNKNOWN)
        external_state_sale_changed(services_of(call), pg, call->product.id, 1,
                                    call->task.until_us);
    if (result == CATALOG_OK)
        call->text = render_product(&call->product);
    return result;
}

/* A row that somebody holds is nobody else's matter: at first it is waited for a moment, and then
 * one at a time, long enough to get one that others have in turns. */
static int64_t row_until(const struct call *call)
{
    int64_t most_ms = call->task.turn == TURN_AGAIN ? ROW_AGAIN_MS : ROW_MS;

    return clock_earlier(call->again_until_us, clock_mono_us() + most_ms * CLOCK_US_PER_MS);
}

static enum catalog_result put(struct call *call, struct pg *pg, struct error *error)
{
    return tell(call, pg,
                catalog_product_put(pg, &call->product, &call->created, row_until(call),
                                    call->task.until_us, error));
}

static enum catalog_result patch(struct call *call, struct pg *pg, struct error *error)
{
    enum catalog_result result = catalog_product_patch(pg, &call->product, call->given,
                                                       row_until(call), call->task.until_us, error);

    if (result == CATALOG_OK)
        external_state_reserved(services_of(call), &call->product, 1, call->task.until_us);
    return tell(call, pg, result);
}

static void put_done(struct request *request)
{
    if (request->call->result == CATALOG_REFUSED) {
        problem_set(&request->problem, 412, "epoch_mismatch", "If-Match",
                    "The product's sale is another one, or there is none.");
        request_refuse(request);
        return;
    }
    rendered(request);
}

static bool window_is_one(struct request *request, bool opens, int64_t opens_us, bool closes,
                          int64_t closes_us)
{
    if (!opens || !closes || opens_us < closes_us)
        return true;
    problem_field(&request->problem, "closes_at", "The sale has to close after it opens.");
    request_refuse(request);
    return false;
}

static void patch_done(struct request *request)
{
    if (request->call->result == CATALOG_REFUSED) {
        window_is_one(request, true, 0, true, 0);
    } else if (request->call->result == CATALOG_UNCOUNTED) {
        problem_set(
            &request->problem, 409, "limit_not_counted", "limit_per_user",
            "The sale has had no limit, so what users have bought was not counted; a new sale "
            "may have one.");
        request_refuse(request);
    } else {
        rendered(request);
    }
}

/* The body of a PUT (`stock` is required) or a PATCH (there is none); false: refused. */
static bool read_product(struct request *request, bool with_stock, struct product *product,
                         unsigned *given)
{
    enum { NAME, LIMIT_PER_USER, OPENS_AT, CLOSES_AT, HOLD_S, STOCK, MEMBER_COUNT };
    _Static_assert(PRODUCT_NAME == 1u << NAME && PRODUCT_LIMIT == 1u << LIMIT_PER_USER &&
                       PRODUCT_OPENS == 1u << OPENS_AT && PRODUCT_CLOSES == 1u << CLOSES_AT &&
                       PRODUCT_HOLD == 1u << HOLD_S,
                   "the catalog's members");
    struct member members[MEMBER_COUNT] = {
        [NAME] = {.name = "name",
                  .type = MEMBER_TEXT,
                  .nullable = true,
                  .text = product->name,
                  .text_chars = PRODUCT_NAME_MAX},
        [LIMIT_PER_USER] = {.name = "limit_per_user",
                            .nullable = true,
                            .min = 1,
                            .max = ORDER_UNITS_MAX},
        [OPENS_AT] = {.name = "opens_at", .type = MEMBER_TIME, .nullable = true},
        [CLOSES_AT] = {.name = "closes_at", .type = MEMBER_TIME, .nullable = true},
        [HOLD_S] = {.name = "hold_s", .nullable = true, .min = 0, .max = ORDER_HOLD_MAX_S},
        [STOCK] = {.name = "stock", .required = true, .min = 0, .max = ORDER_UNITS_MAX},
    };

    if (!request_query(request, NULL, 0) ||
        !request_json(request, members, with_stock ? MEMBER_COUNT : STOCK))
        return false;
    for (int i = 0; i < STOCK; i++)
        *given |= members[i].given || members[i].is_null ? 1u << i : 0;
    product->initial_stock = product->stock = members[STOCK].number;
    product->has_name = members[NAME].given;
    product->has_limit = members[LIMIT_PER_USER].given;
    product->limit_per_user = members[LIMIT_PER_USER].number;
    product->has_opens_at = members[OPENS_AT].given;
    product->opens_at_us = members[OPENS_AT].number;
    product->has_closes_at = members[CLOSES_AT].given;
    product->closes_at_us = members[CLOSES_AT].number;
    product->has_hold = members[HOLD_S].given;
    product->hold_s = members[HOLD_S].number;
    return window_is_one(request, product->has_opens_at, product->opens_at_us,
                         product->has_closes_at, product->closes_at_us);
}

static void write_product(struct request *request, const struct product *product, unsigned given,
                          enum catalog_result (*work)(struct call *, struct pg *, struct error *),
                          void (*done)(struct request *))
{
    struct call *call = request_call(request, work, ORDER_UNKNOWN_PRODUCT, PUT_MS);

    if (!call)
        return;
    call->task.kind = TASK_ADMIN;
    call->product = *product;
    call->given = given;
    request_wait_call(request, done);
}

void products_put(struct request *request)
{
    struct product product = {.id = request->product_id};
    unsigned given = 0;

    if (!reader_match(&request->headers, &product.epoch, &request->problem)) {
        request_refuse(request);
        return;
    }
    if (read_product(request, true, &product, &given))
        write_product(request, &product, given, put, put_done);
}

static bool is_unconditional(struct request *request)
{
    bool is = reader_unconditional(&request->headers, &request->problem);

    if (!is)
        request_refuse(request);
    return is;
}

void products_patch(struct request *request)
{
    struct product product = {.id = request->product_id};
    unsigned given = 0;

    if (is_unconditional(request) && read_product(request, false, &product, &given))
        write_product(request, &product, given, patch, patch_done);
}

static enum catalog_result put_run(struct call *call, struct pg *pg, struct error *error)
{
    enum catalog_result result = catalog_products_put(pg, call->id, call->count, call->stock,
                                                      row_until(call), call->task.until_us, error);

    if (result == CATALOG_OK || result == CATALOG_UNKNOWN)
        external_state_sale_changed(services_of(call), pg, call->id, call->count,
                                    call->task.until_us);
    if (result == CATALOG_OK &&
        asprintf(&call->text, "{\"count\": %lld}", (long long)call->count) < 0)
        call->text = NULL;
    return result;
}

void products_put_run(struct request *request)
{
    enum { FIRST_ID, COUNT, STOCK, MEMBER_COUNT };
    struct member members[MEMBER_COUNT] = {
        [FIRST_ID] =
            {.name = "first_id", .is_id = true, .required = true, .min = 1, .max = ORDER_ID_MAX},
        [COUNT] = {.name = "count", .required = true, .min = 1, .max = CATALOG_RUN_MAX},
        [STOCK] = {.name = "stock", .required = true, .min = 0, .max = ORDER_UNITS_MAX},
    };
    struct call *call;

    if (!is_unconditional(request) || !request_query(request, NULL, 0) ||
        !request_json(request, members, MEMBER_COUNT))
        return;
    if (members[FIRST_ID].number > ORDER_ID_MAX - members[COUNT].number + 1) {
        problem_field(&request->problem, "count", "The run would go beyond the largest id.");
        request_refuse(request);
        return;
    }
    call = request_call(request, put_run, ORDER_UNKNOWN_PRODUCT, RUN_MS);
    if (!call)
        return;
    call->task.kind = TASK_ADMIN;
    call->id = members[FIRST_ID].number;
    call->count = members[COUNT].number;
    call->stock = members[STOCK].number;
    request_wait_call(request, rendered);
}

static enum catalog_result audit(struct call *call, struct pg *pg, struct error *error)
{
    struct audit result;
    enum catalog_result done =
        catalog_audit(pg, call->request->product_id, call->task.until_us, &result, error);

    if (done == CATALOG_OK) {
        /* What no row tells yet; everything else is of one snapshot. */
        struct product held = {.id = result.product_id, .epoch = result.epoch};
        external_state_reserved(services_of(call), &held, 1, call->task.until_us);
        result.queued += held.reserved > 0 ? held.reserved : 0;
        call->text = render_audit(&result);
    }
    return done;
}

void products_audit(struct request *request)
{
    struct call *call;

    if (!request_query(request, NULL, 0))
        return;
    call = request_call(request, audit, ORDER_UNKNOWN_PRODUCT, AUDIT_MS);
    if (!call)
        return;
    call->task.kind = TASK_ADMIN;
    request_wait_call(request, rendered);
}

/* The restock is committed whatever happens now, so no answer may say that nothing was done. */
static void restock_shown(struct request *request)
{
    if (request_call_done(request)) {
        request->answer = reply_call;
        return;
    }
    problem_set(&request->problem, 504, "outcome_unknown", NULL,
                "The stock was added, but the product could not be read after it.");
}

static void restocked(struct request *request)
{
    if (order_outcome_row(request->order.outcome)->http_status != MHD_HTTP_OK) {
        problem_from_order(&request->problem, &request->order);
        request_refuse(request);
        return;
    }
    struct call *call = request_call(request, look_up, ORDER_UNKNOWN_PRODUCT, LOOKUP_MS);
    if (!call)
        return;
    call->task.owed = true;
    request_wait_call(request, restock_shown);
}

void products_restock(struct request *request)
{
    struct member quantity = {
        .name = "quantity", .required = true, .min = 1, .max = ORDER_QUANTITY_MAX};
    struct order *order = &request->order;

    if (!is_unconditional(request))
        return;
    if (!submission_read(request, &quantity, 1)) {
        request_refuse(request);
        return;
    }
    order->kind = ORDER_RESTOCK;
    order->id = uuid_v7(order->created_us);
    order->product_id = request->product_id;
    order->quantity = quantity.number;
    request_wait_order(request, restocked);
}
