/*
 * Cancels: an order is looked up, because it has to be cancelled through the strategy that has sold
 * it; then that strategy gives its units back, or another one that stands in for it.
 *
 * States; in each the request waits, and the function that is named goes on:
 *
 *   looking     for the order; of a queued one, for its decision. `found`:
 *                 it has failed or expired, or its strategy is unknown     refused
 *                 a backend of its strategy is not configured              asking, the stand-in
 *                 else                                                     asking, its own strategy
 *   asking      a strategy to cancel it. `asked`:
 *                 it has said what became of it                            answered
 *                 it is out of reach, and nobody stands in for it, or
 *                 the server drains                                        refused
 *                 the same, and it may have cancelled the order            outcome_unknown
 *                 it is out of reach, and another one stands in            asking on
 *   asking on   the stand-in. Where the first has done nothing             answered
 *                 `asked_on`, where it may have cancelled the order:
 *                   the stand-in knows                                     answered
 *                   it is out of reach, too                                outcome_unknown
 *
 * A cancel that comes twice finds the order cancelled, so the stand-in may be asked while a message
 * to the first strategy is yet at the broker.
 */
#include "api/handlers.h"
#include "api/submission.h"
#include "http/edge/edge.h"
#include "postgres/pg.h"
#include "strategies/strategies.h"
#include "strategy/backends.h"

/* A queued order is decided first, as long as the cancel may wait for that. */
static enum catalog_result look_up_decided(struct call *call, struct pg *pg, struct error *error)
{
    enum catalog_result result = orders_look_up(call, pg, error);

    return result == CATALOG_OK && call->record.status == STATUS_QUEUED ? CATALOG_QUEUED : result;
}

static void refuse(struct request *request, enum order_outcome outcome)
{
    problem_outcome(&request->problem, outcome);
    request_refuse(request);
}

/* Of those that the strategy needs, the one that does not serve, as far as is known. */
static const char *missing_backend(const struct services *services, const struct strategy *strategy)
{
    for (int id = BACKEND_POSTGRESQL + 1;
         store_serves(services_store(services)) && id < BACKEND_COUNT; id++)
        if (strategy->needs & 1u << id)
            return backend_at(id)->name;
    return backend_at(BACKEND_POSTGRESQL)->name;
}

static void refuse_unavailable(struct request *request)
{
    const struct strategy *strategy = request->order.strategy;

    problem_set(&request->problem, 503, "backend_unavailable", NULL,
                "A cancel of %s needs %s, which is out of reach.", strategy->name,
                missing_backend(request->http->services, strategy));
    request_refuse(request);
}

/* The order that was found, which has its times, goes to be cancelled. */
static void ask(struct request *request, const struct strategy *strategy,
                void (*then)(struct request *))
{
    const struct order_record *record = &request->call->record;
    struct order *order = &request->order;

    order->kind = ORDER_CANCEL;
    order->body = BODY_PLAIN;
    order->strategy = strategy;
    order->id = record->id;
    order->product_id = record->product_id;
    order->user_id = record->user_id;
    order->quantity = record->quantity;
    request_wait_order(request, then);
}

static void asked_on(struct request *request)
{
    struct order *order = &request->order;

    if (order_outcome_row(order->outcome)->http_status >= MHD_HTTP_INTERNAL_SERVER_ERROR)
        order->outcome = ORDER_OUTCOME_UNKNOWN;
}

static void asked(struct request *request)
{
    const struct settings *settings = request->http->services->settings;
    const struct strategy *stand_in = strategy_stand_in(request->order.strategy);
    bool unknown = request->order.outcome == ORDER_OUTCOME_UNKNOWN;

    if (request->order.outcome != ORDER_BACKEND_UNAVAILABLE && !unknown)
        return;
    if (!stand_in || request->http->draining) {
        if (!unknown)
            refuse_unavailable(request);
        return;
    }
    request->order = (struct order){0}; /* nothing of the first strategy's is the second's */
    submission_stamp(&request->order, settings, settings->lock_wait_ms);
    ask(request, stand_in, unknown ? asked_on : NULL);
}

static void found(struct request *request)
{
    const struct order_record *record = &request->call->record;

    if (!request_call_done(request))
        return;
    const struct strategy *strategy = strategy_find(record->strategy);
    if (record->status == STATUS_FAILED || record->status == STATUS_EXPIRED) {
        refuse(request, ORDER_NOT_CANCELLABLE);
        return;
    }
    if (!strategy) {
        refuse(request, ORDER_STRATEGY_UNAVAILABLE);
        return;
    }
    if (strategy_unavailable_reason(strategy, request->http->services) &&
        strategy_stand_in(strategy))
        strategy = strategy_stand_in(strategy);
    if (!submission_admit(request, strategy)) {
        request_refuse(request);
        return;
    }
    request->answer = orders_answer_decided;
    ask(request, strategy, asked);
}

void orders_cancel(struct request *request)
{
    orders_change(request, look_up_decided, found);
}
