/*
 * `capacity`: the highest rate of orders at which a strategy holds what --slo asks for.
 *
 * Happy path: one fleet; open-loop runs at the rates that capacity_search asks for, each on a sale
 * of its own, audited as every phase; the lines, the files.
 *
 * Failure modes: a run for which the generator was late is made once more, and fails if it is late
 * again: it is then the machine's rate that is found, and the line says so. A promise that is
 * BROKEN ends the search (1), as does a rate that cannot be found before --within is over (2), with
 * what is known by then. That no rate holds is an answer (1).
 */
#include "loadtest/commands/commands.h"

#include "base/clock.h"
#include "loadtest/commands/capacity/capacity_files.h"

#include <stdlib.h>

/* Fewer orders in a run have no percentiles worth the name; and no machine serves as many a second.
 */
enum { ORDERS_LEAST = 10, RATE_MOST = 1000000 };

struct capacity {
    const struct capacity_options *options; /* borrowed */
    struct harness harness;
    struct results results; /* owned: items */
    struct thresholds slo;
    struct capacity_search search;
    int64_t longest_ms; /* of a run so far */
    bool broken;
};

static bool begin(struct capacity *capacity, struct error *error)
{
    const struct capacity_options *own = capacity->options;
    const struct options *options = &own->shared;
    if (!thresholds_parse("slo", own->slo, &capacity->slo, error))
        return false;
    int64_t least = (ORDERS_LEAST + options->duration_s - 1) / options->duration_s;
    int64_t first = options->rate_per_s > least ? options->rate_per_s : least;
    capacity_begin(&capacity->search, least, first, RATE_MOST);
    return harness_init(&capacity->harness, options, error) &&
           harness_open_fleet(&capacity->harness, options->instances.items[0], error) &&
           harness_may_reset(&capacity->harness, 1, error);
}

static bool measure(struct capacity *capacity, const struct api_strategy *strategy,
                    struct error *error)
{
    const struct options *options = capacity->harness.options;
    size_t number = capacity->results.count + 1;
    struct phase_plan plan = harness_plan(&capacity->harness, strategy, (int)number);
    plan.kind = PHASE_SPEED;
    plan.products = 1;
    plan.threads = 1;
    plan.rate_per_s = capacity->search.rate;
    plan.swept = (size_t)capacity->search.rate;
    plan.arrivals = options->arrivals;
    plan.max_lag_ms = options->max_lag_ms;
    int64_t began_ms = clock_mono_ms();
    bool made = harness_measure(&capacity->harness, &plan, &capacity->results, number, error);
    if (!made) {
        capacity->results.count = number - 1; /* one that was interrupted says nothing */
        return false;
    }
    if (clock_mono_ms() - began_ms > capacity->longest_ms)
        capacity->longest_ms = clock_mono_ms() - began_ms;
    return true;
}

static const struct phase_result *last_run(const struct capacity *capacity)
{
    return &capacity->results.items[capacity->results.count - 1];
}

static bool try_rate(struct capacity *capacity, const struct api_strategy *strategy,
                     struct error *error)
{
    char why[700];
    if (!measure(capacity, strategy, error) ||
        (last_run(capacity)->late && !measure(capacity, strategy, error)))
        return false;
    const struct phase_result *run = last_run(capacity);
    capacity->broken = run->verdict == VERDICT_BROKEN;
    if (run->again)
        return error_fail(error, "no run: %s", run->error);
    capacity_tell(&capacity->search, capacity_holds(run, &capacity->slo, why, sizeof why));
    return !capacity->broken ||
           error_fail(error, "%s is BROKEN at %lld orders/s: its rate is not asked for any more",
                      strategy->name, (long long)run->plan.rate_per_s);
}

static bool search(struct capacity *capacity, struct error *error)
{
    const struct capacity_options *options = capacity->options;
    const struct api_strategy *strategy =
        harness_choose(&capacity->harness, options->strategy, error);
    if (!strategy)
        return false;
    int64_t deadline_ms = clock_mono_ms() + options->within_s * 1000;
    while (capacity->search.stage != CAPACITY_ENDED) {
        if (clock_mono_ms() + capacity->longest_ms > deadline_ms)
            return error_fail(error, "--within %lld s is over before a rate was confirmed",
                              (long long)options->within_s);
        if (!try_rate(capacity, strategy, error))
            return false;
    }
    return harness_close_fleet(&capacity->harness, error);
}

/* The exit status: 0 a rate was found, 1 none holds. */
static int report(const struct capacity *capacity)
{
    struct document document;
    const struct capacity_found found = {&capacity->harness, &capacity->results, &capacity->slo,
                                         &capacity->search,  &document,          capacity->options};
    const char *folder = capacity->harness.folder;
    struct error error;
    bool written = capacity_write(&found, &document, &error);
    capacity_print(stdout, &found);
    document_free(&document);
    if (!written)
        return process_fail(error.text);
    printf("Files: %s/capacity.csv, %s/results.json\nReport: %s/report.html\n", folder, folder,
           folder);
    return capacity->search.found > 0 ? 0 : 1;
}

int command_capacity(const struct capacity_options *options)
{
    struct error error = {.text = ""};
    struct capacity *capacity = calloc(1, sizeof *capacity);
    if (!capacity)
        return process_fail("out of memory");
    capacity->options = options;
    bool made = begin(capacity, &error) && search(capacity, &error);
    harness_clear_progress(&capacity->harness);
    int status = capacity->results.count > 0 ? report(capacity) : 2;
    if (!made) {
        process_fail(error.text);
        status = capacity->broken ? 1 : 2;
    }
    harness_fini(&capacity->harness);
    results_fini(&capacity->results);
    free(capacity);
    return status;
}
