/*
 * The request's life, in the order of libmicrohttpd's callbacks.
 *
 * The target is kept when its line arrives. The first access call has the header fields: whatever
 * refuses the request by then (path, method, admin token) is remembered while the body is read, so
 * that the connection stays usable; only a body that is too long, or whose end is in doubt, is
 * answered at once and closes it. The last access call runs the handler. A request that waits is
 * suspended before it is published, and stands in the edge's list until it is resumed; if its
 * connection has to go while dispatch still has its order, it is left behind as an orphan and freed
 * when the order comes back.
 */
#include "http/request.h"

#include "base/clock.h"
#include "base/log.h"
#include "http/edge.h"
#include "http/head.h"
#include "http/reader/auth.h"
#include "http/reply.h"
#include "http/router.h"

#include <stdlib.h>
#include <string.h>

/* What holds a member that stands `offset` bytes into it. */
static void *container_of(void *member, size_t offset)
{
    return (char *)member - offset;
}

struct request *request_of_order(struct order *order)
{
    return container_of(order, offsetof(struct request, order));
}

struct request *request_of_task(struct task *task)
{
    struct call *call = container_of(task, offsetof(struct call, task));

    return call->request;
}

static void destroy(struct request *request)
{
    if (request->body != request->body_inline)
        free(request->body);
    if (request->call)
        free(request->call->text);
    free(request->call);
    free(request);
}

void *request_on_target(void *cls, const char *target, struct MHD_Connection *mhd)
{
    struct http *http = cls;
    struct connection *connection = connection_of(mhd);
    size_t length = strlen(target);
    struct request *request;
    struct problem problem;

    if (!head_target_fits(target, &problem)) {
        reply_bare(http, mhd, &problem);
        return NULL;
    }
    request = connection ? malloc(sizeof *request + length + 1) : NULL;
    if (!request)
        return NULL;
    memset(request, 0, offsetof(struct request, body_inline));
    request->http = http;
    request->connection = connection;
    request->body = request->body_inline;
    memcpy(request->target, target, length + 1);
    request->target_at = target;
    request->target_length = length;
    http->requests++;
    connection->request = request;
    connection_enter(http, connection, CONNECTION_READING);
    return request;
}

void request_refuse(struct request *request)
{
    request->refused = true;
    request->answer = reply_problem;
}

bool request_query(struct request *request, struct param *params, size_t count)
{
    if (reader_query(request->query, params, count, &request->problem))
        return true;
    request_refuse(request);
    return false;
}

bool request_json(struct request *request, struct member *members, size_t count)
{
    if (reader_object(request->body, request->body_length, members, count, &request->problem))
        return true;
    request_refuse(request);
    return false;
}

static enum MHD_Result take_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                   size_t name_length, const char *value, size_t value_length)
{
    (void)kind;
    reader_header(cls, name, name_length, value ? value : "", value ? value_length : 0);
    return MHD_YES;
}

static const struct sockaddr *client_address(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

    return info ? info->client_addr : NULL;
}

/* What can be said before the body: is there such a resource, and may this client use it? */
static bool admit(struct request *request, const char *method)
{
    struct http *http = request->http;

    if (!router_find(request, method))
        return false;
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

/* By then it may be that no reply of libmicrohttpd's would fit into its memory. */
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

    MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, take_header, headers);
    if (!head_fits(mhd, headers, &request->problem))
        return refuse_bare(request);
    if (!head_is_plain(mhd, &line, &request->problem) ||
        !reader_line(method, request->target, &request->problem))
        return answer_early(request);
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0) {
        problem_set(&request->problem, 400, "invalid_header", NULL,
                    "The versions served are HTTP/1.1 and HTTP/1.0.");
        return answer_early(request);
    }
    if (!reader_framing(headers, &request->problem))
        return answer_early(request);
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
    if (request->body_seen > REQUEST_BODY_DROP)
        return MHD_NO;
    if (request->body_seen > REQUEST_BODY_MAX) {
        problem_set(&request->problem, 413, "body_too_large", NULL,
                    "A body may have %d bytes at most.", REQUEST_BODY_MAX);
        request_refuse(request);
    }
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
    return request->answer(request);
}

