/* See unpaid_crowd.h. A buyer has two connections: it buys on the first, and pays on the second,
 * which is another instance's where there is one. */
#include "loadtest/commands/unpaid/unpaid_crowd.h"

#include "base/clock.h"
#include "loadtest/base/random.h"
#include "loadtest/engine/plain.h"

#include <stdio.h>
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
    struct unpaid_tally tally;
    int64_t until_us, ticked_us; /* 0: it has not begun */
    size_t holding;              /* buyers with an order to be paid */
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
        (!pays && now_us >= crowd->until_us))
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
    const struct unpaid_crowd *crowd = self;
    return now_us >= crowd->until_us && busy == 0 && crowd->holding == 0;
}

static size_t server_of(size_t connection)
{
    return connection / EACH + connection % EACH;
}

static bool begin(void *self, int64_t now_us, struct error *error)
{
    struct unpaid_crowd *crowd = self;
    (void)error;
    crowd->until_us = now_us + crowd->plan->duration_us;
    return true;
}

static bool tick(void *self, int64_t now_us, struct error *error)
{
    struct unpaid_crowd *crowd = self;
    if (crowd->until_us == 0 || now_us - crowd->ticked_us < UNPAID_TICK_MS * CLOCK_US_PER_MS)
        return true;
    crowd->ticked_us = now_us;
    return crowd->plan->tick(crowd->plan->context, error);
}

bool unpaid_crowd_run(const struct unpaid_plan *plan, struct unpaid_tally *tally,
                      struct error *error)
{
    static const struct behaviour behaviour = {
        .next = next, .answered = answered, .is_over = is_over, .begin = begin, .tick = tick};
    struct unpaid_crowd crowd = {.plan = plan};
    const struct plain_plan plain = {
        .servers = plan->targets, .servers_count = plan->targets_count, .server_of = server_of};
    struct engine_plan engine = {
        .behaviour = &behaviour, .self = &crowd, .connections = EACH * (size_t)plan->buyers};
    for (int64_t i = 0; i < plan->buyers; i++)
        crowd.buyers[i].random = random_begin(plan->seed, (uint64_t)i);
    bool made = plain_run(&plain, &engine, error);
    *tally = crowd.tally;
    return made;
}
