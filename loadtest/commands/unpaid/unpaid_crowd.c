/* See unpaid_crowd.h. */
#include "loadtest/commands/unpaid/unpaid_crowd.h"

#include "base/clock.h"
#include "loadtest/base/process.h"
#include "loadtest/base/random.h"
#include "loadtest/engine/http_request.h"
#include "loadtest/fleet/api.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of ten orders so many are paid at once, and so many when the hold ends, this much earlier or
 * later; the rest never. REST_MS: after a refusal. */
enum { AT_ONCE = 4, LATE = 3, AROUND_US = 100000, REST_MS = 5 };

struct buyer {
    struct unpaid_crowd *crowd; /* borrowed */
    pthread_t thread;
    size_t number;
    struct random random;
    struct api *api; /* owned */
    struct unpaid_tally tally;
};

struct unpaid_crowd {
    const struct unpaid_plan *plan; /* borrowed */
    atomic_bool ending;
    size_t count; /* of buyers whose thread runs */
    struct buyer buyers[UNPAID_BUYERS_MAX];
};

static const char *target_of(const struct buyer *buyer, size_t turn)
{
    const struct unpaid_plan *plan = buyer->crowd->plan;
    return plan->targets[(buyer->number + turn) % plan->targets_count];
}

/* Sorts out what is no answer of the call's own. */
static void count_other(struct buyer *buyer, bool answered, long status)
{
    if (!answered || status == 504)
        buyer->tally.unknown++;
    else if (status == 503)
        buyer->tally.failed++;
    else
        buyer->tally.odd++;
}

/* Another instance than the one that sold it. */
static void pay(struct buyer *buyer, const char *order)
{
    char path[80];
    struct api_answer answer;
    struct error ignored;
    snprintf(path, sizeof path, "/orders/%s/pay", order);
    bool answered = api_post(buyer->api, target_of(buyer, 1), path, "", &answer, &ignored);
    if (answered && answer.status == 200)
        buyer->tally.paid++;
    else if (answered && answer.status == 409 && strcmp(answer.code, "expired") == 0)
        buyer->tally.expired++;
    else if (answered && answer.status == 409 && strcmp(answer.code, "not_payable") == 0)
        buyer->tally.refused++; /* a 202 that ended as failed */
    else
        count_other(buyer, answered, answered ? answer.status : 0);
}

static void pay_or_not(struct buyer *buyer, const char *order, int64_t bought_us)
{
    int64_t fate = random_pick(&buyer->random, 10);
    if (fate >= AT_ONCE + LATE) {
        buyer->tally.abandoned++;
        return;
    }
    if (fate >= AT_ONCE)
        clock_sleep_until(bought_us + UNPAID_HOLD_S * CLOCK_US_PER_S - AROUND_US +
                          random_pick(&buyer->random, 2 * (int64_t)AROUND_US));
    pay(buyer, order);
}

static void buy_one(struct buyer *buyer)
{
    const struct unpaid_plan *plan = buyer->crowd->plan;
    char path[REQUEST_TARGET_SIZE], body[REQUEST_BODY_SIZE];
    struct api_answer answer;
    struct error ignored;
    const struct http_order order = {.product = plan->product,
                                     .user = (int64_t)buyer->number + 1,
                                     .quantity = 1,
                                     .hold_s = UNPAID_HOLD_S};
    http_request_order_target(path, sizeof path, plan->strategy, plan->query);
    http_request_order_body(body, &order);
    bool answered = api_post(buyer->api, target_of(buyer, 0), path, body, &answer, &ignored);
    if (answered && (answer.status == 201 || answer.status == 202)) {
        buyer->tally.bought++;
        pay_or_not(buyer, answer.id, clock_mono_us());
        return;
    }
    if (answered && answer.status == 409)
        buyer->tally.refused++;
    else
        count_other(buyer, answered, answered ? answer.status : 0);
    process_sleep_ms(REST_MS);
}

static void *buyer_main(void *argument)
{
    struct buyer *buyer = argument;
    while (!atomic_load(&buyer->crowd->ending) && !process_interrupted())
        buy_one(buyer);
    return NULL;
}

static bool start_buyer(struct unpaid_crowd *crowd, size_t number)
{
    struct buyer *buyer = &crowd->buyers[number];
    *buyer = (struct buyer){.crowd = crowd, .number = number, .api = api_create("")};
    buyer->random = random_begin(crowd->plan->seed, number);
    if (buyer->api && pthread_create(&buyer->thread, NULL, buyer_main, buyer) == 0)
        return true;
    api_destroy(buyer->api);
    return false;
}

struct unpaid_crowd *unpaid_crowd_start(const struct unpaid_plan *plan, struct error *error)
{
    struct unpaid_crowd *crowd = calloc(1, sizeof *crowd);
    struct unpaid_tally ignored;
    if (!crowd) {
        error_fail(error, "out of memory");
        return NULL;
    }
    crowd->plan = plan;
    for (; crowd->count < (size_t)plan->buyers; crowd->count++) {
        if (start_buyer(crowd, crowd->count))
            continue;
        unpaid_crowd_end(crowd, &ignored);
        error_fail(error, "no threads for %" PRId64 " buyers", plan->buyers);
        return NULL;
    }
    return crowd;
}

static void add(struct unpaid_tally *to, const struct unpaid_tally *from)
{
    to->bought += from->bought;
    to->refused += from->refused;
    to->paid += from->paid;
    to->expired += from->expired;
    to->abandoned += from->abandoned;
    to->failed += from->failed;
    to->unknown += from->unknown;
    to->odd += from->odd;
}

void unpaid_crowd_end(struct unpaid_crowd *crowd, struct unpaid_tally *tally)
{
    *tally = (struct unpaid_tally){0};
    if (!crowd)
        return;
    atomic_store(&crowd->ending, true);
    for (size_t i = 0; i < crowd->count; i++) {
        pthread_join(crowd->buyers[i].thread, NULL);
        add(tally, &crowd->buyers[i].tally);
        api_destroy(crowd->buyers[i].api);
    }
    free(crowd);
}
