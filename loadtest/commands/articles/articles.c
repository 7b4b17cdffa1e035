/*
 * `run --scenario articles`: each experiment, row by row, on servers with its settings; then the
 * table, article by article.
 *
 * A strategy that the servers cannot run is left out and said so, as with --strategies all.
 */
#include "loadtest/commands/articles/articles.h"

#include "loadtest/base/pool.h"
#include "loadtest/base/random.h"
#include "loadtest/crowd/crowd.h"

#include <inttypes.h>
#include <stdlib.h>

/* The longest wait that a server takes: the articles' "for ever". */
enum { PATIENT_MS = 60000, HURRIED_MS = 5000 };

enum { LARGE_QUANTITY = 60, SMALL_QUANTITY = 50 };

static const int64_t FIRST_USER = INT64_C(1000000000000);

/* Whether no call before it asked for its product. */
static bool is_first(const struct counted *counted, size_t call)
{
    for (size_t i = 0; i < call; i++)
        if (counted->calls[i].product == counted->calls[call].product)
            return false;
    return true;
}

/* The products that are asked for. */
static int64_t count_products(const struct counted *counted)
{
    int64_t products = 0;
    for (size_t i = 0; i < counted->count; i++)
        products += is_first(counted, i);
    return products;
}

/* Of two products that are sold one half of the calls is for the second, and is in a hurry. */
static struct counted_call make_call(const struct article_experiment *experiment,
                                     const struct options *options, int64_t number,
                                     struct random *random)
{
    bool second = number % 2 != 0, pairs = experiment->kind == ARTICLE_PAIRS;
    bool timed = experiment->kind == ARTICLE_TIMED, drawn = experiment->kind == ARTICLE_SPREAD;
    int64_t product = drawn   ? random_pick(random, experiment->products)
                      : pairs ? number / 2
                              : timed && second;
    return (struct counted_call){.product = options->first_product + product,
                                 .user = FIRST_USER + options->seed + number,
                                 .quantity = !pairs   ? 1
                                             : second ? SMALL_QUANTITY
                                                      : LARGE_QUANTITY,
                                 .wait_ms = timed && second ? HURRIED_MS : PATIENT_MS};
}

void article_make_calls(const struct article_experiment *experiment, const struct options *options,
                        struct counted *counted)
{
    struct random random = random_begin(options->seed, 0);
    *counted = (struct counted){
        .calls = memory_take((size_t)experiment->calls * sizeof *counted->calls),
        .count = (size_t)experiment->calls,
        .may_shed = experiment->kind == ARTICLE_THRESHOLD || experiment->kind == ARTICLE_TIMED,
    };
    for (int64_t i = 0; i < experiment->calls; i++)
        counted->calls[i] = make_call(experiment, options, i, &random);
    const int64_t expected[] = {
        [ARTICLE_COUNTER] = experiment->calls,
        [ARTICLE_SPREAD] = count_products(counted), /* one unit of each */
        [ARTICLE_PAIRS] = experiment->products,     /* one of each two */
        /* No order is refused while the queue has room, and each order in the queue is served. */
        [ARTICLE_THRESHOLD] = experiment->queue_capacity,
        [ARTICLE_TIMED] = experiment->calls / 2,
        [ARTICLE_TURNS] = experiment->calls,
    };
    counted->expected = expected[experiment->kind];
}

/* The calls for one product that were served, or were not. */
struct group {
    int64_t calls, count, slowest_us;
};

static struct group group_of(const struct counted *counted, int64_t product, bool served)
{
    struct group group = {0};
    for (size_t i = 0; i < counted->count; i++) {
        const struct counted_call *call = &counted->calls[i];
        if (call->product != product)
            continue;
        group.calls++;
        if ((call->status / 100 == 2) != served)
            continue;
        group.count++;
        if (call->took_us > group.slowest_us)
            group.slowest_us = call->took_us;
    }
    return group;
}

