/*
 * The edge's loop: libmicrohttpd's epoll set driven from a loop of our own, and the drain at the
 * end.
 *
 * Happy path, one turn: accept connections; let libmicrohttpd read, parse and write what is ready;
 * hand the collected orders and tasks over to dispatch, all at once; wait for sockets, timeouts or
 * completions; answer what dispatch has decided.
 *
 * States:
 *
 *   state       accepts   new orders       ends with
 *   serving     yes       handed over      the first stop
 *   draining    no        SHUTTING_DOWN    everything accepted is answered; a second stop; a bound
 *   abandoned   no        not read         the loop's end; the exit status says so
 *
 * Failure modes: dispatch refuses a task: its request is answered as refused. No memory or no
 * descriptor for a connection: accept.c.
 *
 * Work around libmicrohttpd, here and in the files below (docs/design/edge.md says why), each with
 * the test that needs it:
 *
 *   a loop of our own          daemon.c       http/test_crowd.c, exactly_so_many_at_once…: its own
 *                                             loop stalls when exactly n * 128 sockets are ready
 *   accepting by ourselves     accept.c       http/test_limit.c, a_server_that_was_full…
 *   hand-overs apart           pacing.c       unit/http/test_http_pacing.c, a_crowd_…: it looks at
 *                                             every suspended connection at each resume
 *   absolute deadlines         connection.c   http/test_clients.c, an_unfinished_request_…: its
 *                                             timeout is one of inactivity
 *   peers that end watched     connection.c   http/test_clients.c, a_client_that_is_gone_…: it may
 *                                             not see an end that comes with bytes
 *   suspended one pass later   request.h      http/test_clients.c, a_client_that_has_finished…
 *   memory for the reply       head.c         http/test_heads.c, a_head_of_any_length…
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/stop.h"
#include "http/edge/edge.h"
#include "http/edge/listen.h"
#include "http/head.h"
#include "http/lifecycle.h"
#include "http/request.h"
#include "http/stream.h"
#include "strategies/strategies.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* The longest that an accepted request may take, without an order's work: an order's wait, or the
 * longest call. */
#define DRAIN_WAIT_US   (65 * CLOCK_US_PER_S)
#define DRAIN_MARGIN_US (5 * CLOCK_US_PER_S)

/* Within so many turns libmicrohttpd has written a reply to a client that reads it. */
enum { REPLY_TURNS = 8 };

/* How often to look whether the drain is over: dispatch does not wake the loop when its count falls
 * to 0. */
#define DRAIN_LOOK_US (10 * CLOCK_US_PER_MS)

/* Clients cause most of these lines, so they are logged for debugging alone. */
__attribute__((format(printf, 2, 0))) static void on_log(void *cls, const char *format,
                                                         va_list args)
{
    char text[256];

    (void)cls;
    if (!log_enabled(LOG_LEVEL_DEBUG))
        return;
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    log_debug("libmicrohttpd: %s", text);
}

/* It gets its connections from accept.c. */
static bool start_daemon(struct http *http, unsigned connections, struct error *error)
{
    const union MHD_DaemonInfo *info;

    http->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
        NULL, NULL, lifecycle_on_access, http, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
        MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HEAD_MEMORY_BYTES, MHD_OPTION_CONNECTION_MEMORY_INCREMENT,
        (size_t)HEAD_INCREMENT_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK,
        lifecycle_on_target, http, MHD_OPTION_NOTIFY_COMPLETED, lifecycle_on_completed, http,
        MHD_OPTION_NOTIFY_CONNECTION, connection_on_change, &http->connections, MHD_OPTION_END);
    if (!http->daemon)
        return error_set(error, ERROR_INTERNAL, "libmicrohttpd does not start: %s",
                         strerror(errno));
    info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (!info || info->epoll_fd < 0)
        return error_set(error, ERROR_UNSUITABLE, "libmicrohttpd was built without epoll");
    http->epoll_fd = info->epoll_fd;
    return true;
}

struct http *http_create(const struct services *services, const struct route *routes,
                         struct error *error)
{
    const struct settings *settings = services->settings;
    struct http *http = calloc(1, sizeof *http);
    unsigned connections;
    int listen_fd;

