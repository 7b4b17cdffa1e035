/*
 * "Sold out" while a unit was free (A12), and one that is free to this day (A11).
 *
 * For every moment there is a number of units that were free for sure: what the sale began with and
 * what surely had come back by then, less everything that may have been taken by then. A unit may
 * be taken from the moment when its buy was sent; an order that is in the database has it for good,
 * any other buy that was not refused as sold out may have had it until it was answered. A refusal
 * is false when that number was never below what it asked for, from its beginning to its end.
 *
 * The least of a range of moments comes from a tree over the moments: O(log n) a refusal.
 */
#include "loadtest/check/checks.h"

#include <inttypes.h>
#include <stdlib.h>

struct step {
    int64_t at_us, units;
};

/* The product whose refusals are looked at. */
struct shelf {
    const struct view *view;
    const struct ledger_product *product;
    struct step *steps; /* owned, with room for every product's */
    size_t count;
    int64_t *tree; /* owned; the second half are the levels after each step */
};

static int by_time(const void *a, const void *b)
{
    const struct step *left = a, *right = b;
    if (left->at_us != right->at_us)
        return left->at_us < right->at_us ? -1 : 1;
    return (left->units > right->units) - (left->units < right->units); /* what goes out, first */
}

static void add_step(struct shelf *shelf, int64_t at_us, int64_t units)
{
    if (at_us != LEDGER_NEVER)
        shelf->steps[shelf->count++] = (struct step){at_us, units};
}

static bool is_sold_out(const struct ledger_op *op)
{
    return op->kind == LEDGER_BUY && op->result == LEDGER_FAIL && view_is_code(op, "sold_out");
}

/* A buy that made no row may have held a unit for a while; one without an answer, who knows. */
static void add_op(struct shelf *shelf, const struct ledger_op *op)
{
    if (op->kind == LEDGER_RESTOCK && op->result == LEDGER_OK)
        add_step(shelf, op->end_us, op->quantity);
    if (op->kind != LEDGER_BUY || is_sold_out(op) || view_find_made(shelf->view, op))
        return;
    add_step(shelf, op->start_us, -op->quantity);
    if (op->result != LEDGER_INFO)
        add_step(shelf, op->end_us, op->quantity);
}

static void list_steps(struct shelf *shelf)
{
    size_t ops_count, orders_count;
    const int64_t product = shelf->product->id;
    const struct ledger_op *const *ops = view_of_product(shelf->view, product, &ops_count);
    struct view_order *const *orders = view_orders_of(shelf->view, product, &orders_count);
    shelf->count = 0;
    add_step(shelf, INT64_MIN, shelf->product->stock);
    for (size_t i = 0; i < orders_count; i++) {
        add_step(shelf, orders[i]->buy_start_us, -orders[i]->row->quantity);
        if (orders[i]->row->state == LEDGER_CANCELLED)
            add_step(shelf, orders[i]->cancel_sure_us, orders[i]->row->quantity);
    }
    for (size_t i = 0; i < ops_count; i++)
        add_op(shelf, ops[i]);
    qsort(shelf->steps, shelf->count, sizeof *shelf->steps, by_time);
}

static void build_tree(struct shelf *shelf)
{
    int64_t level = 0;
    for (size_t i = 0; i < shelf->count; i++)
        shelf->tree[shelf->count + i] = level += shelf->steps[i].units;
    for (size_t i = shelf->count - 1; i > 0; i--) {
        int64_t left = shelf->tree[2 * i], right = shelf->tree[2 * i + 1];
        shelf->tree[i] = left < right ? left : right;
    }
}

/* The least of the levels after the steps from `from` until before `to`. */
static int64_t least(const struct shelf *shelf, size_t from, size_t to)
{
    int64_t lowest = INT64_MAX;
    for (from += shelf->count, to += shelf->count; from < to; from /= 2, to /= 2) {
        if (from & 1) {
            lowest = shelf->tree[from] < lowest ? shelf->tree[from] : lowest;
            from++;
        }
        if (to & 1) {
            to--;
            lowest = shelf->tree[to] < lowest ? shelf->tree[to] : lowest;
        }
    }
    return lowest;
}

/* How many steps are before this moment, or (`with`) not after it. */
static size_t count_before(const struct shelf *shelf, int64_t at_us, bool with)
{
    size_t from = 0, to = shelf->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int64_t at = shelf->steps[middle].at_us;
        if (at < at_us || (with && at == at_us))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

enum refusal { REFUSAL_JUSTIFIED, REFUSAL_FALSE, REFUSAL_STILL_FREE };

static enum refusal judge_refusal(const struct shelf *shelf, const struct ledger_op *op)
{
    /* The level that it began with is that after the last step before; the first step is the
     * stock's, long before everything. */
    size_t from = count_before(shelf, op->start_us, false) - 1;
    if (least(shelf, from, count_before(shelf, op->end_us, true)) < op->quantity)
        return REFUSAL_JUSTIFIED;
    return least(shelf, from, shelf->count) < op->quantity ? REFUSAL_FALSE : REFUSAL_STILL_FREE;
}

static void tell_undersold(const struct shelf *shelf, const struct ledger_op *const *ops,
                           size_t count)
{
    int64_t left = shelf->tree[2 * shelf->count - 1];
    struct finding *finding =
        findings_add(shelf->view->findings, FINDING_UNDERSOLD, shelf->product->id, left,
                     "%" PRId64 " units are unsold, and were free ever after it was said", left);
    for (size_t i = 0; i < count; i++) {
        if (is_sold_out(ops[i]) && judge_refusal(shelf, ops[i]) == REFUSAL_STILL_FREE)
            finding_show(finding, ops[i]);
    }
}

static size_t check_product(struct shelf *shelf)
{
    size_t count, refusals = 0;
    bool undersold = false;
    const struct ledger_op *const *ops = view_of_product(shelf->view, shelf->product->id, &count);
    list_steps(shelf);
    build_tree(shelf);
    for (size_t i = 0; i < count; i++) {
        if (!is_sold_out(ops[i]))
            continue;
        refusals++;
        enum refusal refusal = judge_refusal(shelf, ops[i]);
        undersold = undersold || refusal == REFUSAL_STILL_FREE;
        if (refusal == REFUSAL_FALSE)
            finding_show(findings_add(shelf->view->findings, FINDING_FALSE_SOLD_OUT,
                                      ops[i]->product, 0,
                                      "sold out for %" PRId64 ", which were free all the while",
                                      ops[i]->quantity),
                         ops[i]);
    }
    if (undersold)
        tell_undersold(shelf, ops, count);
    return refusals;
}

size_t check_refusals(const struct view *view)
{
    size_t room = 2 * (view->rows->orders_count + view->ledger->ops_count) + 1, refusals = 0;
    struct shelf shelf = {.view = view,
                          .steps = calloc(room, sizeof *shelf.steps),
                          .tree = calloc(2 * room, sizeof *shelf.tree)};
    if (shelf.steps && shelf.tree) {
        for (size_t i = 0; i < view->ledger->products_count; i++) {
            shelf.product = &view->ledger->products[i];
            refusals += check_product(&shelf);
        }
    } else {
        view->findings->no_memory = true;
    }
    free(shelf.steps);
    free(shelf.tree);
    return refusals;
}
