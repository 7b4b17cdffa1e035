/*
 * Units: the books of each product by its rows (A1, A3, A9), and, in the order of what clients were
 * told, whether more was surely sold at a moment than can have been there (A3 at every prefix):
 * units count as sold from the first answer that said so, as returned from the moment when somebody
 * asked for it or their hold may have ended, and as restocked from the moment when that was sent.
 * What waits to be paid is taken as what is sold is.
 */
#include "loadtest/check/checks.h"

#include <inttypes.h>
#include <stdlib.h>

struct books_of {
    int64_t restocked, sold, held;
};

static int64_t count_taken(const struct books_of *books)
{
    return books->sold + books->held;
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

static size_t list_changes(const struct view *view, int64_t product, struct change *out)
{
    size_t count = 0, orders_count, ops_count;
    struct view_order *const *orders = view_orders_of(view, product, &orders_count);
    const struct ledger_op *const *ops = view_of_product(view, product, &ops_count);
    for (size_t i = 0; i < orders_count; i++) {
        const struct view_order *order = orders[i];
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
    for (size_t i = 0; i < ops_count; i++) {
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

static void check_oversold(const struct view *view, const struct ledger_product *product,
                           const struct books_of *books, struct change *changes)
{
    size_t count = list_changes(view, product->id, changes), crossed = count;
    int64_t meanwhile = find_deficit(changes, count, product->stock, &crossed);
    int64_t at_last = count_taken(books) - product->stock - books->restocked;
    if (meanwhile <= 0 && at_last <= 0)
        return;
    struct finding *finding = findings_add(
        view->findings, FINDING_OVERSOLD, product->id, at_last > meanwhile ? at_last : meanwhile,
        "%" PRId64 " units are sold or held, of %" PRId64 " and %" PRId64
        " restocked; by the answers it was %" PRId64 " too many at the worst",
        count_taken(books), product->stock, books->restocked, meanwhile);
    show_sales(finding, changes, crossed);
}

static void check_books(const struct view *view, const struct ledger_product *product,
                        const struct books_of *books)
{
    const struct row_product *row = rows_find_product(view->rows, product->id);
    int64_t left = product->stock + books->restocked - count_taken(books);
    if (row && row->stock != left)
        findings_add(view->findings, FINDING_CONSERVATION, product->id, llabs(row->stock - left),
                     "%" PRId64 " units are left by the row, and %" PRId64 " initial + %" PRId64
                     " restocked - %" PRId64 " sold - %" PRId64 " held is %" PRId64,
                     row->stock, product->stock, books->restocked, books->sold, books->held, left);
}

/* One user's orders of a product. */
static void judge_user(const struct view *view, struct view_order *const *orders, size_t count,
                       int64_t limit)
{
    int64_t units = 0;
    for (size_t i = 0; i < count; i++)
        units += view_keeps(orders[i]->row) ? orders[i]->row->quantity : 0;
    if (units <= limit)
        return;
    struct finding *finding =
        findings_add(view->findings, FINDING_LIMIT, orders[0]->row->product, units - limit,
                     "user %" PRId64 " has %" PRId64 " units, of %" PRId64 " at the most",
                     orders[0]->row->user, units, limit);
    for (size_t i = 0; i < count; i++) {
        if (view_keeps(orders[i]->row))
            finding_show(finding, orders[i]->buy);
    }
}

static void check_limit(const struct view *view, const struct ledger_product *product)
{
    const struct row_product *row = rows_find_product(view->rows, product->id);
    int64_t limit = product->limit || !row ? product->limit : row->limit;
    size_t count;
    struct view_order *const *orders = view_orders_of(view, product->id, &count);
    for (size_t i = 0, from = 0; limit > 0 && i < count; i++) {
        if (i + 1 < count && orders[i + 1]->row->user == orders[from]->row->user)
            continue;
        judge_user(view, &orders[from], i + 1 - from, limit);
        from = i + 1;
    }
}

static void add_up(const struct view *view, struct books_of *books)
{
    for (size_t i = 0; i < view->rows->restocks_count; i++) {
        const struct row_restock *restock = &view->rows->restocks[i];
        const struct ledger_product *product = ledger_find_product(view->ledger, restock->product);
        if (product)
            books[product - view->ledger->products].restocked += restock->quantity;
    }
    for (size_t i = 0; i < view->rows->orders_count; i++) {
        const struct row_order *row = &view->rows->orders[i];
        const struct ledger_product *product = ledger_find_product(view->ledger, row->product);
        if (product && row->state == LEDGER_CONFIRMED)
            books[product - view->ledger->products].sold += row->quantity;
        else if (product && row->state == LEDGER_PENDING)
            books[product - view->ledger->products].held += row->quantity;
    }
}

void check_stock(const struct view *view)
{
    const struct ledger *ledger = view->ledger;
    struct books_of *books = calloc(ledger->products_count + 1, sizeof *books);
    struct change *changes =
        calloc(2 * view->rows->orders_count + ledger->ops_count + 1, sizeof *changes);
    if (books && changes) {
        add_up(view, books);
        for (size_t i = 0; i < ledger->products_count; i++) {
            check_oversold(view, &ledger->products[i], &books[i], changes);
            check_books(view, &ledger->products[i], &books[i]);
            check_limit(view, &ledger->products[i]);
        }
    } else {
        view->findings->no_memory = true;
    }
    free(books);
    free(changes);
}
