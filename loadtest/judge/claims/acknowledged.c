/*
 * Buys and their rows, key by key: both lists stand in the order of view_compare_ops, and are
 * walked side by side. A key has one row at most. A buy without one may have as many rows as it
 * was sent; which answer without an order's id belongs to which row nobody can tell, so these are
 * counted. Then cancels against the rows of their orders.
 */
#include "loadtest/judge/claims/claims.h"

#include <inttypes.h>
#include <string.h>

/* The operations and rows of one key, or of what was asked for without one. */
struct key {
    const struct view *view;
    const struct ledger_op *const *ops;
    size_t ops_count;
    struct view_order *const *orders;
    size_t orders_count;
};

/* A refusal is not remembered: an order that was accepted and then failed gives its key up. */
static bool is_as_asked(const struct ledger_op *op, const struct row_order *row)
{
    bool gave_up = row->state == LEDGER_FAILED && !row->key;
    if (row->product != op->product || strcmp(row->user, op->user) != 0 ||
        row->quantity != op->quantity)
        return false;
    return gave_up || ((op->key == NULL) == (row->key == NULL) &&
                       (!op->key || strcmp(op->key, row->key) == 0));
}

/* Somebody was told that this buy is done, or accepted. */
static void check_acknowledged(const struct view *view, const struct ledger_op *op)
{
    const struct view_order *order = view_find_made(view, op);
    const struct row_order *row = order ? order->row : NULL;
    bool is_sale = view_is_sale(op);
    struct finding *finding = NULL;
    if (!row || row->lost || (is_sale && row->state == LEDGER_FAILED))
        finding = findings_add(view->findings, FINDING_ABSENT, op->product, op->quantity,
                               "order %s was acknowledged with %d, and %s",
                               op->order ? op->order : "(no id)", op->status,
                               !row        ? "is not there"
                               : row->lost ? "has been lost"
                                           : "has failed");
    else if (!is_as_asked(op, row))
        finding = findings_add(
            view->findings, FINDING_OTHERWISE, op->product, 0,
            "order %s is of user %s, product %" PRId64 ", %" PRId64 " units, %s key", row->id,
            row->user, row->product, row->quantity, row->key ? "another" : "no");
    else if (row->state == LEDGER_QUEUED)
        finding = findings_add(view->findings, FINDING_UNFINISHED, op->product, op->quantity,
                               "order %s is still queued", row->id);
    if (finding)
        finding_show(finding, op);
}

static bool has_failed(const struct view *view, const char *order)
{
    const struct view_order *found = view_find(view, order);
    return found && found->row->state == LEDGER_FAILED;
}

/* A final no to the goods that were sold under this key before it was sent. */
static bool is_wrong_no(const struct ledger_op *op, const struct ledger_op *sold)
{
    return op->result == LEDGER_FAIL && op->status == 409 && op->start_us > sold->end_us &&
           op->product == sold->product && op->quantity == sold->quantity;
}

/* Between answers to the same key. An order that has failed leaves its key free. */
static void check_repeats(const struct key *key)
{
    const struct view *view = key->view;
    const struct ledger_op *first = NULL; /* of those that were done, the one that ended first */
    for (size_t i = 0; i < key->ops_count; i++) {
        const struct ledger_op *op = key->ops[i];
        if (op->result == LEDGER_OK && op->order && !has_failed(view, op->order) &&
            (!first || op->end_us < first->end_us))
            first = op;
    }
    for (size_t i = 0; first && i < key->ops_count; i++) {
        const struct ledger_op *op = key->ops[i];
        bool other = op->result == LEDGER_OK && op->order && strcmp(op->order, first->order) != 0 &&
                     !has_failed(view, op->order);
        if (!other && !is_wrong_no(op, first))
            continue;
        struct finding *finding = findings_add(view->findings, FINDING_DISAGREE, op->product, 0,
                                               other ? "key %s has two orders, by its answers"
                                                     : "key %s was sold, and a repeat was refused",
                                               op->key);
        finding_show(finding, first);
        finding_show(finding, op);
    }
}

static void count_results(const struct key *key, size_t counts[LEDGER_RESULTS])
{
    memset(counts, 0, LEDGER_RESULTS * sizeof *counts);
    for (size_t i = 0; i < key->ops_count; i++)
        counts[key->ops[i]->result]++;
}

static void show_results(struct finding *finding, const struct key *key, enum ledger_result result)
{
    for (size_t i = 0; i < key->ops_count; i++) {
        if (key->ops[i]->result == result)
            finding_show(finding, key->ops[i]);
    }
}

/* The same key with other goods must not have made anything. */
static void check_goods(const struct key *key, const struct row_order *row)
{
    for (size_t i = 0; i < key->ops_count; i++) {
        if (key->ops[i]->result == LEDGER_OK || is_as_asked(key->ops[i], row))
            return; /* what was acknowledged is checked by itself */
    }
    struct finding *finding =
        findings_add(key->view->findings, FINDING_OTHERWISE, row->product, 0,
                     "order %s is of product %" PRId64 ", %" PRId64 " units, as nobody asked",
                     row->id, row->product, row->quantity);
    for (size_t i = 0; i < key->ops_count; i++)
        finding_show(finding, key->ops[i]);
}

