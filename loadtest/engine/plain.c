/* See engine.h. */
#include "loadtest/engine/engine.h"

#include "base/clock.h"
#include "loadtest/base/pool.h"
#include "loadtest/engine/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { EVENTS_MAX = 256, TURN_MS = 5, EXACT_TURN_MS = 100, CROWDED_TURN_US = 500 };

struct plain {
    const struct plain_plan *plan; /* borrowed */
    int epoll_fd, timer_fd;
    struct client_target targets[PLAIN_SERVERS_MAX];
    struct client *clients; /* owned */
    size_t count;           /* of those that were opened */
    int64_t timer_us, turned_us;
};

static bool open_one(void *self, size_t connection, struct error *error)
{
    struct plain *plain = self;
    const struct plain_plan *plan = plain->plan;
    struct client *client = &plain->clients[connection];
    size_t server = plan->server_of ? plan->server_of(connection) : connection;
    client_init(client, &plain->targets[server % plan->servers_count]);
    plain->count = connection + 1;
    return client_open(client, plain->epoll_fd, error);
}

static void prepare(void *self, size_t connection, const struct http_request *request)
{
    struct client *client = &((struct plain *)self)->clients[connection];
    client->used = http_request_write(request, client->target->authority, client->buffer);
}

static void move_on(const struct plain *plain, struct client *client)
{
    size_t server = (size_t)(client->target - plain->targets);
    if (plain->plan->moves_on)
        client->target = &plain->targets[(server + 1) % plain->plan->servers_count];
}

static bool send_one(void *self, size_t connection)
{
    struct plain *plain = self;
    struct client *client = &plain->clients[connection];
    bool sent = client_send(client, plain->epoll_fd, client->buffer, client->used);
    if (!sent)
        move_on(plain, client);
    return sent;
}

static void drop(void *self, size_t connection)
{
    struct plain *plain = self;
    client_close(&plain->clients[connection]);
    move_on(plain, &plain->clients[connection]);
}

/* Epoll's own timeout is too coarse for what is due. Edge-triggered: it need not be read. */
static void set_timer(struct plain *plain, int64_t at_us)
{
    if (at_us == INT64_MAX || at_us == plain->timer_us)
        return;
    struct itimerspec at = {.it_value = clock_timespec(at_us)};
    timerfd_settime(plain->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
    plain->timer_us = at_us;
}

/* To program a timer for each request, and to wake up for each answer, would cost a core at rates
 * where requests are closer together than a scheduler is exact, and take it from the servers. */
static int wait_for_events(struct plain *plain, const struct engine *engine,
                           struct epoll_event events[EVENTS_MAX])
{
    bool exact = false, crowded = false;
    int64_t due_us = engine_due_us(engine, &exact, &crowded);
    if (crowded) {
        clock_sleep_until(plain->turned_us + CROWDED_TURN_US);
        plain->turned_us = clock_mono_us();
        return epoll_wait(plain->epoll_fd, events, EVENTS_MAX, 0);
    }
    set_timer(plain, due_us);
    return epoll_wait(plain->epoll_fd, events, EVENTS_MAX, exact ? EXACT_TURN_MS : TURN_MS);
}

static bool turn(void *self, struct engine *engine, struct error *error)
{
    struct plain *plain = self;
    struct epoll_event events[EVENTS_MAX];
    int count = wait_for_events(plain, engine, events);
    (void)error;
    for (int i = 0; i < count; i++) {
        struct client *client = events[i].data.ptr;
        if (!client) /* the timer */
            continue;
        size_t connection = (size_t)(client - plain->clients);
        struct answer answer;
        bool unsent = client->state != CLIENT_BUSY;
        enum client_event event = client_turn(client, plain->epoll_fd, &answer);
        if (event == CLIENT_FAILS) {
            move_on(plain, client);
            answer = (struct answer){.unsent = unsent};
        }
        if (event == CLIENT_ANSWERS || event == CLIENT_FAILS)
            engine_ended(engine, connection, &answer);
    }
    return true;
}

static bool init(struct plain *plain, struct error *error)
{
    const struct plain_plan *plan = plain->plan;
    struct epoll_event timer = {.events = EPOLLIN | EPOLLET};
    if (plan->servers_count == 0 || plan->servers_count > PLAIN_SERVERS_MAX)
        return error_fail(error, "no servers, or more than %d", PLAIN_SERVERS_MAX);
    plain->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    plain->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    plain->clients = memory_take(plan->connections * sizeof *plain->clients);
    if (plain->epoll_fd < 0 || plain->timer_fd < 0 ||
        epoll_ctl(plain->epoll_fd, EPOLL_CTL_ADD, plain->timer_fd, &timer) != 0)
        return error_fail(error, "no resources for the connections: %s", strerror(errno));
    if (!client_allow((int64_t)plan->connections, error))
        return false;
    for (size_t i = 0; i < plan->servers_count; i++) {
        if (!client_resolve(&plain->targets[i], plan->servers[i], error))
            return false;
    }
    return true;
}

static void fini(struct plain *plain)
{
    for (size_t i = 0; i < plain->count; i++)
        client_close(&plain->clients[i]);
    if (plain->timer_fd >= 0)
        close(plain->timer_fd);
    if (plain->epoll_fd >= 0)
        close(plain->epoll_fd);
    free(plain->clients);
}

bool plain_run(const struct plain_plan *plan, struct error *error)
{
    static const struct wire wire = {open_one, prepare, send_one, turn, drop};
    struct plain plain = {.plan = plan, .epoll_fd = -1, .timer_fd = -1};
    const struct engine_plan wired = {.behaviour = plan->behaviour,
                                      .self = plan->self,
                                      .wire = &wire,
                                      .wire_self = &plain,
                                      .connections = plan->connections};
    bool made = init(&plain, error) && engine_run(&wired, error);
    fini(&plain);
    return made;
}