static void describe_pairs(const struct article_experiment *experiment,
                           const struct phase_result *result, char *out, size_t size)
{
    const int64_t both = LARGE_QUANTITY + SMALL_QUANTITY;
    int64_t beyond = both - experiment->stock;
    snprintf(out, size, "%" PRId64 " sold in %" PRId64 " of %" PRId64, both,
             result->audit.oversold / beyond, experiment->products);
}

static void describe_threshold(const struct counted *counted, char *out, size_t size)
{
    struct group served = group_of(counted, counted->calls[0].product, true);
    struct group shed = group_of(counted, counted->calls[0].product, false);
    int used = snprintf(out, size, "%" PRId64 " sold in %.1f s", served.count,
                        (double)served.slowest_us / 1e6);
    if (shed.count > 0)
        snprintf(out + used, size - (size_t)used, "; %" PRId64 " refused within %.2f s", shed.count,
                 (double)shed.slowest_us / 1e6);
}

static void describe_timed(const struct counted *counted, char *out, size_t size)
{
    struct group patient = group_of(counted, counted->calls[0].product, true);
    struct group hurried = group_of(counted, counted->calls[1].product, true);
    snprintf(out, size,
             "%" PRId64 " of %" PRId64 " in %.1f s; waiting 5 s: %" PRId64 " of %" PRId64,
             patient.count, patient.calls, (double)patient.slowest_us / 1e6, hurried.count,
             hurried.calls);
}

/* What came of it, in words for the table. */
static void describe(const struct article_experiment *experiment, const struct counted *counted,
                     const struct phase_result *result, char *out, size_t size)
{
    char one[HALL_FIGURE_SIZE], other[HALL_FIGURE_SIZE];
    switch (experiment->kind) {
    case ARTICLE_COUNTER:
        snprintf(out, size, "%s", hall_figure(result->audit.stock, one));
        break;
    case ARTICLE_SPREAD:
        snprintf(out, size, "%s sold of %s asked for", hall_figure(result->audit.sold, one),
                 hall_figure(counted->expected, other));
        break;
    case ARTICLE_PAIRS:
        describe_pairs(experiment, result, out, size);
        break;
    case ARTICLE_THRESHOLD:
        describe_threshold(counted, out, size);
        break;
    case ARTICLE_TIMED:
        describe_timed(counted, out, size);
        break;
    case ARTICLE_TURNS:
        snprintf(out, size, "%.1f turns on average",
                 (double)result->counts.attempts / (double)counted->count);
        break;
    }
}

bool article_measure(struct harness *harness, const struct article_experiment *experiment,
                     const struct article_row *row, struct phase_result *result,
                     char ours[ARTICLE_OURS_SIZE], struct error *error)
{
    struct counted counted;
    article_make_calls(experiment, harness->options, &counted);
    counted.must_shed = row->sheds;
    struct phase_plan plan = harness_plan(harness, harness_strategy(harness, row->strategy), 1);
    plan.scenario = experiment->products > 1 ? SCENARIO_SPREAD : SCENARIO_HOT;
    if (experiment->kind == ARTICLE_COUNTER)
        plan.scenario = SCENARIO_COUNTER;
    plan.kind = PHASE_COUNTED;
    plan.body = "";
    plan.wait_ms = -1; /* each call has its own */
    plan.load.connections = experiment->connections;
    plan.load.threads = 1;
    plan.stock = experiment->stock;
    plan.load.products = experiment->products;
    plan.load.counted = &counted;
    *result = (struct phase_result){.plan = plan, .verdict = VERDICT_NO_RUN};
    bool made = phase_run(&harness->fleet, &plan, result, error);
    result->plan.load.counted = NULL;
    *ours = '\0';
    if (made && result->verdict != VERDICT_NO_RUN)
        describe(experiment, &counted, result, ours, ARTICLE_OURS_SIZE);
    free(counted.calls);
    return made;
}