static void check_key(const struct key *key)
{
    const struct view *view = key->view;
    const struct ledger_op *op = key->ops[0];
    size_t counts[LEDGER_RESULTS], taking = 0;
    count_results(key, counts);
    for (size_t i = 0; i < key->orders_count; i++) {
        if (!view_takes(key->orders[i]->row))
            continue;
        taking++;
        check_goods(key, key->orders[i]->row);
    }
    if (taking > 1) {
        struct finding *finding =
            findings_add(view->findings, FINDING_DUPLICATE, op->product,
                         (int64_t)(taking - 1) * key->orders[0]->row->quantity,
                         "user %s, key %s has %zu orders", op->user, op->key, taking);
        for (size_t i = 0; i < key->ops_count; i++)
            finding_show(finding, key->ops[i]);
    }
    if (taking > 0 && counts[LEDGER_OK] == 0 && counts[LEDGER_INFO] == 0) {
        struct finding *finding = findings_add(
            view->findings, FINDING_REFUSED, op->product, key->orders[0]->row->quantity,
            "order %s is there, and its key was refused", key->orders[0]->row->id);
        show_results(finding, key, LEDGER_FAIL);
    }
    check_repeats(key);
}

/* Rows that no answer named, against answers that named none. */
static void check_keyless(const struct key *key)
{
    const struct view *view = key->view;
    const struct ledger_op *op = key->ops[0];
    size_t counts[LEDGER_RESULTS], unnamed = 0;
    count_results(key, counts);
    for (size_t i = 0; i < key->orders_count; i++)
        unnamed += view_takes(key->orders[i]->row) && !key->orders[i]->buy;
    if (unnamed <= counts[LEDGER_INFO])
        return;
    size_t excess = unnamed - counts[LEDGER_INFO];
    size_t refused = excess < counts[LEDGER_FAIL] ? excess : counts[LEDGER_FAIL];
    if (refused > 0) {
        struct finding *finding = findings_add(
            view->findings, FINDING_REFUSED, op->product, (int64_t)refused * op->quantity,
            "user %s was refused, and has %zu orders that no answer named", op->user, refused);
        show_results(finding, key, LEDGER_FAIL);
    }
    if (excess > refused)
        findings_add(view->findings, FINDING_INVENTED, op->product,
                     (int64_t)(excess - refused) * op->quantity,
                     "user %s has %zu orders more than they asked for", op->user, excess - refused);
}

static void check_invented(const struct view *view, const struct row_order *row)
{
    if (view_takes(row))
        findings_add(view->findings, FINDING_INVENTED, row->product, row->quantity,
                     "order %s of user %s (%s%s) was asked for by nobody", row->id, row->user,
                     row->key ? "key " : "no key", row->key ? row->key : "");
}

/* One order must not be the answer to two claims, nor to two buys without a key. */
static void check_shared(const struct view *view)
{
    size_t count = 0;
    const struct ledger_op **named = view->list;
    for (size_t i = 0; i < view->buys_count; i++) {
        if (view->buys[i]->result == LEDGER_OK && view->buys[i]->order)
            named[count++] = view->buys[i];
    }
    ledger_sort(named, count, LEDGER_BY_ORDER, LEDGER_BY_NUMBER);
    for (size_t i = 1; i < count; i++) {
        const struct ledger_op *one = named[i - 1], *two = named[i];
        if (strcmp(one->order, two->order) != 0 || (one->key && view_compare_ops(one, two) == 0))
            continue;
        struct finding *finding =
            findings_add(view->findings, FINDING_DUPLICATE, two->product, two->quantity,
                         "order %s is the answer to two buys", two->order);
        finding_show(finding, one);
        finding_show(finding, two);
    }
}

/* The answer shows another order than it was asked about. */
static void check_named(const struct view *view)
{
    for (size_t i = 0; i < view->ledger->ops_count; i++) {
        const struct ledger_op *op = &view->ledger->ops[i];
        if (op->named)
            finding_show(findings_add(view->findings, FINDING_OTHERWISE, op->product, 0,
                                      "order %s was asked about, and %s shown", op->order,
                                      op->named),
                         op);
    }
}

static void check_keys(const struct view *view)
{
    const size_t rows_count = view->rows->orders_count;
    size_t row = 0;
    for (size_t i = 0; i < view->buys_count;) {
        const struct ledger_op *op = view->buys[i];
        for (; row < rows_count && view_compare_row(op, view->by_claim[row]->row) > 0; row++)
            check_invented(view, view->by_claim[row]->row);
        struct key key = {.view = view, .ops = &view->buys[i], .orders = &view->by_claim[row]};
        for (; i < view->buys_count && view_compare_ops(op, view->buys[i]) == 0; i++) {
            if (view->buys[i]->result == LEDGER_OK)
                check_acknowledged(view, view->buys[i]);
            key.ops_count++;
        }
        for (; row < rows_count && view_compare_row(op, view->by_claim[row]->row) == 0; row++)
            key.orders_count++;
        if (op->key)
            check_key(&key);
        else
            check_keyless(&key);
    }
    for (; row < rows_count; row++)
        check_invented(view, view->by_claim[row]->row);
    check_shared(view);
    check_named(view);
}

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
    ledger_sort(cancels, count, LEDGER_BY_ORDER, LEDGER_BY_NUMBER);
    for (size_t from = 0, to; from < count; from = to) {
        to = ledger_run(cancels, from, count, LEDGER_BY_ORDER);
        check_cancel(view, &cancels[from], to - from);
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

void check_answers(struct view *view)
{
    if (view->people) {
        check_buyers(view);
        return;
    }
    check_keys(view);
    check_cancels(view);
    check_uncalled(view);
}
