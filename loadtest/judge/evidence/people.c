/* See view.h. */
#include "loadtest/judge/evidence/view.h"

#include <stdlib.h>
#include <string.h>

const char *people_name(const struct ledger_op *op)
{
    return op->user ? op->user : "";
}

static int compare_people(const void *a, const void *b)
{
    return strcmp(((const struct person *)a)->user, ((const struct person *)b)->user);
}

/* Everybody once. */
static void name_everybody(struct people *out, const struct ledger *ledger)
{
    size_t named = 0, kept = 0;
    for (size_t i = 0; i < ledger->ops_count; i++)
        out->items[named++].user = people_name(&ledger->ops[i]);
    for (size_t i = 0; i < ledger->books.orders_count; i++) {
        if (ledger->books.orders[i].user)
            out->items[named++].user = ledger->books.orders[i].user;
    }
    qsort(out->items, named, sizeof *out->items, compare_people);
    for (size_t i = 0; i < named; i++) {
        if (i == 0 || compare_people(&out->items[kept - 1], &out->items[i]) != 0)
            out->items[kept++].user = out->items[i].user;
    }
    out->count = kept;
}

static void count_op(struct people *out, const struct ledger_op *op)
{
    struct person *person = people_find(out, people_name(op));
    bool is_no = op->last == SHOP_SOLD_OUT || op->last == SHOP_REFUSED;
    person->heard += !op->unasked || is_no;
    person->noes += is_no;
    person->asked += !op->unasked;
    person->keys += !op->unasked && !op->repeat;
    person->sold += op->last == SHOP_SOLD;
    out->sold += op->last == SHOP_SOLD;
    out->sold_out += op->last == SHOP_SOLD_OUT;
    out->repeats += !op->unasked && op->repeat;
    if (op->last == SHOP_SOLD_OUT && !out->first_sold_out)
        out->first_sold_out = op;
    if (op->last == SHOP_SOLD_OUT && op->end_us < out->first_sold_out_us)
        out->first_sold_out_us = op->end_us;
}

/* A repeat of a key that was sold is told so again: that is no second one. */
static void fill_up(struct people *out, const struct ledger *ledger, const struct ledger_op **sold)
{
    size_t count = 0;
    int64_t limit = ledger->products[0].limit;
    for (size_t i = 0; i < ledger->ops_count; i++) {
        const struct ledger_op *op = &ledger->ops[i];
        if (op->last == SHOP_SOLD && !(op->repeat && op->key))
            sold[count++] = op;
    }
    ledger_sort(sold, count, LEDGER_BY_END, LEDGER_BY_NUMBER);
    for (size_t i = 0; i < count; i++) {
        struct person *person = people_find(out, people_name(sold[i]));
        if (++person->bought == limit)
            person->full_us = sold[i]->end_us;
    }
}

/* How many bought as far as buyers know: by ids where each answer has one, else by users, so that
 * it is never more than there were. */
static void count_told(struct people *out, const struct ledger *ledger,
                       const struct ledger_op **told)
{
    size_t users = 0;
    for (size_t i = 0; i < ledger->ops_count; i++) {
        if (ledger->ops[i].last == SHOP_SOLD && ledger->ops[i].order)
            told[out->with_ids++] = &ledger->ops[i];
    }
    ledger_sort(told, out->with_ids, LEDGER_BY_ORDER, LEDGER_BY_NUMBER);
    for (size_t i = 0; i < out->with_ids; i = ledger_run(told, i, out->with_ids, LEDGER_BY_ORDER))
        out->told_ids++;
    for (size_t i = 0; i < out->count; i++)
        users += out->items[i].sold > 0;
    out->told_orders = out->with_ids == out->sold ? out->told_ids : users;
}

static void count_row(struct people *out, const struct row_order *row)
{
    out->units += row->quantity;
    out->rows_have_ids = out->rows_have_ids && row->id;
    out->rows_have_users = out->rows_have_users && row->user;
    if (!row->user)
        return;
    struct person *person = people_find(out, row->user);
    person->rows++;
    if (!person->row)
        person->row = row;
    else if (!person->second)
        person->second = row;
}

void people_make(struct view *view)
{
    const struct ledger *ledger = view->ledger;
    const struct rows *books = view->rows;
    struct people *out = view->people = pool_take(&view->pool, sizeof *out);
    *out = (struct people){
        .items = pool_take(&view->pool,
                           (ledger->ops_count + books->orders_count + 1) * sizeof *out->items),
        .rows_have_ids = books->has_orders,
        .rows_have_users = books->has_orders,
        .first_sold_out_us = LEDGER_NEVER};
    name_everybody(out, ledger);
    for (size_t i = 0; i < ledger->ops_count; i++)
        count_op(out, &ledger->ops[i]);
    for (size_t i = 0; i < books->orders_count; i++)
        count_row(out, &books->orders[i]);
    fill_up(out, ledger, view->list);
    count_told(out, ledger, view->list);
}

struct person *people_find(const struct people *people, const char *user)
{
    const struct person wanted = {.user = user};
    return bsearch(&wanted, people->items, people->count, sizeof *people->items, compare_people);
}
