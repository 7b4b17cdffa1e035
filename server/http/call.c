/*
 * Calls to the catalog: tasks on a pool thread, which reads or writes and renders the answer; the
 * edge's thread only sends it. A page of metrics is a call without a session. What waits, for a row
 * or for an order's decision, is tried again in a while (dispatch/tasks.h).
 *
 * Failure modes:
 * - PostgreSQL fails: the text is logged here, once; the client gets the error's class alone.
 * - No session is free in time: wait_timeout, which is not logged.
 */
#include "base/clock.h"
#include "base/log.h"
#include "http/edge/edge.h"
#include "http/request.h"
#include "http/router.h"
#include "postgres/pg.h"

#include <stdlib.h>
#include <string.h>

/* How long a call may wait for a session, and for a product's row. */
enum { WAIT_MS = 5000 };

static bool tries_again(const struct call *call)
{
    return (call->result == CATALOG_HELD || call->result == CATALOG_QUEUED || call->unsettled) &&
           clock_mono_us() < call->again_until_us;
}

static enum catalog_result do_work(struct call *call, struct pg *pg, struct error *error)
{
    enum catalog_result result = call->work(call, pg, error);

    /* Its session had ended before, or ended under it, and nothing was done. */
    if (result == CATALOG_FAILED && pg && !pg_is_open(pg) && pg_connect(pg, call->task.until_us))
        result = call->work(call, pg, error);
    return result;
}

static void run(struct task *task, struct pg *pg, struct error *error)
{
    struct request *request = request_of_task(task);
    struct call *call = request->call;

    bool again = task->again;
    bool runs = pg || (task->kind == TASK_METRICS && !task->late);
    if (runs)
        call->result = do_work(call, pg, error);
    else if (call->unsettled)
        call->result = CATALOG_UNKNOWN;
    else if (!again || !task->late)
        call->result = CATALOG_FAILED;
    task->again = !task->late && tries_again(call);
    if (task->late) {
        task->late = !again; /* it has run: what it has found is the answer */
        return;
    }
    if (task->again) {
        task->wait_until_us = call->again_until_us;
        return;
    }
    if (call->result == CATALOG_FAILED || call->result == CATALOG_UNKNOWN)
        log_warn("%s: %s", request->route->pattern, error->text);
    if (call->result == CATALOG_HIDDEN)
        problem_set(&request->problem, 503, "strategy_unavailable", NULL, "%s", error->text);
}

struct call *request_call(struct request *request,
                          enum catalog_result (*work)(struct call *, struct pg *, struct error *),
                          enum order_outcome missing, int64_t allowance_ms)
{
    struct call *call = request->call;

    if (!call) {
        call = malloc(sizeof *call);
        if (!call) {
            problem_outcome(&request->problem, ORDER_INTERNAL_ERROR);
            request_refuse(request);
            return NULL;
        }
        request->call = call;
    } else {
        free(call->text);
    }
    memset(call, 0, sizeof *call);
    call->request = request;
    call->work = work;
    call->missing = missing;
    call->task.run = run;
    call->task.wait_until_us = clock_mono_us() + WAIT_MS * CLOCK_US_PER_MS;
    call->task.until_us = call->task.wait_until_us + (allowance_ms - WAIT_MS) * CLOCK_US_PER_MS;
    call->again_until_us = call->task.wait_until_us;
    return call;
}

static enum order_outcome judge(const struct request *request)
{
    const struct call *call = request->call;

    if (call->refused || call->task.again)
        return request->http->draining ? ORDER_SHUTTING_DOWN : ORDER_QUEUE_FULL;
    if (call->task.late)
        return ORDER_QUEUE_TIMEOUT;
    switch (call->result) {
    case CATALOG_OK:
        break;
    case CATALOG_NOT_FOUND:
        return call->missing;
    case CATALOG_HIDDEN:
        return ORDER_STRATEGY_UNAVAILABLE;
    case CATALOG_FAILED:
        return ORDER_BACKEND_UNAVAILABLE;
    case CATALOG_UNCOUNTED:
    case CATALOG_REFUSED: /* its handler has said why */
        return ORDER_INTERNAL_ERROR;
    case CATALOG_HELD:
        return ORDER_LOCK_TIMEOUT;
    case CATALOG_QUEUED:
        return ORDER_QUEUE_TIMEOUT;
    case CATALOG_UNKNOWN:
        return ORDER_OUTCOME_UNKNOWN;
    }
    return ORDER_CONFIRMED;
}

bool request_call_done(struct request *request)
{
    enum order_outcome outcome = judge(request);

    if (outcome == ORDER_CONFIRMED)
        return true;
    if (outcome != ORDER_STRATEGY_UNAVAILABLE) /* which has been told what is missing */
        problem_outcome(&request->problem, outcome);
    request_refuse(request);
    return false;
}
