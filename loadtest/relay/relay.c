/*
 * See relay.h. The thread holds the mutex but while it waits; who changes something wakes it, and
 * it looks at every connection. What a connection is to do later, when nothing comes, stands in one
 * timer: the earliest of all.
 */
#include "loadtest/relay/relay.h"

#include "base/clock.h"
#include "loadtest/relay/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

enum { LINKS_MAX = 1024, EVENTS_MAX = 256 };

/* Where a relay listens and where it leads: HOST:PORT with an address of digits, or the /PATH of a
 * unix socket. */
struct address {
    struct sockaddr_storage at;
    socklen_t length;
    char text[160];
};

enum { BACKLOG = 1024, SOCKET_FLAGS = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK };

static bool read_path(struct address *address, const char *text, struct error *error)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    if (strlen(text) >= sizeof at.sun_path)
        return error_set(error, ERROR_INVALID, "%s: a socket's path has %zu bytes at most", text,
                         sizeof at.sun_path - 1);
    memcpy(at.sun_path, text, strlen(text) + 1);
    memcpy(&address->at, &at, sizeof at);
    address->length = sizeof at;
    snprintf(address->text, sizeof address->text, "%s", text);
    return true;
}

static bool address_read(struct address *address, const char *text, struct error *error)
{
    static const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                          .ai_socktype = SOCK_STREAM};
    const char *colon = strrchr(text, ':');
    struct addrinfo *found = NULL;
    char host[64];

    *address = (struct address){.length = 0};
    if (text[0] == '/')
        return read_path(address, text, error);
    snprintf(host, sizeof host, "%.*s", colon ? (int)(colon - text) : 0, text);
    if (!colon || getaddrinfo(host, colon + 1, &hints, &found) != 0)
        return error_set(error, ERROR_INVALID,
                         "%s is no address of a relay: HOST:PORT in digits, or /PATH", text);
    memcpy(&address->at, found->ai_addr, found->ai_addrlen);
    address->length = found->ai_addrlen;
    snprintf(address->text, sizeof address->text, "%s", text);
    freeaddrinfo(found);
    return true;
}

/* A relay asks nobody who he is: it is for this machine's own programs. */
static bool is_near(const struct address *address)
{
    struct sockaddr_in in;
    struct sockaddr_in6 in6;

    memcpy(&in, &address->at, sizeof in);
    memcpy(&in6, &address->at, sizeof in6);
    switch (address->at.ss_family) {
    case AF_UNIX:
        return true;
    case AF_INET:
        return (ntohl(in.sin_addr.s_addr) >> 24) == 127;
    default:
        return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
    }
}

static void read_port(struct address *address, int fd)
{
    char port[NI_MAXSERV];
    socklen_t length = sizeof address->at;

    if (address->at.ss_family == AF_UNIX ||
        getsockname(fd, (struct sockaddr *)&address->at, &length) != 0 ||
        getnameinfo((struct sockaddr *)&address->at, length, NULL, 0, port, sizeof port,
                    NI_NUMERICSERV) != 0)
        return;
    char *colon = strrchr(address->text, ':');
    snprintf(colon + 1, sizeof address->text - (size_t)(colon + 1 - address->text), "%s", port);
}

/* A socket that listens there, of the loopback interface or a path that nothing stands at; the port
 * 0 becomes what it is given. -1 with the error. */
static int address_listen(struct address *address, struct error *error)
{
    static const int on = 1;

    if (!is_near(address)) {
        error_set(error, ERROR_INVALID, "%s: a relay listens on the loopback interface alone",
                  address->text);
        return -1;
    }
    int fd = socket(address->at.ss_family, SOCKET_FLAGS, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&address->at, address->length) != 0 ||
        listen(fd, BACKLOG) != 0) {
        error_fail(error, "a relay cannot listen on %s: %s", address->text, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    read_port(address, fd);
    return fd;
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

    if (refuses)
        toxics_bite(&relay->shared.toxics, RELAY_REFUSE);
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

/* What the listener, the timer and the wake-up are known by to epoll is their place in here. */
static void turn(struct relay *relay, const struct epoll_event *events, int count)
{
    bool all = false;

    for (int i = 0; i < count; i++) {
        const void *what = events[i].data.ptr;
        if (what == &relay->wake || what == &relay->timer) {
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
        pthread_mutex_lock(&relay->shared.mutex);
        turn(relay, events, count);
    }
    for (struct link *link = relay->shared.links; link; link = link->next)
        link->over = true;
    bury(relay);
    pthread_mutex_unlock(&relay->shared.mutex);
    return NULL;
}

/* The wake-up and the timer say so each time, though nobody reads what they have to say. */
static bool watch_own(struct relay *relay, int *fd)
{
    uint32_t once = fd == &relay->listener ? 0 : EPOLLET;
    struct epoll_event event = {.events = EPOLLIN | once, .data.ptr = fd};

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
    pthread_mutex_lock(&relay->shared.mutex);
    bool set = toxics_set(&relay->shared.toxics, relay->protocol, toxic, error);
    changed(relay);
    return set;
}

void relay_clear(struct relay *relay, enum relay_type type)
{
    pthread_mutex_lock(&relay->shared.mutex);
    toxics_clear(&relay->shared.toxics, type);
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
