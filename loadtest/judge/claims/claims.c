/* See claims.h. First, whether a shop's load has put a claim to the test of which no violation was
 * found: kept, with the numbers, or not checked, with the reason. It is never a pass that nothing
 * was tried. */
#include "loadtest/judge/claims/claims.h"

#include "loadtest/judge/exact/exact.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Of NEED_OURS a shop has nothing: states, keys and times of rows, locks, the feed. */
enum claim_need {
    NEED_NOTHING = 0,
    NEED_LIMIT = 1,
    NEED_LEFT = 2,
    NEED_ORDERS = 4,
    NEED_USERS = 8,
    NEED_REPEATS = 16,
    NEED_OURS = 32
};

/* Every purchase of three times the stock of a hundred; for one that is not decided half a second
 * at the most. */
enum { EXACT_OPS = 512, EXACT_BUDGET = 20000 };

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

static void tested_conserved(const struct view *view, struct claim_finding *out)
{
    kept(out, "%" PRId64 " left and %" PRId64 " in orders are the %" PRId64 " of the start",
         view->rows->left, view->people->units, stock_of(view));
}

static void tested_never_oversold(const struct view *view, struct claim_finding *out)
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

static void tested_sold_has_its_row(const struct view *view, struct claim_finding *out)
{
    const struct people *people = view->people;
    size_t by_id = people->rows_have_ids ? people->with_ids : 0;
    if (people->sold == 0)
        unchecked(out, "nobody was told `sold`");
    else if (view->order_pointer && people->told_ids == 0)
        unchecked(out, "none of %zu `sold` answers has anything at %.80s", people->sold,
                  view->order_pointer);
    else if (by_id < people->sold && !people->rows_have_users)
        unchecked(out, "the audit names neither the orders' ids nor their users, or the answers no "
                       "ids");
    else
        kept(out, "%zu answers `sold`, each with its order: %zu by its id, %zu by its user",
             people->sold, by_id, people->sold - by_id);
}

static void tested_nothing_behind_a_no(const struct view *view, struct claim_finding *out)
{
    size_t refused = 0;
    for (size_t i = 0; i < view->people->count; i++)
        refused += person_was_refused(&view->people->items[i]);
    if (refused == 0)
        unchecked(out, "no user was refused for good");
    else
        kept(out, "%zu users were refused each time, and have no order", refused);
}

static void tested_one_a_key(const struct view *view, struct claim_finding *out)
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

static void tested_one_a_user(const struct view *view, struct claim_finding *out)
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

static void tested_nothing_left(const struct view *view, struct claim_finding *out)
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

static void tested_no_false_sold_out(const struct view *view, struct claim_finding *out)
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

static void tested_linearizable(const struct view *view, struct claim_finding *out)
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

static const struct claim {
    const char *name;
    unsigned needs;
    void (*find)(struct view *view);
    void (*tested)(const struct view *view, struct claim_finding *out);
} claims[FINDING_KIND_COUNT] = {
#define CLAIM(id, number, wrong, means, name, needs, find, tested) {name, needs, find, tested},
#include "loadtest/judge/claims/claims.def"
#undef CLAIM
};

const char *claim_name(enum finding_kind kind)
{
    return claims[kind].name;
}

static bool is_judged(const struct view *view, size_t row)
{
    return !view->people || !(claims[row].needs & NEED_OURS);
}

/* The findings, the smallest cases first. A function finds what several rows are about, and is
 * called for the first of them. */
static void find_all(struct view *view)
{
    view_init(view);
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++) {
        size_t first = 0;
        while (first < i && !(is_judged(view, first) && claims[first].find == claims[i].find))
            first++;
        if (first == i && is_judged(view, i))
            claims[i].find(view);
    }
    findings_sort(view->findings);
}

