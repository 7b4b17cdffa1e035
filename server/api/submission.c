/*
 * Submissions: the reading that POST /orders and a restock share.
 *
 * The two times are made here and nowhere else: how long the order may wait, and by when everything
 * about it is settled.
 */
#include "api/submission.h"

#include "base/clock.h"
#include "http/edge/edge.h"
#include "strategies/strategies.h"

#include <string.h>

/* SETTLE_MS: for settling an unknown outcome, after the time for the work. */
enum { WAIT_MS_MAX = 60000, SETTLE_MS = 2000 };

void submission_stamp(struct order *order, const struct settings *settings, int64_t wait_ms)
{
    int64_t work_ms = settings->work_timeout_ms + settings->work_ms +
                      (order->stall ? settings->lock_ttl_ms + settings->stall_ms : 0);

    order->created_us = clock_wall_us();
    order->arrived_us = clock_mono_us();
    order->no_wait = wait_ms == 0;
    order->wait_until_us = order->arrived_us + wait_ms * CLOCK_US_PER_MS;
    order->settle_until_us = order->wait_until_us + (work_ms + SETTLE_MS) * CLOCK_US_PER_MS;
}

bool submission_admit(struct request *request, const struct strategy *strategy)
{
    const char *reason;

    if (request->http->draining) {
        problem_outcome(&request->problem, ORDER_SHUTTING_DOWN);
        return false;
    }
    reason = strategy_unavailable_reason(strategy, request->http->services);
    if (reason)
        return problem_set(&request->problem, 503, "strategy_unavailable", NULL, "%s", reason);
    return true;
}

static bool choose_body(struct request *request, const struct param *param)
{
    struct order *order = &request->order;

    order->body = BODY_PLAIN;
    if (!param->given)
        return true;
    if (!order->strategy->bodies)
        return problem_field(&request->problem, "body", "The strategy %s has a body of its own.",
                             order->strategy->name);
    if (strcmp(param->text, "guarded") == 0)
        order->body = BODY_GUARDED;
    else if (strcmp(param->text, "plain") != 0)
        return problem_field(&request->problem, "body", "It takes plain or guarded.");
    return true;
}

/* Where an order is decided elsewhere, its flush is not a matter of the request. */
static bool choose_flush(struct request *request, const struct param *param)
{
    const struct settings *settings = request->http->services->settings;
    struct order *order = &request->order;
    const char *text = param->given ? param->text : settings->flush;

    order->flush = order->strategy->shared_flush ? FLUSH_SHARED_UNASKED : FLUSH_OWN;
    if (order->strategy->asynchronous)
        return !param->given || problem_field(&request->problem, "flush",
                                              "The orders of %s are committed by its own writer.",
                                              order->strategy->name);
    if (strcmp(text, "shared") == 0)
        order->flush = FLUSH_SHARED;
    else if (strcmp(text, "own") == 0)
        order->flush = FLUSH_OWN;
    else if (param->given)
        return problem_field(&request->problem, "flush", "It takes own or shared.");
    return true;
}

static bool choose_stall(struct request *request, const struct param *param)
{
    request->order.stall = param->given && strcmp(param->text, "true") == 0;
    if (!param->given)
        return true;
    if (request->http->services->settings->stall_ms == 0)
        return problem_field(&request->problem, "stall", "This server has no --stall-ms.");
    return request->order.stall || problem_field(&request->problem, "stall", "It takes true.");
}

bool submission_read(struct request *request, struct member *members, size_t count)
{
    enum { STRATEGY, WAIT_MS, BODY, FLUSH, STALL, PARAM_COUNT };
    struct param params[PARAM_COUNT] = {
        [STRATEGY] = {.name = "strategy"},
        [WAIT_MS] = {.name = "wait_ms", .integer = true, .min = 0, .max = WAIT_MS_MAX},
        [BODY] = {.name = "body"},
        [FLUSH] = {.name = "flush"},
        [STALL] = {.name = "stall"},
    };
    const struct settings *settings = request->http->services->settings;
    struct order *order = &request->order;

    if (!reader_query(request->query, params, PARAM_COUNT, &request->problem))
        return false;
    order->strategy = params[STRATEGY].given ? strategy_find(params[STRATEGY].text)
                                             : request->http->default_strategy;
    if (!order->strategy)
        return problem_set(&request->problem, 400, "unknown_strategy", "strategy",
                           "GET /strategies has the names.");
    if (!choose_body(request, &params[BODY]) || !choose_flush(request, &params[FLUSH]) ||
        !choose_stall(request, &params[STALL]))
        return false;
    if (!reader_key(&request->headers, order->key, &request->problem))
        return false;
    if (!reader_object(request->body, request->body_length, members, count, &request->problem))
        return false;
    if (!submission_admit(request, order->strategy))
        return false;
    submission_stamp(order, settings,
                     params[WAIT_MS].given ? params[WAIT_MS].number : settings->lock_wait_ms);
    return true;
}
