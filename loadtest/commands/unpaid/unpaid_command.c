/*
 * `run --scenario unpaid`: buyers of whom some never pay, and some when it may be too late.
 *
 * Happy path, for each number of instances and each strategy: a product is put on sale, a crowd
 * buys for --duration (unpaid_crowd.h), and the witness counts the rows all the while: each unit is
 * in the stock, sold or held. Then what is held ends, and the rows are counted once more: nothing
 * is held, and what was sold is what buyers were told that they had paid.
 *
 * Failure modes: a server that dies, a hold that nobody ends and Ctrl-C end the run; the sales that
 * were over by then are written.
 */
#include "loadtest/commands/commands.h"

#include "base/clock.h"
#include "loadtest/commands/harness.h"
#include "loadtest/commands/unpaid/unpaid_results.h"
#include "loadtest/engine/http_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* LOOK_MS: between two looks at the rows. END_MS: for what is held when the buyers have gone. */
enum { LOOK_MS = 50, END_MS = 60000 };

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
    int64_t epoch = 0;
    const struct api_sale put = {
        .first = options->first_product, .count = 1, .stock = options->stock, .epoch = &epoch};
    char query[REQUEST_QUERY_SIZE];
    http_request_query(query, options->wait_ms, sale->body, NULL);
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
        !witness_remember(harness->witness, put.first, put.first, epoch, error) ||
        !phase_wait_clean(fleet, put.first, put.first, error))
        return false;
    struct unpaid_crowd *crowd = unpaid_crowd_start(&plan, error);
    if (!crowd)
        return false;
    struct error ignored;
    bool made = watch(harness, sale, error);
    made = unpaid_crowd_end(crowd, &sale->told, made ? error : &ignored) && made;
    return made && wait_for_the_end(harness, sale, error) &&
           witness_same_sales(harness->witness, error);
}

/* What the sales found so far, and where it is gathered. */
struct unpaid {
    const struct option_list *strategies; /* borrowed: --strategies */
    struct harness harness;
    json_t *runs; /* owned: an array */
    struct verdict_tally tally;
};

static bool sell_and_judge(struct unpaid *unpaid, const struct api_strategy *strategy,
                           struct error *error)
{
    const struct harness *harness = &unpaid->harness;
    struct unpaid_sale sale = {.strategy = strategy,
                               .body = harness_plan(harness, strategy, 1).body,
                               .instances = (int)harness->fleet.count};
    if (!sell(harness, strategy, &sale, error))
        return error_prefix(error, "%s", strategy->name);
    unpaid->tally.counts[unpaid_verdict(&sale)]++;
    unpaid_print(stdout, &sale);
    return json_array_append_new(unpaid->runs, unpaid_json(&sale, harness->options)) == 0 ||
           error_fail(error, "out of memory");
}

/* --strategies, or all that the servers have. */
static bool sell_all(struct unpaid *unpaid, struct error *error)
{
    const struct harness *harness = &unpaid->harness;
    const struct option_list *wanted = unpaid->strategies;
    bool all = wanted->count == 1 && strcmp(wanted->items[0], "all") == 0;
    size_t count = all ? harness->strategies_count : wanted->count;
    for (size_t i = 0; i < count; i++) {
        const struct api_strategy *strategy =
            all ? &harness->strategies[i] : harness_choose(harness, wanted->items[i], error);
        if (!strategy)
            return false;
        if (strategy->available && !sell_and_judge(unpaid, strategy, error))
            return false;
    }
    return true;
}

static bool sell_everywhere(struct unpaid *unpaid, struct error *error)
{
    struct harness *harness = &unpaid->harness;
    const struct options *options = harness->options;
    unpaid_print_head(stdout);
    for (size_t i = 0; i < options->instances.count; i++)
        if (!harness_open_fleet(harness, options->instances.items[i], error) ||
            !harness_may_reset(harness, 1, error) || !sell_all(unpaid, error) ||
            !harness_close_fleet(harness, error))
            return false;
    return true;
}

/* The machine and the files, also of a run that ended early. Returns the exit status that the
 * verdicts ask for. */
static int report(const struct unpaid *unpaid)
{
    const struct harness *harness = &unpaid->harness;
    char machine[600];
    struct error error;
    if (json_array_size(unpaid->runs) == 0)
        return 2;
    machine_line(&harness->machine, machine, sizeof machine);
    printf("\n%s\n", machine);
    if (!unpaid_write(harness->folder, json_incref(unpaid->runs), harness->options,
                      &harness->machine, &error))
        return process_fail(error.text);
    printf("Files: %s/results.csv, %s/results.json\nReport: %s/report.html\n", harness->folder,
           harness->folder, harness->folder);
    return verdict_exit_status(&unpaid->tally);
}

int command_unpaid(const struct run_options *options)
{
    struct unpaid *unpaid = calloc(1, sizeof *unpaid);
    struct error error = {.text = ""};
    if (!unpaid)
        return process_fail("out of memory");
    unpaid->strategies = &options->strategies;
    unpaid->runs = json_array();
    bool begun = harness_init(&unpaid->harness, &options->shared, &error);
    bool made = begun && sell_everywhere(unpaid, &error);
    int status = begun ? report(unpaid) : 2;
    if (!made) {
        process_fail(error.text);
        status = status == 1 ? 1 : 2; /* a verdict of BROKEN stands */
    }
    harness_fini(&unpaid->harness);
    json_decref(unpaid->runs);
    free(unpaid);
    return status;
}
