/* See open_loop.h. Two walks over the schedule: `due` takes up what falls due, `next` starts it, as
 * far behind as clients are lacking. What waits in between needs no memory but a count. A list of
 * calls is a schedule on which all are due at once, and the walks stand still. */
#include "loadtest/load/open_loop.h"

#include "loadtest/base/process.h"
#include "loadtest/base/random.h"
#include "loadtest/engine/client.h"
#include "loadtest/load/detail.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    TARGETS_MAX = 16,
    EVENTS_MAX = 256,
    TURN_MS = 100,
    CROWD_RATE_PER_S = 5000,
    CROWD_TURN_US = 500,
    TICK_US = 200000,
    ANSWER_LIMIT_US = 70000000 /* longer than any order may take: 60 s of waiting, then its work */
};

/* An order as it was sent, so that it can be sent again. */
struct sent_order {
    int64_t number;
    struct counted_call call;
};

/* What a client carries. */
struct carried {
    struct sent_order order;
    bool is_repeat;
    bool comes_back; /* it is to be sent again when its answer is there */
};

struct open_loop {
    const struct load *load;    /* borrowed */
    struct load_result *result; /* borrowed */
    int epoll_fd, timer_fd;
    struct client_target targets[TARGETS_MAX];
    struct client *clients; /* owned */
    struct client **idle;   /* owned: a ring of those without an order */
    size_t count, idle_at, idle_count;
    struct carried *carried; /* owned: by client */
    struct sent_order
        *repeats; /* owned: a ring of those to be sent again; each waits for a client */
    size_t repeats_at, repeats_count;
    int64_t repeats_planned;
    int64_t began_us, counted_from_us, end_us, ticked_us, timer_us, turned_us, answered_us;
    struct arrivals due, next;
    int64_t due_count, next_count;
    int64_t late_until; /* arrivals below this number found no connection when they fell due */
    struct random random;
    struct latency latencies[ARRIVALS_PARTS_MAX][LOAD_CLASSES];
    struct latency lag;
    struct timeline_recorder *timeline; /* owned; NULL: nobody asks for it */
};

static enum load_class class_of(int status)
{
    if (status == 200 || status == 201)
        return LOAD_COMMITTED;
    if (status == 202)
        return LOAD_ACCEPTED;
    return status == 404 || status == 409 ? LOAD_REFUSED : LOAD_FAILED;
}

/* A connection is free again. */
static void give_back(struct open_loop *loop, struct client *client)
{
    loop->idle[(loop->idle_at + loop->idle_count) % loop->count] = client;
    loop->idle_count++;
}

static struct client *take_idle(struct open_loop *loop)
{
    struct client *client = loop->idle[loop->idle_at];
    loop->idle_at = (loop->idle_at + 1) % loop->count;
    loop->idle_count--;
    return client;
}

static struct carried *carried_by(struct open_loop *loop, const struct client *client)
{
    return &loop->carried[client - loop->clients];
}

/* Of a repeat that is to be sent at once there is one, of those that come back one a client. */
static size_t repeats_room(const struct open_loop *loop)
{
    return loop->count + 1;
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
    latency_add(&loop->latencies[part][class], now_us - due_us);
    timeline_answered(loop->timeline, class, due_us, now_us);
}

static void count_failure(struct open_loop *loop, size_t part, int64_t due_us)
{
    count_latency(loop, part, LOAD_FAILED, due_us, clock_mono_us());
}

/* Its order is over. Who comes back does so whatever the answer was, and without one as well: that
 * is what a key is for. */
static void free_client(struct open_loop *loop, struct client *client)
{
    const struct carried *carried = carried_by(loop, client);
    if (carried->comes_back)
        add_repeat(loop, &carried->order);
    give_back(loop, client);
}

/* A repeat is nobody's order of the schedule, and in none of its figures. */
static void lose(struct open_loop *loop, struct client *client)
{
    loop->result->abandoned++;
    if (!loop->load->counted && !carried_by(loop, client)->is_repeat)
        count_failure(loop, client->part, client->due_us);
    free_client(loop, client);
}

