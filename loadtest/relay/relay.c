/*
 * See relay.h. The thread holds the mutex but while it waits; who changes something wakes it, and
 * it looks at every connection. What a connection is to do later, when nothing comes, stands in one
 * time: the earliest of all.
 */
#include "loadtest/relay/relay.h"

#include "base/clock.h"
#include "loadtest/base/pool.h"
#include "loadtest/relay/link.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <unistd.h>

enum { LINKS_MAX = 1024, EVENTS_MAX = 256 };

/* HOST:PORT with an address of digits, or the /PATH of a unix socket. */
struct address {
    struct sockaddr_storage at;
    socklen_t length;
};

enum { BACKLOG = 1024, SOCKET_FLAGS = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK };

static bool read_path(struct address *address, const char *path, struct error *error)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof at.sun_path)
        return error_set(error, ERROR_INVALID, "%s: a socket's path has %zu bytes at most", path,
                         sizeof at.sun_path - 1);
    memcpy(at.sun_path, path, strlen(path) + 1);
    memcpy(&address->at, &at, sizeof at);
    address->length = sizeof at;
    return true;
}

static bool address_read(struct address *address, const char *text, struct error *error)
{
    static const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                          .ai_socktype = SOCK_STREAM};
    const char *colon = strrchr(text, ':');
    struct addrinfo *found = NULL;
    char host[64];

    if (text[0] == '/')
        return read_path(address, text, error);
    snprintf(host, sizeof host, "%.*s", colon ? (int)(colon - text) : 0, text);
    if (!colon || getaddrinfo(host, colon + 1, &hints, &found) != 0)
        return error_set(error, ERROR_INVALID,
                         "%s is no address of a relay: HOST:PORT in digits, or /PATH", text);
    memcpy(&address->at, found->ai_addr, found->ai_addrlen);
    address->length = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

static int hurry(int fd)
{
    static const int on = 1;

    if (fd >= 0) /* a unix socket has no such option, and needs none */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* Begins to connect, and waits for nothing. -1: it is refused. */
static int address_connect(const struct address *address)
{
    int fd = socket(address->at.ss_family, SOCKET_FLAGS, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)&address->at, address->length) == 0 ||
        errno == EINPROGRESS)
        return hurry(fd);
    close(fd);
    return -1;
}

struct relay {
    enum relay_protocol protocol;
    char own[128];             /* where it listens; "": nowhere yet */
    int listener, epoll, wake; /* -1: none */
    pthread_t thread;
    struct {
        pthread_mutex_t mutex;
        struct toxics toxics;
        struct address target;
        struct link *links; /* owned */
        int64_t due_us;     /* INT64_MAX: nothing is to be done later */
        bool stopping;
    } shared;
};

