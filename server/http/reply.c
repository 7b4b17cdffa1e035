/* Replies: a body and the few headers that the contract wants with it. */
#include "http/reply.h"

#include "http/edge/edge.h"
#include "http/head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* More than the fields that go with a policy. */
enum { POLICY_BYTES = 128 };

static void add_headers(struct MHD_Response *response, const struct request *request,
                        const struct reply *reply)
{
    if (reply->type)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->type);
    if (reply->location)
        MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, reply->location);
    if (reply->policy) {
        MHD_add_response_header(response, "Content-Security-Policy", reply->policy);
        MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
        MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
        MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    }
    if (reply->replayed)
        MHD_add_response_header(response, "Idempotent-Replayed", "true");
    if (reply->status == MHD_HTTP_SERVICE_UNAVAILABLE)
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    if (reply->status == MHD_HTTP_UNSUPPORTED_MEDIA_TYPE)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ACCEPT_ENCODING, "identity");
    if (reply->status == MHD_HTTP_METHOD_NOT_ALLOWED || reply->status == MHD_HTTP_NO_CONTENT)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, request->allow);
    if (reply->status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    if (reply->close || request->http->draining)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
}

enum MHD_Result reply_send(struct request *request, const struct reply *reply)
{
    struct http *http = request->http;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(reply->length, reply->body, reply->memory);
    enum MHD_Result queued;

    if (!response) {
        if (reply->memory == MHD_RESPMEM_MUST_FREE)
            free(reply->body);
        return MHD_NO;
    }
    add_headers(response, request, reply);
    queued = MHD_queue_response(request->connection->mhd, (unsigned)reply->status, response);
    MHD_destroy_response(response);
    if (queued == MHD_YES) {
        request_accept(request);
        connection_enter(&http->connections, request->connection, CONNECTION_WRITING, http->now_us);
        edge_count_reply(http, reply->status);
    }
    return queued;
}

static enum MHD_Result send_problem(struct request *request, bool close)
{
    char body[PROBLEM_JSON_MAX];

    problem_elsewhere(&request->problem, request->http->services->settings, &request->order_id);
    size_t length = problem_render(&request->problem, body);
    return reply_send(request, &(struct reply){.status = request->problem.status,
                                               .type = "application/problem+json",
                                               .body = body,
                                               .length = length,
                                               .memory = MHD_RESPMEM_MUST_COPY,
                                               .close = close});
}

enum MHD_Result reply_problem(struct request *request)
{
    return send_problem(request, false);
}

enum MHD_Result reply_problem_and_close(struct request *request)
{
    return send_problem(request, true);
}

/* A reply that the socket does not take whole is lost; its buffer holds at most earlier replies. */
void reply_bare(struct http *http, struct MHD_Connection *mhd, const struct problem *problem)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    char body[PROBLEM_JSON_MAX];
    char text[PROBLEM_JSON_MAX + 256];
    char date[40];
    struct tm tm;
    time_t now = time(NULL);
    size_t length = problem_render(problem, body);

    if (!info)
        return;
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &tm));
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 %d %s\r\nDate: %s\r\nConnection: close\r\n"
                     "Content-Type: application/problem+json\r\nContent-Length: %zu\r\n\r\n%s",
                     problem->status, MHD_get_reason_phrase_for((unsigned)problem->status), date,
                     length, body);
    if (send(info->connect_fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) == n)
        edge_count_reply(http, problem->status);
    shutdown(info->connect_fd, SHUT_RDWR);
}

/* A body of JSON ends its line, for those who read it in a terminal. */
static char *end_line(char *text)
{
    size_t length = strlen(text);
    char *longer = realloc(text, length + 2);

    if (!longer)
        return text;
    longer[length] = '\n';
    longer[length + 1] = '\0';
    return longer;
}

static enum MHD_Result send_text(struct request *request, struct reply *reply, char *text)
{
    if (text && strcmp(reply->type, REPLY_JSON) == 0)
        text = end_line(text);
    if (!text) {
        problem_outcome(&request->problem, ORDER_INTERNAL_ERROR);
        return reply_problem(request);
    }
    reply->body = text;
    reply->length = strlen(text);
    reply->memory = MHD_RESPMEM_MUST_FREE;
    return reply_send(request, reply);
}

enum MHD_Result reply_text(struct request *request, int status, const char *type, char *text)
{
    return send_text(request, &(struct reply){.status = status, .type = type}, text);
}

enum MHD_Result reply_page(struct request *request, const char *policy, char *html)
{
    if (request->reply_room < HEAD_REPLY_BYTES + POLICY_BYTES + (int)strlen(policy)) {
        free(html);
        head_too_large(&request->problem);
        return reply_problem(request);
    }
    return send_text(request,
                     &(struct reply){.status = MHD_HTTP_OK,
                                     .type = "text/html; charset=utf-8",
                                     .policy = policy},
                     html);
}

enum MHD_Result reply_call(struct request *request)
{
    struct call *call = request->call;
    char *text = call->text;

    call->text = NULL;
    return send_text(request,
                     &(struct reply){.status = call->created ? MHD_HTTP_CREATED : MHD_HTTP_OK,
                                     .type = REPLY_JSON,
                                     .replayed = request->order.outcome == ORDER_REPLAYED},
                     text);
}
