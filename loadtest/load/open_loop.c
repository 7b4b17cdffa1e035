/*
 * The harness's own generator: starts orders when the schedule says so, however slow the servers
 * are, and counts every latency from the moment at which the order was due. What the servers make
 * others wait is in the figures (no coordinated omission), unlike with wrk, which sends the next
 * order when the one before was answered.
 *
 * One thread, one epoll, keep-alive connections that stand before the first order is due. An order
 * that falls due while all of them are busy starts as soon as one is free, late, and its latency
 * still counts from when it was due; one that has not started when the last has fallen due never
 * does, and counts as failed with the wait it had by then.
 *
 * How late the generator itself takes up what is due is measured too (lag), and it asks the kernel
 * for precedence over the servers, since buyers have machines of their own. Where more than one
 * arrival in a hundred lags by more than the limit, the figures are the generator's and not the
 * servers': `too_late` is set, and nobody may report them.
 *
 * With keys a share of the orders is sent again beside the schedule: every other one at once, the
 * others when the first has its answer. Repeats are counted among the requests, and in no latency.
 *
 * It also sends the calls of a list, each once, so many at a time, and keeps what was answered with
 * each. wrk ends by time and abandons what is in flight then; the experiments of the articles are
 * "5,000 times" and "two at once".
 *
 * Two walks over the schedule: `due` takes up what falls due, `next` starts it, as far behind as
 * connections are lacking. What waits in between needs no memory but a count. A list of calls is a
 * schedule on which all are due at once, and the walks stand still.
 */
#include "loadtest/load/load.h"

#include "base/clock.h"
#include "loadtest/base/pool.h"
#include "loadtest/base/random.h"
#include "loadtest/engine/engine.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CROWD_RATE_PER_S = 5000, TICK_US = 200000, CONNECTIONS_MAX = 60000 };

/* An order as it was sent, so that it can be sent again. */
struct sent_order {
    int64_t number;
    struct counted_call call;
};

/* What a connection carries. */
struct carried {
    struct sent_order order;
    size_t part; /* of the schedule */
    int64_t due_us;
    bool is_repeat;
    bool comes_back; /* it is to be sent again when its answer is there */
};

/* How the kernel treats this thread. */
struct precedence {
    int policy;
    struct sched_param parameters;
};

struct open_loop {
    const struct load *load;    /* borrowed */
    struct load_result *result; /* borrowed */
    struct carried *carried;    /* owned: by connection */
    /* owned: a ring of those to be sent again; each waits for a connection */
    struct sent_order *repeats;
    size_t repeats_at, repeats_count;
    int64_t repeats_planned;
    int64_t began_us, counted_from_us, end_us, ticked_us, answered_us;
    struct arrivals due, next;
    int64_t due_count, next_count;
    int64_t late_until; /* arrivals below this number found no connection when they fell due */
    bool began, gave_up;
    struct precedence before; /* with a schedule */
    struct random random;
    struct latency lag;
    struct load_detail *detail; /* borrowed: the load's, which alone has a timeline, or its own */
    struct load_detail own;
};

static enum load_class class_of(int status)
{
    if (status == 200 || status == 201)
        return LOAD_COMMITTED;
    if (status == 202)
        return LOAD_ACCEPTED;
    return status == 404 || status == 409 ? LOAD_REFUSED : LOAD_FAILED;
}

/* Of a repeat that is to be sent at once there is one, of those that come back one a connection. */
static size_t repeats_room(const struct open_loop *loop)
{
    return (size_t)loop->load->connections + 1;
}

static void add_repeat(struct open_loop *loop, const struct sent_order *order)
{
    size_t room = repeats_room(loop);
    if (loop->repeats_count < room)
        loop->repeats[(loop->repeats_at + loop->repeats_count++) % room] = *order;
}

static void count_latency(struct open_loop *loop, size_t part, enum load_class class,
                          int64_t due_us, int64_t now_us)
{
    latency_add(&loop->detail->parts[part][class], now_us - due_us);
    timeline_answered(&loop->detail->timeline, class, due_us, now_us);
}

