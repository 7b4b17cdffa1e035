/*
 * Orders: buy, look up, list, follow.
 *
 * A buy is read, stamped, given its id and handed over with the others of its loop pass; its answer
 * is written when it comes back decided.
 */
#include "api/handlers.h"
#include "api/render.h"
#include "api/submission.h"
#include "http/edge/edge.h"
#include "http/reply.h"

#include "postgres/pg.h"
#include "strategy/backends.h"
#include "strategy/external_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_DEFAULT = 100, LOCATION_MAX = 64, POSITION_MAX = 96 };

/* render_order, and the end of the line. */
static size_t render_line(const struct order_record *record, const struct order *timings,
                          char out[RENDER_ORDER_MAX])
{
    size_t length = render_order(record, timings, out);

    out[length] = '\n';
    return length + 1;
}

/* The Redis, or the broker, of the strategy that does not serve, in its words. PostgreSQL's may
 * name its host and its role. */
static void blame(void *to, const char *name, bool up, const char *detail)
{
    struct request *request = to;

    for (int id = BACKEND_POSTGRESQL + 1; !up && id < BACKEND_COUNT; id++)
        if (request->order.strategy->needs & 1u << id && strcmp(name, backend_at(id)->name) == 0)
            problem_set(&request->problem, MHD_HTTP_SERVICE_UNAVAILABLE, "backend_unavailable",
                        NULL, "%s: %s", name, detail);
}

enum MHD_Result orders_answer_decided(struct request *request)
{
    const struct order *order = &request->order;
    int status = order_outcome_row(order->outcome)->http_status;
    /* As seen from the request's own path, whatever a proxy has before it. */
    char location[LOCATION_MAX] = "orders/";
    char body[RENDER_ORDER_MAX];
    bool fresh = status == MHD_HTTP_CREATED || status == MHD_HTTP_ACCEPTED;
    size_t length;

    if (status >= MHD_HTTP_BAD_REQUEST) {
        problem_from_order(&request->problem, order);
        if (order->outcome == ORDER_BACKEND_UNAVAILABLE)
            backends_report(request->http->services, blame, request);
        return reply_problem(request);
    }
    length = render_line(&order->record, fresh ? order : NULL, body);
    if (order->kind == ORDER_CANCEL) /* of /orders/ID/cancel */
        strcpy(location, "../");
    uuid_format(&order->record.id, location + strlen(location));
    return reply_send(request, &(struct reply){.status = status,
                                               .type = REPLY_JSON,
                                               .body = body,
                                               .length = length,
                                               .memory = MHD_RESPMEM_MUST_COPY,
                                               .location = fresh ? location : NULL,
                                               .replayed = order->outcome == ORDER_REPLAYED});
}

void orders_post(struct request *request)
{
    enum { PRODUCT_ID, USER_ID, QUANTITY, HOLD_S, MEMBER_COUNT };
    struct member members[MEMBER_COUNT] = {
        [PRODUCT_ID] =
            {.name = "product_id", .is_id = true, .required = true, .min = 1, .max = ORDER_ID_MAX},
        [USER_ID] =
            {.name = "user_id", .is_id = true, .required = true, .min = 1, .max = ORDER_ID_MAX},
        [QUANTITY] = {.name = "quantity", .min = 1, .max = ORDER_QUANTITY_MAX},
        [HOLD_S] = {.name = "hold_s", .min = 0, .max = ORDER_HOLD_MAX_S},
    };
    struct order *order = &request->order;

    if (!submission_read(request, members, MEMBER_COUNT)) {
        request_refuse(request);
        return;
    }
    order->kind = ORDER_BUY;
    order->id = uuid_v7(order->created_us);
    uuid_set_cell(&order->id, request->http->services->settings->cell_number);
    order->product_id = members[PRODUCT_ID].number;
    order->user_id = members[USER_ID].number;
    order->quantity = members[QUANTITY].given ? members[QUANTITY].number : 1;
    order->hold_s = members[HOLD_S].given ? members[HOLD_S].number : ORDER_HOLD_NOT_SAID;
    request->answer = orders_answer_decided;
    request_wait_order(request, NULL);
}