static void count_answer(struct open_loop *loop, const struct client *client, int status)
{
    enum load_class class = class_of(status);
    bool is_repeat = carried_by(loop, client)->is_repeat;
    loop->answered_us = clock_mono_us();
    loop->result->requests++;
    loop->result->not_2xx += status >= 400;
    if (loop->load->counted) {
        struct counted_call *call = &loop->load->counted->calls[client->part];
        call->status = status;
        call->took_us = loop->answered_us - client->due_us;
        return;
    }
    if (is_repeat)
        return;
    count_latency(loop, client->part, class, client->due_us, loop->answered_us);
    if (class == LOAD_COMMITTED && loop->answered_us > loop->counted_from_us &&
        loop->answered_us <= loop->end_us)
        loop->result->committed_in_time++;
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

static void ask(const struct load *load, const struct sent_order *order, struct http_request *out)
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
static void take_up(struct open_loop *loop)
{
    int64_t now_us = clock_mono_us();
    while (!loop->due.ended && loop->began_us + loop->due.at_us <= now_us) {
        latency_add(&loop->lag, now_us - loop->began_us - loop->due.at_us);
        loop->result->parts[loop->due.part].arrivals++;
        timeline_offered(loop->timeline, loop->began_us + loop->due.at_us);
        loop->due_count++;
        arrivals_next(&loop->due);
    }
}

/* What the order carries: its part and time of the schedule, or its number in the list and now. */
static void note_order(struct open_loop *loop, struct client *client)
{
    client->part = loop->load->counted ? (size_t)loop->next_count : loop->next.part;
    client->due_us = loop->load->counted ? clock_mono_us() : loop->began_us + loop->next.at_us;
    if (loop->next_count < loop->late_until)
        loop->result->parts[loop->next.part].late_starts++;
}

static void send_carried(struct open_loop *loop, struct client *client)
{
    struct http_request asked;
    char request[REQUEST_BYTES];
    ask(loop->load, &carried_by(loop, client)->order, &asked);
    size_t length = http_request_write(&asked, client->target->authority, request);
    if (!client_send(client, loop->epoll_fd, request, length))
        lose(loop, client);
}

static void start_repeats(struct open_loop *loop)
{
    while (loop->repeats_count > 0 && loop->idle_count > 0) {
        struct client *client = take_idle(loop);
        *carried_by(loop, client) =
            (struct carried){.order = loop->repeats[loop->repeats_at], .is_repeat = true};
        loop->repeats_at = (loop->repeats_at + 1) % repeats_room(loop);
        loop->repeats_count--;
        loop->result->repeats++;
        send_carried(loop, client);
    }
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

/* Starts what is due, as far as there are clients. Repeats go first, so few of them wait. */
static void start(struct open_loop *loop)
{
    start_repeats(loop);
    while (loop->next_count < loop->due_count && loop->idle_count > 0) {
        struct client *client = take_idle(loop);
        struct carried *carried = carried_by(loop, client);
        note_order(loop, client);
        *carried = (struct carried){.order = {loop->next_count, next_call(loop)}};
        plan_repeat(loop, carried);
        send_carried(loop, client);
        loop->next_count++;
        arrivals_next(&loop->next);
        start_repeats(loop);
    }
    if (loop->next_count < loop->due_count && !loop->load->counted)
        loop->late_until = loop->due_count;
}

/* The schedule is over: what has not started never will. */
static void give_up_waiting(struct open_loop *loop)
{
    for (; loop->next_count < loop->due_count; loop->next_count++) {
        loop->result->parts[loop->next.part].never_started++;
        count_failure(loop, loop->next.part, loop->began_us + loop->next.at_us);
        arrivals_next(&loop->next);
    }
}

/* The next arrival wakes epoll_wait, whose own timeout is too coarse. Edge-triggered: it need not
 * be read. */
static void set_timer(struct open_loop *loop)
{
    int64_t at_us = loop->began_us + loop->due.at_us;
    if (loop->due.ended || at_us == loop->timer_us)
        return;
    struct itimerspec at = {.it_value = clock_timespec(at_us)};
    timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
    loop->timer_us = at_us;
}

static bool is_crowded(const struct open_loop *loop)
{
    return !loop->due.ended &&
           loop->load->arrivals.parts[loop->due.part].rate_per_s > (double)CROWD_RATE_PER_S;
}

/* To program a timer for each arrival, and to wake up for each answer, would cost a core at rates
 * where arrivals are closer together than a scheduler is exact, and take it from the servers. */
static int wait_for_events(struct open_loop *loop, struct epoll_event events[EVENTS_MAX])
{
    if (!is_crowded(loop)) {
        set_timer(loop);
        return epoll_wait(loop->epoll_fd, events, EVENTS_MAX, TURN_MS);
    }
    clock_sleep_until(loop->turned_us + CROWD_TURN_US);
    loop->turned_us = clock_mono_us();
    return epoll_wait(loop->epoll_fd, events, EVENTS_MAX, 0);
}

static void take_events(struct open_loop *loop)
{
    struct epoll_event events[EVENTS_MAX];
    int count = wait_for_events(loop, events);
    for (int i = 0; i < count; i++) {
        struct client *client = events[i].data.ptr;
        struct answer answer;
        if (!client) /* the timer */
            continue;
        switch (client_turn(client, loop->epoll_fd, &answer)) {
        case CLIENT_ANSWERS:
            count_answer(loop, client, answer.status);
            free_client(loop, client);
            break;
        case CLIENT_FAILS:
            lose(loop, client);
            break;
        case CLIENT_WAITS:
        case CLIENT_ENDS:
            break;
        }
    }
}

/* Somebody watches, and may want to stop it. */
static bool tick(struct open_loop *loop, struct error *error)
{
    int64_t now_us = clock_mono_us();
    if (process_interrupted())
        return error_fail(error, "interrupted");
    if (loop->load->tick && now_us - loop->ticked_us > TICK_US) {
        if (loop->load->answers)
            *loop->load->answers = loop->result->requests;
        loop->load->tick(loop->load->context);
        loop->ticked_us = now_us;
    }
    return true;
}

/* How the kernel treats this thread. */
struct precedence {
    int policy;
    struct sched_param parameters;
};

/* It goes before the servers, where that is allowed (CAP_SYS_NICE): nice values do not reach beyond
 * the terminal's own processes everywhere. It sleeps most of the time, and the kernel bounds it.
 * Servers that were started with a real-time priority have this process's own: one above it. */
static struct precedence take_precedence(void)
{
    struct precedence before = {.policy = sched_getscheduler(0)};
    sched_getparam(0, &before.parameters);
    struct sched_param above = {.sched_priority = before.parameters.sched_priority + 1};
    sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &above);
    return before;
}

/* What is started after this load is to be treated as what was started before it. */
static void return_precedence(const struct precedence *before)
{
    sched_setscheduler(0, before->policy, &before->parameters);
}

/* From the schedule's beginning until its last order is answered. */
static bool follow_schedule(struct open_loop *loop, struct error *error)
{
    while (!loop->due.ended) {
        take_events(loop);
        take_up(loop);
        start(loop);
        if (!tick(loop, error))
            return false;
    }
    give_up_waiting(loop);
    while ((loop->idle_count < loop->count || loop->repeats_count > 0) &&
           clock_mono_us() < loop->end_us + ANSWER_LIMIT_US) {
        start_repeats(loop);
        take_events(loop);
        if (!tick(loop, error))
            return false;
    }
    return true;
}

/* Until every call of the list is answered. */
static bool follow_list(struct open_loop *loop, struct error *error)
{
    loop->due_count = (int64_t)loop->load->counted->count;
    while (loop->result->requests < loop->due_count) {
        start(loop);
        take_events(loop);
        if (!tick(loop, error))
            return false;
        if (loop->result->abandoned > 0 || clock_mono_us() > loop->answered_us + ANSWER_LIMIT_US)
            return error_fail(error, "a call got no answer");
    }
    return true;
}

static bool drive(struct open_loop *loop, struct error *error)
{
    int64_t now_us = clock_mono_us();
    loop->began_us = loop->load->start_us > 0 ? loop->load->start_us : now_us;
    if (loop->began_us < now_us)
        return error_fail(error, "the connections did not stand in time for the schedule");
    loop->counted_from_us = loop->began_us + loop->load->arrivals.lead_us;
    loop->end_us = loop->began_us + arrivals_duration_us(&loop->load->arrivals);
    loop->answered_us = loop->end_us;
    if (loop->load->counted)
        return follow_list(loop, error);
    if (loop->load->detail) {
        loop->timeline = timeline_recorder_create(loop->began_us, loop->end_us - loop->began_us);
        if (!loop->timeline)
            return error_fail(error, "out of memory");
    }
    struct precedence before = take_precedence();
    bool made = follow_schedule(loop, error);
    return_precedence(&before);
    for (size_t i = 0; i < loop->count; i++) {
        struct client *client = &loop->clients[i];
        if (client->state == CLIENT_BUSY || client->state == CLIENT_OPENING)
            lose(loop, client);
    }
    return made;
}

static bool prepare(struct open_loop *loop, struct error *error)
{
    const struct load *load = loop->load;
    const size_t targets = load->targets_count;
    struct epoll_event timer = {.events = EPOLLIN | EPOLLET};
    if (targets == 0 || targets > TARGETS_MAX || load->connections > OPEN_LOOP_CONNECTIONS_MAX)
        return error_fail(error, "no targets, or more of them or of connections than it takes");
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    loop->clients = calloc((size_t)load->connections, sizeof *loop->clients);
    loop->idle = calloc((size_t)load->connections, sizeof *loop->idle);
    loop->carried = calloc((size_t)load->connections, sizeof *loop->carried);
    loop->repeats = calloc((size_t)load->connections + 1, sizeof *loop->repeats);
    if (!loop->clients || !loop->idle || !loop->carried || !loop->repeats || loop->epoll_fd < 0 ||
        loop->timer_fd < 0 || epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->timer_fd, &timer) != 0)
        return error_fail(error, "no resources for the generator: %s", strerror(errno));
    if (!client_allow(load->connections, error))
        return false;
    for (size_t i = 0; i < targets; i++) {
        if (!client_resolve(&loop->targets[i], load->targets[i], error))
            return false;
    }
    for (; loop->count < (size_t)load->connections; loop->count++) {
        struct client *client = &loop->clients[loop->count];
        client_init(client, &loop->targets[loop->count % targets]);
        loop->idle[loop->count] = client;
        if (!client_open(client, loop->epoll_fd, error) || !tick(loop, error))
            return false;
    }
    loop->idle_count = loop->count;
    return true;
}

