/*
 * Whether the books agree: what the generator counted, what the servers' metrics counted, the rows
 * that PostgreSQL holds, and the server's own audit. Any disagreement beyond the orders that were
 * abandoned (wrk: at most one a connection and run; the open-loop generator knows how many) makes
 * the phase no run; a 2xx without its row is a violation and is told apart.
 */
#include "loadtest/phase/phase.h"

#include <inttypes.h>

/* `counted` by the servers must lie between what the load saw and that plus what it abandoned. */
static bool agree(const char *what, int64_t seen, int64_t counted, int64_t slack,
                  struct error *error)
{
    if (counted >= seen && counted <= seen + slack)
        return true;
    return error_fail(error,
                      "the load saw %" PRId64 " %s, the servers' metrics count %" PRId64
                      " (at most %" PRId64 " more are requests that it abandoned)%s",
                      seen, what, counted, slack,
                      counted < seen ? "; where several servers share an address, name each by "
                                       "one of its own (--server URL,URL)"
                                     : "");
}

bool reconcile_counts(const struct scrape *deltas, const struct fleet *fleet,
                      struct phase_result *result, struct error *error)
{
    struct counts *sum = &result->counts;
    for (size_t i = 0; i < fleet->count; i++) {
        if (deltas[i].counts.total == 0 && !fleet->balancer)
            return error_fail(error, "instance %zu of %zu got no orders", i + 1, fleet->count);
        counts_add(sum, &deltas[i].counts, &(struct counts){0});
    }
    if (sum->strangers != 0)
        return error_fail(error, "somebody else sent %" PRId64 " orders meanwhile", sum->strangers);
    const struct load_result *load = &result->load;
    int64_t slack = load->abandoned;
    int64_t good = sum->committed + sum->accepted + sum->other_2xx;
    return agree("answers", load->requests, sum->total, slack, error) &&
           agree("answers below 400", load->requests - load->not_2xx, good, slack, error) &&
           agree("answers from 400 on", load->not_2xx, sum->total - good, slack, error);
}

bool reconcile_rows(const struct counts *counts, bool counter, struct books *audit,
                    struct error *error)
{
    int64_t rows = counter ? audit->restock_rows : audit->confirmed_rows;
    /* A 504 may have written its row, a 202 may have been decided against. */
    int64_t most = counts->committed + counts->accepted + counts->unknown;
    if (rows > most)
        return error_fail(error,
                          "%" PRId64 " rows for at most %" PRId64
                          " answers: orders that were refused or shed were written",
                          rows, most);
    /* A 202 ends as a row, confirmed or failed. (An order that was queued as a row and refused has
     * failed as well; so this may be too few and is never too many.) */
    int64_t told = counts->committed + counts->accepted;
    int64_t found = counter ? rows : rows + audit->failed_rows;
    int64_t sure = rows < counts->committed ? counts->committed - rows : 0;
    audit->missing = told - found > sure ? told - found : sure;
    /* Other orders, refused, may have failed beside them: what was revoked is counted by itself. */
    int64_t revoked = counter ? 0 : audit->revoked_rows - counts->unknown;
    if (revoked > audit->missing)
        audit->missing = revoked;
    return true;
}

bool reconcile_expected(const struct counted *counted, const struct counts *counts, bool counter,
                        struct books *audit)
{
    int64_t rows = counter ? audit->restock_rows : audit->confirmed_rows;
    int64_t shed = counts->failed + counts->unknown;
    bool served = counted->may_shed || shed == 0;
    int64_t due = counted->may_shed ? (int64_t)counted->count - shed : counted->expected;
    /* A 2xx without its row is a violation of its own. */
    int64_t short_of = due - rows - audit->missing;
    audit->undersold = served && short_of > 0 ? short_of : 0;
    return served && rows >= counted->expected && (shed > 0 || !counted->must_shed);
}

struct comparing {
    const struct fleet *fleet;
    struct phase_result *result;
    struct error *error;
    bool good;
};

static bool same_audit(const struct witness_product *ours, const struct books *theirs,
                       bool consistent, struct error *error)
{
    const struct books *a = &ours->audit;
    const struct {
        const char *name;
        int64_t witness, server;
    } figures[] = {
        {"sold", a->sold, theirs->sold},
        {"oversold", a->oversold, theirs->oversold},
        {"lost_updates", a->lost_updates, theirs->lost_updates},
        {"duplicate_orders", a->duplicate_orders, theirs->duplicate_orders},
        {"limit_violations", a->limit_violations, theirs->limit_violations},
        {"queued", a->queued, theirs->queued},
        {"held", a->held, theirs->held},
        {"lost", a->lost, theirs->lost},
        {"strategies", (int64_t)a->strategies_count, (int64_t)theirs->strategies_count},
        {"consistent", books_consistent(a), consistent},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        if (figures[i].witness != figures[i].server)
            return error_fail(error,
                              "product %" PRId64 ": %s is %" PRId64 " to the witness and %" PRId64
                              " in the server's audit",
                              ours->id, figures[i].name, figures[i].witness, figures[i].server);
    }
    return true;
}

/* A limit that did not reach the rows is one that nobody can break. */
static bool same_limit(const struct witness_product *product, int64_t limit, struct error *error)
{
    return product->limit == limit ||
           error_fail(error,
                      "product %" PRId64 " has a limit of %" PRId64 " a user, and was put on sale "
                      "with one of %" PRId64 " (0: none): the sale was reset by somebody else",
                      product->id, product->limit, limit);
}

static void compare(void *context, const struct witness_product *product)
{
    struct comparing *comparing = context;
    const struct fleet *fleet = comparing->fleet;
    struct books theirs;
    bool consistent = false;
    books_add(&comparing->result->audit, &product->audit);
    comparing->good = comparing->good &&
                      same_limit(product, comparing->result->plan.limit, comparing->error) &&
                      api_audit(fleet->api, fleet_targets(fleet)[0], product->id, &theirs,
                                &consistent, comparing->error) &&
                      same_audit(product, &theirs, consistent, comparing->error);
}

bool reconcile_audits(const struct fleet *fleet, struct phase_result *result, struct error *error)
{
    const struct phase_plan *plan = &result->plan;
    struct comparing comparing = {.fleet = fleet, .result = result, .error = error, .good = true};
    if (!witness_audit(fleet->witness, plan->load.first_product, phase_last_product(plan), compare,
                       &comparing, error))
        return false;
    if (!comparing.good)
        return false;
    struct books *sum = &result->audit;
    if (sum->products != plan->load.products ||
        sum->initial_stock != plan->load.products * plan->stock)
        return error_fail(error, "the sale was reset by somebody else");
    bool counter = plan->scenario == SCENARIO_COUNTER;
    if (!reconcile_rows(&result->counts, counter, sum, error))
        return false;
    if (plan->load.counted)
        result->complete = reconcile_expected(plan->load.counted, &result->counts, counter, sum);
    else
        books_undersell(sum, result->counts.sold_out, 1);
    /* Units of an order that failed after its 202 were back on the shelf: then both were right. */
    if (sum->failed_rows + sum->revoked_rows == 0)
        sum->resold = result->load.resold;
    return true;
}
