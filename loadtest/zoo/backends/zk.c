/* See zk.h. Numbers travel with their highest byte first; texts behind their length. */
#include "loadtest/zoo/backends/zk.h"

#include "loadtest/zoo/backends/dial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CREATE = 1, DELETE = 2, CHILDREN = 8, CLOSE = -11 };
enum { ALL_RIGHTS = 31, TIMEOUT_MS = 30000, FRAME_SIZE = 4096 };
enum { NO_NODE = -101, NODE_EXISTS = -110, SESSION_EXPIRED = -112, SESSION_MOVED = -118 };

/* A request while it is written, a reply while it is read. */
struct frame {
    unsigned char bytes[FRAME_SIZE];
    size_t used, length;
};

static void put_number(struct frame *frame, int64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0 && frame->used < FRAME_SIZE; i--)
        frame->bytes[frame->used++] = (unsigned char)((uint64_t)value >> (8 * i));
}

static void put_bytes(struct frame *frame, const void *bytes, size_t length)
{
    put_number(frame, (int64_t)length, 4);
    if (length <= FRAME_SIZE - frame->used) {
        memcpy(frame->bytes + frame->used, bytes, length);
        frame->used += length;
    }
}

static void put_text(struct frame *frame, const char *text)
{
    put_bytes(frame, text, strlen(text));
}

/* 0 where the reply is too short for it. */
static int64_t take_number(struct frame *frame, int bytes)
{
    uint64_t value = 0;
    if (frame->length - frame->used < (size_t)bytes)
        return 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | frame->bytes[frame->used++];
    return bytes == 4 ? (int32_t)(uint32_t)value : (int64_t)value;
}

static void take_text(struct frame *frame, char out[ZK_NAME_SIZE])
{
    int64_t length = take_number(frame, 4);
    *out = '\0';
    if (length < 0 || (size_t)length > frame->length - frame->used)
        return;
    snprintf(out, ZK_NAME_SIZE, "%.*s", (int)length, (const char *)frame->bytes + frame->used);
    frame->used += (size_t)length;
}

static bool receive(int socket, void *to, size_t length)
{
    unsigned char *at = to;
    while (length > 0) {
        ssize_t got = recv(socket, at, length, 0);
        if (got == 0)
            errno = ECONNRESET;
        if (got <= 0)
            return false;
        at += got;
        length -= (size_t)got;
    }
    return true;
}

static bool exchange(int socket, const struct frame *request, struct frame *reply)
{
    struct frame size = {.used = 0, .length = 4};
    put_number(&size, (int64_t)request->used, 4);
    if (!dial_send(socket, size.bytes, 4) || !dial_send(socket, request->bytes, request->used) ||
        !receive(socket, size.bytes, 4))
        return false;
    size.used = 0;
    int64_t length = take_number(&size, 4);
    *reply = (struct frame){.length = length > 0 && length <= FRAME_SIZE ? (size_t)length : 0};
    errno = EPROTO;
    return reply->length > 0 && receive(socket, reply->bytes, reply->length);
}

/* A new session, or the one that `zookeeper` names. */
static bool shake_hands(struct zk *zk, struct error *error)
{
    struct frame request = {.used = 0}, reply;
    put_number(&request, 0, 4); /* the protocol's version */
    put_number(&request, 0, 8); /* the newest change that was seen */
    put_number(&request, TIMEOUT_MS, 4);
    put_number(&request, zk->session, 8);
    put_bytes(&request, zk->password, ZK_PASSWORD);
    put_number(&request, 0, 1); /* not read-only */
    if (!exchange(zk->socket, &request, &reply))
        return error_fail(error, "ZooKeeper (--zookeeper): %s", strerror(errno));
    take_number(&reply, 4);
    take_number(&reply, 4);
    zk->session = take_number(&reply, 8);
    if (take_number(&reply, 4) != ZK_PASSWORD || reply.length - reply.used < ZK_PASSWORD)
        return error_fail(error, "ZooKeeper (--zookeeper): its greeting cannot be read");
    memcpy(zk->password, reply.bytes + reply.used, ZK_PASSWORD);
    return zk->session != 0 || error_fail(error, "ZooKeeper: the session is gone");
}