/* What a shop's evidence lacks; NULL: nothing. */
static const char *lacks(const struct view *view, unsigned needs)
{
    if ((needs & NEED_LIMIT) && view->ledger->products[0].limit == 0)
        return "the target has no limit";
    if ((needs & NEED_LEFT) && !view->rows->has_left)
        return "the audit names no stock that is left";
    if ((needs & NEED_ORDERS) && !view->rows->has_orders)
        return "the audit names no orders";
    if ((needs & NEED_USERS) && !view->people->rows_have_users)
        return "the audit does not name the orders' users";
    if ((needs & NEED_REPEATS) && view->people->repeats == 0)
        return "no key was sent twice: give the target repeats";
    return NULL;
}

static void say_broken(enum finding_kind kind, const struct view *view, struct claim_finding *out)
{
    const struct findings *findings = view->findings;
    size_t first = 0, more = findings->counts[kind] - 1;
    while (findings->items[first].kind != kind)
        first++;
    if (more > 0)
        say(out, CLAIM_BROKEN, "%.360s; and %zu more", findings->items[first].text, more);
    else
        say(out, CLAIM_BROKEN, "%s", findings->items[first].text);
}

static void say_claim(enum finding_kind kind, const struct view *view, struct claim_finding *out)
{
    const char *lacking = lacks(view, claims[kind].needs);
    if (view->findings->counts[kind] > 0)
        say_broken(kind, view, out);
    else if (lacking)
        unchecked(out, "%s", lacking);
    else
        claims[kind].tested(view, out);
}

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
                 view_id(stranger->row), stranger->user);
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
static void complete(struct ledger *ledger)
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
        return;
    if (!books->products)
        books->products = memory_take(sizeof *books->products);
    books->products_count = 1;
    books->products[0] =
        (struct row_product){.id = product->id, .initial = product->stock, .stock = books->left};
}

void claims_judge(const struct shop_terms *terms, struct ledger *ledger, struct shop_judgement *out)
{
    struct findings findings = {0};
    struct view view = {.ledger = ledger,
                        .rows = &ledger->books,
                        .findings = &findings,
                        .limits = {EXACT_OPS, EXACT_BUDGET},
                        .order_pointer = terms->order_pointer};
    *out = (struct shop_judgement){.verdict = SHOP_VERDICT_INVALID};
    complete(ledger);
    find_all(&view);
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++) {
        if (terms->claims[i] && *claim_name((enum finding_kind)i))
            say_claim((enum finding_kind)i, &view, &out->claims[i]);
    }
    conclude(&view, out);
    view_fini(&view);
    findings_fini(&findings);
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

/* --- of our own servers --- */

/* A sale that has been started again since has other rows: nothing is to be concluded from them. */
static bool same_sale(const struct ledger *ledger, const struct rows *rows, struct error *error)
{
    if (ledger->products_count == 0)
        return error_fail(error, "the ledger has no product: its beginning is missing");
    for (size_t i = 0; i < ledger->products_count; i++) {
        const struct ledger_product *product = &ledger->products[i];
        const struct row_product *row = rows_find_product(rows, product->id);
        if (!row)
            return error_fail(error, "the database has no product %" PRId64, product->id);
        if (product->epoch && product->epoch != row->epoch)
            return error_fail(error,
                              "product %" PRId64 " has been put on sale again since: it is in "
                              "epoch %" PRId64 ", and the ledger is of epoch %" PRId64,
                              product->id, row->epoch, product->epoch);
        if (product->stock != row->initial)
            return error_fail(error,
                              "product %" PRId64 " began with %" PRId64 " units by the ledger, and "
                              "with %" PRId64 " by the database",
                              product->id, product->stock, row->initial);
    }
    return true;
}

