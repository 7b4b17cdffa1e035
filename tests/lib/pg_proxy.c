#include "lib/t.h"

#include "lib/pg_proxy.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { SESSIONS_MAX = 128, BUFFER_SIZE = 1 << 20, TURN_MS = 5, PATIENCE_US = 30000000 };

/* One direction of a session: what was read and not passed on. */
struct stream {
    char *bytes; /* owned */
    size_t used;
};

struct session {
    int client, server; /* -1: gone */
    bool begun;         /* the startup message, which has no type, is through */
    bool keeping;       /* from the fault on: what the client sends stays in `up` until its end */
    bool kept;          /* that, a Sync or a plain query, is there */
    bool losing;        /* what the server says is thrown away, and its ReadyForQuery ends all */
    bool released;      /* the server's next ReadyForQuery answers what was kept */
    enum pg_fault fault;
    struct stream up, down;
};

struct pg_proxy {
    char folder[64];
    char path[108];
    char real[108];
    int listener;
    pthread_t thread;
    struct session sessions[SESSIONS_MAX];
    int count;
    _Atomic int64_t bytes;
    struct {
        pthread_mutex_t mutex;
        char statement[64]; /* "": not armed */
        int passing;        /* so many more are let through */
        enum pg_fault fault;
        bool happened;
        bool release;
        bool answered;
        bool refuse_after_fault;
        bool refusing;
        bool stopping;
    } shared;
};

static void must(bool done)
{
    if (!done)
        abort(); /* on the proxy's thread a test cannot be failed */
}

static void close_session(struct session *session)
{
    if (session->client >= 0)
        close(session->client);
    if (session->server >= 0)
        close(session->server);
    free(session->up.bytes);
    free(session->down.bytes);
    *session = (struct session){.client = -1, .server = -1};
}

static void write_all(int fd, const char *bytes, size_t length)
{
    while (fd >= 0 && length > 0) {
        ssize_t n = send(fd, bytes, length, MSG_NOSIGNAL);
        if (n <= 0)
            return; /* the reader of the other side will see it */
        bytes += n;
        length -= (size_t)n;
    }
}

static int connect_real(const struct pg_proxy *proxy)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    strcpy(at.sun_path, proxy->real);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    close(fd);
    return -1;
}

static void take_session(struct pg_proxy *proxy)
{
    int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);

    pthread_mutex_lock(&proxy->shared.mutex);
    bool refusing = proxy->shared.refusing;
    pthread_mutex_unlock(&proxy->shared.mutex);
    int server = client >= 0 && !refusing ? connect_real(proxy) : -1;
    if (server < 0) {
        close(client);
        return;
    }
    must(proxy->count < SESSIONS_MAX);
    struct session *session = &proxy->sessions[proxy->count++];
    *session = (struct session){.client = client, .server = server};
    session->up.bytes = malloc(BUFFER_SIZE);
    session->down.bytes = malloc(BUFFER_SIZE);
    must(session->up.bytes && session->down.bytes);
}

/* The length of the whole message at `at`, 0 when it is not all there. */
static size_t message_length(const char *at, size_t used, bool typed)
{
    uint32_t length;

    if (used < 4 + (size_t)typed)
        return 0;
    memcpy(&length, at + typed, sizeof length);
    size_t whole = ntohl(length) + (size_t)typed;
    must(whole <= BUFFER_SIZE);
    return used < whole ? 0 : whole;
}

/* Binds the statement of this name, is a statement without one that begins with this text, or plain
 * SQL with it in it. */
static bool is_of(const char *message, const char *statement)
{
    if (message[0] == 'Q')
        return strstr(message + 5, statement) != NULL;
    if (message[0] == 'P')
        return !message[5] && strncmp(message + 6, statement, strlen(statement)) == 0;
    /* The name stands behind the portal's. */
    return message[0] == 'B' && strcmp(message + 5 + strlen(message + 5) + 1, statement) == 0;
}

/* Is this client's message the one that was waited for? Then the fault happens here. */
static bool strikes(struct pg_proxy *proxy, struct session *session, const char *message)
{
    pthread_mutex_lock(&proxy->shared.mutex);
    bool hit = proxy->shared.statement[0] && is_of(message, proxy->shared.statement) &&
               proxy->shared.passing-- <= 0;
    if (hit) {
        session->fault = proxy->shared.fault;
        proxy->shared.statement[0] = '\0';
        proxy->shared.refusing = proxy->shared.refuse_after_fault;
        /* What is kept or answered first has not happened yet. */
        proxy->shared.happened = session->fault == PG_FAULT_LOSE_REQUEST;
    }
    pthread_mutex_unlock(&proxy->shared.mutex);
    return hit;
}

