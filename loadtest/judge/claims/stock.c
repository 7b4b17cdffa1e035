/*
 * Units: the books of each product by its rows (A1, A3, A9), its restocks by both (A4, A5), and, in
 * the order of what clients were told, whether more was surely sold at a moment than can have been
 * there (A3 at every prefix): units count as sold from the first answer that said so, as returned
 * from the moment when somebody asked for it or their hold may have ended, and as restocked from
 * the moment when that was sent. What waits to be paid is taken as what is sold is.
 */
#include "loadtest/judge/claims/checks.h"

#include <inttypes.h>
#include <stdlib.h>

struct books_of {
    int64_t restocked, sold, held;
    int64_t refilled, perhaps; /* restocks by their answers: done; of an unknown end */
    size_t orders;
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

static struct finding *tell_oversold(const struct view *view, const struct ledger_product *product,
                                     const struct books_of *books, int64_t meanwhile)
{
    int64_t there = product->stock + books->restocked, beyond = count_taken(books) - there;
    const struct row_order *row = first_beyond(view, product->id, there);
    return findings_add(view->findings, FINDING_OVERSOLD, product->id,
                        beyond > meanwhile ? beyond : meanwhile,
                        "%" PRId64 " units in %zu orders, %" PRId64 " were on sale: %" PRId64
                        " too many, the first of them order %.80s of user %.80s",
                        count_taken(books), books->orders, there, beyond,
                        row->id ? row->id : "(no id)", row->user ? row->user : "(not named)");
}

static void check_oversold(const struct view *view, const struct ledger_product *product,
                           const struct books_of *books, struct change *changes)
{
    size_t count = list_changes(view, product->id, changes), crossed = count;
    int64_t meanwhile = find_deficit(changes, count, product->stock, &crossed);
    int64_t at_last = count_taken(books) - product->stock - books->restocked;
    struct finding *finding;
    if (meanwhile <= 0 && at_last <= 0)
        return;
    if (at_last > 0)
        finding = tell_oversold(view, product, books, meanwhile);
    else
        finding = findings_add(view->findings, FINDING_OVERSOLD, product->id, meanwhile,
                               "by the answers %" PRId64 " units too many were sold for a while, "
                               "of %" PRId64 " and %" PRId64 " restocked",
                               meanwhile, product->stock, books->restocked);
    show_sales(finding, changes, crossed);
}

static void check_books(const struct view *view, const struct ledger_product *product,
                        const struct books_of *books)
{
    const struct row_product *row = rows_find_product(view->rows, product->id);
    int64_t there = product->stock + books->restocked;
    if (!row || !view->rows->has_orders || row->stock + count_taken(books) == there)
        return;
    int64_t excess = row->stock + count_taken(books) - there;
    findings_add(view->findings, FINDING_CONSERVATION, product->id, excess,
                 "%" PRId64 " left and %" PRId64 " in orders are %" PRId64 ", %" PRId64
                 " were there: %" PRId64 " units %s",
                 row->stock, count_taken(books), row->stock + count_taken(books), there,
                 (int64_t)llabs(excess),
                 excess > 0 ? "were sold that the stock never lost"
                            : "are gone that nobody bought");
}

/* Where that is all that shows it. */
static void check_below_nothing(const struct view *view, const struct ledger_product *product,
                                const struct books_of *books)
{
    const struct row_product *row = rows_find_product(view->rows, product->id);
    if (row && row->stock < 0 && count_taken(books) <= product->stock + books->restocked)
        findings_add(view->findings, FINDING_OVERSOLD, product->id, -row->stock,
                     "%" PRId64 " are left", row->stock);
}

static const char *name_of(const struct view_order *order)
{
    return order->row->id ? order->row->id : "(no id)";
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
        orders[0]->row->user, units, limit, name_of(orders[0]), count > 1 ? " and " : "",
        count > 1 ? name_of(orders[1]) : "");
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
        if (i + 1 < count &&
            view_compare_texts(orders[i + 1]->row->user, orders[from]->row->user) == 0)
            continue;
        judge_user(view, &orders[from], i + 1 - from, limit);
        from = i + 1;
    }
}

/* A restock's answer names no row, so they are summed up a product. */
static void check_restocks(const struct view *view, int64_t product, const struct books_of *books)
{
    int64_t most = books->refilled + books->perhaps;
    if (books->restocked < books->refilled)
        findings_add(view->findings, FINDING_ABSENT, product, books->refilled - books->restocked,
                     "%" PRId64 " units were acknowledged as restocked, and %" PRId64 " are there",
                     books->refilled, books->restocked);
    else if (books->restocked > most)
        findings_add(view->findings, FINDING_INVENTED, product, books->restocked - most,
                     "%" PRId64 " units were restocked, and %" PRId64 " asked for at the most",
                     books->restocked, most);
}

static void add_op(const struct view *view, struct books_of *books, const struct ledger_op *op)
{
    const struct ledger_product *product = ledger_find_product(view->ledger, op->product);
    if (op->kind != LEDGER_RESTOCK || op->result == LEDGER_FAIL || !product)
        return;
    struct books_of *of = &books[product - view->ledger->products];
    *(op->result == LEDGER_OK ? &of->refilled : &of->perhaps) += op->quantity;
}

static void add_up(const struct view *view, struct books_of *books)
{
    for (size_t i = 0; i < view->ledger->ops_count; i++)
        add_op(view, books, &view->ledger->ops[i]);
    for (size_t i = 0; i < view->rows->restocks_count; i++) {
        const struct row_restock *restock = &view->rows->restocks[i];
        const struct ledger_product *product = ledger_find_product(view->ledger, restock->product);
        if (product)
            books[product - view->ledger->products].restocked += restock->quantity;
    }
    for (size_t i = 0; i < view->rows->orders_count; i++) {
        const struct row_order *row = &view->rows->orders[i];
        const struct ledger_product *product = ledger_find_product(view->ledger, row->product);
        if (!product || !view_keeps(row))
            continue;
        struct books_of *of = &books[product - view->ledger->products];
        *(row->state == LEDGER_PENDING ? &of->held : &of->sold) += row->quantity;
        of->orders++;
    }
}

void check_stock(struct view *view)
{
    const struct ledger *ledger = view->ledger;
    struct books_of *books = calloc(ledger->products_count + 1, sizeof *books);
    struct change *changes =
        calloc(2 * view->rows->orders_count + ledger->ops_count + 1, sizeof *changes);
    if (books && changes) {
        add_up(view, books);
        for (size_t i = 0; i < ledger->products_count; i++) {
            check_restocks(view, ledger->products[i].id, &books[i]);
            check_oversold(view, &ledger->products[i], &books[i], changes);
            check_books(view, &ledger->products[i], &books[i]);
            check_below_nothing(view, &ledger->products[i], &books[i]);
            check_limit(view, &ledger->products[i]);
        }
    } else {
        view->findings->no_memory = true;
    }
    free(books);
    free(changes);
}
