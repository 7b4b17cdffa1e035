/* See open_loop.h. Two walks over the schedule: `due` takes up what falls due, `next` starts it, as
 * far behind as connections are lacking. What waits in between needs no memory but a count. */
#include "loadtest/load/open_loop.h"

#include "loadtest/base/process.h"
#include "loadtest/load/connection.h"

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

struct open_loop {
    const struct open_loop_load *load; /* borrowed */
    struct open_loop_result *result;   /* borrowed */
    int epoll_fd, timer_fd;
    struct connection_target targets[TARGETS_MAX];
    struct connection *connections; /* owned */
    struct connection **idle;       /* owned: a ring of those without an order */
    size_t count, idle_at, idle_count;
    int64_t began_us, counted_from_us, end_us, ticked_us, timer_us, turned_us, answered_us;
    struct arrivals due, next;
    int64_t due_count, next_count;
    int64_t late_until; /* arrivals below this number found no connection when they fell due */
    unsigned short random[3];
    struct latency latencies[ARRIVALS_PARTS_MAX][OPEN_LOOP_CLASSES];
    struct latency lag;
};

const char *open_loop_class_name(enum open_loop_class class)
{
    static const char *const names[] = {"committed", "accepted", "refused", "failed"};
    return names[class];
}

static enum open_loop_class class_of(int status)
{
    if (status == 200 || status == 201)
        return OPEN_LOOP_COMMITTED;
    if (status == 202)
        return OPEN_LOOP_ACCEPTED;
    return status == 404 || status == 409 ? OPEN_LOOP_REFUSED : OPEN_LOOP_FAILED;
}

/* A connection is free again. */
static void give_back(struct open_loop *loop, struct connection *connection)
{
    loop->idle[(loop->idle_at + loop->idle_count) % loop->count] = connection;
    loop->idle_count++;
}

static struct connection *take_idle(struct open_loop *loop)
{
    struct connection *connection = loop->idle[loop->idle_at];
    loop->idle_at = (loop->idle_at + 1) % loop->count;
    loop->idle_count--;
    return connection;
}

static void count_failure(struct open_loop *loop, size_t part, int64_t due_us)
{
    latency_add(&loop->latencies[part][OPEN_LOOP_FAILED], clock_mono_us() - due_us);
}

static void lose(struct open_loop *loop, struct connection *connection)
{
    loop->result->unanswered++;
    count_failure(loop, connection->part, connection->due_us);
    give_back(loop, connection);
}

static void count_answer(struct open_loop *loop, const struct connection *connection, int status)
{
    enum open_loop_class class = class_of(status);
    loop->answered_us = clock_mono_us();
    latency_add(&loop->latencies[connection->part][class], loop->answered_us - connection->due_us);
    loop->result->answers++;
    loop->result->not_2xx += status >= 300;
    if (class == OPEN_LOOP_COMMITTED && loop->answered_us > loop->counted_from_us &&
        loop->answered_us <= loop->end_us)
        loop->result->committed_in_time++;
}

/* Ids have a fixed number of digits, so that every request has the same length, as with wrk. */
static size_t write_request(struct open_loop *loop, const struct connection *connection, char *out)
{
    const struct open_loop_load *load = loop->load;
    char body[128], token[600] = "";
    int64_t product =
        load->first_product + (int64_t)(erand48(loop->random) * (double)load->products);
    if (load->restock)
        snprintf(body, sizeof body, "{\"quantity\":1}");
    else
        snprintf(body, sizeof body, "{\"product_id\":%" PRId64 ",\"user_id\":%" PRId64 "}", product,
                 load->first_user + loop->next_count);
    if (*load->token)
        snprintf(token, sizeof token, "Authorization: Bearer %.512s\r\n", load->token);
    int length = snprintf(out, CONNECTION_REQUEST_BYTES,
                          "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                          "%sContent-Length: %zu\r\n\r\n%s",
                          load->path, connection->target->authority, token, strlen(body), body);
    return length < CONNECTION_REQUEST_BYTES ? (size_t)length : CONNECTION_REQUEST_BYTES - 1;
}

/* Lags are taken for every arrival that has fallen due, whether it can start or not. */
static void take_up(struct open_loop *loop)
{
    int64_t now_us = clock_mono_us();
    while (!loop->due.ended && loop->began_us + loop->due.at_us <= now_us) {
        latency_add(&loop->lag, now_us - loop->began_us - loop->due.at_us);
        loop->result->parts[loop->due.part].arrivals++;
        loop->due_count++;
        arrivals_next(&loop->due);
    }
}

