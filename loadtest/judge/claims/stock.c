/*
 * Units: the books of each product by its rows (A1, A3, A9), its restocks by both (A4, A5), and, in
 * the order of what clients were told, whether more was surely sold at a moment than can have been
 * there (A3 at every prefix): units count as sold from the first answer that said so, as returned
 * from the moment when somebody asked for it or their hold may have ended, and as restocked from
 * the moment when that was sent. What waits to be paid is taken as what is sold is.
 */
#include "loadtest/judge/claims/claims.h"

#include <inttypes.h>
#include <stdlib.h>

/* Of one product. */
struct units {
    int64_t restocked, there;  /* by the books; with those of the beginning */
    int64_t taken;             /* by what is sold, and what waits to be paid */
    int64_t refilled, perhaps; /* restocks by their answers: done; of an unknown end */
    size_t orders;
};

static struct units count_units(const struct view_product *product)
{
    struct units units = {.restocked = product->row ? product->row->restocked : 0};
    units.there = product->sale->stock + units.restocked;
    for (size_t i = 0; i < product->orders_count; i++) {
        if (!view_keeps(product->orders[i]->row))
            continue;
        units.taken += product->orders[i]->row->quantity;
        units.orders++;
    }
    for (size_t i = 0; i < product->ops_count; i++) {
        const struct ledger_op *op = product->ops[i];
        if (op->kind == LEDGER_RESTOCK && op->result != LEDGER_FAIL)
            *(op->result == LEDGER_OK ? &units.refilled : &units.perhaps) += op->quantity;
    }
    return units;
}

/* What changes the number of units: at this moment at the latest (sold) or at the earliest. */
struct change {
    int64_t at_us, units;
    const struct ledger_op *op;
};

static int by_time(const void *a, const void *b)
{
    const struct change *left = a, *right = b;
    if (left->at_us != right->at_us)
        return left->at_us < right->at_us ? -1 : 1;
    return (left->units < right->units) - (left->units > right->units); /* what comes in, first */
}

static size_t list_changes(const struct view_product *product, struct change *out)
{
    const struct ledger_op *const *ops = product->ops;
    size_t count = 0;
    for (size_t i = 0; i < product->orders_count; i++) {
        const struct view_order *order = product->orders[i];
        if (order->buy_sure_us == LEDGER_NEVER || !view_takes(order->row))
            continue;
        out[count++] = (struct change){order->buy_sure_us, -order->row->quantity, order->buy};
        if (order->row->state == LEDGER_EXPIRED)
            out[count++] =
                (struct change){view_hold_over_us(order), order->row->quantity, order->buy};
        else if (order->cancel)
            out[count++] =
                (struct change){order->cancel->start_us, order->row->quantity, order->cancel};
    }
    for (size_t i = 0; i < product->ops_count; i++) {
        if (ops[i]->kind == LEDGER_RESTOCK && ops[i]->result != LEDGER_FAIL)
            out[count++] = (struct change){ops[i]->start_us, ops[i]->quantity, ops[i]};
    }
    if (count > 1)
        qsort(out, count, sizeof *out, by_time);
    return count;
}

/* The deepest that it went below nothing, 0 for never; *crossed is how many changes it took to get
 * there for the first time. */
static int64_t find_deficit(const struct change *changes, size_t count, int64_t stock,
                            size_t *crossed)
{
    int64_t left = stock, deepest = 0;
    for (size_t i = 0; i < count; i++) {
        left += changes[i].units;
        if (left < 0 && deepest == 0)
            *crossed = i + 1;
        deepest = left < deepest ? left : deepest;
    }
    return -deepest;
}

/* The sale that was one too many first, then those before it. */
static void show_sales(struct finding *finding, const struct change *changes, size_t count)
{
    while (count-- > 0) {
        if (changes[count].units < 0)
            finding_show(finding, changes[count].op);
    }
}

/* The first order for which there was no unit, as the books list them. */
static const struct row_order *first_beyond(const struct view *view, int64_t product, int64_t units)
{
    const struct row_order *row = view->rows->orders;
    for (;; row++) {
        units -= row->product == product && view_keeps(row) ? row->quantity : 0;
        if (units < 0)
            return row;
    }
}

static struct finding *tell_oversold(const struct view *view, const struct view_product *product,
                                     const struct units *units, int64_t meanwhile)
{
    int64_t beyond = units->taken - units->there;
    const struct row_order *row = first_beyond(view, product->sale->id, units->there);
    return findings_add(view->findings, FINDING_OVERSOLD, product->sale->id,
                        beyond > meanwhile ? beyond : meanwhile,
                        "%" PRId64 " units in %zu orders, %" PRId64 " were on sale: %" PRId64
                        " too many, the first of them order %.80s of user %.80s",
                        units->taken, units->orders, units->there, beyond, view_id(row),
                        row->user ? row->user : "(not named)");
}

