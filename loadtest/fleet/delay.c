/* See delay.h. */
#include "loadtest/fleet/delay.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LINKS_MAX = 1024, PIECE_BYTES = 16384, HELD_MAX_BYTES = 1 << 20, BACKLOG = 128 };

/* What was read in one go, and when it may go on. */
struct piece {
    struct piece *next; /* owned */
    int64_t due_us;
    size_t length, sent;
    char bytes[PIECE_BYTES];
};

/* One direction of a link. */
struct stream {
    struct piece *first, *last; /* owned by the stream */
    size_t held;
    bool ended;  /* no more will be read */
    bool passed; /* and its end has been passed on */
    bool full;   /* the other side takes no more at the moment */
};

struct link {
    int fds[2];               /* client, server */
    struct stream streams[2]; /* from the client, from the server */
};

struct delay {
    char folder[128], url[192];
    struct sockaddr_un own, real;
    int listener, wake_fd;
    pthread_t thread;
    struct link links[LINKS_MAX]; /* its thread's alone */
    size_t count;
    _Atomic int64_t one_way_us;
    _Atomic bool stopping;
};

static void drop_first(struct stream *stream)
{
    struct piece *piece = stream->first;
    stream->held -= piece->length;
    stream->first = piece->next;
    if (!stream->first)
        stream->last = NULL;
    free(piece);
}

static void close_link(struct link *link)
{
    for (int i = 0; i < 2; i++) {
        while (link->streams[i].first)
            drop_first(&link->streams[i]);
        close(link->fds[i]);
        link->fds[i] = -1;
    }
}

static void take_link(struct delay *delay)
{
    int client = accept4(delay->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0)
        return;
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (delay->count == LINKS_MAX || server < 0 ||
        connect(server, (const struct sockaddr *)&delay->real, sizeof delay->real) != 0) {
        close(client);
        close(server);
        return;
    }
    delay->links[delay->count++] = (struct link){.fds = {client, server}};
}

/* Takes in what is there; false when the link is broken. */
static bool take_in(struct stream *stream, int from, int64_t one_way_us)
{
    struct piece *piece = malloc(sizeof *piece);
    if (!piece)
        return false;
    ssize_t got = recv(from, piece->bytes, sizeof piece->bytes, MSG_DONTWAIT);
    if (got <= 0) {
        bool broken = got < 0 && errno != EAGAIN && errno != EINTR;
        stream->ended = got == 0;
        free(piece);
        return !broken;
    }
    piece->next = NULL;
    piece->due_us = clock_mono_us() + one_way_us;
    piece->length = (size_t)got;
    piece->sent = 0;
    if (stream->last)
        stream->last->next = piece;
    else
        stream->first = piece;
    stream->last = piece;
    stream->held += piece->length;
    return true;
}