/* A relay asks nobody who he is: it is for this machine's own programs. */
static bool open_listener(struct relay *relay, const char *path, struct error *error)
{
    char host[64], port[8];
    struct address own = {.length = 0};

    if (!address_read(&own, path ? path : "127.0.0.1:0", error))
        return false;
    relay->listener = socket(own.at.ss_family, SOCKET_FLAGS, 0);
    if (relay->listener < 0 || bind(relay->listener, (struct sockaddr *)&own.at, own.length) != 0 ||
        listen(relay->listener, BACKLOG) != 0 ||
        getsockname(relay->listener, (struct sockaddr *)&own.at, &own.length) != 0)
        return error_fail(error, "a relay cannot listen on %s: %s", path ? path : "127.0.0.1",
                          strerror(errno));
    if (path)
        snprintf(relay->own, sizeof relay->own, "%s", path);
    else if (getnameinfo((struct sockaddr *)&own.at, own.length, host, sizeof host, port,
                         sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(relay->own, sizeof relay->own, "%s:%s", host, port);
    return true;
}

/* Has epoll ask for what a link needs now; one that is over needs nothing. Closing it is not
 * enough: a child that another thread is about to start holds the sockets open until it has become
 * another program, and epoll would tell of a link that is gone. */
static void watch(struct relay *relay, struct link *link)
{
    for (int i = 0; i < 2; i++) {
        struct link_end *end = &link->ends[i];
        uint32_t interest = link->over ? 0 : link_interest(link, i);
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
        watch(relay, link);
        link_destroy(link);
        relay->shared.toxics.counts.open--;
    }
}

static void take_link(struct relay *relay, int client)
{
    struct relay_counts *counts = &relay->shared.toxics.counts;
    bool refuses = toxics_on(&relay->shared.toxics, RELAY_REFUSE, RELAY_UPSTREAM) != NULL;
    int target = refuses || counts->open == LINKS_MAX ? -1 : address_connect(&relay->shared.target);

    counts->bitten[RELAY_REFUSE] += refuses;
    if (target < 0) {
        close(client);
        return;
    }
    struct link *link = link_create(client, target, relay->protocol);
    if (!link)
        return;
    counts->open++;
    link->next = relay->shared.links;
    relay->shared.links = link;
    serve(relay, link);
}

static void take_links(struct relay *relay)
{
    int client;

    while ((client = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        take_link(relay, hurry(client));
}

static void serve_all(struct relay *relay)
{
    relay->shared.due_us = INT64_MAX;
    for (struct link *link = relay->shared.links; link; link = link->next)
        serve(relay, link);
}

/* What the listener and the wake-up are known by to epoll is their place in here. */
static void turn(struct relay *relay, const struct epoll_event *events, int count)
{
    bool all = relay->shared.due_us <= clock_mono_us();

    for (int i = 0; i < count; i++) {
        const void *what = events[i].data.ptr;
        if (what == &relay->wake) {
            all = true;
        } else if (what == &relay->listener) {
            take_links(relay);
        } else {
            struct link_end *end = events[i].data.ptr;
            end->readable |= (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0;
            serve(relay, end->link);
        }
    }
    if (all)
        serve_all(relay);
    bury(relay);
}

/* Until an event comes or that time. Some delays are shorter than a millisecond, which is as short
 * as epoll_wait waits. */
static int wait_until(const struct relay *relay, int64_t due_us, struct epoll_event *events)
{
    struct pollfd any = {.fd = relay->epoll, .events = POLLIN};
    int64_t left_us = due_us - clock_mono_us();
    struct timespec limit = clock_timespec(left_us > 0 ? left_us : 0);

    ppoll(&any, 1, due_us == INT64_MAX ? NULL : &limit, NULL);
    return epoll_wait(relay->epoll, events, EVENTS_MAX, 0);
}

static void *relay_main(void *argument)
{
    struct relay *relay = argument;
    struct epoll_event events[EVENTS_MAX];

    prctl(PR_SET_TIMERSLACK, 1UL); /* the usual 50 us are as long as some delays */
    pthread_mutex_lock(&relay->shared.mutex);
    while (!relay->shared.stopping) {
        int64_t due_us = relay->shared.due_us;
        pthread_mutex_unlock(&relay->shared.mutex);
        int count = wait_until(relay, due_us, events);
        pthread_mutex_lock(&relay->shared.mutex);
        turn(relay, events, count);
    }
    for (struct link *link = relay->shared.links; link; link = link->next)
        link->over = true;
    bury(relay);
    pthread_mutex_unlock(&relay->shared.mutex);
    return NULL;
}

/* The wake-up says so each time, though nobody reads what it has to say. */
static bool watch_own(struct relay *relay, int *fd)
{
    uint32_t once = fd == &relay->listener ? 0 : EPOLLET;
    struct epoll_event event = {.events = EPOLLIN | once, .data.ptr = fd};

    return *fd >= 0 && epoll_ctl(relay->epoll, EPOLL_CTL_ADD, *fd, &event) == 0;
}

static bool open_all(struct relay *relay, const char *path, const char *target, struct error *error)
{
    if (!address_read(&relay->shared.target, target, error) || !open_listener(relay, path, error))
        return false;
    relay->epoll = epoll_create1(EPOLL_CLOEXEC);
    relay->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (relay->epoll < 0 || !watch_own(relay, &relay->listener) || !watch_own(relay, &relay->wake))
        return error_fail(error, "a relay does not start: %s", strerror(errno));
    int failed = pthread_create(&relay->thread, NULL, relay_main, relay);
    return failed == 0 || error_fail(error, "a relay does not start: %s", strerror(failed));
}

static void take_down(struct relay *relay)
{
    const int fds[] = {relay->listener, relay->epoll, relay->wake};

    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    if (relay->own[0] == '/')
        unlink(relay->own);
    pthread_mutex_destroy(&relay->shared.mutex);
    free(relay);
}

struct relay *relay_start(enum relay_protocol protocol, const char *path, const char *target,
                          struct error *error)
{
    struct relay *relay = memory_take(sizeof *relay);

    relay->protocol = protocol;
    relay->listener = relay->epoll = relay->wake = -1;
    relay->shared.due_us = INT64_MAX;
    pthread_mutex_init(&relay->shared.mutex, NULL);
    if (!open_all(relay, path, target, error)) {
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
    return relay->own;
}

static const struct {
    const char *name;
    bool directed; /* one direction's */
    bool waits;    /* for a request or its reply */
} types[RELAY_TYPES] = {
    [RELAY_LATENCY] = {"latency", true, false},
    [RELAY_STALL] = {"stall", true, false},
    [RELAY_RESET_PEER] = {"reset_peer", false, false},
    [RELAY_REFUSE] = {"refuse", false, false},
    [RELAY_SWALLOW_REPLY] = {"swallow_reply", false, true},
    [RELAY_LOSE_REQUEST] = {"lose_request", false, true},
    [RELAY_HOLD_REQUEST] = {"hold_request", false, true},
};

static bool check(const struct relay_toxic *toxic, enum relay_protocol protocol,
                  struct error *error)
{
    if (toxic->type >= RELAY_TYPES)
        return error_set(error, ERROR_INVALID, "there is no toxic %d", (int)toxic->type);
    const char *name = types[toxic->type].name;
    if (toxic->amount < 0 || toxic->nth < 0)
        return error_set(error, ERROR_INVALID, "%s takes no negative number", name);
    if (types[toxic->type].waits && protocol == RELAY_BYTES)
        return error_set(error, ERROR_INVALID, "%s needs a protocol: this relay knows bytes alone",
                         name);
    return !types[toxic->type].waits || (toxic->what && *toxic->what) ||
           error_set(error, ERROR_INVALID, "%s needs to be told what it waits for", name);
}

bool relay_set(struct relay *relay, const struct relay_toxic *toxic, struct error *error)
{
    const struct toxic set = {.on = true, .is = *toxic, .since_us = clock_mono_us()};

    if (!check(toxic, relay->protocol, error))
        return false;
    pthread_mutex_lock(&relay->shared.mutex);
    for (enum relay_stream stream = RELAY_UPSTREAM; stream <= RELAY_DOWNSTREAM; stream++) {
        if (!types[toxic->type].directed || stream == toxic->stream)
            relay->shared.toxics.of[toxic->type][stream] = set;
    }
    changed(relay);
    return true;
}

void relay_clear(struct relay *relay, enum relay_type type)
{
    struct toxic *both = relay->shared.toxics.of[type];

    pthread_mutex_lock(&relay->shared.mutex);
    both[0].on = both[1].on = false;
    for (struct link *link = relay->shared.links; type == RELAY_HOLD_REQUEST && link;
         link = link->next)
        link_release(link);
    changed(relay);
}

struct relay_counts relay_count(struct relay *relay)
{
    pthread_mutex_lock(&relay->shared.mutex);
    struct relay_counts counts = relay->shared.toxics.counts;
    pthread_mutex_unlock(&relay->shared.mutex);
    return counts;
}
