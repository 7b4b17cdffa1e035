#include "lib/http/http_client.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

struct http_client {
    int fd;
    char *in; /* owned: what came and was not handed out */
    size_t used;
    size_t size;
    bool ended; /* the server closed or reset */
};

static bool wait_for(int fd, short events, int64_t until_us)
{
    struct pollfd wait = {.fd = fd, .events = events};
    int ready;

    do
        ready = poll(&wait, 1, clock_poll_ms(until_us));
    while ((ready < 0 && errno == EINTR) || (ready == 0 && clock_mono_us() < until_us));
    return ready > 0;
}

static int connect_to(const char *host, const char *port, int64_t until_us)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *at = NULL;
    int error = 0;
    socklen_t length = sizeof error;

    if (getaddrinfo(host, port, &hints, &at) != 0)
        return -1;
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool connected =
        fd >= 0 && (connect(fd, at->ai_addr, at->ai_addrlen) == 0 ||
                    (errno == EINPROGRESS && wait_for(fd, POLLOUT, until_us) &&
                     getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0));
    freeaddrinfo(at);
    if (!connected && fd >= 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

struct http_client *http_client_open(const char *address, int64_t until_us)
{
    char host[128];
    const char *from = strncmp(address, "http://", 7) == 0 ? address + 7 : address;
    const char *colon = strrchr(from, ':');
    size_t length = colon ? (size_t)(colon - from) : 0;

    if (length == 0 || length >= sizeof host)
        return NULL;
    if (*from == '[') {
        from++;
        length -= 2;
    }
    memcpy(host, from, length);
    host[length] = '\0';
    int fd = connect_to(host, colon + 1, until_us);
    if (fd < 0)
        return NULL;
    struct http_client *client = calloc(1, sizeof *client);
    if (!client)
        abort();
    client->fd = fd;
    return client;
}

void http_client_close(struct http_client *client)
{
    if (!client)
        return;
    close(client->fd);
    free(client->in);
    free(client);
}

int http_client_fd(const struct http_client *client)
{
    return client->fd;
}

bool http_client_send(struct http_client *client, const void *bytes, size_t length,
                      int64_t until_us)
{
    const char *at = bytes;

    while (length > 0) {
        ssize_t n = send(client->fd, at, length, MSG_NOSIGNAL);
        if (n >= 0) {
            at += n;
            length -= (size_t)n;
        } else if (errno != EAGAIN || !wait_for(client->fd, POLLOUT, until_us)) {
            return false;
        }
    }
    return true;
}

void http_client_finish_sending(struct http_client *client)
{
    shutdown(client->fd, SHUT_WR);
}

/* Takes in what has arrived, without waiting. */
static void receive(struct http_client *client)
{
    while (!client->ended) {
        if (client->size - client->used < 4096) {
            client->size = client->size * 2 + 8192;
            char *larger = realloc(client->in, client->size);
            if (!larger)
                abort();
            client->in = larger;
        }
        ssize_t n = recv(client->fd, client->in + client->used, client->size - client->used, 0);
        if (n > 0)
            client->used += (size_t)n;
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
            client->ended = true;
        else if (errno == EAGAIN)
            return;
    }
}

static char *copy(const char *from, size_t length)
{
    char *out = malloc(length + 1);

    if (!out)
        abort();
    memcpy(out, from, length);
    out[length] = '\0';
    return out;
}

/* How long the body is; -1: until the connection ends. */
static long body_length(const struct http_reply *reply, bool to_head)
{
    char text[32];

    if (to_head || reply->status < 200 || reply->status == 204 || reply->status == 304)
        return 0;
    return http_reply_header(reply, "Content-Length", text, sizeof text) ? atol(text) : -1;
}

static enum http_result parse(struct http_client *client, bool to_head, struct http_reply *reply)
{
    char connection[32];
    char *end = client->used ? memmem(client->in, client->used, "\r\n\r\n", 4) : NULL;
    int minor = 0;

    *reply = (struct http_reply){.status = 0};
    if (!end)
        return client->ended ? HTTP_CLOSED : HTTP_TIMEOUT;
    size_t head = (size_t)(end - client->in);
    reply->head = copy(client->in, head);
    if (sscanf(reply->head, "HTTP/1.%1d %3d ", &minor, &reply->status) != 2) {
        http_reply_fini(reply);
        return HTTP_MALFORMED;
    }
    long body = body_length(reply, to_head);
    size_t here = client->used - head - 4;
    if (body < 0 && client->ended)
        body = (long)here;
    if (body < 0 || (size_t)body > here) {
        http_reply_fini(reply);
        return client->ended ? HTTP_CLOSED : HTTP_TIMEOUT;
    }
    reply->body = copy(end + 4, (size_t)body);
    reply->body_length = (size_t)body;
    bool told = http_reply_header(reply, "Connection", connection, sizeof connection);
    reply->keeps_alive = told ? strcasecmp(connection, "close") != 0 : minor == 1;
    client->used = here - (size_t)body;
    memmove(client->in, end + 4 + body, client->used);
    return HTTP_REPLY;
}

enum http_result http_client_read(struct http_client *client, bool to_head, int64_t until_us,
                                  struct http_reply *reply)
{
    for (;;) {
        receive(client);
        enum http_result result = parse(client, to_head, reply);
        if (result != HTTP_TIMEOUT || !wait_for(client->fd, POLLIN, until_us))
            return result;
    }
}

enum http_result http_client_poll(struct http_client *client, struct http_reply *reply)
{
    receive(client);
    return parse(client, false, reply);
}

bool http_client_ended(struct http_client *client, int64_t until_us)
{
    for (;;) {
        receive(client);
        if (client->ended || client->used > 0)
            return client->used == 0;
        if (!wait_for(client->fd, POLLIN, until_us))
            return false;
    }
}

char *http_request(const char *method, const char *target, const char *headers, const char *body)
{
    char length[48] = "";
    char *text = NULL;

    if (body)
        snprintf(length, sizeof length, "Content-Length: %zu\r\n", strlen(body));
    if (asprintf(&text, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n%s", method, target, length,
                 headers ? headers : "", body ? body : "") < 0)
        abort();
    return text;
}

enum http_result http_client_call(struct http_client *client, const char *method,
                                  const char *target, const char *headers, const char *body,
                                  int64_t until_us, struct http_reply *reply)
{
    char *text = http_request(method, target, headers, body);
    bool sent = http_client_send(client, text, strlen(text), until_us);

    free(text);
    *reply = (struct http_reply){.status = 0};
    return sent ? http_client_read(client, strcmp(method, "HEAD") == 0, until_us, reply)
                : HTTP_CLOSED;
}

void http_reply_fini(struct http_reply *reply)
{
    free(reply->head);
    free(reply->body);
    *reply = (struct http_reply){.status = 0};
}

bool http_reply_header(const struct http_reply *reply, const char *name, char *out, size_t size)
{
    size_t length = strlen(name);

    for (const char *line = strstr(reply->head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, length) != 0 || line[length] != ':')
            continue;
        const char *value = line + length + 1 + strspn(line + length + 1, " \t");
        snprintf(out, size, "%.*s", (int)strcspn(value, "\r"), value);
        return true;
    }
    return false;
}
