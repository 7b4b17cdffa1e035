/*
 * Payments: a pending order becomes confirmed, if its hold is not over.
 *
 * No strategy takes part: the units were taken when the order was written, so one statement on its
 * row is all of it, and PostgreSQL's clock decides. The sweeper ends the hold by the same row
 * (sale/purchase_cancel.h), so a payment and the end of the hold never both win.
 *
 * Failure modes:
 * - Somebody is ending the order at this moment, or it is queued: it is tried again, as long as an
 *   order may wait, then wait_timeout.
 * - The commit's reply is lost: once nothing of it can come any more the same is done again, which
 *   tells; outcome_unknown where that cannot be had in time.
 */
#include "api/handlers.h"
#include "api/submission.h"
#include "http/edge/edge.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "strategy/external_state.h"

/* ROW_MS: a look-up's thread is not held for longer. */
enum { PAY_MS = 5000, ROW_MS = 20 };

static int64_t soon(const struct call *call)
{
    return clock_earlier(call->task.until_us, clock_mono_us() + PAY_MS * CLOCK_US_PER_MS);
}

static enum catalog_result pay_in_postgres(struct call *call, struct pg *pg, struct error *error)
{
    return catalog_order_pay(pg, &call->request->order_id, ROW_MS, soon(call), &call->record,
                             error);
}

/* An order that is not in PostgreSQL may stand in Redis, and may have been decided before it is
 * looked for there: then it is pending, and nobody has tried to pay it yet. */
static enum catalog_result pay_wherever(struct call *call, struct pg *pg, struct error *error)
{
    enum catalog_result result = pay_in_postgres(call, pg, error);

    if (result != CATALOG_NOT_FOUND)
        return result;
    FAILPOINT("payment.elsewhere");
    result = external_state_order(call->request->http->services, pg, &call->request->order_id,
                                  soon(call), &call->record, error);
    if (result == CATALOG_OK && call->record.status == STATUS_PENDING)
        result = pay_in_postgres(call, pg, error);
    return result == CATALOG_OK && call->record.status == STATUS_QUEUED ? CATALOG_QUEUED : result;
}

static enum catalog_result pay(struct call *call, struct pg *pg, struct error *error)
{
    if (call->unsettled &&
        catalog_order_settle(pg, &call->request->order_id, ROW_MS, soon(call), error) != CATALOG_OK)
        return CATALOG_UNKNOWN;
    enum catalog_result result = pay_wherever(call, pg, error);
    call->unsettled = result == CATALOG_UNKNOWN;
    if (call->unsettled)
        call->again_until_us = call->request->order.settle_until_us;
    return result;
}

static void refuse(struct request *request, enum order_outcome outcome)
{
    struct order *order = &request->order;

    order->id = request->order_id; /* of one whose outcome is unknown it is told */
    order->outcome = outcome;
    problem_from_order(&request->problem, order);
    request_refuse(request);
}

static void end(struct request *request, enum order_outcome outcome)
{
    dispatch_count_payment(request->http->dispatch, outcome);
    if (outcome == ORDER_CONFIRMED)
        request->answer = orders_answer_found;
    else
        refuse(request, outcome);
}

static void answered(struct request *request)
{
    if (request->call->result == CATALOG_UNKNOWN) {
        refuse(request, ORDER_OUTCOME_UNKNOWN);
        return;
    }
    if (!request_call_done(request))
        return;
    switch (request->call->record.status) {
    case STATUS_CONFIRMED:
        end(request, ORDER_CONFIRMED);
        break;
    case STATUS_PENDING: /* its hold is over, and nobody has ended it yet */
    case STATUS_EXPIRED:
        end(request, ORDER_EXPIRED);
        break;
    case STATUS_CANCELLED:
    case STATUS_FAILED:
    case STATUS_QUEUED: /* that has not come here */
        end(request, ORDER_NOT_PAYABLE);
        break;
    }
}

void orders_pay(struct request *request)
{
    orders_change(request, pay, answered);
}
