/*
 * Requests: allocation, the wait for dispatch, and the end. The state and its rules stand in
 * request.h; lifecycle.c has the callbacks that call this.
 */
#include "http/request.h"

#include "http/edge/edge.h"

#include <stdlib.h>
#include <string.h>

/* The structure that has `member` at `offset`. */
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

struct request *request_create(struct http *http, struct connection *connection, const char *target)
{
    size_t length = strlen(target);
    struct request *request = malloc(sizeof *request + length + 1);

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
    connection_begin(&http->connections, connection, http->now_us);
    return request;
}

void request_refuse(struct request *request)
{
    request->refused = true;
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

struct request *request_create_alone(struct http *http, const struct route *route)
{
    struct request *request = calloc(1, sizeof *request + 1);

    if (!request)
        return NULL;
    request->http = http;
    request->route = route;
    request->body = request->body_inline;
    request->alone = true;
    return request;
}

void request_destroy_alone(struct request *request)
{
    destroy(request);
}

void request_complete(struct request *request)
{
    struct http *http = request->http;
    struct connection *connection = request->connection;

    http->requests--;
    if (request->accepted)
        http->accepted--;
    connection->request = NULL;
    connection->taken += request->head_bytes + request->body_seen;
    connection_enter(&http->connections, connection, CONNECTION_FRESH, http->now_us);
    if (request->pending)
        request->connection = NULL;
    else
        destroy(request);
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
    connection_enter(&http->connections, request->connection, CONNECTION_WAITING, http->now_us);
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
    suspend(request);
    request_submit_call(request, step);
}

void request_submit_call(struct request *request, void (*step)(struct request *))
{
    struct http *http = request->http;

    request->pending = true;
    request->step = step;
    request->call->task.next = NULL;
    *http->tasks_last = &request->call->task;
    http->tasks_last = &request->call->task.next;
}

void request_done(struct request *request)
{
    void (*step)(struct request *) = request->step;

    request->pending = false;
    if (request->alone) {
        step(request);
        return;
    }
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