bool zk_is_open(const struct zk *zk)
{
    return zk->socket > 0;
}

static bool connect_to(struct zk *zk, const char *address, struct error *error)
{
    char first[300];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(address, ",/"), address);
    int one = dial_address(first);
    zk->socket = one > 0 ? one : 0;
    if (one <= 0)
        return error_fail(error, "ZooKeeper (--zookeeper): %s", strerror(errno));
    if (shake_hands(zk, error))
        return true;
    close(one);
    zk->socket = 0;
    return false;
}

bool zk_open(struct zk *zk, const char *address, struct error *error)
{
    *zk = (struct zk){.socket = 0};
    return connect_to(zk, address, error);
}

static struct frame begin(struct zk *zk, int type)
{
    struct frame request = {.used = 0};
    put_number(&request, ++zk->requests, 4);
    put_number(&request, type, 4);
    return request;
}

void zk_close(struct zk *zk)
{
    struct frame reply;
    if (!zk_is_open(zk))
        return;
    struct frame request = begin(zk, CLOSE);
    exchange(zk->socket, &request, &reply);
    close(zk->socket);
    zk->socket = 0;
}

static enum zk_code ask(struct zk *zk, const struct frame *request, struct frame *reply,
                        struct error *error)
{
    if (!exchange(zk->socket, request, reply))
        return ZK_SESSION_LOST;
    take_number(reply, 4);
    take_number(reply, 8);
    int64_t code = take_number(reply, 4);
    switch (code) {
    case 0:
        return ZK_OK;
    case NO_NODE:
        return ZK_NO_NODE;
    case NODE_EXISTS:
        return ZK_EXISTS;
    case SESSION_EXPIRED:
    case SESSION_MOVED:
        return ZK_SESSION_LOST;
    default:
        error_fail(error, "ZooKeeper: code %lld", (long long)code);
        return ZK_FAILED;
    }
}

enum zk_code zk_create(struct zk *zk, const char *path, enum zk_mode mode, char made[ZK_NAME_SIZE],
                       struct error *error)
{
    struct frame request = begin(zk, CREATE), reply;
    put_text(&request, path);
    put_text(&request, "");
    put_number(&request, 1, 4);
    put_number(&request, ALL_RIGHTS, 4);
    put_text(&request, "world");
    put_text(&request, "anyone");
    put_number(&request, mode, 4);
    enum zk_code code = ask(zk, &request, &reply, error);
    *made = '\0';
    if (code == ZK_OK)
        take_text(&reply, made);
    return code;
}

enum zk_code zk_delete(struct zk *zk, const char *path, struct error *error)
{
    struct frame request = begin(zk, DELETE), reply;
    put_text(&request, path);
    put_number(&request, -1, 4); /* whatever its version */
    return ask(zk, &request, &reply, error);
}

static long number_of(const char *name)
{
    const char *dash = strrchr(name, '-');
    return dash ? strtol(dash + 1, NULL, 10) : 0;
}

enum zk_code zk_lowest(struct zk *zk, const char *path, char lowest[ZK_NAME_SIZE],
                       struct error *error)
{
    struct frame request = begin(zk, CHILDREN), reply;
    char name[ZK_NAME_SIZE];
    put_text(&request, path);
    put_number(&request, 0, 1); /* no watch */
    enum zk_code code = ask(zk, &request, &reply, error);
    *lowest = '\0';
    if (code != ZK_OK)
        return code;
    for (int64_t left = take_number(&reply, 4); left > 0 && reply.used < reply.length; left--) {
        take_text(&reply, name);
        if (!*lowest || number_of(name) < number_of(lowest))
            memcpy(lowest, name, sizeof name);
    }
    return code;
}

bool zk_expire(const struct zk *zk, const char *address, struct error *error)
{
    struct zk other = *zk;
    if (!connect_to(&other, address, error))
        return false;
    zk_close(&other);
    return true;
}