static void say_happened(struct pg_proxy *proxy)
{
    pthread_mutex_lock(&proxy->shared.mutex);
    proxy->shared.happened = true;
    pthread_mutex_unlock(&proxy->shared.mutex);
}

/* Passes on what the client sent, message by message. */
static void pump_up(struct pg_proxy *proxy, struct session *session)
{
    struct stream *up = &session->up;
    size_t at = 0;

    while (!session->kept) {
        size_t length = message_length(up->bytes + at, up->used - at, session->begun);
        if (length == 0)
            break;
        const char *message = up->bytes + at;
        if (session->begun && !session->keeping && strikes(proxy, session, message)) {
            if (session->fault == PG_FAULT_LOSE_REQUEST) {
                close_session(session);
                return;
            }
            session->losing = session->fault == PG_FAULT_LOSE_REPLY;
            session->keeping = !session->losing;
            write_all(session->server, up->bytes, session->keeping ? at : 0);
            if (session->keeping) {
                memmove(up->bytes, up->bytes + at, up->used - at);
                up->used -= at;
                at = 0;
                message = up->bytes;
            }
        }
        session->kept = session->keeping && (message[0] == 'S' || message[0] == 'Q');
        session->begun = true;
        at += length;
    }
    if (session->kept) {
        if (session->fault == PG_FAULT_DELAY && session->client >= 0) {
            close(session->client);
            session->client = -1;
        }
        say_happened(proxy);
    } else if (!session->keeping) {
        write_all(session->server, up->bytes, at);
        memmove(up->bytes, up->bytes + at, up->used - at);
        up->used -= at;
    }
}

/* Passes on what PostgreSQL said; false when the session is over. */
static bool pump_down(struct pg_proxy *proxy, struct session *session)
{
    struct stream *down = &session->down;
    size_t at = 0;
    bool ready = false;

    for (size_t length; (length = message_length(down->bytes + at, down->used - at, true)) > 0;
         at += length)
        ready = ready || down->bytes[at] == 'Z';
    if (!session->losing)
        write_all(session->client, down->bytes, at);
    memmove(down->bytes, down->bytes + at, down->used - at);
    down->used -= at;
    if (ready && session->losing) {
        say_happened(proxy);
        return false;
    }
    if (ready && session->released) {
        session->released = false;
        pthread_mutex_lock(&proxy->shared.mutex);
        proxy->shared.answered = true;
        pthread_mutex_unlock(&proxy->shared.mutex);
        return session->client >= 0;
    }
    return true;
}

static bool fill(struct pg_proxy *proxy, int fd, struct stream *stream)
{
    ssize_t n = recv(fd, stream->bytes + stream->used, BUFFER_SIZE - stream->used, 0);
    size_t got = n > 0 ? (size_t)n : 0;

    stream->used += got;
    proxy->bytes += (int64_t)got;
    return got > 0;
}

static void release(struct session *session)
{
    session->kept = session->keeping = false;
    session->released = true;
    write_all(session->server, session->up.bytes, session->up.used);
    session->up.used = 0;
}

static void serve(struct pg_proxy *proxy, struct session *session, const struct pollfd fds[2],
                  bool releasing)
{
    bool over = false;

    if (session->kept && releasing)
        release(session);
    if (fds[0].revents && session->client >= 0 && fill(proxy, session->client, &session->up))
        pump_up(proxy, session);
    else if (fds[0].revents && session->client >= 0)
        over = true;
    if (!over && fds[1].revents && session->server >= 0)
        over = !fill(proxy, session->server, &session->down) || !pump_down(proxy, session);
    if (over || session->server < 0)
        close_session(session);
}

static void sweep(struct pg_proxy *proxy)
{
    int n = 0;

    for (int i = 0; i < proxy->count; i++)
        if (proxy->sessions[i].server >= 0)
            proxy->sessions[n++] = proxy->sessions[i];
    proxy->count = n;
}