enum catalog_result orders_look_up(struct call *call, struct pg *pg, struct error *error)
{
    const struct uuid *id = &call->request->order_id;
    enum catalog_result result = catalog_order(pg, id, call->task.until_us, &call->record, error);

    if (result != CATALOG_NOT_FOUND)
        return result;
    return external_state_order(call->request->http->services, pg, id, call->task.until_us,
                                &call->record, error);
}

void orders_change(struct request *request,
                   enum catalog_result (*work)(struct call *, struct pg *, struct error *),
                   void (*then)(struct request *))
{
    const struct settings *settings = request->http->services->settings;

    if (!request_query(request, NULL, 0))
        return;
    if (request->http->draining) {
        problem_outcome(&request->problem, ORDER_SHUTTING_DOWN);
        request_refuse(request);
        return;
    }
    submission_stamp(&request->order, settings, settings->lock_wait_ms);
    struct call *call = request_call(request, work, ORDER_NOT_FOUND, ORDERS_LOOKUP_MS);
    if (!call)
        return;
    call->task.turn = TURN_WRITE;
    call->again_until_us = request->order.wait_until_us;
    call->task.until_us = request->order.settle_until_us;
    request_wait_call(request, then);
}

enum MHD_Result orders_answer_found(struct request *request)
{
    char body[RENDER_ORDER_MAX];

    return reply_send(request,
                      &(struct reply){.status = MHD_HTTP_OK,
                                      .type = REPLY_JSON,
                                      .body = body,
                                      .length = render_line(&request->call->record, NULL, body),
                                      .memory = MHD_RESPMEM_MUST_COPY});
}

static void found(struct request *request)
{
    if (request_call_done(request))
        request->answer = orders_answer_found;
}

void orders_get(struct request *request)
{
    if (request_query(request, NULL, 0) &&
        request_call(request, orders_look_up, ORDER_NOT_FOUND, ORDERS_LOOKUP_MS))
        request_wait_call(request, found);
}

static enum catalog_result no_page(int limit, struct error *error)
{
    error_set(error, ERROR_INTERNAL, "no memory for a page of %d orders", limit);
    return CATALOG_FAILED;
}

static enum catalog_result list(struct call *call, struct pg *pg, struct error *error)
{
    struct order_record *records = calloc((size_t)call->page.limit, sizeof *records);
    struct uuid next;
    bool has_next = false;
    char text[UUID_TEXT_LENGTH + 1];
    int n = 0;

    if (!records)
        return no_page(call->page.limit, error);
    enum catalog_result result =
        catalog_orders(pg, &call->page, call->task.until_us, records, &n, &next, &has_next, error);
    if (has_next)
        uuid_format(&next, text);
    if (result == CATALOG_OK)
        call->text = render_orders(records, n, has_next ? text : NULL, false);
    free(records);
    return result;
}

static void listed(struct request *request)
{
    if (request_call_done(request))
        request->answer = reply_call;
}