static void count(struct check_result *result, const struct view *view)
{
    result->sold_out = view->sold_out;
    memcpy(result->exact, view->exact, sizeof result->exact);
    for (size_t i = 0; i < view->ledger->ops_count; i++) {
        const struct ledger_op *op = &view->ledger->ops[i];
        result->results[op->result]++;
        result->paid += op->kind == LEDGER_PAY && op->result == LEDGER_OK;
        result->believed += op->kind == LEDGER_BUY && op->result == LEDGER_FAIL &&
                            !view_is_code(op, "sold_out") && !view_is_code(op, "limit_reached");
        result->too_late += op->kind == LEDGER_PAY && view_is_code(op, "expired");
    }
    for (size_t i = 0; i < view->rows->orders_count; i++) {
        result->confirmed += view->orders[i].buy_sure_us != LEDGER_NEVER;
        result->pending += view->rows->orders[i].state == LEDGER_PENDING;
        result->expired += view->rows->orders[i].state == LEDGER_EXPIRED;
    }
}

static enum check_verdict decide(const struct check_result *result)
{
    if (result->findings.count > 0)
        return CHECK_VIOLATED;
    return result->confirmed == 0 || result->exact[EXACT_UNKNOWN] > 0 ? CHECK_PROVED_NOTHING
                                                                      : CHECK_CLEAN;
}

bool check_run(struct check_result *result, const struct ledger *ledger, const struct rows *rows,
               const struct exact_limits *limits, struct error *error)
{
    struct view view = {
        .ledger = ledger, .rows = rows, .findings = &result->findings, .limits = *limits};
    *result = (struct check_result){.verdict = CHECK_PROVED_NOTHING};
    if (!same_sale(ledger, rows, error))
        return false;
    find_all(&view);
    count(result, &view);
    view_fini(&view);
    result->verdict = decide(result);
    return true;
}

static void print_head(FILE *to, const struct check_result *result, const struct ledger *ledger)
{
    fprintf(to,
            "%zu operations on %zu products, seed %" PRId64 ": %zu done, %zu refused, %zu unknown; "
            "%zu orders sold for sure\n",
            ledger->ops_count, ledger->products_count, ledger->seed, result->results[LEDGER_OK],
            result->results[LEDGER_FAIL], result->results[LEDGER_INFO], result->confirmed);
    if (ledger->cut)
        fputs("its last line was cut off, and is left out\n", to);
    if (!ledger->done)
        fputs("the recording did not come to its end\n", to);
    if (ledger->skipped)
        fprintf(to, "%zu lines that are no operations, or of an unknown sort\n", ledger->skipped);
}

static void print_holds(FILE *to, const struct check_result *result)
{
    if (result->pending + result->expired + result->paid + result->too_late > 0)
        fprintf(to, "payments: %zu done, %zu too late; holds: %zu ended unpaid, %zu not over yet\n",
                result->paid, result->too_late, result->expired, result->pending);
}

static void print_rates(FILE *to, const struct check_result *result)
{
    size_t wrong = result->findings.counts[FINDING_FALSE_SOLD_OUT];
    if (result->sold_out)
        fprintf(to, "sold out was answered %zu times, falsely for sure %zu (%.2f %%)\n",
                result->sold_out, wrong, 100.0 * (double)wrong / (double)result->sold_out);
    if (result->believed)
        fprintf(to, "refused for other reasons, which is believed: %zu buys\n", result->believed);
    fprintf(to,
            "exact search: %zu products linearizable, %zu not, %zu unknown, %zu not tried (too "
            "long, or not decided at once)\n",
            result->exact[EXACT_YES], result->exact[EXACT_NO], result->exact[EXACT_UNKNOWN],
            result->exact[EXACT_NOT_TRIED]);
}

void check_print(FILE *to, const struct check_result *result, const struct ledger *ledger,
                 size_t most)
{
    print_head(to, result, ledger);
    print_holds(to, result);
    print_rates(to, result);
    findings_print(to, &result->findings, most);
    if (result->verdict == CHECK_CLEAN)
        fputs("no violation found\n", to);
    else if (result->verdict == CHECK_VIOLATED)
        fprintf(to, "VIOLATED: %zu findings\n", result->findings.count);
    else
        fprintf(to, "proved nothing: %s\n",
                result->confirmed == 0 ? "nothing was sold" : "the exact search gave up");
}
