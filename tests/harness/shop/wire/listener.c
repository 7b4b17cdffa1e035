/* See listener.h. */
#include "harness/shop/wire/listener.h"

#include "lib/t.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct listener {
    enum listener_way way;
    const char *answer; /* borrowed */
    int fd, port;
    pthread_t thread;
    pthread_mutex_t mutex;
    bool over;            /* shared */
    int connection;       /* shared; -1: none */
    char heard[262144];   /* the thread's, until it is joined */
    size_t length, count; /* the same */
};

/* Where the request that begins at `text` ends; NULL: it is not whole. */
static const char *end_of_request(const char *text)
{
    const char *body = strstr(text, "\r\n\r\n");
    if (!body)
        return NULL;
    body += 4;
    const char *length = strcasestr(text, "\r\nContent-Length:");
    if (length && length < body) {
        size_t bytes = strtoul(length + 17, NULL, 10);
        return strlen(body) >= bytes ? body + bytes : NULL;
    }
    const char *chunked = strcasestr(text, "\r\nTransfer-Encoding:");
    if (!chunked || chunked >= body)
        return body;
    const char *end = strstr(body, "0\r\n\r\n");
    return end ? end + 5 : NULL;
}

/* True when a whole request has come. */
static bool hear_request(struct listener *listener, int fd)
{
    size_t began = listener->length;
    while (!end_of_request(listener->heard + began)) {
        ssize_t got = read(fd, listener->heard + listener->length,
                           sizeof listener->heard - 1 - listener->length);
        if (got <= 0)
            return false;
        listener->length += (size_t)got;
        listener->heard[listener->length] = '\0';
    }
    listener->count++;
    return true;
}

static void serve(struct listener *listener, int fd)
{
    for (size_t i = 0; hear_request(listener, fd); i++) {
        if (listener->way == LISTENER_HANGS_UP && i == 1)
            return;
        size_t length = strlen(listener->answer);
        if (listener->way != LISTENER_IS_SILENT &&
            send(fd, listener->answer, length, MSG_NOSIGNAL) < 0)
            return;
    }
}

/* False: it is over. */
static bool set_connection(struct listener *listener, int fd)
{
    pthread_mutex_lock(&listener->mutex);
    bool over = listener->over;
    listener->connection = over ? -1 : fd;
    pthread_mutex_unlock(&listener->mutex);
    return !over;
}

static void *listen_on(void *context)
{
    struct listener *listener = context;
    for (;;) {
        int fd = accept(listener->fd, NULL, NULL);
        if (fd < 0)
            return NULL;
        bool goes_on = set_connection(listener, fd);
        if (goes_on)
            serve(listener, fd);
        goes_on = set_connection(listener, -1) && goes_on;
        close(fd);
        if (!goes_on)
            return NULL;
    }
}

struct listener *listener_start(enum listener_way way, const char *answer)
{
    struct listener *listener = calloc(1, sizeof *listener);
    assert_non_null(listener);
    listener->way = way;
    listener->answer = answer;
    listener->connection = -1;
    listener->fd = t_listen(&listener->port);
    assert_int_equal(pthread_mutex_init(&listener->mutex, NULL), 0);
    assert_int_equal(pthread_create(&listener->thread, NULL, listen_on, listener), 0);
    return listener;
}

int listener_port(const struct listener *listener)
{
    return listener->port;
}

size_t listener_stop(struct listener *listener, char *heard, size_t size)
{
    pthread_mutex_lock(&listener->mutex);
    listener->over = true;
    if (listener->connection >= 0)
        shutdown(listener->connection, SHUT_RDWR);
    pthread_mutex_unlock(&listener->mutex);
    shutdown(listener->fd, SHUT_RDWR);
    pthread_join(listener->thread, NULL);
    size_t count = listener->count;
    snprintf(heard, size, "%s", listener->heard);
    close(listener->fd);
    pthread_mutex_destroy(&listener->mutex);
    free(listener);
    return count;
}
