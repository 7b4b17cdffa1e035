/* See unpaid_crowd.h. A buyer has two connections: it buys on the first, and pays on the second,
 * which is another instance's where there is one. */
#include "loadtest/commands/unpaid/unpaid_crowd.h"

#include "base/clock.h"
#include "loadtest/base/random.h"
#include "loadtest/engine/plain.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of ten orders so many are paid at once, and so many when the hold ends, this much earlier or
 * later; the rest never. REST_US: after a refusal. */
enum { AT_ONCE = 4, LATE = 3, AROUND_US = 100000, REST_US = 5000 };
enum { EACH = 2, BUYS = 0, PAYS = 1 }; /* connections of a buyer */

struct buyer {
    struct random random;
    bool busy;
    char order[ANSWER_ID_SIZE]; /* to be paid at due_us; "": none */
    int64_t due_us;             /* until then it rests, or waits */
};

struct unpaid_crowd {
    const struct unpaid_plan *plan; /* borrowed */
    pthread_t thread;
    atomic_bool ending;
    bool made; /* of the thread, as the rest: read when it has ended */
    struct error error;
    struct unpaid_tally tally;
    size_t holding; /* buyers with an order to be paid */
    struct buyer buyers[UNPAID_BUYERS_MAX];
};

static void ask_to_buy(const struct unpaid_crowd *crowd, size_t number,
                       struct http_request *request)
{
    const struct unpaid_plan *plan = crowd->plan;
    const struct http_order order = {.product = plan->product,
                                     .user = (int64_t)number + 1,
                                     .quantity = 1,
                                     .hold_s = UNPAID_HOLD_S};
    *request = (struct http_request){.method = "POST"};
    http_request_order_target(request->target, sizeof request->target, plan->strategy, plan->query);
    http_request_order_body(request->body, &order);
}

static void ask_to_pay(const struct buyer *buyer, struct http_request *request)
{
    *request = (struct http_request){.method = "POST"};
    snprintf(request->target, sizeof request->target, "/orders/%s/pay", buyer->order);
}

static enum engine_next next(void *self, size_t connection, int64_t now_us,
                             struct http_request *request)
{
    struct unpaid_crowd *crowd = self;
    size_t number = connection / EACH;
    struct buyer *buyer = &crowd->buyers[number];
    bool pays = *buyer->order != '\0';
    if (buyer->busy || buyer->due_us > now_us || connection % EACH != (pays ? PAYS : BUYS) ||
        (!pays && atomic_load(&crowd->ending)))
        return ENGINE_PASSES;
    buyer->busy = true;
    if (pays)
        ask_to_pay(buyer, request);
    else
        ask_to_buy(crowd, number, request);
    return ENGINE_ASKS;
}

/* Sorts out what is no answer of the call's own. */
static void count_other(struct unpaid_tally *tally, int status)
{
    if (status == 0 || status == 504)
        tally->unknown++;
    else if (status == 503)
        tally->failed++;
    else
        tally->odd++;
}

static void hold(struct unpaid_crowd *crowd, struct buyer *buyer, int64_t now_us,
                 const char order[ANSWER_ID_SIZE])
{
    int64_t fate = random_pick(&buyer->random, 10);
    crowd->tally.bought++;
    if (fate >= AT_ONCE + LATE) {
        crowd->tally.abandoned++;
        return;
    }
    if (!*order) { /* sold, and nobody can say what */
        crowd->tally.odd++;
        return;
    }
    memcpy(buyer->order, order, sizeof buyer->order);
    crowd->holding++;
    if (fate >= AT_ONCE)
        buyer->due_us = now_us + UNPAID_HOLD_S * CLOCK_US_PER_S - AROUND_US +
                        random_pick(&buyer->random, 2 * (int64_t)AROUND_US);
}

static void learn_order(struct unpaid_crowd *crowd, struct buyer *buyer, int64_t now_us, int status,
                        const struct answer_fields *fields)
{
    if (status == 201 || status == 202) {
        hold(crowd, buyer, now_us, fields->id);
        return;
    }
    if (status == 409)
        crowd->tally.refused++;
    else
        count_other(&crowd->tally, status);
    buyer->due_us = now_us + REST_US;
}

static void learn_payment(struct unpaid_crowd *crowd, struct buyer *buyer, int status,
                          const char *code)
{
    buyer->order[0] = '\0';
    crowd->holding--;
    if (status == 200)
        crowd->tally.paid++;
    else if (status == 409 && strcmp(code, "expired") == 0)
        crowd->tally.expired++;
    else if (status == 409 && strcmp(code, "not_payable") == 0)
        crowd->tally.refused++; /* a 202 that ended as failed */
    else
        count_other(&crowd->tally, status);
}

static void answered(void *self, size_t connection, int64_t now_us, const struct answer *answer)
{
    struct unpaid_crowd *crowd = self;
    struct buyer *buyer = &crowd->buyers[connection / EACH];
    struct answer_fields fields = {.id = ""};
    if (answer->status)
        answer_fields(answer, &fields);
    buyer->busy = false;
    if (connection % EACH == BUYS)
        learn_order(crowd, buyer, now_us, answer->status, &fields);
    else
        learn_payment(crowd, buyer, answer->status, fields.code);
}

static bool is_over(void *self, size_t busy, int64_t now_us)
{
    struct unpaid_crowd *crowd = self;
    (void)now_us;
    return atomic_load(&crowd->ending) && busy == 0 && crowd->holding == 0;
}

static size_t server_of(size_t connection)
{
    return connection / EACH + connection % EACH;
}

static void *crowd_main(void *argument)
{
    static const struct behaviour behaviour = {
        .next = next, .answered = answered, .is_over = is_over};
    struct unpaid_crowd *crowd = argument;
    const struct plain_plan plain = {.servers = crowd->plan->targets,
                                     .servers_count = crowd->plan->targets_count,
                                     .server_of = server_of};
    struct engine_plan engine = {
        .behaviour = &behaviour, .self = crowd, .connections = EACH * (size_t)crowd->plan->buyers};
    crowd->made = plain_run(&plain, &engine, &crowd->error);
    return NULL;
}

struct unpaid_crowd *unpaid_crowd_start(const struct unpaid_plan *plan, struct error *error)
{
    struct unpaid_crowd *crowd = calloc(1, sizeof *crowd);
    if (!crowd) {
        error_fail(error, "out of memory");
        return NULL;
    }
    crowd->plan = plan;
    for (int64_t i = 0; i < plan->buyers; i++)
        crowd->buyers[i].random = random_begin(plan->seed, (uint64_t)i);
    if (pthread_create(&crowd->thread, NULL, crowd_main, crowd) == 0)
        return crowd;
    free(crowd);
    error_fail(error, "no thread for the buyers");
    return NULL;
}

bool unpaid_crowd_end(struct unpaid_crowd *crowd, struct unpaid_tally *tally, struct error *error)
{
    atomic_store(&crowd->ending, true);
    pthread_join(crowd->thread, NULL);
    bool made = crowd->made;
    *tally = crowd->tally;
    if (!made)
        *error = crowd->error;
    free(crowd);
    return made;
}
