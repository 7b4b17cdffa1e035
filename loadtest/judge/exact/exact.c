/* See exact.h: what the search is given, and the shortest beginning that has no order. */
#include "loadtest/judge/exact/exact.h"

#include <inttypes.h>

struct history {
    struct exact_op ops[EXACT_OPS_MAX + 1]; /* one more says that there are too many */
    size_t count;
};

static void add(struct history *history, struct exact_op op)
{
    if (history->count <= EXACT_OPS_MAX)
        history->ops[history->count++] = op;
}

/* An order, and its cancel or the end of its hold. False where the ledger does not know enough of
 * it. */
static bool add_order(struct history *history, const struct view_order *order)
{
    const struct row_order *row = order->row;
    if (!order->buy || order->accepted || row->state == LEDGER_FAILED ||
        row->state == LEDGER_QUEUED || (row->state == LEDGER_CANCELLED && !order->cancel))
        return false;
    add(history, (struct exact_op){.start_us = order->buy_start_us,
                                   .end_us = order->buy_sure_us,
                                   .least = row->quantity,
                                   .change = -row->quantity,
                                   .op = order->buy});
    if (row->state == LEDGER_CANCELLED)
        add(history, (struct exact_op){.start_us = order->cancel->start_us,
                                       .end_us = order->cancel_sure_us,
                                       .change = row->quantity,
                                       .op = order->cancel});
    if (row->state == LEDGER_EXPIRED)
        add(history, (struct exact_op){.start_us = view_hold_over_us(order),
                                       .end_us = view_expired_sure_us(order),
                                       .change = row->quantity,
                                       .op = order->expired ? order->expired : order->buy});
    return true;
}

static void add_other(struct history *history, const struct ledger_op *op)
{
    if (op->kind == LEDGER_BUY && op->result == LEDGER_FAIL && view_is_code(op, "sold_out"))
        add(history,
            (struct exact_op){
                .start_us = op->start_us, .end_us = op->end_us, .below = op->quantity, .op = op});
    if (op->kind == LEDGER_RESTOCK && op->result != LEDGER_FAIL)
        add(history,
            (struct exact_op){.start_us = op->start_us,
                              .end_us = op->result == LEDGER_OK ? op->end_us : LEDGER_NEVER,
                              .change = op->quantity,
                              .optional = op->result == LEDGER_INFO,
                              .op = op});
}

/* What a shop refused for another reason, or never answered, may have had its units for a while:
 * here they may have been taken, and given back, or not. That explains more than there is, and so
 * nothing is found that is not there. */
static void add_doubt(struct history *history, const struct ledger_op *op)
{
    struct exact_op take = {.start_us = op->start_us,
                            .end_us = op->result == LEDGER_FAIL ? op->end_us : LEDGER_NEVER,
                            .least = op->quantity,
                            .change = -op->quantity,
                            .optional = true,
                            .op = op};
    add(history, take);
    take.least = 0;
    take.change = op->quantity;
    add(history, take);
}

/* False: not to be tried. */
static bool list_history(const struct view *view, const struct view_product *product,
                         struct history *history)
{
    const struct ledger_op *const *ops = product->ops;
    history->count = 0;
    for (size_t i = 0; i < product->orders_count; i++) {
        if (!add_order(history, product->orders[i]))
            return false;
    }
    for (size_t i = 0; i < product->ops_count; i++) {
        if (view->people && ops[i]->first != SHOP_SOLD_OUT && !view_find_made(view, ops[i]))
            add_doubt(history, ops[i]);
        else
            add_other(history, ops[i]);
    }
    return history->count > 0;
}

/* The operations that had begun by this moment; one that had not ended by then may still take
 * effect, or not. */
static size_t cut(const struct history *history, int64_t at_us, struct exact_op *out)
{
    size_t count = 0;
    for (size_t i = 0; i < history->count; i++) {
        if (history->ops[i].start_us > at_us)
            continue;
        out[count] = history->ops[i];
        if (out[count].end_us > at_us) {
            out[count].end_us = LEDGER_NEVER;
            out[count].optional = true;
        }
        count++;
    }
    return count;
}

/* A beginning of a history that has an order has one too: halve until the shortest that has none is
 * found. Operations stand in the order of their ends. One that is not decided within the budget
 * counts as having an order, so that what is shown is shown for sure. */
static size_t find_shortest(const struct history *history, int64_t stock, int64_t budget,
                            struct exact_op *out)
{
    size_t from = 0, to = history->count - 1;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        size_t count = cut(history, history->ops[middle].end_us, out);
        if (exact_search(out, count, stock, budget) == EXACT_NO)
            to = middle;
        else
            from = middle + 1;
    }
    return cut(history, history->ops[from].end_us, out);
}

/* The latest first: it is the one that has no place. */
static void tell(const struct view *view, const struct ledger_product *product,
                 const struct history *history, int64_t budget)
{
    struct exact_op ops[EXACT_OPS_MAX];
    size_t count = find_shortest(history, product->stock, budget, ops);
    struct finding *finding = findings_add(
        view->findings, FINDING_NOT_LINEARIZABLE, product->id, 0,
        "these %zu operations have no order that explains them, from %" PRId64 " units", count,
        product->stock);
    while (count-- > 0)
        finding_show(finding, ops[count].op);
}

static enum exact_answer check_product(const struct view *view, const struct view_product *product,
                                       struct history *history)
{
    const struct exact_limits *limits = &view->limits;
    if (!list_history(view, product, history) || history->count > limits->ops ||
        history->count > EXACT_OPS_MAX)
        return EXACT_NOT_TRIED;
    enum exact_answer answer =
        exact_search(history->ops, history->count, product->sale->stock, limits->budget);
    if (answer == EXACT_NO)
        tell(view, product->sale, history, limits->budget);
    return answer;
}

void exact_check(struct view *view)
{
    struct history *history = view_take(view, 1, sizeof *history);
    for (size_t i = 0; i < view->ledger->products_count; i++)
        view->exact[check_product(view, &view->products[i], history)]++;
}
