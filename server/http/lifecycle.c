/*
 * The callbacks of libmicrohttpd, in the order in which they come for one request.
 *
 * Happy path:
 *   on_target     the request line has arrived: the request is created and keeps the target
 *   on_access     first call, the header fields are there: path, method and token are checked
 *   on_access     one call for each piece of the body
 *   on_access     last call: the handler runs; it answers, or suspends the connection and waits
 *   on_access     after a wait: the answer is queued
 *   on_completed  the reply is written
 *
 * Failure modes:
 * - The path, method, token or body is refused: the refusal is kept until the body has been read,
 *   so that the connection stays usable.
 * - The body is too long, or where it ends is in doubt: answered at once, and the connection ends.
 * - The head leaves no memory for a reply of libmicrohttpd's: the reply is written to the socket
 *   directly (reply_bare), and the connection ends.
 * - The connection closes while dispatch has the request's order: the request loses its connection
 *   and is freed when the order comes back.
 * - libmicrohttpd closes a connection without on_completed (0.9.75, when the copy of a Cookie field
 *   does not fit into its memory): connection.c calls on_close, which answers and frees the
 *   request.
 */
#include "http/lifecycle.h"

#include "http/edge/edge.h"
#include "http/head.h"
#include "http/reader/auth.h"
#include "http/reply.h"
#include "http/request.h"
#include "http/router.h"
#include "http/stream.h"

#include <stdlib.h>
#include <string.h>

void *lifecycle_on_target(void *cls, const char *target, struct MHD_Connection *mhd)
{
    struct http *http = cls;
    struct connection *connection = connection_of(mhd);
    struct request *request = NULL;
    struct problem problem;

    if (!head_target_fits(target, &problem))
        reply_bare(http, mhd, &problem);
    else if (connection)
        request = request_create(http, connection, target);
    head_plant(mhd, target);
    return request;
}

static const struct sockaddr *client_address(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

    return info ? info->client_addr : NULL;
}

/* Checks before the body is read: whether the resource exists, and whether the client may use it.
 */
static bool admit(struct request *request, const char *method)
{
    struct http *http = request->http;

    if (!router_find(request, method))
        return false;
    if (request->headers.encoded && request->headers.content_length > 0)
        return problem_set(&request->problem, 415, "encoded_body", "Content-Encoding",
                           "A body is taken as it is, not compressed.");
    if (!request->route->admin)
        return true;
    return auth_admin(http->services->settings->admin_token, &request->headers,
                      client_address(request->connection->mhd), &request->problem);
}

/* Answers without reading the body, which ends the connection. */
static enum MHD_Result answer_early(struct request *request)
{
    request->phase = REQUEST_ANSWERED;
    request_refuse(request);
    return reply_problem_and_close(request);
}

/* Answers past libmicrohttpd, whose memory may have no room for a reply. */
static enum MHD_Result refuse_bare(struct request *request)
{
    request->phase = REQUEST_ANSWERED;
    reply_bare(request->http, request->connection->mhd, &request->problem);
    return MHD_NO;
}

static enum MHD_Result begin(struct request *request, const char *method, const char *version)
{
    struct MHD_Connection *mhd = request->connection->mhd;
    struct headers *headers = &request->headers;
    const struct head_line line = {method, request->target_at, request->target_length, version};

    request->head_bytes = head_length(mhd);
    request->is_head = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    head_fields(mhd, headers);
    if (!head_fits(mhd, &request->reply_room, &request->problem))
        return refuse_bare(request);
    if (!head_is_plain(mhd, &line, &request->problem) ||
        !reader_line(method, request->target, &request->problem))
        return answer_early(request);
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0) {
        problem_set(&request->problem, 400, "invalid_header", NULL,
                    "The versions served are HTTP/1.1 and HTTP/1.0.");
        return answer_early(request);
    }
    if (headers->hosts == 0 && strcmp(version, "HTTP/1.1") == 0) {
        problem_set(&request->problem, 400, "invalid_header", "Host",
                    "A request of HTTP/1.1 names its Host.");
        return answer_early(request);
    }
    if (!reader_framing(headers, &request->problem))
        return answer_early(request);
    request->path = reader_origin_form(request->target, headers);
    if (headers->content_length > REQUEST_BODY_MAX) {
        problem_set(&request->problem, 413, "body_too_large", NULL,
                    "A body may have %d bytes at most.", REQUEST_BODY_MAX);
        return answer_early(request);
    }
    if (!admit(request, method))
        request_refuse(request);
    request->phase = REQUEST_READING;
    return MHD_YES;
}

static enum MHD_Result take_body(struct request *request, const char *data, size_t length)
{
    request->body_seen += length;
    if (request->refused)
        return MHD_YES;
    if (request->body == request->body_inline && request->body_seen > REQUEST_BODY_INLINE) {
        char *larger = malloc(REQUEST_BODY_MAX);

        if (!larger)
            return MHD_NO;
        memcpy(larger, request->body, request->body_length);
        request->body = larger;
    }
    memcpy(request->body + request->body_length, data, length);
    request->body_length += length;
    return MHD_YES;
}

static enum MHD_Result answer(struct request *request)
{
    request->phase = REQUEST_ANSWERED;
    return request->refused ? reply_problem(request) : request->answer(request);
}

static enum MHD_Result handle(struct request *request)
{
    if (!request->refused)
        request->route->handle(request);
    if (request->pending)
        return MHD_YES;
    return answer(request);
}

enum MHD_Result lifecycle_on_access(void *cls, struct MHD_Connection *mhd, const char *url,
                                    const char *method, const char *version,
                                    const char *upload_data, size_t *upload_data_size,
                                    void **context)
{
    struct http *http = cls;
    struct request *request = *context;
    size_t length = *upload_data_size;

    (void)mhd;
    (void)url;
    if (!request || http->abandoned)
        return MHD_NO;
    switch (request->phase) {
    case REQUEST_NEW:
        return begin(request, method, version);
    case REQUEST_READING:
        if (length == 0) {
            request->phase = REQUEST_READ;
            return MHD_YES;
        }
        *upload_data_size = 0;
        return take_body(request, upload_data, length);
    case REQUEST_READ:
        return handle(request);
    case REQUEST_WAITING:
        return answer(request);
    case REQUEST_ANSWERED:
        break;
    }
    /* The rest of a body whose request was answered early is dropped. */
    *upload_data_size = 0;
    return MHD_YES;
}

static void complete(struct request *request)
{
    if (request->stream)
        stream_leave(request);
    request_complete(request);
}

void lifecycle_on_completed(void *cls, struct MHD_Connection *mhd, void **context,
                            enum MHD_RequestTerminationCode code)
{
    struct request *request = *context;

    (void)cls;
    (void)mhd;
    (void)code;
    *context = NULL;
    if (request)
        complete(request);
}

void lifecycle_on_close(struct connection *connection)
{
    struct request *request = connection->request;

    if (request->phase == REQUEST_NEW) {
        head_too_large(&request->problem);
        reply_bare(request->http, connection->mhd, &request->problem);
    }
    complete(request);
}