/* Servers for this row; those of the row before go on if they are the same. */
static bool open_fleet(struct harness *harness, struct options *settings,
                       const struct article_experiment *experiment, int instances,
                       struct error *error)
{
    if (harness->fleet.count == (size_t)instances && settings->work_ms == experiment->work_ms &&
        settings->queue_capacity == experiment->queue_capacity &&
        settings->in_flight_per_product == experiment->in_flight)
        return true;
    settings->work_ms = experiment->work_ms;
    settings->queue_capacity = experiment->queue_capacity;
    settings->in_flight_per_product = experiment->in_flight;
    return harness_close_fleet(harness, error) && harness_open_fleet(harness, instances, error);
}

static bool run_row(struct harness *harness, const struct article_experiment *experiment,
                    const struct article_row *row, struct error *error)
{
    const struct api_strategy *strategy = harness_strategy(harness, row->strategy);
    if (!strategy)
        return error_fail(error, "the servers have no strategy '%s'", row->strategy);
    if (!strategy->available) {
        fprintf(stderr, "seckill-loadtest: article %s, %s, left out: %s (%s)\n",
                experiment->article, experiment->name, row->strategy, strategy->unavailable_reason);
        return true;
    }
    struct phase_result result;
    char ours[ARTICLE_OURS_SIZE];
    bool made = article_measure(harness, experiment, row, &result, ours, error);
    json_t *run = results_json_run(&result);
    json_object_set_new(run, "article",
                        json_pack("{ss ss ss ss ss}", "number", experiment->article, "experiment",
                                  experiment->name, "did", row->did, "published", row->published,
                                  "ours", ours));
    harness_keep(harness, run);
    return made;
}

static bool run_experiment(struct harness *harness, struct options *settings,
                           const struct article_experiment *experiment, struct error *error)
{
    for (size_t i = 0; i < experiment->rows_count; i++) {
        const struct article_row *row = &experiment->rows[i];
        if (!open_fleet(harness, settings, experiment, row->instances, error) ||
            !run_row(harness, experiment, row, error))
            return false;
    }
    return true;
}

bool articles_run(struct harness *harness, struct error *error)
{
    const struct options *given = harness->options;
    struct options settings = *given;
    harness->options = &settings;
    bool made = true;
    for (size_t i = 0; made && i < article_experiments_count; i++)
        made = run_experiment(harness, &settings, &article_experiments[i], error);
    made = made && harness_close_fleet(harness, error);
    harness->options = given;
    return made;
}

static void print_row(FILE *to, const json_t *run)
{
    const json_t *note = json_object_get(run, "article");
    const char *published = document_text(note, "published"), *ours = document_text(note, "ours");
    fprintf(to, "  %-46s %-17s %4d  %-23s  %-46s  %s\n", document_text(note, "did"),
            document_text(run, "strategy"), (int)document_integer(run, "instances"),
            *published ? published : "-", *ours ? ours : "-", verdict_name(document_verdict(run)));
    struct line line = document_line_alone(run);
    table_print_alarms(to, "  ! ", &line);
}

static bool belongs_to(const json_t *run, const struct article_experiment *experiment)
{
    const json_t *note = json_object_get(run, "article");
    return document_is(note, "number", experiment->article) &&
           document_is(note, "experiment", experiment->name);
}

void articles_print(FILE *to, const struct document *document, struct verdict_tally *tally)
{
    const struct article_experiment *experiment = NULL;
    for (size_t i = 0; i < json_array_size(document->runs); i++) {
        const json_t *run = json_array_get(document->runs, i);
        for (size_t j = 0; j < article_experiments_count; j++) {
            if (&article_experiments[j] == experiment || !belongs_to(run, &article_experiments[j]))
                continue;
            experiment = &article_experiments[j];
            fprintf(to, "\nArticle %s, %s: %s\n  %-46s %-17s %4s  %-23s  %-46s  %s\n",
                    experiment->article, experiment->name, experiment->title, "what was done",
                    "strategy", "inst", "published", "ours", "verdict");
        }
        print_row(to, run);
        tally->counts[document_verdict(run)]++;
    }
    fputs(
        "\nEvery call was sent once and answered; what was sold is counted in PostgreSQL's rows.\n",
        to);
}
