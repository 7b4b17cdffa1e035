/* See stream.h. A stream with nothing to say is suspended in libmicrohttpd, from within the reader
 * of its reply's content, and resumed for the next message. */
#include "http/stream.h"

#include "base/clock.h"
#include "http/edge/edge.h"
#include "http/request.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The kernel gives up on a client whose machine is gone, instead of trying for a quarter of an
 * hour. */
enum { GONE_MS = 30000, BLOCK_BYTES = 4096 };

/* What the kernel holds for a client that does not read is old news; it doubles the figure. */
enum { SEND_BUFFER_BYTES = 32 * 1024 };

static const char quiet[] = ":\n\n";

/* Text that several streams send, each from where it is. */
struct message {
    int64_t references;
    size_t length;
    char *text; /* owned */
};

struct stream {
    struct request *request; /* borrowed: it has this one */
    int fd;                  /* borrowed: the connection's */
    struct stream *previous, *next;
    struct message *message; /* shared: what it is sending; NULL: nothing */
    size_t sent;             /* of it */
    int64_t told_us;         /* when it got its last message */
    bool suspended;
    bool behind; /* it has missed something, or everything */
    bool ends;
    bool dropped;
};

static void drop_message(struct message *message)
{
    if (!message || --message->references > 0)
        return;
    free(message->text);
    free(message);
}

/* The text is handed over. NULL: there was none, or no memory. */
static struct message *make_message(char *text)
{
    struct message *message = text ? malloc(sizeof *message) : NULL;

    if (!message) {
        free(text);
        return NULL;
    }
    *message = (struct message){.references = 1, .length = strlen(text), .text = text};
    return message;
}

static void wake(struct stream *stream)
{
    if (!stream->suspended)
        return;
    stream->suspended = false;
    MHD_resume_connection(stream->request->connection->mhd);
}

/* libmicrohttpd has room for `room` bytes of the reply. */
static ssize_t on_room(void *cls, uint64_t position, char *out, size_t room)
{
    struct stream *stream = cls;
    struct message *message = stream ? stream->message : NULL; /* a HEAD has no stream */
    size_t count;

    (void)position;
    if (!stream || stream->ends)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (!message) {
        stream->suspended = true;
        MHD_suspend_connection(stream->request->connection->mhd);
        return 0;
    }
    count = message->length - stream->sent < room ? message->length - stream->sent : room;
    memcpy(out, message->text + stream->sent, count);
    stream->sent += count;
    if (stream->sent == message->length) {
        stream->message = NULL;
        drop_message(message);
    }
    return (ssize_t)count;
}

static enum MHD_Result answer(struct request *request);

void stream_admit(struct request *request)
{
    struct http *http = request->http;
    int64_t most = http->connections_most / STREAMS_SHARE;

    if (http->draining) {
        problem_outcome(&request->problem, ORDER_SHUTTING_DOWN);
    } else if (http->streams.count >= (most < STREAMS_MAX ? most : STREAMS_MAX)) {
        problem_set(&request->problem, 503, "too_many_listeners", NULL,
                    "Too many clients listen already; poll GET /products instead.");
    } else {
        request->answer = answer;
        return;
    }
    request_refuse(request);
}

void stream_leave(struct request *request)
{
    struct stream *stream = request->stream;
    struct http *http = request->http;

    if (stream->previous)
        stream->previous->next = stream->next;
    else
        http->streams.first = stream->next;
    if (stream->next)
        stream->next->previous = stream->previous;
    http->streams.count--;
    http->requests++;
    request->stream = NULL;
    drop_message(stream->message);
    free(stream);
}