void orders_list(struct request *request)
{
    enum { PRODUCT_ID, USER_ID, STATUS, LIMIT, AFTER, PARAM_COUNT };
    struct param params[PARAM_COUNT] = {
        [PRODUCT_ID] = {.name = "product_id", .integer = true, .min = 1, .max = ORDER_ID_MAX},
        [USER_ID] = {.name = "user_id", .integer = true, .min = 1, .max = ORDER_ID_MAX},
        [STATUS] = {.name = "status"},
        [LIMIT] = {.name = "limit", .integer = true, .min = 1, .max = CATALOG_PAGE_MAX},
        [AFTER] = {.name = "after"},
    };
    struct order_page page = {.limit = PAGE_DEFAULT};
    struct call *call;
    bool good = reader_query(request->query, params, PARAM_COUNT, &request->problem);

    if (good && params[STATUS].given && !order_status_find(params[STATUS].text, &page.status))
        good = problem_field(&request->problem, "status", "It takes a status of an order.");
    if (good && params[AFTER].given && !uuid_parse(params[AFTER].text, &page.after))
        good = problem_field(&request->problem, "after", "It takes an order's id.");
    if (!good) {
        request_refuse(request);
        return;
    }
    call = request_call(request, list, ORDER_NOT_FOUND, ORDERS_LOOKUP_MS);
    if (!call)
        return;
    page.product_id = params[PRODUCT_ID].number;
    page.user_id = params[USER_ID].number;
    page.has_status = params[STATUS].given;
    page.has_after = params[AFTER].given;
    if (params[LIMIT].given)
        page.limit = (int)params[LIMIT].number;
    call->page = page;
    call->task.turn = TURN_LONG;
    request_wait_call(request, listed);
}

/* A position in the feed as text: origin, transaction, status and order. */
static void format_position(const struct feed_position *position, char out[POSITION_MAX])
{
    int length = snprintf(out, POSITION_MAX, "%016" PRIx64 ".%" PRId64 ".%d.",
                          (uint64_t)position->origin, position->transaction, position->status);

    uuid_format(&position->id, out + length);
}

static bool parse_position(const char *text, struct feed_position *position)
{
    char again[POSITION_MAX];
    char *end;

    position->origin = (int64_t)strtoull(text, &end, 16);
    position->transaction = *end == '.' ? strtoll(end + 1, &end, 10) : -1;
    position->status = *end == '.' ? (int)strtol(end + 1, &end, 10) : -1;
    if (*end != '.' || position->transaction < 0 || position->status < 0 ||
        !uuid_parse(end + 1, &position->id))
        return false;
    format_position(position, again);
    return strcmp(text, again) == 0; /* one text for a position */
}

static enum catalog_result follow(struct call *call, struct pg *pg, struct error *error)
{
    struct order_record *records = calloc((size_t)call->limit, sizeof *records);
    char next[POSITION_MAX];
    int n = 0;

    if (!records)
        return no_page(call->limit, error);
    enum catalog_result result =
        catalog_feed(pg, &call->position, call->limit, call->task.until_us, records, &n, error);
    if (result == CATALOG_OK) {
        format_position(&call->position, next);
        call->text = render_orders(records, n, next, true);
    }
    free(records);
    return result;
}

static void followed(struct request *request)
{
    if (request->call->result == CATALOG_REFUSED) {
        problem_set(&request->problem, 410, "position_gone", "after",
                    "The database is another one, or has failed over: read from the beginning.");
        request_refuse(request);
        return;
    }
    listed(request);
}

void orders_feed(struct request *request)
{
    enum { LIMIT, AFTER, PARAM_COUNT };
    struct param params[PARAM_COUNT] = {
        [LIMIT] = {.name = "limit", .integer = true, .min = 1, .max = CATALOG_PAGE_MAX},
        [AFTER] = {.name = "after"},
    };
    struct feed_position position = {0};
    struct call *call;
    bool good = reader_query(request->query, params, PARAM_COUNT, &request->problem);

    if (good && params[AFTER].given && !parse_position(params[AFTER].text, &position))
        good = problem_field(&request->problem, "after", "It takes the `next` of a page.");
    if (!good) {
        request_refuse(request);
        return;
    }
    call = request_call(request, follow, ORDER_NOT_FOUND, ORDERS_LOOKUP_MS);
    if (!call)
        return;
    call->limit = params[LIMIT].given ? (int)params[LIMIT].number : PAGE_DEFAULT;
    call->position = position;
    call->task.turn = TURN_LONG;
    request_wait_call(request, followed);
}
