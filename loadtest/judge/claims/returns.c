/* Cancels against the rows of their orders. */
#include "loadtest/judge/claims/checks.h"

#include <stdlib.h>
#include <string.h>

/* All cancels of one order. */
static void check_cancel(const struct view *view, const struct ledger_op *const *ops, size_t count)
{
    const struct view_order *order = view_find(view, ops[0]->order);
    const struct ledger_op *done = NULL, *refused = NULL;
    bool unknown = false;
    for (size_t i = 0; i < count; i++) {
        if (ops[i]->result == LEDGER_OK)
            done = ops[i];
        else if (ops[i]->result == LEDGER_FAIL)
            refused = ops[i];
        else
            unknown = true;
    }
    bool cancelled = order && order->row->state == LEDGER_CANCELLED;
    if (done && !cancelled)
        finding_show(findings_add(view->findings, FINDING_ABSENT, done->product,
                                  order ? order->row->quantity : 0,
                                  "order %s was acknowledged as cancelled, and is %s", done->order,
                                  order ? ledger_state_name(order->row->state) : "not there"),
                     done);
    if (!done && !unknown && refused && cancelled)
        finding_show(
            findings_add(view->findings, FINDING_REFUSED, refused->product, order->row->quantity,
                         "order %s is cancelled, and its cancel was refused", refused->order),
            refused);
}

static void check_cancels(const struct view *view)
{
    size_t count = 0;
    const struct ledger_op **cancels = view->list;
    for (size_t i = 0; i < view->ledger->ops_count; i++) {
        if (view->ledger->ops[i].kind == LEDGER_CANCEL)
            cancels[count++] = &view->ledger->ops[i];
    }
    qsort(cancels, count, sizeof(void *), view_by_order);
    for (size_t i = 0, from = 0; i < count; i++) {
        if (i + 1 < count && strcmp(cancels[i + 1]->order, cancels[from]->order) == 0)
            continue;
        check_cancel(view, &cancels[from], i + 1 - from);
        from = i + 1;
    }
}

/* A cancel that nobody asked for gives somebody's units away. */
static void check_uncalled(const struct view *view)
{
    for (size_t i = 0; i < view->rows->orders_count; i++) {
        const struct row_order *row = view->orders[i].row;
        const struct ledger_op *buy = view->orders[i].buy;
        if (row->state != LEDGER_CANCELLED || view->orders[i].cancel ||
            view->orders[i].cancel_refused || !buy)
            continue;
        finding_show(findings_add(view->findings, FINDING_INVENTED, row->product, row->quantity,
                                  "order %s is cancelled, and nobody asked for that", row->id),
                     buy);
    }
}

void check_returns(const struct view *view)
{
    check_cancels(view);
    check_uncalled(view);
}
