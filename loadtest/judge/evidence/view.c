/* See view.h. */
#include "loadtest/judge/evidence/view.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

/* What a claim is: with a key the user and the key, else the user, the product and the quantity,
 * by which nobody can tell two orders apart. Those without a key come first. */
struct claim {
    const char *key, *user;
    int64_t product, quantity;
};

static int compare_claims(const struct claim *a, const struct claim *b)
{
    int by = (a->key != NULL) - (b->key != NULL);
    if (!by)
        by = ledger_compare_texts(a->user, b->user);
    if (!by && a->key && b->key)
        return strcmp(a->key, b->key);
    if (!by)
        by = rows_compare(&a->product, &b->product);
    return by ? by : rows_compare(&a->quantity, &b->quantity);
}

static struct claim claim_of(const struct ledger_op *op)
{
    return (struct claim){op->key, op->user, op->product, op->quantity};
}

static struct claim claim_of_row(const struct row_order *row)
{
    return (struct claim){row->key, row->user, row->product, row->quantity};
}

int view_compare_ops(const struct ledger_op *a, const struct ledger_op *b)
{
    struct claim left = claim_of(a), right = claim_of(b);
    return compare_claims(&left, &right);
}

int view_compare_row(const struct ledger_op *op, const struct row_order *row)
{
    struct claim left = claim_of(op), right = claim_of_row(row);
    return compare_claims(&left, &right);
}

bool view_is_code(const struct ledger_op *op, const char *code)
{
    return strcmp(op->code, code) == 0;
}

static int ops_by_claim(const void *a, const void *b)
{
    const struct ledger_op *left = *(const struct ledger_op *const *)a;
    const struct ledger_op *right = *(const struct ledger_op *const *)b;
    int by = view_compare_ops(left, right);
    if (!by)
        by = rows_compare(&left->start_us, &right->start_us);
    return by ? by : rows_compare(&left->number, &right->number);
}

static int orders_by_claim(const void *a, const void *b)
{
    const struct row_order *left = (*(const struct view_order *const *)a)->row;
    const struct row_order *right = (*(const struct view_order *const *)b)->row;
    struct claim one = claim_of_row(left), two = claim_of_row(right);
    int by = compare_claims(&one, &two);
    return by ? by : ledger_compare_texts(left->id, right->id);
}

static int orders_by_user(const void *a, const void *b)
{
    const struct view_order *left = *(const struct view_order *const *)a;
    const struct view_order *right = *(const struct view_order *const *)b;
    int by = rows_compare(&left->row->product, &right->row->product);
    if (!by)
        by = ledger_compare_texts(left->row->user, right->row->user);
    return by ? by : ledger_compare_texts(left->row->id, right->row->id);
}

static int orders_by_id(const void *a, const void *b)
{
    const struct view_order *left = *(const struct view_order *const *)a;
    const struct view_order *right = *(const struct view_order *const *)b;
    return strcmp(left->row->id, right->row->id);
}

static int is_order(const void *id, const void *item)
{
    return strcmp(id, (*(const struct view_order *const *)item)->row->id);
}

struct view_order *view_find(const struct view *view, const char *order)
{
    struct view_order **found =
        order ? bsearch(order, view->by_id, view->ids_count, sizeof(void *), is_order) : NULL;
    return found ? *found : NULL;
}

bool view_is_sale(const struct ledger_op *op)
{
    return op->kind == LEDGER_BUY && op->result == LEDGER_OK &&
           (view_is_taken(op->state) || (op->state == LEDGER_STATE_NONE && op->status != 202));
}

int64_t view_hold_over_us(const struct view_order *order)
{
    enum { SLACK_US = 10000 };
    int64_t hold_us = order->hold_s * CLOCK_US_PER_S;
    int64_t least_us = hold_us - hold_us / 100 - SLACK_US;
    return order->buy_start_us + (least_us > 0 ? least_us : 0);
}

int64_t view_expired_sure_us(const struct view_order *order)
{
    return order->accepted ? LEDGER_NEVER : order->expired_seen_us;
}

