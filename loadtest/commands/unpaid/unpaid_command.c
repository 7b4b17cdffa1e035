/*
 * `run --scenario unpaid`: buyers of whom some never pay, and some when it may be too late.
 *
 * Happy path, for each number of instances and each strategy: a product is put on sale, a crowd
 * buys for --duration (unpaid_crowd.h), and the witness counts the rows all the while: each unit is
 * in the stock, sold or held. Then what is held ends, and the rows are counted once more: nothing
 * is held, and what was sold is what buyers were told that they had paid.
 *
 * Failure modes: a server that dies, a hold that nobody ends and Ctrl-C end the run.
 */
#include "loadtest/commands/commands.h"

#include "base/clock.h"
#include "loadtest/commands/harness.h"
#include "loadtest/commands/unpaid/unpaid_crowd.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* LOOK_MS: between two looks at the rows. END_MS: for what is held when the buyers have gone. */
enum { LOOK_MS = 50, END_MS = 60000 };

/* What became of one strategy's sale. */
struct unpaid_sale {
    struct unpaid_tally told;
    struct books rows;   /* at the end */
    int64_t looks;       /* at the rows, while buyers were there */
    int64_t wrong_looks; /* of these, at which the books did not agree */
    int64_t most_held;
};

static void keep(void *context, const struct witness_product *product)
{
    *(struct books *)context = product->audit;
}

static bool look(const struct harness *harness, struct books *rows, struct error *error)
{
    int64_t product = harness->options->first_product;
    *rows = (struct books){0};
    return witness_audit(harness->witness, product, product, keep, rows, error);
}

static bool watch(const struct harness *harness, struct unpaid_sale *sale, struct error *error)
{
    const struct fleet *fleet = &harness->fleet;
    int64_t until_us = clock_mono_us() + harness->options->duration_s * CLOCK_US_PER_S;
    struct books rows;
    while (clock_mono_us() < until_us) {
        if (!look(harness, &rows, error))
            return false;
        sale->looks++;
        sale->wrong_looks += !books_consistent(&rows);
        sale->most_held = rows.held > sale->most_held ? rows.held : sale->most_held;
        if (!process_sleep_ms(LOOK_MS))
            return error_fail(error, "interrupted");
        if (fleet->instances && !instance_all_alive(fleet->instances, fleet->count, error))
            return false;
    }
    return true;
}

/* Until nothing is held any more: each hold is over a second after it began. */
static bool wait_for_the_end(const struct harness *harness, struct unpaid_sale *sale,
                             struct error *error)
{
    int64_t product = harness->options->first_product;
    int64_t until_us = clock_mono_us() + END_MS * CLOCK_US_PER_MS;
    if (!phase_wait_settled(&harness->fleet, product, product, error))
        return false;
    for (;;) {
        if (!look(harness, &sale->rows, error))
            return false;
        if (sale->rows.held == 0 || clock_mono_us() >= until_us)
            return true;
        if (!process_sleep_ms(LOOK_MS))
            return error_fail(error, "interrupted");
    }
}

static bool sell(const struct harness *harness, const struct api_strategy *strategy,
                 struct unpaid_sale *sale, struct error *error)
{
    const struct options *options = harness->options;
    const struct fleet *fleet = &harness->fleet;
    const struct api_sale put = {
        .first = options->first_product, .count = 1, .stock = options->stock};
    char query[64] = "";
    size_t used = 0;
    if (options->wait_ms >= 0)
        used = (size_t)snprintf(query, sizeof query, "&wait_ms=%" PRId64, options->wait_ms);
    if (*options->body && (strategy->plain || strategy->guarded))
        snprintf(query + used, sizeof query - used, "&body=%.16s", options->body);
    const struct unpaid_plan plan = {.targets = fleet->urls,
                                     .targets_count = fleet->count,
                                     .buyers = options->connections < UNPAID_BUYERS_MAX
                                                   ? options->connections
                                                   : UNPAID_BUYERS_MAX,
                                     .product = options->first_product,
                                     .strategy = strategy->name,
                                     .query = query,
                                     .seed = options->seed};
    if (!api_put_products(harness->api, fleet->urls[0], &put, error) ||
        !phase_wait_clean(fleet, put.first, put.first, error))
        return false;
    struct unpaid_crowd *crowd = unpaid_crowd_start(&plan, error);
    bool made = crowd && watch(harness, sale, error);
    unpaid_crowd_end(crowd, &sale->told);
    return made && wait_for_the_end(harness, sale, error);
}

/* Units that the rows and the answers do not agree about: an answer that did not come may have been
 * a payment. */