static void read_schedule(struct open_loop *loop)
{
    struct load_result *result = loop->result;
    struct latency all = {.count = 0};
    result->parts_count = loop->load->arrivals.parts_count;
    for (size_t i = 0; i < result->parts_count; i++) {
        const struct arrivals_part *planned = &loop->load->arrivals.parts[i];
        struct load_part *part = &result->parts[i];
        part->name = planned->name;
        part->rate_per_s = planned->rate_per_s;
        part->duration_us = planned->duration_us;
        for (int class = 0; class < LOAD_CLASSES; class ++) {
            part->classes[class] = latency_read(&loop->latencies[i][class]);
            latency_merge(&all, &loop->latencies[i][class]);
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

/* For the curves. */
static void read_detail(const struct open_loop *loop, struct load_detail *detail)
{
    memcpy(detail->parts, loop->latencies, sizeof detail->parts);
    timeline_read(loop->timeline, &detail->timeline);
}

static int by_time(const void *a, const void *b)
{
    int64_t left = ((const struct counted_call *)a)->took_us;
    int64_t right = ((const struct counted_call *)b)->took_us;
    return (left > right) - (left < right);
}

/* Of a list every latency is known exactly. */
static bool read_list(const struct counted *counted, struct load_result *result,
                      struct error *error)
{
    size_t last = counted->count - 1;
    struct counted_call *calls = malloc(counted->count * sizeof *calls);
    if (!calls)
        return error_fail(error, "out of memory");
    memcpy(calls, counted->calls, counted->count * sizeof *calls);
    qsort(calls, counted->count, sizeof *calls, by_time);
    result->p50_us = calls[last * 50 / 100].took_us;
    result->p90_us = calls[last * 90 / 100].took_us;
    result->p99_us = calls[last * 99 / 100].took_us;
    result->max_us = calls[last].took_us;
    free(calls);
    return true;
}

static bool run(const struct load *load, struct load_result *result, struct error *error)
{
    *result = (struct load_result){.parts_count = 0};
    struct open_loop *loop = calloc(1, sizeof *loop);
    if (!loop)
        return error_fail(error, "out of memory");
    loop->load = load;
    loop->result = result;
    loop->random = random_begin(load->seed, 0);
    arrivals_init(&loop->due, &load->arrivals);
    arrivals_init(&loop->next, &load->arrivals);
    bool made = prepare(loop, error) && drive(loop, error);
    result->duration_us = loop->answered_us - loop->began_us;
    if (made && load->counted)
        made = read_list(load->counted, result, error);
    else if (made)
        read_schedule(loop);
    if (made && loop->timeline)
        read_detail(loop, load->detail);
    timeline_recorder_destroy(loop->timeline);
    for (size_t i = 0; i < loop->count; i++)
        client_close(&loop->clients[i]);
    if (loop->timer_fd > 0)
        close(loop->timer_fd);
    if (loop->epoll_fd > 0)
        close(loop->epoll_fd);
    free(loop->clients);
    free(loop->idle);
    free(loop->carried);
    free(loop->repeats);
    free(loop);
    return made;
}

const struct generator generator_open_loop = {.run = run};