static enum MHD_Result handle(struct request *request)
{
    if (request->headers.encodings > 0 &&
        !head_trailers_fit(request->connection->mhd, &request->problem))
        return refuse_bare(request);
    if (!request->refused)
        request->route->handle(request);
    if (request->pending)
        return MHD_YES;
    return answer(request);
}

enum MHD_Result request_on_access(void *cls, struct MHD_Connection *mhd, const char *url,
                                  const char *method, const char *version, const char *upload_data,
                                  size_t *upload_data_size, void **context)
{
    struct http *http = cls;
    struct request *request = *context;
    size_t length = *upload_data_size;

    (void)mhd;
    (void)url;
    if (!request || http->abandoned)
        return MHD_NO;
    edge_breathe(http);
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
    /* What is left of a body that was answered early. */
    *upload_data_size = 0;
    return MHD_YES;
}

void request_on_completed(void *cls, struct MHD_Connection *mhd, void **context,
                          enum MHD_RequestTerminationCode code)
{
    struct request *request = *context;

    (void)cls;
    (void)mhd;
    (void)code;
    *context = NULL;
    if (request)
        request_complete(request);
}

void request_complete(struct request *request)
{
    struct http *http = request->http;
    struct connection *connection = request->connection;

    http->requests--;
    if (request->accepted)
        http->accepted--;
    connection->request = NULL;
    connection_enter(http, connection, CONNECTION_IDLE);
    if (request->pending)
        request->connection = NULL;
    else
        destroy(request);
}

/* 0.9.75 lets go of a request without a word where the copy of a Cookie does not fit into its
 * memory. */
void request_forgotten(struct request *request)
{
    if (request->phase == REQUEST_NEW) {
        head_too_large(&request->problem);
        reply_bare(request->http, request->connection->mhd, &request->problem);
    }
    request_complete(request);
}

void request_accept(struct request *request)
{
    if (!request->accepted)
        request->http->accepted++;
    request->accepted = true;
}

/* Suspend first, then publish: a completion that overtook the suspension would resume nothing. */
static void suspend(struct request *request)
{
    struct http *http = request->http;

    request->pending = true;
    if (request->phase == REQUEST_WAITING)
        return;
    request->phase = REQUEST_WAITING;
    request_accept(request);
    MHD_suspend_connection(request->connection->mhd);
    connection_enter(http, request->connection, CONNECTION_WAITING);
    request->next = http->waiting;
    if (request->next)
        request->next->previous = request;
    http->waiting = request;
    http->waiting_count++;
}

static void resume(struct request *request)
{
    if (request->previous)
        request->previous->next = request->next;
    else
        request->http->waiting = request->next;
    if (request->next)
        request->next->previous = request->previous;
    request->http->waiting_count--;
    MHD_resume_connection(request->connection->mhd);
}

void request_wait_order(struct request *request, void (*step)(struct request *))
{
    struct http *http = request->http;

    suspend(request);
    request->step = step;
    request->order.next = NULL;
    *http->orders_last = &request->order;
    http->orders_last = &request->order.next;
    http->arrived++;
}

void request_wait_call(struct request *request, void (*step)(struct request *))
{
    struct http *http = request->http;

    suspend(request);
    request->step = step;
    request->call->task.next = NULL;
    *http->tasks_last = &request->call->task;
    http->tasks_last = &request->call->task.next;
}

void request_done(struct request *request)
{
    void (*step)(struct request *) = request->step;

    request->pending = false;
    if (!request->connection) {
        destroy(request);
        return;
    }
    request->step = NULL;
    if (step)
        step(request);
    if (!request->pending)
        resume(request);
}

void request_abandon_all(struct http *http)
{
    http->abandoned = true;
    while (http->waiting)
        resume(http->waiting);
}
