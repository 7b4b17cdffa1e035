/* See check.h. */
#include "loadtest/judge/claims/check.h"

#include "loadtest/judge/claims/claims.h"

#include <inttypes.h>
#include <string.h>

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
    if (!same_sale(ledger, rows, error) || !view_init(&view, error))
        return false;
    claims_find(&view);
    count(result, &view);
    view_fini(&view);
    if (result->findings.no_memory)
        return error_fail(error, "out of memory");
    findings_sort(&result->findings);
    result->verdict = decide(result);
    return true;
}

void check_result_fini(struct check_result *result)
{
    findings_fini(&result->findings);
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