/* A repeat is nobody's order of the schedule, and in none of its figures. */
static void lose(struct open_loop *loop, const struct carried *carried, int64_t now_us)
{
    loop->result->abandoned++;
    if (!loop->load->counted && !carried->is_repeat)
        count_latency(loop, carried->part, LOAD_FAILED, carried->due_us, now_us);
}

static void count_answer(struct open_loop *loop, const struct carried *carried, int64_t now_us,
                         int status)
{
    enum load_class class = class_of(status);
    bool is_repeat = carried->is_repeat;
    loop->answered_us = now_us;
    loop->result->requests++;
    loop->result->not_2xx += status >= 400;
    if (loop->load->counted) {
        struct counted_call *call = &loop->load->counted->calls[carried->order.number];
        call->status = status;
        call->took_us = now_us - carried->due_us;
        return;
    }
    if (is_repeat)
        return;
    count_latency(loop, carried->part, class, carried->due_us, now_us);
    if (class == LOAD_COMMITTED && now_us > loop->counted_from_us && now_us <= loop->end_us)
        loop->result->committed_in_time++;
}

/* A repeat is sent whatever the answer was, and without one as well: that is what a key is for. */
static void answered(void *self, size_t connection, int64_t now_us, const struct answer *answer)
{
    struct open_loop *loop = self;
    const struct carried *carried = &loop->carried[connection];
    if (answer->status)
        count_answer(loop, carried, now_us, answer->status);
    else
        lose(loop, carried, now_us);
    if (carried->comes_back)
        add_repeat(loop, &carried->order);
}

/* The next order. Where a schedule says when, its ids have a fixed number of digits, so that every
 * request has the same length, as with wrk. */
static struct counted_call next_call(struct open_loop *loop)
{
    const struct load *load = loop->load;
    if (load->counted)
        return load->counted->calls[loop->next_count];
    int64_t product = load->first_product + random_pick(&loop->random, load->products);
    int64_t user = load->users > 0 ? load->user_from + random_pick(&loop->random, load->users)
                                   : load->first_user + loop->next_count;
    return (struct counted_call){.product = product, .user = user, .quantity = 1};
}

static void write_order(const struct load *load, const struct sent_order *order,
                        struct http_request *out)
{
    const struct counted_call *call = &order->call;
    char wait[32] = "";
    *out = (struct http_request){.method = "POST", .token = load->token, .lines = load->headers};
    if (load->counted)
        snprintf(wait, sizeof wait, "&wait_ms=%d", call->wait_ms);
    snprintf(out->target, sizeof out->target, "%s%s", load->path, wait);
    if (load->restock)
        http_request_restock_body(out->body, call->quantity);
    else
        http_request_order_body(out->body, &(struct http_order){call->product, call->user,
                                                                call->quantity, .hold_s = 0});
    if (load->keyed)
        snprintf(out->key, sizeof out->key, "%" PRId64, load->first_user + order->number);
}

/* Lags are taken for every arrival that has fallen due, whether it can start or not. */
static void take_up(struct open_loop *loop, int64_t now_us)
{
    while (!loop->due.ended && loop->began_us + loop->due.at_us <= now_us) {
        latency_add(&loop->lag, now_us - loop->began_us - loop->due.at_us);
        loop->result->parts[loop->due.part].arrivals++;
        timeline_offered(&loop->detail->timeline, loop->began_us + loop->due.at_us);
        loop->due_count++;
        arrivals_next(&loop->due);
    }
}

static struct carried next_repeat(struct open_loop *loop)
{
    struct carried carried = {.order = loop->repeats[loop->repeats_at], .is_repeat = true};
    loop->repeats_at = (loop->repeats_at + 1) % repeats_room(loop);
    loop->repeats_count--;
    loop->result->repeats++;
    return carried;
}

/* Every other one is sent at once, so that it meets the first under way; the others come back. */
static void plan_repeat(struct open_loop *loop, struct carried *carried)
{
    if (!loop->load->keyed || random_unit(&loop->random) >= loop->load->repeats)
        return;
    carried->comes_back = loop->repeats_planned++ % 2 == 1;
    if (!carried->comes_back)
        add_repeat(loop, &carried->order);
}

