/*
 * Cancels against the rows of their orders, and restocks against theirs. A restock's answer names
 * no row, so restocks are summed up a product.
 */
#include "loadtest/judge/claims/checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The restocks of a product: what is sure, and what may be. */
struct refill {
    int64_t product;
    int64_t sure, perhaps, rows;
};

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

static void judge_refill(const struct view *view, const struct refill *refill)
{
    if (refill->rows < refill->sure)
        findings_add(view->findings, FINDING_ABSENT, refill->product, refill->sure - refill->rows,
                     "%" PRId64 " units were acknowledged as restocked, and %" PRId64 " are there",
                     refill->sure, refill->rows);
    else if (refill->rows > refill->sure + refill->perhaps)
        findings_add(view->findings, FINDING_INVENTED, refill->product,
                     refill->rows - refill->sure - refill->perhaps,
                     "%" PRId64 " units were restocked, and %" PRId64 " asked for at the most",
                     refill->rows, refill->sure + refill->perhaps);
}

static void check_restocks(const struct view *view)
{
    const struct ledger *ledger = view->ledger;
    struct refill *refills = calloc(ledger->products_count + 1, sizeof *refills);
    if (!refills) {
        view->findings->no_memory = true;
        return;
    }
    for (size_t i = 0; i < view->rows->restocks_count; i++) {
        const struct ledger_product *product =
            ledger_find_product(ledger, view->rows->restocks[i].product);
        if (product)
            refills[product - ledger->products].rows += view->rows->restocks[i].quantity;
    }
    for (size_t i = 0; i < ledger->ops_count; i++) {
        const struct ledger_op *op = &ledger->ops[i];
        const struct ledger_product *product = ledger_find_product(ledger, op->product);
        if (op->kind != LEDGER_RESTOCK || op->result == LEDGER_FAIL || !product)
            continue;
        struct refill *refill = &refills[product - ledger->products];
        refill->sure += op->result == LEDGER_OK ? op->quantity : 0;
        refill->perhaps += op->result == LEDGER_INFO ? op->quantity : 0;
    }
    for (size_t i = 0; i < ledger->products_count; i++) {
        refills[i].product = ledger->products[i].id;
        judge_refill(view, &refills[i]);
    }
    free(refills);
}

void check_returns(const struct view *view)
{
    check_cancels(view);
    check_uncalled(view);
    check_restocks(view);
}
