/*
 * See relay.h. The thread holds the mutex but while it waits; who changes something wakes it, and
 * it looks at every connection. What a connection is to do later, when nothing comes, stands in one
 * timer: the earliest of all.
 */
#include "loadtest/relay/relay.h"

#include "base/clock.h"
#include "loadtest/relay/address.h"
#include "loadtest/relay/link.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { LINKS_MAX = 1024, EVENTS_MAX = 256 };

struct relay {
    enum relay_protocol protocol;
    struct address own;
    int listener, epoll, wake, timer; /* -1: none */
    pthread_t thread;
    pthread_cond_t bitten; /* something was counted */
    struct {
        pthread_mutex_t mutex;
        struct toxics toxics;
        struct address target;
        struct link *links; /* owned */
        int64_t due_us;     /* INT64_MAX: nothing is to be done later */
        int64_t set_us;     /* what the timer is set to */
        bool stopping;
    } shared;
};

static void watch(struct relay *relay, struct link *link)
{
    for (int i = 0; i < 2; i++) {
        struct link_end *end = &link->ends[i];
        uint32_t interest = link_interest(link, i);
        struct epoll_event event = {.events = interest, .data.ptr = end};
        if (interest == end->interest)
            continue;
        /* One that is not waited for would still say, without end, that it has hung up. */
        int how = interest == 0        ? EPOLL_CTL_DEL
                  : end->interest == 0 ? EPOLL_CTL_ADD
                                       : EPOLL_CTL_MOD;
        link->over |= epoll_ctl(relay->epoll, how, end->fd, &event) != 0;
        end->interest = interest;
    }
}

static void serve(struct relay *relay, struct link *link)
{
    if (link->over)
        return;
    int64_t due_us = link_serve(link, &relay->shared.toxics, clock_mono_us());

    relay->shared.due_us = clock_earlier(relay->shared.due_us, due_us);
    if (!link->over)
        watch(relay, link);
}

/* Closing is not enough: a child that another thread is about to start holds the sockets open until
 * it has become another program, and epoll would tell of a link that is gone. */
static void forget(struct relay *relay, struct link *link)
{
    for (int i = 0; i < 2; i++) {
        if (link->ends[i].interest != 0)
            epoll_ctl(relay->epoll, EPOLL_CTL_DEL, link->ends[i].fd, NULL);
    }
}

static void bury(struct relay *relay)
{
    struct link **at = &relay->shared.links;

    while (*at) {
        struct link *link = *at;
        if (!link->over) {
            at = &link->next;
            continue;
        }
        *at = link->next;
        forget(relay, link);
        link_destroy(link);
        relay->shared.toxics.counts.open--;
    }
}

static void refuse(struct relay *relay, int client)
{
    close(client);
    relay->shared.toxics.counts.refused++;
}

static void take_link(struct relay *relay, int client)
{
    struct relay_counts *counts = &relay->shared.toxics.counts;
    bool down = toxics_on(&relay->shared.toxics, RELAY_DOWN, RELAY_UPSTREAM) != NULL;
    bool refuses = toxics_on(&relay->shared.toxics, RELAY_REFUSE, RELAY_UPSTREAM) != NULL;
    int target =
        down || refuses || counts->open == LINKS_MAX ? -1 : address_connect(&relay->shared.target);
    struct link *link = NULL;

    if (down || refuses)
        toxics_bite(&relay->shared.toxics, down ? RELAY_DOWN : RELAY_REFUSE);
    if (target < 0) {
        refuse(relay, client);
        return;
    }
    link = link_create(client, target, relay->protocol);
    if (!link) {
        counts->refused++;
        return;
    }
    counts->connections++;
    counts->open++;
    link->next = relay->shared.links;
    relay->shared.links = link;
    serve(relay, link);
}

static void take_links(struct relay *relay)
{
    for (int client; (client = address_accept(relay->listener)) >= 0;)
        take_link(relay, client);
}

static void serve_all(struct relay *relay)
{
    relay->shared.due_us = relay->shared.set_us = INT64_MAX;
    for (struct link *link = relay->shared.links; link; link = link->next)
        serve(relay, link);
}