static struct carried next_arrival(struct open_loop *loop, int64_t now_us)
{
    bool counted = loop->load->counted != NULL;
    struct carried carried = {.order = {loop->next_count, next_call(loop)},
                              .part = loop->next.part,
                              .due_us = counted ? now_us : loop->began_us + loop->next.at_us};
    if (loop->next_count < loop->late_until)
        loop->result->parts[loop->next.part].late_starts++;
    plan_repeat(loop, &carried);
    loop->next_count++;
    arrivals_next(&loop->next);
    return carried;
}

/* The due orders, as far as there are connections. Repeats go first, so few of them wait. */
static enum engine_next next(void *self, size_t connection, int64_t now_us,
                             struct http_request *request)
{
    struct open_loop *loop = self;
    if (loop->repeats_count == 0 && loop->next_count == loop->due_count)
        return ENGINE_RESTS;
    loop->carried[connection] =
        loop->repeats_count > 0 ? next_repeat(loop) : next_arrival(loop, now_us);
    write_order(loop->load, &loop->carried[connection].order, request);
    return ENGINE_ASKS;
}

/* The schedule is over: what has not started never will. */
static void give_up_waiting(struct open_loop *loop, int64_t now_us)
{
    for (; loop->next_count < loop->due_count; loop->next_count++) {
        loop->result->parts[loop->next.part].never_started++;
        count_latency(loop, loop->next.part, LOAD_FAILED, loop->began_us + loop->next.at_us,
                      now_us);
        arrivals_next(&loop->next);
    }
    loop->gave_up = true;
}

/* The next arrival. */
static int64_t due_us(void *self, bool *crowded)
{
    const struct open_loop *loop = self;
    *crowded = !loop->due.ended &&
               loop->load->arrivals.parts[loop->due.part].rate_per_s > (double)CROWD_RATE_PER_S;
    return loop->due.ended ? INT64_MAX : loop->began_us + loop->due.at_us;
}

/* Takes up the orders that are due now; those that were due before and have found no connection are
 * late. */
static void follow_schedule(struct open_loop *loop, int64_t now_us)
{
    if (loop->next_count < loop->due_count)
        loop->late_until = loop->due_count;
    if (loop->due.ended && !loop->gave_up)
        give_up_waiting(loop, now_us);
    take_up(loop, now_us);
}

/* Somebody watches, and may want to stop it. */
static bool tick(void *self, int64_t now_us, struct error *error)
{
    struct open_loop *loop = self;
    const struct load *load = loop->load;
    if (load->tick && now_us - loop->ticked_us > TICK_US) {
        if (load->answers)
            *load->answers = loop->result->requests;
        load->tick(load->context);
        loop->ticked_us = now_us;
        now_us = clock_mono_us();
    }
    if (load->counted)
        return loop->result->abandoned == 0 || error_fail(error, "a call got no answer");
    if (loop->began)
        follow_schedule(loop, now_us);
    return true;
}

/* Real-time scheduling (SCHED_RR) before the servers, where that is allowed (CAP_SYS_NICE): nice
 * values do not reach beyond the terminal's own processes everywhere. The thread sleeps most of the
 * time, and the kernel bounds it. Servers inherit this process's own real-time priority, so it
 * takes one above that. */
static struct precedence take_precedence(void)
{
    struct precedence before = {.policy = sched_getscheduler(0)};
    sched_getparam(0, &before.parameters);
    struct sched_param above = {.sched_priority = before.parameters.sched_priority + 1};
    sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &above);
    return before;
}

/* Until every call of the list is answered, or the schedule's last order. */
static bool is_over(void *self, size_t busy, int64_t now_us)
{
    const struct open_loop *loop = self;
    (void)now_us;
    if (loop->load->counted)
        return loop->result->requests == loop->due_count;
    return loop->gave_up && busy == 0 && loop->repeats_count == 0;
}