bool view_may_become(enum ledger_state from, enum ledger_state to)
{
    if (from == LEDGER_STATE_NONE || from == LEDGER_QUEUED)
        return true;
    if (from == LEDGER_PENDING)
        return view_is_taken(to);
    return from == to || (from == LEDGER_CONFIRMED && to == LEDGER_CANCELLED);
}

static void take_buy(struct view_order *order, const struct ledger_op *op)
{
    bool is_sale = view_is_sale(op);
    if (!order->buy || op->start_us < order->buy_start_us) {
        order->buy = op;
        order->buy_start_us = op->start_us;
        order->accepted = op->result == LEDGER_OK && !is_sale;
    }
    if (is_sale && op->end_us < order->buy_sure_us)
        order->buy_sure_us = op->end_us;
    if (op->result != LEDGER_FAIL && op->hold_s < order->hold_s)
        order->hold_s = op->hold_s;
}

/* A reader that sees an order as sold proves the sale as its buyer's answer does. */
static void take_read(struct view_order *order, const struct ledger_op *op)
{
    if (view_is_taken(op->state) && op->end_us < order->buy_sure_us)
        order->buy_sure_us = op->end_us;
}

/* What any answer showed of its payment and its hold. */
static void take_state(struct view_order *order, const struct ledger_op *op)
{
    bool too_late = op->kind == LEDGER_PAY && view_is_code(op, "expired");
    bool is_back = order->told && op->state != order->told->state &&
                   view_may_become(op->state, order->told->state);
    if ((op->kind == LEDGER_READ || op->kind == LEDGER_PAY) && op->state && !is_back)
        order->told = op;
    order->held = order->held || op->state == LEDGER_PENDING;
    if (op->state == LEDGER_CONFIRMED && !order->paid)
        order->paid = op;
    if ((too_late || op->state == LEDGER_EXPIRED) &&
        (!order->expired || op->end_us < order->expired->end_us))
        order->expired = op;
    if (op->state == LEDGER_EXPIRED && op->end_us < order->expired_seen_us)
        order->expired_seen_us = op->end_us;
}

static void take_pay(struct view_order *order, const struct ledger_op *op)
{
    if (op->result == LEDGER_FAIL)
        order->pay_failed = op;
    if (op->result == LEDGER_OK && !order->paid)
        order->paid = op;
    order->pay_done = order->pay_done || op->result == LEDGER_OK;
    order->pay_unknown = order->pay_unknown || op->result == LEDGER_INFO;
    take_read(order, op);
}

static void take_cancel(struct view_order *order, const struct ledger_op *op)
{
    if (op->result != LEDGER_FAIL && !order->cancel)
        order->cancel = op;
    order->cancel_refused = order->cancel_refused || op->result == LEDGER_FAIL;
    if (op->result == LEDGER_OK && op->end_us < order->cancel_sure_us)
        order->cancel_sure_us = op->end_us;
}

static int is_claim(const void *op, const void *item)
{
    return view_compare_row(op, (*(const struct view_order *const *)item)->row);
}

static struct view_order *find_by_key(const struct view *view, const struct ledger_op *op)
{
    if (!op->key || op->result == LEDGER_FAIL)
        return NULL;
    struct view_order **found =
        bsearch(op, view->by_claim, view->rows->orders_count, sizeof(void *), is_claim);
    return found ? *found : NULL;
}

static struct view_order *find_by_user(const struct view *view, const struct ledger_op *op)
{
    const struct person *person = people_find(view->people, people_name(op));
    return op->result == LEDGER_OK && person->rows == 1
               ? &view->orders[person->row - view->rows->orders]
               : NULL;
}

struct view_order *view_find_made(const struct view *view, const struct ledger_op *op)
{
    struct view_order *named = view_find(view, op->order);
    if (named || (op->order && !view->people))
        return named;
    return view->people ? find_by_user(view, op) : find_by_key(view, op);
}

