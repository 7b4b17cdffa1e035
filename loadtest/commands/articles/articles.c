/*
 * `run --scenario articles`: each experiment, row by row, on servers with its settings; then the
 * table, article by article.
 *
 * A strategy that the servers cannot run is left out and said so, as with --strategies all.
 */
#include "loadtest/commands/articles/articles.h"

#include "loadtest/report/table.h"

#include <stdlib.h>

bool article_measure(struct harness *harness, const struct article_experiment *experiment,
                     const struct article_row *row, struct phase_result *result,
                     struct error *error)
{
    struct counted counted;
    bool made = article_make_calls(experiment, harness->options, &counted, error);
    counted.must_shed = row->sheds;
    struct phase_plan plan = harness_plan(harness, harness_strategy(harness, row->strategy), 1);
    plan.scenario = experiment->products > 1 ? SCENARIO_SPREAD : SCENARIO_HOT;
    if (experiment->kind == ARTICLE_COUNTER)
        plan.scenario = SCENARIO_COUNTER;
    plan.kind = PHASE_COUNTED;
    plan.body = "";
    plan.wait_ms = -1; /* each call has its own */
    plan.connections = experiment->connections;
    plan.threads = 1;
    plan.stock = experiment->stock;
    plan.products = experiment->products;
    plan.counted = &counted;
    *result = (struct phase_result){.plan = plan, .verdict = VERDICT_NO_RUN};
    made = made && phase_run(&harness->fleet, &plan, result, error);
    result->plan.counted = NULL;
    result->article = (struct article_note){.number = experiment->article,
                                            .experiment = experiment->name,
                                            .did = row->did,
                                            .published = row->published};
    if (made && result->verdict != VERDICT_NO_RUN)
        article_describe(experiment, &counted, result, result->article.ours,
                         sizeof result->article.ours);
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
    bool made = article_measure(harness, experiment, row, &result, error);
    return harness_keep(harness, results_json_run(&result), error) && made;
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
    struct options *settings = malloc(sizeof *settings);
    if (!settings)
        return error_fail(error, "out of memory");
    *settings = *given;
    harness->options = settings;
    bool made = true;
    for (size_t i = 0; made && i < article_experiments_count; i++)
        made = run_experiment(harness, settings, &article_experiments[i], error);
    made = made && harness_close_fleet(harness, error);
    harness->options = given;
    free(settings);
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
