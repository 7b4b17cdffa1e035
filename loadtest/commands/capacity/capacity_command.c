/*
 * `capacity`: the highest rate of orders at which a strategy holds what --slo asks for.
 *
 * Happy path: one fleet; open-loop runs at the rates that capacity_search asks for, each on a sale
 * of its own, audited as every phase, a line each; the files.
 *
 * Failure modes: a run for which the generator was late is made once more, and fails if it is late
 * again: it is then the machine's rate that is found, and the line says so. A promise that is
 * BROKEN ends the search (1), as does a rate that cannot be found before --within is over (2), with
 * what is known by then. That no rate holds is an answer (1).
 */
#include "loadtest/commands/line/command_line.h"

#include "base/clock.h"
#include "loadtest/commands/capacity/capacity_search.h"
#include "loadtest/commands/harness.h"

#include <inttypes.h>

/* Fewer orders in a run have no percentiles worth the name; and no machine serves as many a second.
 */
enum { ORDERS_LEAST = 10, RATE_MOST = 1000000 };

struct capacity {
    const struct capacity_options *options; /* borrowed */
    struct harness harness;
    struct document document; /* owned: what was written */
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

/* Whether a run held: it was made, and each condition is met. Else `why` says what did not. */
static bool is_held(const struct phase_result *run, const struct thresholds *slo, char *why,
                    size_t size)
{
    struct measured measured;
    *why = '\0';
    if (!phase_measured(run, &measured)) {
        snprintf(why, size, "%s", *run->error ? run->error : "no figures");
        return false;
    }
    const struct threshold *broken = thresholds_find_broken(slo, &measured);
    if (broken)
        threshold_say_value(broken, threshold_value(broken, &measured), why, size);
    return !broken;
}

static void print_head(FILE *to, const struct capacity *capacity)
{
    size_t instances = capacity->harness.fleet.count;
    fprintf(to, "\n%s, %zu instance%s, %s\n\n%8s %11s %8s %8s %9s\n", capacity->options->strategy,
            instances, instances == 1 ? "" : "s", capacity->options->slo, "offered/s",
            "committed/s", "p50 ms", "p99 ms", "failed %");
}

/* `why` it did not hold; "": it did. */
static void print_run(FILE *to, const struct phase_result *run, const char *why)
{
    struct measured measured;
    fprintf(to, "%8" PRId64, run->plan.rate_per_s);
    if (phase_measured(run, &measured)) {
        const struct threshold share = {.measure = THRESHOLD_FAILED, .unit = THRESHOLD_PERCENT};
        fprintf(to, " %11.1f %8.2f %8.2f %9.3f", measured.per_s[THRESHOLD_COMMITTED],
                measured.values[THRESHOLD_P50] / 1000, measured.values[THRESHOLD_P99] / 1000,
                threshold_value(&share, &measured));
    } else {
        fprintf(to, " %11s %8s %8s %9s", "", "", "", "");
    }
    fprintf(to, "  %s\n", *why ? why : "holds");
    fflush(to);
}

/* A run at the rate that is to be tried, and its line. */
static bool measure(struct capacity *capacity, const struct api_strategy *strategy,
                    struct phase_result *run, bool *held, struct error *error)
{
    struct harness *harness = &capacity->harness;
    size_t before = json_array_size(harness->runs);
    struct phase_plan plan = harness_plan(harness, strategy, (int)before + 1);
    char why[700];
    plan.kind = PHASE_SPEED;
    plan.load.products = 1;
    plan.rate_per_s = capacity->search.rate;
    int64_t began_ms = clock_mono_ms();
    if (!harness_measure(harness, &plan, before + 1, run, error)) {
        json_array_remove(harness->runs, before); /* one that was interrupted says nothing */
        return false;
    }
    if (clock_mono_ms() - began_ms > capacity->longest_ms)
        capacity->longest_ms = clock_mono_ms() - began_ms;
    *held = is_held(run, &capacity->slo, why, sizeof why);
    json_object_update_new(
        json_array_get(harness->runs, before),
        json_pack("{ss sI sb}", "over", "rate", "value", plan.rate_per_s, "holds", (int)*held));
    harness_clear_progress(harness);
    if (before == 0)
        print_head(stdout, capacity);
    print_run(stdout, run, why);
    return true;
}

static bool try_rate(struct capacity *capacity, const struct api_strategy *strategy,
                     struct error *error)
{
    struct phase_result run;
    bool held = false;
    if (!measure(capacity, strategy, &run, &held, error) ||
        (run.late && !measure(capacity, strategy, &run, &held, error)))
        return false;
    capacity->broken = run.verdict == VERDICT_BROKEN;
    if (run.again)
        return error_fail(error, "no run: %s", run.error);
    capacity_tell(&capacity->search, held);
    return !capacity->broken ||
           error_fail(error, "%s is BROKEN at %lld orders/s: its rate is not asked for any more",
                      strategy->name, (long long)run.plan.rate_per_s);
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

static void print_found(FILE *to, const struct capacity *capacity)
{
    const struct capacity_search *search = &capacity->search;
    const struct line *found =
        document_swept(&capacity->document, capacity->options->strategy, search->found);
    const struct line line = found ? *found : (struct line){.rounds = 0};
    const struct span *rate = &line.figures[LINE_COMMITTED];
    const struct span *p50 = &line.figures[LINE_P50], *p99 = &line.figures[LINE_P99];
    fprintf(to, "%" PRId64 " orders/s hold: %d of %d runs that confirm", search->found,
            search->held, search->held + search->failed);
    if (search->fails > 0)
        fprintf(to, "; %" PRId64 " did not hold.\n", search->fails);
    else
        fprintf(to, ". No rate was tried that did not hold.\n");
    fprintf(to,
            "At that rate (median, least – most of its runs): committed/s %.1f, %.1f – %.1f; "
            "p50 ms %.2f, %.2f – %.2f; p99 ms %.2f, %.2f – %.2f.\n",
            rate->median, rate->least, rate->most, p50->median, p50->least, p50->most, p99->median,
            p99->least, p99->most);
}

static void print_capacity(FILE *to, const struct capacity *capacity)
{
    const struct capacity_search *search = &capacity->search;
    fputc('\n', to);
    if (search->found > 0)
        print_found(to, capacity);
    else if (search->stage == CAPACITY_ENDED && search->fails == search->least)
        fprintf(to, "No rate holds, from %" PRId64 " orders/s on.\n", search->least);
    else
        fprintf(to,
                "Not found: %" PRId64 " orders/s held and are not confirmed; %" PRId64
                " did not hold (0: none).\n",
                search->holds, search->fails);
    machine_print(to, &capacity->harness.machine);
}

/* A rate of 0: there is none. */
static json_t *json_capacity(const struct capacity *capacity)
{
    const struct capacity_search *search = &capacity->search;
    return json_pack("{ss ss sI sI sI si si}", "strategy", capacity->options->strategy, "slo",
                     capacity->options->slo, "rate_per_s", search->found, "held_per_s",
                     search->holds, "failed_per_s", search->fails, "confirmed", search->held,
                     "not_confirmed", search->failed);
}

static const struct results_csv csv = {
    "capacity.csv",
    "value,holds,strategy,instances,connections,round,requests_per_s:1,committed_per_s:1,refused,"
    "failed,unknown,latency_us_p50,latency_us_p90,latency_us_p99,latency_us_max,verdict:q,error:q",
    false};

/* The exit status: 0 a rate was found, 1 none holds. */
static int report(struct capacity *capacity)
{
    const struct harness *harness = &capacity->harness;
    struct error error;
    json_t *made = results_json_document(harness->runs, harness->options, &harness->machine);
    json_object_set_new(made, "capacity", json_capacity(capacity));
    bool written = results_publish(harness->folder, made, &csv, &capacity->document, &error);
    print_capacity(stdout, capacity);
    if (!written)
        return process_fail(error.text);
    harness_print_files(harness, stdout, csv.name, "");
    return capacity->search.found > 0 ? 0 : 1;
}

int command_capacity(const struct capacity_options *options)
{
    struct error error = {.text = ""};
    struct capacity capacity = {.options = options};
    bool made = begin(&capacity, &error) && search(&capacity, &error);
    harness_clear_progress(&capacity.harness);
    int status = json_array_size(capacity.harness.runs) > 0 ? report(&capacity) : 2;
    if (!made)
        status = harness_status(false, capacity.broken, &error);
    harness_fini(&capacity.harness);
    document_free(&capacity.document);
    return status;
}
