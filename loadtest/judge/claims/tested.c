/* See checks.h. */
#include "loadtest/judge/claims/checks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 3, 4))) static void
say(struct claim_finding *out, enum claim_result result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out->text, sizeof out->text, format, arguments);
    va_end(arguments);
    out->result = result;
}

#define unchecked(out, ...) say(out, CLAIM_NOT_CHECKED, __VA_ARGS__)
#define kept(out, ...)      say(out, CLAIM_KEPT, __VA_ARGS__)

static int64_t stock_of(const struct view *view)
{
    return view->ledger->products[0].stock;
}

void tested_conserved(const struct view *view, struct claim_finding *out)
{
    kept(out, "%" PRId64 " left and %" PRId64 " in orders are the %" PRId64 " of the start",
         view->rows->left, view->people->units, stock_of(view));
}

void tested_never_oversold(const struct view *view, struct claim_finding *out)
{
    int64_t units = view->people->units, stock = stock_of(view);
    if (units < stock)
        unchecked(out,
                  "%" PRId64 " of %" PRId64 " units were sold, so nothing could be oversold: more "
                  "buyers, or less stock",
                  units, stock);
    else
        kept(out, "%" PRId64 " units in %zu orders, %" PRId64 " were on sale", units,
             view->rows->orders_count, stock);
}

void tested_sold_has_its_row(const struct view *view, struct claim_finding *out)
{
    const struct people *people = view->people;
    size_t by_id = 0, checked = 0;
    for (size_t i = 0; i < view->ledger->ops_count; i++) {
        const struct ledger_op *op = &view->ledger->ops[i];
        bool has_id = op->order && people->rows_have_ids;
        by_id += op->last == SHOP_SOLD && has_id;
        checked += op->last == SHOP_SOLD && (has_id || people->rows_have_users);
    }
    if (people->sold == 0)
        unchecked(out, "nobody was told `sold`");
    else if (view->order_pointer && people->told_ids == 0)
        unchecked(out, "none of %zu `sold` answers has anything at %.80s", people->sold,
                  view->order_pointer);
    else if (checked < people->sold)
        unchecked(out, "the audit names neither the orders' ids nor their users, or the answers no "
                       "ids");
    else
        kept(out, "%zu answers `sold`, each with its order: %zu by its id, %zu by its user",
             people->sold, by_id, people->sold - by_id);
}

void tested_nothing_behind_a_no(const struct view *view, struct claim_finding *out)
{
    size_t refused = 0;
    for (size_t i = 0; i < view->people->count; i++)
        refused += person_was_refused(&view->people->items[i]);
    if (refused == 0)
        unchecked(out, "no user was refused for good");
    else
        kept(out, "%zu users were refused each time, and have no order", refused);
}

void tested_one_a_key(const struct view *view, struct claim_finding *out)
{
    if (view->people->rows_have_users)
        kept(out, "%zu keys were sent again, and no user has more orders than keys",
             view->people->repeats);
    else if (view->people->told_ids > 0)
        kept(out, "%zu keys were sent again, and none was told two orders", view->people->repeats);
    else
        unchecked(out, "neither the audit nor the answers say whose an order is");
}

/* Purchases that the limit alone can have stopped: by another key of a user who had been told
 * `sold` as often as it allows, and answered while there was something to sell. */
static size_t count_tries(const struct view *view, const struct ledger_op **example)
{
    size_t tries = 0;
    for (size_t i = 0; i < view->ledger->ops_count; i++) {
        const struct ledger_op *op = &view->ledger->ops[i];
        const struct person *person = people_find(view->people, people_name(op));
        bool full = person->full_us && op->start_us > person->full_us;
        if (!full || op->unasked || (op->repeat && op->key) ||
            op->end_us >= view->people->first_sold_out_us ||
            (op->last != SHOP_REFUSED && op->last != SHOP_SOLD))
            continue;
        tries++;
        *example = op;
    }
    return tries;
}

void tested_one_a_user(const struct view *view, struct claim_finding *out)
{
    const struct ledger_op *example = NULL;
    int64_t limit = view->ledger->products[0].limit;
    size_t tries = count_tries(view, &example);
    if (!example)
        unchecked(out,
                  "nobody who had been told `sold` asked for more than %" PRId64
                  " by another key while there was stock: more stock, or fewer users",
                  limit);
    else
        kept(out,
             "no user has more than %" PRId64 "; %zu purchases of users who had that were "
             "refused while there was stock, one of them user %.80s's",
             limit, tries, people_name(example));
}

void tested_nothing_left(const struct view *view, struct claim_finding *out)
{
    if (!view->rows->has_left && !view->rows->has_orders)
        unchecked(out, "the audit names neither what is left nor the orders");
    else if (view->people->sold_out == 0)
        unchecked(out, "nobody was told `sold_out`");
    else
        kept(out, "%zu answers `sold_out`, and nothing is left", view->people->sold_out);
}

/* Of an order that no answer leads to nobody knows when it was made. */
static size_t count_unknown(const struct view *view)
{
    size_t unknown = 0;
    for (size_t i = 0; i < view->rows->orders_count; i++)
        unknown += !view->orders[i].buy;
    return unknown;
}

void tested_no_false_sold_out(const struct view *view, struct claim_finding *out)
{
    size_t unknown = count_unknown(view);
    if (view->sold_out == 0)
        unchecked(out, "no purchase was told `sold_out`");
    else if (unknown > 0)
        unchecked(out, "when %zu of %zu orders were made nobody knows: their answers have no ids",
                  unknown, view->rows->orders_count);
    else
        kept(out, "%zu answers `sold_out`, none while a unit was free that was sold later",
             view->sold_out);
}

void tested_linearizable(const struct view *view, struct claim_finding *out)
{
    if (view->exact[EXACT_YES] > 0)
        kept(out, "one order of the %zu purchases explains every answer", view->buys_count);
    else if (view->exact[EXACT_UNKNOWN] > 0)
        unchecked(out, "the search for an order of the purchases gave up");
    else
        unchecked(out,
                  "too many purchases (%zu orders and refusals at most), orders that were accepted "
                  "first, or that no answer leads to",
                  view->limits.ops);
}