    if (!http) {
        error_set(error, ERROR_INTERNAL, "no memory");
        return NULL;
    }
    http->listen_fd = -1;
    http->connections.on_close = lifecycle_on_close;
    http->connections.idle_us = settings->idle_timeout_s * CLOCK_US_PER_S;
    http->routes = routes;
    json_object_seed(0); /* once, before other threads use it */
    http->services = services;
    http->default_strategy = strategy_find(settings->default_strategy);
    http->orders_last = &http->orders_first;
    http->tasks_last = &http->tasks_first;
    pthread_mutex_init(&http->done.mutex, NULL);
    http->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    http->connections.watch_fd = epoll_create1(EPOLL_CLOEXEC);
    if (http->event_fd < 0 || http->connections.watch_fd < 0) {
        error_set(error, ERROR_INTERNAL, "eventfd or epoll: %s", strerror(errno));
        http_destroy(http);
        return NULL;
    }
    listen_fd = listen_open(settings->listen, http->address, sizeof http->address, error);
    if (listen_fd < 0) {
        http_destroy(http);
        return NULL;
    }
    connections = listen_fit_connections((unsigned)settings->max_connections);
    edge_accept_init(http, listen_fd, connections);
    if (!start_daemon(http, connections, error)) {
        http_destroy(http);
        return NULL;
    }
    edge_metrics_init(http);
    edge_pace_init(http);
    return http;
}

const char *http_address(const struct http *http)
{
    return http->address;
}

static void wake(struct http *http)
{
    const uint64_t one = 1;
    ssize_t ignored = write(http->event_fd, &one, sizeof one);

    (void)ignored; /* it fails only when the counter is full: then the loop is awake */
}

static void on_orders(void *context, struct order *list)
{
    struct http *http = context;
    struct order *last = list;
    bool signal;

    if (!list)
        return;
    while (last->next)
        last = last->next;
    pthread_mutex_lock(&http->done.mutex);
    last->next = http->done.orders;
    http->done.orders = list;
    signal = !http->done.signalled;
    http->done.signalled = true;
    pthread_mutex_unlock(&http->done.mutex);
    if (signal)
        wake(http);
}

static void on_task(void *context, struct task *task)
{
    struct http *http = context;
    bool signal;

    pthread_mutex_lock(&http->done.mutex);
    task->next = http->done.tasks;
    http->done.tasks = task;
    signal = !http->done.signalled;
    http->done.signalled = true;
    pthread_mutex_unlock(&http->done.mutex);
    if (signal)
        wake(http);
}

struct completion http_completion(struct http *http)
{
    return (struct completion){.context = http, .orders = on_orders, .task = on_task};
}

/* Takes what dispatch has given back, and runs each request's step. */
static void take_done(struct http *http)
{
    struct order *orders;
    struct task *tasks;

    pthread_mutex_lock(&http->done.mutex);
    orders = http->done.orders;
    tasks = http->done.tasks;
    http->done.orders = NULL;
    http->done.tasks = NULL;
    http->done.signalled = false;
    pthread_mutex_unlock(&http->done.mutex);

    while (orders) {
        struct order *order = orders;

        orders = orders->next;
        if (!edge_pace_holds(http, order))
            request_done(request_of_order(order));
    }
    while (tasks) {
        struct request *request = request_of_task(tasks);

        tasks = tasks->next;
        request_done(request);
    }
}

/* Answers the refused orders whose replies were held back, if they are due. */
static void release_held(struct http *http)
{
    struct order *orders = edge_pace_release(http);

    while (orders) {
        struct request *request = request_of_order(orders);

        orders = orders->next;
        request_done(request);
    }
}

/* Hands over what the loop has collected. */
static void publish(struct http *http)
{
    struct order *orders = http->orders_first;
    struct task *tasks = http->tasks_first;

    http->orders_first = NULL;
    http->orders_last = &http->orders_first;
    http->tasks_first = NULL;
    http->tasks_last = &http->tasks_first;
    if (orders)
        dispatch_submit(http->dispatch, orders);
    while (tasks) {
        struct task *task = tasks;

        tasks = tasks->next;
        task->next = NULL;
        if (!dispatch_submit_task(http->dispatch, task)) {
            struct request *request = request_of_task(task);

            request->call->refused = true;
            request_done(request);
        }
    }
}

/* The time that poll may wait at most: until `next_us`, or until libmicrohttpd's own timeout. */
static struct timespec poll_time(struct http *http, int64_t next_us)
{
    int64_t left_us = next_us == INT64_MAX ? INT64_MAX : next_us - clock_mono_us();
    MHD_UNSIGNED_LONG_LONG mhd_ms;

    if (MHD_get_timeout(http->daemon, &mhd_ms) == MHD_YES)
        left_us = clock_earlier(left_us, mhd_ms > INT_MAX ? INT_MAX * CLOCK_US_PER_MS
                                                          : (int64_t)mhd_ms * CLOCK_US_PER_MS);
    if (left_us < 0)
        left_us = 0;
    return (struct timespec){.tv_sec = left_us / CLOCK_US_PER_S,
                             .tv_nsec = left_us % CLOCK_US_PER_S * 1000};
}

/* Waits for a socket, a completion, a stop, or what is due first of libmicrohttpd's timeouts, ours
 * and `until_us`. While hand-overs pause, completions are not waited for. */