static void set_timer(struct relay *relay)
{
    int64_t due_us = relay->shared.due_us;
    struct itimerspec at = {.it_value = {0}};

    if (due_us == relay->shared.set_us)
        return;
    relay->shared.set_us = due_us;
    if (due_us != INT64_MAX)
        at.it_value = clock_timespec(due_us > 0 ? due_us : 1);
    timerfd_settime(relay->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

/* Without the mutex. Whether the timer or somebody has woken the thread. */
static bool drain(struct relay *relay, const struct epoll_event *events, int count)
{
    bool woken = false;

    for (int i = 0; i < count; i++) {
        const int *fd = events[i].data.ptr;
        uint64_t ignored;
        if (fd != &relay->wake && fd != &relay->timer)
            continue;
        ssize_t got = read(*fd, &ignored, sizeof ignored);
        (void)got; /* nothing there is nothing to drain */
        woken = true;
    }
    return woken;
}

/* What the listener, the timer and the wake-up are known by to epoll is their place in here. */
static void turn(struct relay *relay, const struct epoll_event *events, int count, bool all)
{
    for (int i = 0; i < count; i++) {
        const void *what = events[i].data.ptr;
        if (what == &relay->listener) {
            take_links(relay);
        } else if (what != &relay->wake && what != &relay->timer) {
            struct link_end *end = events[i].data.ptr;
            end->readable |= (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0;
            serve(relay, end->link);
        }
    }
    if (all)
        serve_all(relay);
    bury(relay);
    set_timer(relay);
    pthread_cond_broadcast(&relay->bitten);
}

static void *relay_main(void *argument)
{
    struct relay *relay = argument;
    struct epoll_event events[EVENTS_MAX];

    prctl(PR_SET_TIMERSLACK, 1UL); /* the usual 50 us are as long as some delays */
    pthread_mutex_lock(&relay->shared.mutex);
    while (!relay->shared.stopping) {
        pthread_mutex_unlock(&relay->shared.mutex);
        int count = epoll_wait(relay->epoll, events, EVENTS_MAX, -1);
        bool woken = drain(relay, events, count);
        pthread_mutex_lock(&relay->shared.mutex);
        turn(relay, events, count, woken);
    }
    for (struct link *link = relay->shared.links; link; link = link->next)
        link->over = true;
    bury(relay);
    pthread_mutex_unlock(&relay->shared.mutex);
    return NULL;
}

static bool watch_own(struct relay *relay, int *fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = fd};

    return *fd >= 0 && epoll_ctl(relay->epoll, EPOLL_CTL_ADD, *fd, &event) == 0;
}

static bool open_all(struct relay *relay, const char *listen, const char *target,
                     struct error *error)
{
    if (!address_read(&relay->own, listen, error) ||
        !address_read(&relay->shared.target, target, error))
        return false;
    relay->listener = address_listen(&relay->own, error);
    if (relay->listener < 0)
        return false;
    relay->epoll = epoll_create1(EPOLL_CLOEXEC);
    relay->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    relay->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (relay->epoll < 0 || !watch_own(relay, &relay->listener) ||
        !watch_own(relay, &relay->wake) || !watch_own(relay, &relay->timer))
        return error_fail(error, "a relay does not start: %s", strerror(errno));
    int failed = pthread_create(&relay->thread, NULL, relay_main, relay);
    return failed == 0 || error_fail(error, "a relay does not start: %s", strerror(failed));
}

static void take_down(struct relay *relay)
{
    const int fds[] = {relay->listener, relay->epoll, relay->wake, relay->timer};

    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    if (relay->listener >= 0 && relay->own.text[0] == '/')
        unlink(relay->own.text);
    pthread_cond_destroy(&relay->bitten);
    pthread_mutex_destroy(&relay->shared.mutex);
    free(relay);
}

struct relay *relay_start(enum relay_protocol protocol, const char *listen, const char *target,
                          struct error *error)
{
    struct relay *relay = calloc(1, sizeof *relay);

    if (!relay) {
        error_fail(error, "out of memory");
        return NULL;
    }
    relay->protocol = protocol;
    relay->listener = relay->epoll = relay->wake = relay->timer = -1;
    relay->shared.due_us = relay->shared.set_us = INT64_MAX;
    relay->shared.toxics.seed = 1;
    pthread_mutex_init(&relay->shared.mutex, NULL);
    clock_cond_init(&relay->bitten);
    if (!open_all(relay, listen, target, error)) {
        take_down(relay);
        return NULL;
    }
    return relay;
}

/* After a change, with the mutex held: lets go of it, and has every connection looked at. */
static void changed(struct relay *relay)
{
    pthread_mutex_unlock(&relay->shared.mutex);
    eventfd_write(relay->wake, 1);
}

void relay_stop(struct relay *relay)
{
    if (!relay)
        return;
    pthread_mutex_lock(&relay->shared.mutex);
    relay->shared.stopping = true;
    changed(relay);
    pthread_join(relay->thread, NULL);
    take_down(relay);
}

const char *relay_address(const struct relay *relay)
{
    return relay->own.text;
}

bool relay_set(struct relay *relay, const struct relay_toxic *toxic, struct error *error)
{
    struct toxics *toxics = &relay->shared.toxics;

    pthread_mutex_lock(&relay->shared.mutex);
    bool set = toxics_set(toxics, relay->protocol, toxic, error);
    for (struct link *link = relay->shared.links; set && link; link = link->next) {
        if (toxic->type == RELAY_LIMIT_DATA)
            link_count_from_here(link, toxic->stream);
        if (toxic->type == RELAY_DOWN && !link->over) {
            toxics_bite(toxics, RELAY_DOWN);
            link->over = true;
        }
    }
    changed(relay);
    return set;
}

void relay_clear(struct relay *relay, enum relay_type type)
{
    pthread_mutex_lock(&relay->shared.mutex);
    toxics_clear(&relay->shared.toxics, type);
    if (type == RELAY_HOLD_REQUEST || type == RELAY_TYPES) {
        for (struct link *link = relay->shared.links; link; link = link->next)
            link_release(link);
    }
    changed(relay);
}

struct relay_counts relay_count(struct relay *relay)
{
    pthread_mutex_lock(&relay->shared.mutex);
    struct relay_counts counts = relay->shared.toxics.counts;
    pthread_mutex_unlock(&relay->shared.mutex);
    return counts;
}

bool relay_wait(struct relay *relay, enum relay_type type, int64_t times, int64_t limit_us)
{
    struct timespec until = clock_timespec(clock_mono_us() + limit_us);
    const int64_t *bitten = &relay->shared.toxics.counts.bitten[type];
    int timed_out = 0;

    pthread_mutex_lock(&relay->shared.mutex);
    while (*bitten < times && !timed_out)
        timed_out =
            pthread_cond_timedwait(&relay->bitten, &relay->shared.mutex, &until) == ETIMEDOUT;
    bool enough = *bitten >= times;
    pthread_mutex_unlock(&relay->shared.mutex);
    return enough;
}