static void *proxy_main(void *argument)
{
    struct pg_proxy *proxy = argument;

    for (;;) {
        struct pollfd fds[1 + 2 * SESSIONS_MAX] = {{.fd = proxy->listener, .events = POLLIN}};
        for (int i = 0; i < proxy->count; i++) {
            const struct session *session = &proxy->sessions[i];
            fds[1 + 2 * i] =
                (struct pollfd){.fd = session->kept ? -1 : session->client, .events = POLLIN};
            fds[2 + 2 * i] = (struct pollfd){.fd = session->server, .events = POLLIN};
        }
        nfds_t count = (nfds_t)proxy->count;
        poll(fds, 1 + 2 * count, TURN_MS);
        pthread_mutex_lock(&proxy->shared.mutex);
        bool stopping = proxy->shared.stopping;
        bool releasing = proxy->shared.release;
        pthread_mutex_unlock(&proxy->shared.mutex);
        if (stopping)
            break;
        for (nfds_t i = 0; i < count; i++)
            serve(proxy, &proxy->sessions[i], &fds[1 + 2 * i], releasing);
        if (fds[0].revents)
            take_session(proxy);
        sweep(proxy);
    }
    for (int i = 0; i < proxy->count; i++)
        close_session(&proxy->sessions[i]);
    return NULL;
}

struct pg_proxy *pg_proxy_create(const char *folder)
{
    struct pg_proxy *proxy = calloc(1, sizeof *proxy);
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    assert_non_null(proxy);
    strcpy(proxy->folder, "/tmp/seckill-proxy.XXXXXX");
    assert_non_null(mkdtemp(proxy->folder));
    snprintf(proxy->path, sizeof proxy->path, "%s/.s.PGSQL.5432", proxy->folder);
    snprintf(proxy->real, sizeof proxy->real, "%s/.s.PGSQL.5432", folder);
    strcpy(at.sun_path, proxy->path);
    proxy->listener = t_socket(AF_UNIX);
    assert_int_equal(bind(proxy->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(proxy->listener, 64), 0);
    pthread_mutex_init(&proxy->shared.mutex, NULL);
    assert_int_equal(pthread_create(&proxy->thread, NULL, proxy_main, proxy), 0);
    return proxy;
}

void pg_proxy_destroy(struct pg_proxy *proxy)
{
    if (!proxy)
        return;
    pthread_mutex_lock(&proxy->shared.mutex);
    proxy->shared.stopping = true;
    pthread_mutex_unlock(&proxy->shared.mutex);
    pthread_join(proxy->thread, NULL);
    pthread_mutex_destroy(&proxy->shared.mutex);
    close(proxy->listener);
    unlink(proxy->path);
    rmdir(proxy->folder);
    free(proxy);
}

const char *pg_proxy_folder(const struct pg_proxy *proxy)
{
    return proxy->folder;
}

int64_t pg_proxy_bytes(struct pg_proxy *proxy)
{
    return proxy->bytes;
}

void pg_proxy_arm_later(struct pg_proxy *proxy, const char *statement, int passing,
                        enum pg_fault fault)
{
    pthread_mutex_lock(&proxy->shared.mutex);
    snprintf(proxy->shared.statement, sizeof proxy->shared.statement, "%s", statement);
    proxy->shared.fault = fault;
    proxy->shared.passing = passing;
    proxy->shared.happened = proxy->shared.release = proxy->shared.answered = false;
    pthread_mutex_unlock(&proxy->shared.mutex);
}

static void wait_for(struct pg_proxy *proxy, const bool *what, const char *name)
{
    int64_t until_us = clock_mono_us() + PATIENCE_US;
    bool there = false;

    while (!there && clock_mono_us() < until_us) {
        pthread_mutex_lock(&proxy->shared.mutex);
        there = *what;
        pthread_mutex_unlock(&proxy->shared.mutex);
        clock_sleep_until(clock_mono_us() + 1000);
    }
    if (!there)
        fail_msg("the proxy waited in vain: %s", name);
}

void pg_proxy_wait_fault(struct pg_proxy *proxy)
{
    wait_for(proxy, &proxy->shared.happened, "nobody sent the statement");
}

void pg_proxy_release(struct pg_proxy *proxy)
{
    pthread_mutex_lock(&proxy->shared.mutex);
    proxy->shared.release = true;
    pthread_mutex_unlock(&proxy->shared.mutex);
}

void pg_proxy_wait_answered(struct pg_proxy *proxy)
{
    wait_for(proxy, &proxy->shared.answered, "PostgreSQL did not answer what was released");
}

void pg_proxy_refuse_after_fault(struct pg_proxy *proxy, bool refuse)
{
    pthread_mutex_lock(&proxy->shared.mutex);
    proxy->shared.refuse_after_fault = refuse;
    proxy->shared.refusing = proxy->shared.refusing && refuse;
    pthread_mutex_unlock(&proxy->shared.mutex);
}
