/* See shop_claims.h. */
#include "loadtest/judge/claims/shop_claims.h"

#include <stdio.h>
#include <stdlib.h>

/* Every purchase of three times the stock of a hundred; for one that is not decided half a second
 * at the most. */
enum { EXACT_OPS = 512, EXACT_BUDGET = 20000 };

/* An order of a user who never asked: the load was not alone, or the reset left something. */
static const struct person *find_stranger(const struct people *people)
{
    for (size_t i = 0; i < people->count; i++) {
        if (people->items[i].asked == 0 && people->items[i].rows > 0)
            return &people->items[i];
    }
    return NULL;
}

static void conclude(const struct view *view, struct shop_judgement *out)
{
    size_t counts[CLAIM_BROKEN + 1] = {0};
    const struct people *people = view->people;
    const struct person *stranger = find_stranger(people);
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++)
        counts[out->claims[i].result]++;
    size_t wanted = FINDING_KIND_COUNT - counts[CLAIM_NOT_ASKED];
    out->verdict = SHOP_VERDICT_INVALID;
    if (counts[CLAIM_BROKEN] > 0) {
        out->verdict = SHOP_VERDICT_BROKEN;
        snprintf(out->why, sizeof out->why, "%zu of %zu claims are broken", counts[CLAIM_BROKEN],
                 wanted);
    } else if (view->rows->has_orders ? people->units == 0 : people->sold == 0)
        snprintf(out->why, sizeof out->why, "nothing was sold, so nothing was shown");
    else if (counts[CLAIM_KEPT] == 0)
        snprintf(out->why, sizeof out->why, "no claim could be checked");
    else if (stranger)
        snprintf(out->why, sizeof out->why,
                 "order %.80s is of user %.80s, who did not ask: somebody else buys, or the reset "
                 "leaves orders",
                 stranger->row->id ? stranger->row->id : "(no id)", stranger->user);
    else if (out->claims[FINDING_OVERSOLD].result == CLAIM_NOT_CHECKED && view->rows->has_orders)
        snprintf(out->why, sizeof out->why,
                 "the stock did not run out: more buyers, or less stock");
    else {
        out->verdict = SHOP_VERDICT_KEPT;
        snprintf(out->why, sizeof out->why, "%zu of %zu claims were checked, and all of these hold",
                 counts[CLAIM_KEPT], wanted);
    }
}

/* Books that are not told apart by products, and purchases that name neither it nor a quantity. */
static bool complete(struct ledger *ledger, struct error *error)
{
    const struct ledger_product *product = &ledger->products[0];
    struct rows *books = &ledger->books;
    int64_t largest = 1;
    for (size_t i = 0; i < books->orders_count; i++) {
        books->orders[i].product = product->id;
        largest = books->orders[i].quantity > largest ? books->orders[i].quantity : largest;
    }
    for (size_t i = 0; i < ledger->ops_count; i++) {
        ledger->ops[i].product = product->id;
        ledger->ops[i].quantity = largest;
    }
    if (!books->has_left)
        return true;
    if (!books->products)
        books->products = malloc(sizeof *books->products);
    if (!books->products)
        return error_fail(error, "out of memory");
    books->products_count = 1;
    books->products[0] =
        (struct row_product){.id = product->id, .initial = product->stock, .stock = books->left};
    return true;
}

static bool judge(const struct shop_terms *terms, struct view *view, struct shop_judgement *out,
                  struct error *error)
{
    const struct findings *findings = view->findings;
    if (!view_init(view, error))
        return false;
    claims_find(view);
    findings_sort(view->findings);
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++) {
        if (terms->claims[i] && *claim_name((enum finding_kind)i))
            claims_say((enum finding_kind)i, view, &out->claims[i]);
    }
    conclude(view, out);
    view_fini(view);
    return !findings->no_memory || error_fail(error, "out of memory");
}

bool claims_judge(const struct shop_terms *terms, struct ledger *ledger, struct shop_judgement *out,
                  struct error *error)
{
    struct people people;
    struct findings findings = {0};
    struct view view = {.ledger = ledger,
                        .rows = &ledger->books,
                        .people = &people,
                        .findings = &findings,
                        .limits = {EXACT_OPS, EXACT_BUDGET},
                        .order_pointer = terms->order_pointer};
    *out = (struct shop_judgement){.verdict = SHOP_VERDICT_INVALID};
    bool good = people_make(&people, ledger) || error_fail(error, "out of memory");
    good = good && complete(ledger, error) && judge(terms, &view, out, error);
    findings_fini(&findings);
    people_fini(&people);
    return good;
}

const char *claim_result_name(enum claim_result result)
{
    static const char *const names[] = {[CLAIM_NOT_ASKED] = "",
                                        [CLAIM_KEPT] = "kept",
                                        [CLAIM_NOT_CHECKED] = "not checked",
                                        [CLAIM_BROKEN] = "BROKEN"};
    return names[result];
}

const char *shop_verdict_name(enum shop_verdict verdict)
{
    static const char *const names[] = {[SHOP_VERDICT_KEPT] = "kept",
                                        [SHOP_VERDICT_BROKEN] = "BROKEN",
                                        [SHOP_VERDICT_INVALID] = "INVALID"};
    return names[verdict];
}

int shop_verdict_exit_status(enum shop_verdict verdict)
{
    static const int statuses[] = {
        [SHOP_VERDICT_KEPT] = 0, [SHOP_VERDICT_BROKEN] = 1, [SHOP_VERDICT_INVALID] = 2};
    return statuses[verdict];
}
