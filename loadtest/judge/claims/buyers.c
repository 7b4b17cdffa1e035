/*
 * Answers against a shop's books, buyer by buyer (A3, A4, A6, A8, A11): its rows have no keys, and
 * its answers may have no ids. Each finding sums up what is wrong, and shows the first case.
 */
#include "loadtest/judge/claims/claims.h"

#include <inttypes.h>
#include <string.h>

static int64_t product_of(const struct view *view)
{
    return view->ledger->products[0].id;
}

/* What the books say of it, the claim that the rows are no more than there were, is check_stock's.
 */
static void check_told(const struct view *view)
{
    int64_t stock = view->ledger->products[0].stock, told = (int64_t)view->people->told_orders;
    if (told > stock && view->people->units <= stock)
        findings_add(view->findings, FINDING_OVERSOLD, product_of(view), told - stock,
                     "%" PRId64 " buyers were told that they bought, %" PRId64
                     " units were on sale",
                     told, stock);
}

/* Why a `sold` answer is not borne out; NULL: it is. */
static const char *lacks_row(const struct view *view, const struct ledger_op *op)
{
    const struct people *people = view->people;
    if (!op->order || !people->rows_have_ids)
        return people->rows_have_users && people_find(people, people_name(op))->rows == 0
                   ? "its user has no order"
                   : NULL;
    const struct view_order *found = view_find(view, op->order);
    if (!found)
        return "there is no such order";
    return found->row->user && strcmp(found->row->user, people_name(op)) != 0
               ? "that order is another user's"
               : NULL;
}

static void check_sold(const struct view *view)
{
    const struct ledger_op *example = NULL;
    size_t without = 0;
    for (size_t i = 0; i < view->ledger->ops_count; i++) {
        const struct ledger_op *op = &view->ledger->ops[i];
        if (op->last != SHOP_SOLD || !lacks_row(view, op))
            continue;
        without++;
        example = example ? example : op;
    }
    if (!example)
        return;
    struct finding *finding =
        findings_add(view->findings, FINDING_ABSENT, product_of(view), (int64_t)without,
                     "%zu of %zu answers `sold` have no order; user %.80s was told order %.80s: %s",
                     without, view->people->sold, people_name(example),
                     example->order ? example->order : "(no id)", lacks_row(view, example));
    finding_show(finding, example);
}

static void check_refused(const struct view *view)
{
    const struct person *example = NULL;
    int64_t with = 0;
    for (size_t i = 0; view->people->rows_have_users && i < view->people->count; i++) {
        const struct person *one = &view->people->items[i];
        if (!person_was_refused(one) || one->rows == 0)
            continue;
        with++;
        example = example ? example : one;
    }
    if (example)
        findings_add(view->findings, FINDING_REFUSED, product_of(view), with,
                     "%" PRId64 " users have an order and were refused each time; user %.80s has "
                     "order %.80s",
                     with, example->user, view_id(example->row));
}

/* The first two answers with one key and two ids. */
static void check_keyed(const struct view *view)
{
    size_t count = 0;
    const struct ledger_op **keyed = view->list;
    for (size_t i = 0; i < view->ledger->ops_count; i++) {
        const struct ledger_op *op = &view->ledger->ops[i];
        if (op->key && op->order)
            keyed[count++] = op;
    }
    ledger_sort(keyed, count, LEDGER_BY_KEY, LEDGER_BY_NUMBER);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(keyed[i - 1]->key, keyed[i]->key) != 0 ||
            strcmp(keyed[i - 1]->order, keyed[i]->order) == 0)
            continue;
        struct finding *finding = findings_add(
            view->findings, FINDING_DUPLICATE, product_of(view), 0,
            "key %.80s of user %.80s was told two orders, %.80s and %.80s", keyed[i]->key,
            people_name(keyed[i]), keyed[i - 1]->order, keyed[i]->order);
        finding_show(finding, keyed[i - 1]);
        finding_show(finding, keyed[i]);
        return;
    }
}

/* The repeat's answer was lost, or has no id: the rows say it. */
static void check_keys_sent(const struct view *view)
{
    const struct person *example = NULL;
    int64_t more = 0;
    for (size_t i = 0; i < view->people->count; i++) {
        const struct person *one = &view->people->items[i];
        if (one->asked == 0 || one->rows <= one->keys)
            continue;
        more++;
        example = example ? example : one;
    }
    if (example)
        findings_add(view->findings, FINDING_DUPLICATE, product_of(view), more,
                     "%" PRId64 " users have more orders than they sent keys; user %.80s sent %zu "
                     "and has orders %.80s and %.80s",
                     more, example->user, example->keys, view_id(example->row),
                     example->second ? view_id(example->second) : "no other");
}

/* Whatever anybody may have held meanwhile, at the end it is there. */
static void check_left(const struct view *view)
{
    const struct rows *books = view->rows;
    int64_t units = view->people->units, stock = view->ledger->products[0].stock;
    const struct ledger_op *first = view->people->first_sold_out;
    if (!first)
        return;
    if (books->has_left && books->left > 0)
        findings_add(view->findings, FINDING_UNDERSOLD, product_of(view), books->left,
                     "%zu answers `sold_out`, user %.80s's the first, and %" PRId64 " are left",
                     view->people->sold_out, people_name(first), books->left);
    else if (books->has_orders && units < stock)
        findings_add(view->findings, FINDING_UNDERSOLD, product_of(view), stock - units,
                     "%zu answers `sold_out`, user %.80s's the first, and only %" PRId64
                     " of %" PRId64 " units are in orders",
                     view->people->sold_out, people_name(first), units, stock);
}

void check_buyers(const struct view *view)
{
    check_told(view);
    check_sold(view);
    check_refused(view);
    if (view->people->repeats > 0) {
        check_keyed(view);
        if (view->findings->counts[FINDING_DUPLICATE] == 0)
            check_keys_sent(view);
    }
    check_left(view);
}
