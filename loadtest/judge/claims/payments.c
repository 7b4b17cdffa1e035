/*
 * Payments and holds against the rows and against each other (H1 to H4). An order that waits to be
 * paid ends once: paid, expired or cancelled. Each of these is final: no two of them may be told of
 * one order, at whatever times, and the row agrees with the one that was told. The books show that
 * its units came back once, and not twice (A1), and the refusals that its user may buy again (A9).
 */
#include "loadtest/judge/claims/claims.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>

static void tell(const struct view *view, const struct view_order *order, enum finding_kind kind,
                 const char *what, const struct ledger_op *one, const struct ledger_op *two)
{
    struct finding *finding = findings_add(
        view->findings, kind, order->row->product, order->row->quantity, "order %s %s, and is %s",
        order->row->id, what, ledger_state_name(order->row->state));
    finding_show(finding, one);
    finding_show(finding, two);
}

static void tell_told(const struct view *view, const struct view_order *order)
{
    char what[40];
    snprintf(what, sizeof what, "was told to be %s", ledger_state_name(order->told->state));
    tell(view, order, FINDING_ABSENT, what, order->told, NULL);
}

/* A final state that a client was told stays. */
static void check_told(const struct view *view, const struct view_order *order)
{
    enum ledger_state state = order->row->state;
    const struct ledger_op *expired = order->expired;
    if (order->paid && expired)
        tell(view, order, FINDING_PAID_EXPIRED, "was told to be paid and to be too late",
             order->paid, expired);
    else if (expired && state == LEDGER_CONFIRMED)
        tell(view, order, FINDING_PAID_EXPIRED, "was told to be too late", expired, NULL);
    else if (order->paid && (state == LEDGER_PENDING || state == LEDGER_EXPIRED))
        tell(view, order, FINDING_PAID_LOST, "was told to be paid", order->paid, NULL);
    else if (order->told && !view_may_become(order->told->state, state))
        tell_told(view, order);
}

/* By its own clock a hold that begins after the buy was sent cannot be over so soon. */
static void check_early(const struct view *view, const struct view_order *order)
{
    const struct ledger_op *expired = order->expired;
    if (!expired || !order->hold_s || expired->end_us >= view_hold_over_us(order))
        return;
    struct finding *finding = findings_add(
        view->findings, FINDING_EXPIRED_EARLY, order->row->product, order->row->quantity,
        "order %s has a hold of %" PRId64 " s, and %" PRId64 " ms after it was asked for that was "
        "said to be over",
        order->row->id, order->hold_s, (expired->end_us - order->buy_start_us) / CLOCK_US_PER_MS);
    finding_show(finding, order->buy);
    finding_show(finding, expired);
}

/* Sold, though it had to be paid first and nobody can have done so. */
static void check_unpaid(const struct view *view, const struct view_order *order)
{
    if (order->row->state != LEDGER_CONFIRMED || !order->held || order->pay_done ||
        order->pay_unknown)
        return;
    if (order->pay_failed && !view_is_code(order->pay_failed, "expired"))
        tell(view, order, FINDING_REFUSED, "was refused a payment", order->pay_failed, NULL);
    else if (!order->pay_failed)
        tell(view, order, FINDING_INVENTED, "was pending, nobody paid", order->buy, NULL);
}

static void check_order(const struct view *view, const struct view_order *order)
{
    check_told(view, order);
    check_early(view, order);
    check_unpaid(view, order);
    if (order->row->state == LEDGER_PENDING && order->row->overdue)
        tell(view, order, FINDING_HOLD_OPEN, "has a hold that is over", order->buy, order->expired);
}

/* Orders that were paid, or seen as sold, and are not there; who pays twice has lost one. */
static void check_absent(const struct view *view)
{
    const struct ledger *ledger = view->ledger;
    const struct ledger_op **told = view->list;
    size_t count = 0;
    for (size_t i = 0; i < ledger->ops_count; i++) {
        const struct ledger_op *op = &ledger->ops[i];
        bool sold = (op->kind == LEDGER_PAY && op->result == LEDGER_OK) ||
                    (op->kind == LEDGER_READ && view_is_taken(op->state) && !op->named);
        if (sold && !view_find(view, op->order))
            told[count++] = op;
    }
    /* An order's payment before whatever else was told of it, be it earlier. */
    ledger_sort(told, count, LEDGER_BY_ORDER, LEDGER_BY_PAYMENT);
    for (size_t i = 0; i < count; i = ledger_run(told, i, count, LEDGER_BY_ORDER)) {
        bool paid = told[i]->kind == LEDGER_PAY;
        finding_show(findings_add(view->findings, paid ? FINDING_PAID_LOST : FINDING_ABSENT,
                                  told[i]->product, 0,
                                  "order %s was told to be %s, and is not "
                                  "there",
                                  told[i]->order,
                                  paid ? "paid" : ledger_state_name(told[i]->state)),
                     told[i]);
    }
}

void check_payments(struct view *view)
{
    for (size_t i = 0; i < view->rows->orders_count; i++)
        check_order(view, &view->orders[i]);
    check_absent(view);
}