static void join(struct view *view)
{
    for (size_t i = 0; i < view->ledger->ops_count; i++) {
        const struct ledger_op *op = &view->ledger->ops[i];
        struct view_order *order =
            op->kind == LEDGER_BUY ? view_find_made(view, op) : view_find(view, op->order);
        if (!order || op->named || op->unasked)
            continue;
        if (op->kind == LEDGER_BUY)
            take_buy(order, op);
        else if (op->kind == LEDGER_CANCEL)
            take_cancel(order, op);
        else if (op->kind == LEDGER_READ)
            take_read(order, op);
        else if (op->kind == LEDGER_PAY)
            take_pay(order, op);
        take_state(order, op);
    }
    for (size_t i = 0; i < view->rows->orders_count; i++) {
        if (view->orders[i].hold_s == INT64_MAX)
            view->orders[i].hold_s = 0;
    }
}

static void list_ops(struct view *view)
{
    for (size_t i = 0; i < view->ledger->ops_count; i++) {
        const struct ledger_op *op = &view->ledger->ops[i];
        if (op->unasked)
            continue;
        view->times[view->times_count++] = op;
        if (op->kind == LEDGER_BUY)
            view->buys[view->buys_count++] = op;
    }
    qsort(view->buys, view->buys_count, sizeof(void *), ops_by_claim);
    ledger_sort(view->times, view->times_count, LEDGER_BY_PRODUCT, LEDGER_BY_START);
}

static void list_orders(struct view *view)
{
    size_t count = view->rows->orders_count;
    for (size_t i = 0; i < count; i++) {
        view->by_claim[i] = view->by_user[i] = &view->orders[i];
        view->orders[i] = (struct view_order){.row = &view->rows->orders[i],
                                              .buy_sure_us = LEDGER_NEVER,
                                              .cancel_sure_us = LEDGER_NEVER,
                                              .hold_s = INT64_MAX,
                                              .expired_seen_us = LEDGER_NEVER};
        if (view->orders[i].row->id)
            view->by_id[view->ids_count++] = &view->orders[i];
    }
    qsort(view->by_claim, count, sizeof(void *), orders_by_claim);
    qsort(view->by_user, count, sizeof(void *), orders_by_user);
    qsort(view->by_id, view->ids_count, sizeof(void *), orders_by_id);
}

/* Operations and orders stand in the order of their products, as these do. */
static void list_products(struct view *view)
{
    size_t op = 0, order = 0;
    for (size_t i = 0; i < view->ledger->products_count; i++) {
        struct view_product *product = &view->products[i];
        int64_t id = view->ledger->products[i].id;
        while (op < view->times_count && view->times[op]->product < id)
            op++;
        while (order < view->rows->orders_count && view->by_user[order]->row->product < id)
            order++;
        *product = (struct view_product){.sale = &view->ledger->products[i],
                                         .row = rows_find_product(view->rows, id),
                                         .ops = &view->times[op],
                                         .orders = &view->by_user[order]};
        for (; op < view->times_count && view->times[op]->product == id; op++)
            product->ops_count++;
        for (; order < view->rows->orders_count && view->by_user[order]->row->product == id;
             order++)
            product->orders_count++;
    }
}

void *view_take(struct view *view, size_t count, size_t item_bytes)
{
    return pool_take(&view->pool, (count + 1) * item_bytes);
}

void view_init(struct view *view)
{
    size_t ops = view->ledger->ops_count, orders = view->rows->orders_count;
    view->buys = view_take(view, ops, sizeof(void *));
    view->times = view_take(view, ops, sizeof(void *));
    view->list = view_take(view, 2 * ops, sizeof(void *));
    view->by_claim = view_take(view, orders, sizeof(void *));
    view->orders = view_take(view, orders, sizeof *view->orders);
    view->by_user = view_take(view, orders, sizeof(void *));
    view->by_id = view_take(view, orders, sizeof(void *));
    view->products = view_take(view, view->ledger->products_count, sizeof *view->products);
    if (view->ledger->shop)
        people_make(view);
    list_ops(view);
    list_orders(view);
    join(view);
    list_products(view);
}

void view_fini(struct view *view)
{
    pool_fini(&view->pool);
    *view = (struct view){0};
}
