/*
 * "Sold out" while a unit was free (A12), and one that is free to this day (A11); and "limit
 * reached" while the user had fewer than the limit (A9), which is the same question of another
 * shelf: the units that one user may still have of the product.
 *
 * For every moment there is a number of units that were free for sure: what the sale began with and
 * what surely had come back by then, less everything that may have been taken by then. A unit may
 * be taken from the moment when its buy was sent; an order that is in the database has it until it
 * is cancelled or its hold has ended, any other buy that was not refused as sold out may have had
 * it until it was refused, or has it still. A refusal is false when that number was never below
 * what it asked for, from its beginning to its end.
 *
 * The least of a range of moments comes from a tree over the moments: O(log n) a refusal.
 */
#include "loadtest/judge/claims/claims.h"

#include <inttypes.h>
#include <stdlib.h>

struct step {
    int64_t at_us, units;
};

/* What refusals of one kind are about: a product's stock, or a user's part of it. */
struct shelf {
    const struct view *view;
    const struct view_product *product;
    const char *refusal; /* the code of the refusals that are looked at */
    int64_t units;       /* free before the first operation */
    bool is_users;       /* of whom the limit is; 0: none */
    int64_t limit;
    struct view_order *const *orders;
    size_t orders_count;
    const struct ledger_op *const *ops; /* restocks among them are the shelf's */
    size_t ops_count;
    struct step *steps; /* the view's, as the tree; with room for every shelf's */
    size_t count;
    int64_t *tree; /* the second half are the levels after each step */
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

static bool is_refusal(const struct shelf *shelf, const struct ledger_op *op)
{
    return op->kind == LEDGER_BUY && op->result == LEDGER_FAIL && view_is_code(op, shelf->refusal);
}

/* A buy that made no row may have held a unit for a while; one that was not refused may hold it
 * still. */
static void add_op(struct shelf *shelf, const struct ledger_op *op)
{
    if (op->kind == LEDGER_RESTOCK && op->result == LEDGER_OK)
        add_step(shelf, op->end_us, op->quantity);
    if (op->kind != LEDGER_BUY || is_refusal(shelf, op) || view_find_made(shelf->view, op))
        return;
    add_step(shelf, op->start_us, -op->quantity);
    if (op->result == LEDGER_FAIL)
        add_step(shelf, op->end_us, op->quantity);
}

static void add_order(struct shelf *shelf, const struct view_order *order)
{
    const struct row_order *row = order->row;
    add_step(shelf, order->buy_start_us, -row->quantity);
    if (row->state == LEDGER_CANCELLED)
        add_step(shelf, order->cancel_sure_us, row->quantity);
    if (row->state == LEDGER_EXPIRED)
        add_step(shelf, view_expired_sure_us(order), row->quantity);
}

static void list_steps(struct shelf *shelf)
{
    shelf->count = 0;
    add_step(shelf, INT64_MIN, shelf->units);
    for (size_t i = 0; i < shelf->orders_count; i++)
        add_order(shelf, shelf->orders[i]);
    for (size_t i = 0; i < shelf->ops_count; i++)
        add_op(shelf, shelf->ops[i]);
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

static void tell_undersold(const struct shelf *shelf)
{
    int64_t left = shelf->tree[2 * shelf->count - 1];
    struct finding *finding =
        findings_add(shelf->view->findings, FINDING_UNDERSOLD, shelf->product->sale->id, left,
                     "%" PRId64 " units are unsold, and were free ever after it was said", left);
    for (size_t i = 0; i < shelf->ops_count; i++) {
        const struct ledger_op *op = shelf->ops[i];
        if (is_refusal(shelf, op) && judge_refusal(shelf, op) == REFUSAL_STILL_FREE)
            finding_show(finding, op);
    }
}

static void tell_false(const struct shelf *shelf, const struct ledger_op *op)
{
    struct findings *findings = shelf->view->findings;
    finding_show(shelf->is_users
                     ? findings_add(findings, FINDING_FALSE_LIMIT, op->product, 0,
                                    "limit reached for %" PRId64 ", and user %s"
                                    " had fewer all the while, of %" PRId64 " (0: no limit)",
                                    op->quantity, op->user, shelf->limit)
                     : findings_add(findings, FINDING_FALSE_SOLD_OUT, op->product, 0,
                                    "sold out for %" PRId64 ", which were free all the while",
                                    op->quantity),
                 op);
}

/* How many refusals there are of the shelf. */
static size_t check_shelf(struct shelf *shelf)
{
    size_t refusals = 0;
    bool undersold = false;
    list_steps(shelf);
    build_tree(shelf);
    for (size_t i = 0; i < shelf->ops_count; i++) {
        const struct ledger_op *op = shelf->ops[i];
        if (!is_refusal(shelf, op))
            continue;
        enum refusal refusal = judge_refusal(shelf, op);
        bool still_free = refusal == REFUSAL_STILL_FREE && !shelf->is_users;
        refusals++;
        undersold = undersold || still_free;
        if (refusal != REFUSAL_JUSTIFIED && !still_free)
            tell_false(shelf, op);
    }
    if (undersold && !shelf->view->people) /* whose books say it, without doubt */
        tell_undersold(shelf);
    return refusals;
}

/* Both lists stand in the order of users, and are walked side by side. */
static void check_users(struct shelf *shelf, const struct ledger_op **buys, size_t buys_count)
{
    struct view_order *const *orders = shelf->product->orders;
    size_t order = 0, orders_count = shelf->product->orders_count;
    for (size_t i = 0; i < buys_count;) {
        const char *user = buys[i]->user;
        while (order < orders_count && ledger_compare_texts(orders[order]->row->user, user) < 0)
            order++;
        shelf->ops = &buys[i];
        shelf->orders = &orders[order];
        shelf->orders_count = 0;
        shelf->ops_count = ledger_run(buys, i, buys_count, LEDGER_BY_USER) - i;
        i += shelf->ops_count;
        for (; order < orders_count && ledger_compare_texts(orders[order]->row->user, user) == 0;
             order++)
            shelf->orders_count++;
        check_shelf(shelf);
    }
}

static void check_limits(struct shelf *shelf)
{
    const struct view_product *product = shelf->product;
    const struct ledger_op **buys = shelf->view->list;
    size_t count = 0;
    for (size_t i = 0; i < product->ops_count; i++) {
        if (product->ops[i]->kind == LEDGER_BUY)
            buys[count++] = product->ops[i];
    }
    ledger_sort(buys, count, LEDGER_BY_USER, LEDGER_BY_NUMBER);
    shelf->refusal = "limit_reached";
    shelf->is_users = true;
    shelf->limit = product->sale->limit;
    shelf->units = shelf->limit ? shelf->limit : INT64_MAX / 2;
    check_users(shelf, buys, count);
}

static size_t check_stock_of(struct shelf *shelf)
{
    const struct view_product *product = shelf->product;
    shelf->refusal = "sold_out";
    shelf->is_users = false;
    shelf->units = product->sale->stock;
    shelf->ops = product->ops;
    shelf->ops_count = product->ops_count;
    shelf->orders = product->orders;
    shelf->orders_count = product->orders_count;
    return check_shelf(shelf);
}

void check_refusals(struct view *view)
{
    size_t room = 2 * (view->rows->orders_count + view->ledger->ops_count) + 1;
    struct shelf shelf = {.view = view,
                          .steps = view_take(view, room, sizeof *shelf.steps),
                          .tree = view_take(view, 2 * room, sizeof *shelf.tree)};
    for (size_t i = 0; i < view->ledger->products_count; i++) {
        const struct view_product *product = shelf.product = &view->products[i];
        view->sold_out += check_stock_of(&shelf);
        /* Where there is no limit, every unit is anybody's. */
        if (!view->people && (product->sale->limit || !product->row->limit))
            check_limits(&shelf);
    }
}