static void wait_for_events(struct http *http, int64_t until_us)
{
    struct pollfd fds[] = {
        {.fd = http->epoll_fd, .events = POLLIN},
        {.fd = edge_pace_pauses(http) ? -1 : http->event_fd, .events = POLLIN},
        {.events = POLLIN},
        {.fd = http->draining ? -1 : stop_fd(), .events = POLLIN},
        {.fd = http->connections.watch_fd, .events = POLLIN},
    };
    int64_t next_us =
        clock_earlier(connection_next_us(&http->connections), edge_pace_next_us(http));
    struct timespec time;
    uint64_t count;

    next_us = clock_earlier(next_us, clock_earlier(until_us, streams_next_us(http)));
    fds[2].fd = edge_accept_fd(http, &next_us);
    time = poll_time(http, next_us);
    int ready = ppoll(fds, sizeof fds / sizeof *fds, &time, NULL);
    http->now_us = clock_mono_us();
    if (ready <= 0)
        return;
    http->knocked = fds[2].revents != 0;
    if (fds[4].revents != 0)
        connection_watch(&http->connections, http->now_us);
    if (fds[1].revents != 0) {
        ssize_t ignored = read(http->event_fd, &count, sizeof count);

        (void)ignored; /* no other thread reads it, and take_done takes the lists in any case */
    }
}

/* Whether everything accepted is decided and its reply written. */
static bool is_quiet(const struct http *http)
{
    return http->accepted == 0 && dispatch_in_flight(http->dispatch) == 0;
}

/* The last reply may just have been written: then a drain has nothing left to wait for. */
static void turn(struct http *http, int64_t until_us)
{
    if (http->knocked)
        edge_accept(http);
    http->knocked = false;
    streams_tick(http);
    MHD_run(http->daemon);
    connection_expire(&http->connections, http->now_us);
    if (!edge_pace_pauses(http)) {
        publish(http);
        edge_pace_handed_over(http);
    }
    edge_pace_worked(http, clock_mono_us());
    wait_for_events(http, http->draining && is_quiet(http) ? http->now_us : until_us);
    if (!edge_pace_pauses(http))
        take_done(http);
    release_held(http);
}

static bool drain(struct http *http)
{
    const struct settings *settings = http->services->settings;
    int64_t deadline_us = clock_mono_us() + DRAIN_WAIT_US + DRAIN_MARGIN_US +
                          (settings->work_timeout_ms + settings->work_ms) * CLOCK_US_PER_MS;

    http->draining = true;
    streams_end(http);
    notify_manager("STOPPING=1\nSTATUS=draining");
    log_info("draining: %lld orders and calls are under way",
             (long long)dispatch_in_flight(http->dispatch));
    edge_accept_close(http);
    dispatch_drain(http->dispatch);
    turn(http, http->now_us); /* whoever has been read but not handled is told */
    while (!is_quiet(http)) {
        if (stop_count() > 1) {
            log_warn("a second stop ends the drain");
            return false;
        }
        if (http->now_us >= deadline_us) {
            log_error("the drain took too long: not everything was answered");
            stop_soon();
            return false;
        }
        turn(http, http->now_us + DRAIN_LOOK_US);
    }
    return true;
}

/* Answers the orders that no worker has begun with SHUTTING_DOWN; those that are being worked on
 * are abandoned without an answer. */
static void refuse_queued(struct http *http)
{
    dispatch_flush(http->dispatch);
    for (int i = 0; i < REPLY_TURNS; i++)
        turn(http, http->now_us);
}

/* libmicrohttpd must not be stopped while a connection is suspended. */
static void stop_daemon(struct http *http)
{
    request_abandon_all(http);
    streams_end(http);
    MHD_run(http->daemon);
    MHD_stop_daemon(http->daemon);
    http->daemon = NULL;
}

int http_run(struct http *http, struct dispatch *dispatch)
{
    bool answered;

    http->dispatch = dispatch;
    http->now_us = clock_mono_us();
    while (stop_count() == 0)
        turn(http, INT64_MAX);
    answered = drain(http);
    if (!answered)
        refuse_queued(http);
    stop_daemon(http);
    return answered ? 0 : 1;
}

void http_destroy(struct http *http)
{
    if (!http)
        return;
    if (http->daemon)
        stop_daemon(http);
    /* Frees the requests that dispatch gave back after their connections were abandoned. */
    take_done(http);
    streams_fini(http);
    edge_accept_close(http);
    if (http->event_fd >= 0)
        close(http->event_fd);
    if (http->connections.watch_fd >= 0)
        close(http->connections.watch_fd);
    pthread_mutex_destroy(&http->done.mutex);
    free(http);
}