/* Starts what is due, as far as there are connections. */
static void start(struct open_loop *loop)
{
    while (loop->next_count < loop->due_count && loop->idle_count > 0) {
        char request[CONNECTION_REQUEST_BYTES];
        struct connection *connection = take_idle(loop);
        connection->part = loop->next.part;
        connection->due_us = loop->began_us + loop->next.at_us;
        if (loop->next_count < loop->late_until)
            loop->result->parts[connection->part].late_starts++;
        size_t length = write_request(loop, connection, request);
        if (!connection_send(connection, loop->epoll_fd, request, length))
            lose(loop, connection);
        loop->next_count++;
        arrivals_next(&loop->next);
    }
    if (loop->next_count < loop->due_count)
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
        struct connection *connection = events[i].data.ptr;
        struct answer answer;
        if (!connection) /* the timer */
            continue;
        switch (connection_turn(connection, loop->epoll_fd, &answer)) {
        case CONNECTION_ANSWERS:
            count_answer(loop, connection, answer.status);
            give_back(loop, connection);
            break;
        case CONNECTION_FAILS:
            lose(loop, connection);
            break;
        case CONNECTION_WAITS:
        case CONNECTION_ENDS:
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
    while (loop->idle_count < loop->count && clock_mono_us() < loop->end_us + ANSWER_LIMIT_US) {
        take_events(loop);
        if (!tick(loop, error))
            return false;
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
    struct precedence before = take_precedence();
    bool made = follow_schedule(loop, error);
    return_precedence(&before);
    for (size_t i = 0; i < loop->count; i++) {
        struct connection *connection = &loop->connections[i];
        if (connection->state == CONNECTION_BUSY || connection->state == CONNECTION_OPENING)
            lose(loop, connection);
    }
    return made;
}

static bool prepare(struct open_loop *loop, struct error *error)
{
    const struct open_loop_load *load = loop->load;
    const size_t targets = load->targets_count;
    struct epoll_event timer = {.events = EPOLLIN | EPOLLET};
    if (targets == 0 || targets > TARGETS_MAX || load->connections > OPEN_LOOP_CONNECTIONS_MAX)
        return error_fail(error, "no targets, or more of them or of connections than it takes");
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    loop->connections = calloc((size_t)load->connections, sizeof *loop->connections);
    loop->idle = calloc((size_t)load->connections, sizeof(struct connection *));
    if (!loop->connections || !loop->idle || loop->epoll_fd < 0 || loop->timer_fd < 0 ||
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->timer_fd, &timer) != 0)
        return error_fail(error, "no resources for the generator: %s", strerror(errno));
    if (!connection_allow(load->connections, error))
        return false;
    for (size_t i = 0; i < targets; i++) {
        if (!connection_resolve(&loop->targets[i], load->targets[i], error))
            return false;
    }
    for (; loop->count < (size_t)load->connections; loop->count++) {
        struct connection *connection = &loop->connections[loop->count];
        connection_init(connection, &loop->targets[loop->count % targets]);
        loop->idle[loop->count] = connection;
        if (!connection_open(connection, loop->epoll_fd, error) || !tick(loop, error))
            return false;
    }
    loop->idle_count = loop->count;
    return true;
}

static void read_result(struct open_loop *loop)
{
    struct open_loop_result *result = loop->result;
    struct latency all = {.count = 0};
    result->parts_count = loop->load->arrivals.parts_count;
    for (size_t i = 0; i < result->parts_count; i++) {
        const struct arrivals_part *planned = &loop->load->arrivals.parts[i];
        struct open_loop_part *part = &result->parts[i];
        part->name = planned->name;
        part->rate_per_s = planned->rate_per_s;
        part->duration_us = planned->duration_us;
        for (int class = 0; class < OPEN_LOOP_CLASSES; class ++) {
            part->classes[class] = latency_read(&loop->latencies[i][class]);
            latency_merge(&all, &loop->latencies[i][class]);
        }
    }
    result->all = latency_read(&all);
    result->lag = latency_read(&loop->lag);
    result->too_late = result->lag.p99_us > loop->load->lag_limit_us;
    result->duration_us = loop->answered_us - loop->began_us;
}

bool open_loop_run(const struct open_loop_load *load, struct open_loop_result *result,
                   struct error *error)
{
    *result = (struct open_loop_result){.parts_count = 0};
    struct open_loop *loop = calloc(1, sizeof *loop);
    if (!loop)
        return error_fail(error, "out of memory");
    loop->load = load;
    loop->result = result;
    loop->random[0] = (unsigned short)load->arrivals.seed;
    arrivals_init(&loop->due, &load->arrivals);
    arrivals_init(&loop->next, &load->arrivals);
    bool made = prepare(loop, error) && drive(loop, error);
    if (made)
        read_result(loop);
    for (size_t i = 0; i < loop->count; i++)
        connection_close(&loop->connections[i]);
    if (loop->timer_fd > 0)
        close(loop->timer_fd);
    if (loop->epoll_fd > 0)
        close(loop->epoll_fd);
    free(loop->connections);
    free(loop->idle);
    free(loop);
    return made;
}