static int64_t misled(const struct unpaid_sale *sale)
{
    int64_t paid = sale->told.paid;
    if (sale->rows.sold < paid)
        return paid - sale->rows.sold;
    int64_t more = sale->rows.sold - paid - sale->told.unknown;
    return more > 0 ? more : 0;
}

static enum verdict judge(const struct unpaid_sale *sale, bool promised)
{
    bool wrong = !books_consistent(&sale->rows) || sale->wrong_looks > 0 || sale->rows.held > 0 ||
                 misled(sale) > 0 || sale->told.odd > 0;
    bool seen = sale->most_held > 0 && sale->told.paid > 0 && sale->told.expired > 0 &&
                sale->told.abandoned > 0;
    if (wrong)
        return promised ? VERDICT_BROKEN : VERDICT_UNSAFE;
    return promised && seen ? VERDICT_KEPT : VERDICT_PROVED_NOTHING;
}

static void print_head(void)
{
    printf("%-18s %5s %8s %8s %8s %8s %8s %9s %6s %9s %8s  %s\n", "strategy", "inst", "bought",
           "paid", "too late", "unpaid", "refused", "most held", "looks", "disagreed", "left",
           "verdict");
}

static void print_sale(const char *strategy, size_t instances, const struct unpaid_sale *sale,
                       enum verdict verdict)
{
    const struct unpaid_tally *told = &sale->told;
    printf("%-18s %5zu %8" PRId64 " %8" PRId64 " %8" PRId64 " %8" PRId64 " %8" PRId64 " %9" PRId64
           " %6" PRId64 " %9" PRId64 " %8" PRId64 "  %s\n",
           strategy, instances, told->bought, told->paid, told->expired, told->abandoned,
           told->refused, sale->most_held, sale->looks, sale->wrong_looks, sale->rows.stock,
           verdict_name(verdict));
    if (sale->rows.held > 0)
        printf("  ! %" PRId64 " units are still held, though every hold is over\n",
               sale->rows.held);
    if (misled(sale) > 0)
        printf("  ! %" PRId64 " units: %" PRId64 " were paid by the answers, %" PRId64
               " by the rows\n",
               misled(sale), told->paid, sale->rows.sold);
    if (!books_consistent(&sale->rows))
        printf("  ! oversold %" PRId64 ", lost updates %" PRId64 "\n", sale->rows.oversold,
               sale->rows.lost_updates);
    if (told->odd > 0)
        printf("  ! %" PRId64 " answers that make no sense\n", told->odd);
    fflush(stdout);
}

static bool sell_and_judge(struct harness *harness, const struct api_strategy *strategy,
                           struct verdict_tally *tally, struct error *error)
{
    const struct options *options = harness->options;
    struct unpaid_sale sale = {.looks = 0};
    bool guarded = strategy->guarded && strcmp(options->body, "guarded") == 0;
    if (!sell(harness, strategy, &sale, error))
        return error_prefix(error, "%s", strategy->name);
    enum verdict verdict =
        judge(&sale, promise_in_force(&strategy->promise, (int)harness->fleet.count, guarded));
    tally->counts[verdict]++;
    print_sale(strategy->name, harness->fleet.count, &sale, verdict);
    return true;
}

/* --strategies, or all that the servers have. */
static bool sell_all(struct harness *harness, struct verdict_tally *tally, struct error *error)
{
    const struct option_list *wanted = &harness->options->strategies;
    bool all = wanted->count == 1 && strcmp(wanted->items[0], "all") == 0;
    size_t count = all ? harness->strategies_count : wanted->count;
    for (size_t i = 0; i < count; i++) {
        const struct api_strategy *strategy =
            all ? &harness->strategies[i] : harness_choose(harness, wanted->items[i], error);
        if (!strategy)
            return false;
        if (strategy->available && !sell_and_judge(harness, strategy, tally, error))
            return false;
    }
    return true;
}

int command_unpaid(const struct options *options)
{
    struct harness *harness = calloc(1, sizeof *harness);
    struct error error = {.text = ""};
    struct verdict_tally tally = {{0}};
    if (!harness)
        return process_fail("out of memory");
    bool made = harness_init(harness, options, &error);
    if (made)
        print_head();
    for (size_t i = 0; made && i < options->instances.count; i++)
        made = harness_open_fleet(harness, options->instances.items[i], &error) &&
               harness_may_reset(harness, 1, &error) && sell_all(harness, &tally, &error) &&
               harness_close_fleet(harness, &error);
    int status = verdict_exit_status(&tally);
    if (!made) {
        process_fail(error.text);
        status = status == 1 ? 1 : 2; /* a verdict of BROKEN stands */
    }
    harness_fini(harness);
    free(harness);
    return status;
}