static bool begin(void *self, int64_t now_us, struct error *error)
{
    struct open_loop *loop = self;
    const struct load *load = loop->load;
    loop->began_us = now_us;
    if (load->announce && !load->announce(load, &loop->began_us, error))
        return false;
    loop->counted_from_us = loop->began_us + load->arrivals.lead_us;
    loop->end_us = loop->began_us + arrivals_duration_us(&load->arrivals);
    loop->answered_us = loop->end_us;
    loop->due_count = load->counted ? (int64_t)load->counted->count : 0;
    if (load->detail && !load->counted)
        timeline_begin(&load->detail->timeline, loop->began_us, loop->end_us - loop->began_us);
    if (!load->counted)
        loop->before = take_precedence();
    loop->began = true;
    return true;
}

/* All connections are made before the first order is due. */
static bool drive(struct open_loop *loop, struct error *error)
{
    static const struct behaviour behaviour = {.next = next,
                                               .answered = answered,
                                               .is_over = is_over,
                                               .begin = begin,
                                               .tick = tick,
                                               .due_us = due_us};
    const struct load *load = loop->load;
    const struct plain_plan plan = {.behaviour = &behaviour,
                                    .self = loop,
                                    .connections = (size_t)load->connections,
                                    .servers = load->targets,
                                    .servers_count = load->targets_count};
    if (load->connections > CONNECTIONS_MAX)
        return error_fail(error, "more connections than it takes");
    loop->carried = memory_take(plan.connections * sizeof *loop->carried);
    loop->repeats = memory_take((plan.connections + 1) * sizeof *loop->repeats);
    bool made = plain_run(&plan, error);
    /* Processes started after this load get the scheduling of those started before it. */
    if (loop->began && !load->counted)
        sched_setscheduler(0, loop->before.policy, &loop->before.parameters);
    return made;
}

static void read_schedule(struct open_loop *loop)
{
    struct load_result *result = loop->result;
    struct latency all = {.count = 0};
    result->parts_count = loop->load->arrivals.parts_count;
    for (size_t i = 0; i < result->parts_count; i++) {
        struct load_part *part = &result->parts[i];
        part->planned = loop->load->arrivals.parts[i];
        for (int class = 0; class < LOAD_CLASSES; class ++) {
            part->classes[class] = latency_read(&loop->detail->parts[i][class]);
            latency_merge(&all, &loop->detail->parts[i][class]);
        }
    }
    struct latency_figures figures = latency_read(&all);
    result->p50_us = figures.p50_us;
    result->p90_us = figures.p90_us;
    result->p99_us = figures.p99_us;
    result->max_us = figures.max_us;
    result->lag = latency_read(&loop->lag);
    result->too_late = result->lag.p99_us > loop->load->lag_limit_us;
}

static int by_time(const void *a, const void *b)
{
    int64_t left = ((const struct counted_call *)a)->took_us;
    int64_t right = ((const struct counted_call *)b)->took_us;
    return (left > right) - (left < right);
}

/* Of a list every latency is known exactly. */
static void read_list(const struct counted *counted, struct load_result *result)
{
    size_t last = counted->count - 1;
    struct counted_call *calls = memory_take(counted->count * sizeof *calls);
    memcpy(calls, counted->calls, counted->count * sizeof *calls);
    qsort(calls, counted->count, sizeof *calls, by_time);
    result->p50_us = calls[last * 50 / 100].took_us;
    result->p90_us = calls[last * 90 / 100].took_us;
    result->p99_us = calls[last * 99 / 100].took_us;
    result->max_us = calls[last].took_us;
    free(calls);
}

bool open_loop_run(const struct load *load, struct load_result *result, struct error *error)
{
    *result = (struct load_result){.parts_count = 0};
    struct open_loop *loop = memory_take(sizeof *loop);
    loop->load = load;
    loop->result = result;
    loop->detail = load->detail ? load->detail : &loop->own;
    loop->random = random_begin(load->seed, 0);
    arrivals_init(&loop->due, &load->arrivals);
    arrivals_init(&loop->next, &load->arrivals);
    bool made = drive(loop, error);
    result->duration_us = loop->answered_us - loop->began_us;
    if (made && load->counted)
        read_list(load->counted, result);
    else if (made)
        read_schedule(loop);
    free(loop->carried);
    free(loop->repeats);
    free(loop);
    return made;
}