/* It has no deadline from here on: stream.h has its own rules. */
static void enter(struct stream *stream)
{
    struct request *request = stream->request;
    struct http *http = request->http;
    struct streams *streams = &http->streams;
    const unsigned gone_ms = GONE_MS;
    const int buffer = SEND_BUFFER_BYTES;

    setsockopt(stream->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &gone_ms, sizeof gone_ms);
    setsockopt(stream->fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    connection_enter(&http->connections, request->connection, CONNECTION_WAITING, http->now_us);
    request->stream = stream;
    stream->next = streams->first;
    if (stream->next)
        stream->next->previous = stream;
    streams->first = stream;
    streams->count++;
    http->requests--; /* it is none that is to be answered to the end */
}

static enum MHD_Result answer(struct request *request)
{
    struct stream *stream = request->is_head ? NULL : calloc(1, sizeof *stream);
    struct MHD_Response *response = NULL;
    enum MHD_Result queued = MHD_NO;

    if (stream || request->is_head)
        response =
            MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_room, stream, NULL);
    if (response) {
        /* 0.9.75 would end a HEAD's body as if it were in chunks. */
        if (request->is_head)
            MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_OPTION_END);
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
        MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
        MHD_add_response_header(response, "X-Accel-Buffering", "no"); /* nginx keeps nothing back */
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
        queued = MHD_queue_response(request->connection->mhd, MHD_HTTP_OK, response);
        MHD_destroy_response(response);
    }
    if (queued != MHD_YES) {
        free(stream);
        return MHD_NO;
    }
    edge_count_reply(request->http, MHD_HTTP_OK);
    if (!stream) {
        request_accept(request);
        connection_enter(&request->http->connections, request->connection, CONNECTION_WRITING,
                         request->http->now_us);
        return MHD_YES;
    }
    *stream = (struct stream){.request = request,
                              .fd = request->connection->fd,
                              .behind = true,
                              .told_us = request->http->now_us};
    enter(stream);
    return MHD_YES;
}

static bool is_slow(const struct stream *stream)
{
    return stream->message && stream->request->http->now_us - stream->told_us >= STREAM_SLOW_US;
}

/* libmicrohttpd takes that for an error when it writes, and closes. */
static void drop(struct stream *stream)
{
    stream->ends = stream->dropped = true;
    shutdown(stream->fd, SHUT_RDWR);
    wake(stream);
}

/* Those who read too slowly, and those who have left. */
static void drop_lost(struct http *http)
{
    for (struct stream *stream = http->streams.first; stream; stream = stream->next) {
        bool slow = is_slow(stream);

        if (stream->dropped || (!slow && !stream->request->connection->ended))
            continue;
        metrics_add(http->streams_dropped, slow);
        drop(stream);
    }
}

static void tell(struct stream *stream, struct message *message)
{
    stream->message = message;
    stream->sent = 0;
    stream->told_us = stream->request->http->now_us;
    message->references++;
    wake(stream);
}

/* What goes out to a stream that is free for it; NULL: nothing. */
static struct message *choose(const struct stream *stream, struct message *changed,
                              struct message *whole, struct message *comment)
{
    if (stream->behind && whole)
        return whole;
    if (!stream->behind && changed)
        return changed;
    return stream->request->http->now_us - stream->told_us >= STREAM_QUIET_US ? comment : NULL;
}

static void tell_all(struct http *http, const struct stream_news *news, struct message *changed,
                     struct message *whole, struct message *comment)
{
    for (struct stream *stream = http->streams.first; stream; stream = stream->next) {
        if (news->all_need_whole || (stream->message && changed))
            stream->behind = true;
        if (stream->message || stream->ends)
            continue;
        struct message *message = choose(stream, changed, whole, comment);
        if (!message)
            continue;
        if (message == whole)
            stream->behind = false;
        tell(stream, message);
    }
}

void streams_tell(struct http *http, bool good, struct stream_news *news)
{
    bool lacks = !good;
    struct message *changed = make_message(news->changed);
    struct message *whole = make_message(news->whole);
    struct message *comment = make_message(strdup(quiet));

    drop_lost(http);
    lacks = lacks || !comment || (news->changed && !changed) || (news->whole && !whole);
    http->streams.asked = false;
    http->streams.next_us = http->now_us + STREAM_TICK_US;
    if (lacks)
        streams_end(http);
    else
        tell_all(http, news, changed, whole, comment);
    drop_message(changed);
    drop_message(whole);
    drop_message(comment);
}

int64_t streams_next_us(const struct http *http)
{
    const struct streams *streams = &http->streams;

    return streams->count > 0 && !streams->asked && !http->draining ? streams->next_us : INT64_MAX;
}

void streams_tick(struct http *http)
{
    struct streams *streams = &http->streams;
    bool whole = false;

    if (streams_next_us(http) > http->now_us)
        return;
    for (struct stream *stream = streams->first; stream; stream = stream->next)
        whole = whole || (stream->behind && !stream->message);
    streams->asked = true;
    metrics_add(http->streams_asked, 1);
    streams->source.ask(streams->source.context, whole);
}

void streams_end(struct http *http)
{
    for (struct stream *stream = http->streams.first; stream; stream = stream->next) {
        stream->ends = true;
        wake(stream);
    }
}

void streams_fini(struct http *http)
{
    if (http->streams.source.destroy)
        http->streams.source.destroy(http->streams.source.context);
    http->streams.source = (struct stream_source){.destroy = NULL};
}