static void check_oversold(const struct view *view, const struct view_product *product,
                           const struct units *units, struct change *changes)
{
    int64_t stock = product->sale->stock;
    size_t count = list_changes(product, changes), crossed = count;
    int64_t meanwhile = find_deficit(changes, count, stock, &crossed);
    struct finding *finding;
    if (meanwhile <= 0 && units->taken <= units->there)
        return;
    if (units->taken > units->there)
        finding = tell_oversold(view, product, units, meanwhile);
    else
        finding = findings_add(view->findings, FINDING_OVERSOLD, product->sale->id, meanwhile,
                               "by the answers %" PRId64 " units too many were sold for a while, "
                               "of %" PRId64 " and %" PRId64 " restocked",
                               meanwhile, stock, units->restocked);
    show_sales(finding, changes, crossed);
}

static void check_books(const struct view *view, const struct view_product *product,
                        const struct units *units)
{
    if (!product->row || !view->rows->has_orders)
        return;
    int64_t left = product->row->stock, all = left + units->taken, excess = all - units->there;
    if (excess != 0)
        findings_add(view->findings, FINDING_CONSERVATION, product->sale->id, excess,
                     "%" PRId64 " left and %" PRId64 " in orders are %" PRId64 ", %" PRId64
                     " were there: %" PRId64 " units %s",
                     left, units->taken, all, units->there, (int64_t)llabs(excess),
                     excess > 0 ? "were sold that the stock never lost"
                                : "are gone that nobody bought");
}

/* Where that is all that shows it. */
static void check_below_nothing(const struct view *view, const struct view_product *product,
                                const struct units *units)
{
    if (product->row && product->row->stock < 0 && units->taken <= units->there)
        findings_add(view->findings, FINDING_OVERSOLD, product->sale->id, -product->row->stock,
                     "%" PRId64 " are left", product->row->stock);
}

/* One user's orders of a product. */
static void judge_user(const struct view *view, struct view_order *const *orders, size_t count,
                       int64_t limit)
{
    int64_t units = 0;
    for (size_t i = 0; i < count; i++)
        units += view_keeps(orders[i]->row) ? orders[i]->row->quantity : 0;
    if (units <= limit || !orders[0]->row->user)
        return;
    struct finding *finding = findings_add(
        view->findings, FINDING_LIMIT, orders[0]->row->product, units - limit,
        "user %.80s has %" PRId64 " units, of %" PRId64 " at the most: orders %.80s%s%.80s",
        orders[0]->row->user, units, limit, view_id(orders[0]->row), count > 1 ? " and " : "",
        count > 1 ? view_id(orders[1]->row) : "");
    for (size_t i = 0; i < count; i++) {
        if (view_keeps(orders[i]->row))
            finding_show(finding, orders[i]->buy);
    }
}

static void check_limit(const struct view *view, const struct view_product *product)
{
    const struct row_product *row = product->row;
    int64_t limit = product->sale->limit || !row ? product->sale->limit : row->limit;
    struct view_order *const *orders = product->orders;
    size_t count = product->orders_count;
    for (size_t i = 0, from = 0; limit > 0 && i < count; i++) {
        if (i + 1 < count &&
            ledger_compare_texts(orders[i + 1]->row->user, orders[from]->row->user) == 0)
            continue;
        judge_user(view, &orders[from], i + 1 - from, limit);
        from = i + 1;
    }
}

/* A restock's answer names no row, so they are summed up a product. */
static void check_restocks(const struct view *view, int64_t product, const struct units *units)
{
    int64_t most = units->refilled + units->perhaps;
    if (units->restocked < units->refilled)
        findings_add(view->findings, FINDING_ABSENT, product, units->refilled - units->restocked,
                     "%" PRId64 " units were acknowledged as restocked, and %" PRId64 " are there",
                     units->refilled, units->restocked);
    else if (units->restocked > most)
        findings_add(view->findings, FINDING_INVENTED, product, units->restocked - most,
                     "%" PRId64 " units were restocked, and %" PRId64 " asked for at the most",
                     units->restocked, most);
}

void check_stock(struct view *view)
{
    const struct ledger *ledger = view->ledger;
    struct change *changes =
        view_take(view, 2 * view->rows->orders_count + ledger->ops_count, sizeof *changes);
    for (size_t i = 0; i < ledger->products_count; i++) {
        const struct view_product *product = &view->products[i];
        const struct units units = count_units(product);
        check_restocks(view, product->sale->id, &units);
        check_oversold(view, product, &units, changes);
        check_books(view, product, &units);
        check_below_nothing(view, product, &units);
        check_limit(view, product);
    }
}