/* Passes on what is due; false when the link is broken. */
static bool pass_on(struct stream *stream, int to, int64_t now_us)
{
    stream->full = false;
    while (stream->first && stream->first->due_us <= now_us && !stream->full) {
        struct piece *piece = stream->first;
        ssize_t sent = send(to, piece->bytes + piece->sent, piece->length - piece->sent,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        piece->sent += sent > 0 ? (size_t)sent : 0;
        if (piece->sent == piece->length)
            drop_first(stream);
        else
            stream->full = true;
    }
    if (stream->ended && !stream->first && !stream->passed) {
        shutdown(to, SHUT_WR);
        stream->passed = true;
    }
    return true;
}

/* Moves a link on; false when it is over. */
static bool serve(struct delay *delay, struct link *link, const struct pollfd fds[2])
{
    int64_t one_way_us = atomic_load(&delay->one_way_us);
    for (int i = 0; i < 2; i++) {
        struct stream *stream = &link->streams[i];
        bool readable = (fds[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
        if (readable && !stream->ended && stream->held < HELD_MAX_BYTES &&
            !take_in(stream, link->fds[i], one_way_us))
            return false;
        if (!pass_on(stream, link->fds[1 - i], clock_mono_us()))
            return false;
    }
    return !(link->streams[0].passed && link->streams[1].passed);
}

/* What to wait for on a link; lowers *due_us to its next piece's time. */
static void watch(const struct link *link, struct pollfd fds[2], int64_t *due_us)
{
    for (int i = 0; i < 2; i++) {
        const struct stream *in = &link->streams[i];
        const struct stream *out = &link->streams[1 - i];
        bool reads = !in->ended && in->held < HELD_MAX_BYTES;
        int events = (reads ? POLLIN : 0) | (out->full ? POLLOUT : 0);
        /* Without events poll would still say, without end, that the other side has hung up. */
        fds[i] = (struct pollfd){.fd = events ? link->fds[i] : -1, .events = (short)events};
        if (in->first && !in->full && in->first->due_us < *due_us)
            *due_us = in->first->due_us;
    }
}

static void turn(struct delay *delay)
{
    struct pollfd fds[2 + 2 * LINKS_MAX] = {{.fd = delay->listener, .events = POLLIN},
                                            {.fd = delay->wake_fd, .events = POLLIN}};
    int64_t due_us = INT64_MAX;
    size_t count = delay->count;
    for (size_t i = 0; i < count; i++)
        watch(&delay->links[i], &fds[2 + 2 * i], &due_us);
    int64_t left_us = due_us == INT64_MAX ? 0 : due_us - clock_mono_us();
    left_us = left_us > 0 ? left_us : 0;
    struct timespec wait = clock_timespec(left_us);
    ppoll(fds, 2 + 2 * count, due_us == INT64_MAX ? NULL : &wait, NULL);

    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct link *link = &delay->links[i];
        if (serve(delay, link, &fds[2 + 2 * i]))
            delay->links[kept++] = *link;
        else
            close_link(link);
    }
    delay->count = kept;
    if (fds[0].revents)
        take_link(delay);
}

static void *delay_main(void *argument)
{
    struct delay *delay = argument;
    prctl(PR_SET_TIMERSLACK, 1UL); /* the usual 50 us are as long as some delays */
    while (!atomic_load(&delay->stopping))
        turn(delay);
    for (size_t i = 0; i < delay->count; i++)
        close_link(&delay->links[i]);
    return NULL;
}

static bool make_place(struct delay *delay, const char *url, struct error *error)
{
    const char *root = getenv("TMPDIR");
    if (strncmp(url, "unix:///", 8) != 0 || strlen(url + 7) >= sizeof delay->real.sun_path)
        return error_fail(error, "a delay needs a Redis on a unix socket: unix:///PATH");
    delay->own.sun_family = delay->real.sun_family = AF_UNIX;
    snprintf(delay->real.sun_path, sizeof delay->real.sun_path, "%s", url + 7);
    snprintf(delay->folder, sizeof delay->folder, "%.60s/seckill-delay.XXXXXX",
             root && *root ? root : "/tmp");
    if (!mkdtemp(delay->folder)) {
        delay->folder[0] = '\0';
        return error_fail(error, "cannot make a folder for the delay: %s", strerror(errno));
    }
    snprintf(delay->own.sun_path, sizeof delay->own.sun_path, "%.100s/r", delay->folder);
    snprintf(delay->url, sizeof delay->url, "unix://%s", delay->own.sun_path);
    return true;
}

static bool listen_and_start(struct delay *delay, struct error *error)
{
    delay->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    delay->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (delay->listener < 0 || delay->wake_fd < 0 ||
        bind(delay->listener, (const struct sockaddr *)&delay->own, sizeof delay->own) != 0 ||
        listen(delay->listener, BACKLOG) != 0 ||
        pthread_create(&delay->thread, NULL, delay_main, delay) != 0)
        return error_fail(error, "the delay does not start: %s", strerror(errno));
    return true;
}

static void take_down(struct delay *delay)
{
    if (delay->listener >= 0)
        close(delay->listener);
    if (delay->wake_fd >= 0)
        close(delay->wake_fd);
    if (*delay->folder) {
        unlink(delay->own.sun_path);
        rmdir(delay->folder);
    }
    free(delay);
}

struct delay *delay_create(const char *url, struct error *error)
{
    struct delay *delay = calloc(1, sizeof *delay);
    if (!delay) {
        error_fail(error, "out of memory");
        return NULL;
    }
    delay->listener = delay->wake_fd = -1;
    if (!make_place(delay, url, error) || !listen_and_start(delay, error)) {
        take_down(delay);
        return NULL;
    }
    return delay;
}

void delay_destroy(struct delay *delay)
{
    if (!delay)
        return;
    atomic_store(&delay->stopping, true);
    eventfd_write(delay->wake_fd, 1);
    pthread_join(delay->thread, NULL);
    take_down(delay);
}

const char *delay_url(const struct delay *delay)
{
    return delay->url;
}

void delay_set(struct delay *delay, int64_t round_trip_us)
{
    atomic_store(&delay->one_way_us, round_trip_us / 2);
}
