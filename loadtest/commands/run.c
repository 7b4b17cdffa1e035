/*
 * `run`: every strategy, with every number of instances, in every round; the table; the files.
 *
 * Rounds go round the strategies, so that what changes on the machine meanwhile meets all of them.
 * A phase whose books do not agree is "no run" and the next one goes on; a server that died ends
 * everything, and what was found so far is still printed and written. So does Ctrl-C: what it
 * interrupted is left out, because half of a strategy's phases prove nothing of it; but for what is
 * BROKEN, which no other phase mends.
 */
#include "loadtest/commands/line/command_line.h"

#include "loadtest/base/terminal.h"
#include "loadtest/commands/articles/articles.h"
#include "loadtest/commands/unpaid.h"
#include "loadtest/report/files.h"
#include "loadtest/report/pipeline/gate.h"
#include "loadtest/report/results.h"

#include <inttypes.h>

struct run {
    const struct run_options *options; /* borrowed */
    struct harness harness;
    struct document document; /* owned: what was made of the runs */
    size_t complete; /* of the runs: those of strategies whose phases of a round are all there */
    struct harness_chosen chosen;
    struct gate gate;
};

static bool is(const struct run *run, enum scenario scenario)
{
    return run->options->shared.scenario == scenario;
}

static int64_t products_of(const struct options *options)
{
    return options->scenario == SCENARIO_SPREAD ? options->products : 1;
}

static bool has_one_phase(const struct run *run)
{
    return is(run, SCENARIO_SOLDOUT) || is(run, SCENARIO_COUNTER) || is(run, SCENARIO_BELL);
}

/* How many there will be in all. Every fleet has the same strategies. */
static size_t phases_of(const struct run *run)
{
    const struct options *options = run->harness.options;
    return options->instances.count * (size_t)options->rounds * run->chosen.count *
           (has_one_phase(run) ? 1 : 2);
}

static bool run_phase(struct run *run, const struct api_strategy *strategy, int round,
                      enum phase_kind kind, struct error *error)
{
    const struct options *options = run->harness.options;
    struct phase_plan plan = harness_plan(&run->harness, strategy, round);
    struct phase_result result;
    plan.kind = kind;
    plan.load.products = products_of(options);
    plan.surge = run->options->surge;
    plan.fail_if = &run->gate.fail_if;
    if (kind == PHASE_TRUTH || options->scenario == SCENARIO_BELL)
        plan.stock = options->stock;
    else if (kind == PHASE_LOAD)
        plan.stock = 0; /* soldout and counter begin with nothing */
    return harness_measure(&run->harness, &plan, phases_of(run), &result, error);
}

static bool run_strategy(struct run *run, const struct api_strategy *strategy, int round,
                         struct error *error)
{
    if (is(run, SCENARIO_UNPAID))
        return unpaid_sell(&run->harness, strategy, error);
    bool made = has_one_phase(run) ? run_phase(run, strategy, round, PHASE_LOAD, error)
                                   : run_phase(run, strategy, round, PHASE_SPEED, error) &&
                                         run_phase(run, strategy, round, PHASE_TRUTH, error);
    if (!process_interrupted())
        run->complete = json_array_size(run->harness.runs);
    return made;
}

static bool run_fleet(struct run *run, int count, struct error *error)
{
    bool first = json_array_size(run->harness.runs) == 0;
    int64_t rounds = is(run, SCENARIO_UNPAID) ? 1 : run->harness.options->rounds;
    if (!harness_open_fleet(&run->harness, count, error) ||
        !harness_choose_all(&run->harness, &run->options->strategies, first, &run->chosen, error) ||
        (first && !harness_may_reset(&run->harness, products_of(run->harness.options), error)))
        return false;
    for (int round = 1; round <= (int)rounds; round++) {
        for (size_t i = 0; i < run->chosen.count; i++) {
            if (!run_strategy(run, run->chosen.items[i], round, error))
                return false;
        }
    }
    return harness_close_fleet(&run->harness, error);
}

static bool run_everything(struct run *run, struct error *error)
{
    const struct options *options = run->harness.options;
    if (is(run, SCENARIO_ARTICLES))
        return articles_run(&run->harness, error);
    if (is(run, SCENARIO_UNPAID))
        unpaid_print_titles(stdout);
    for (size_t i = 0; i < options->instances.count; i++) {
        if (!run_fleet(run, options->instances.items[i], error))
            return false;
    }
    return true;
}

/* Where the table goes, and where the rest of what is for people: what a program reads from stdout
 * stands there alone. */
struct outputs {
    FILE *table, *notes;
};

static struct outputs outputs_of(const struct run_options *options)
{
    bool is_data = options->format == FORMAT_JSON || options->format == FORMAT_CSV;
    bool is_text = options->format == FORMAT_TABLE || options->format == FORMAT_WIDE;
    return (struct outputs){is_data ? stderr : stdout, is_text ? stdout : stderr};
}

static void print_table(const struct run *run, const struct outputs *to,
                        struct verdict_tally *tally)
{
    const struct options *options = run->harness.options;
    struct table_style style = {run->options->format, terminal_has_colours(to->table)};
    char buyers[120];
    options_buyers_text(options, buyers, sizeof buyers);
    fprintf(to->notes,
            "\nscenario %s, %" PRId64 " connections, %" PRId64 " round%s of %" PRId64 " s%s\n\n",
            scenario_name(options->scenario),
            document_integer(json_array_get(run->document.runs, 0), "connections"), options->rounds,
            options->rounds == 1 ? "" : "s", options->duration_s, buyers);
    table_print(to->table, &run->document, &style, tally);
    table_print_legend(to->notes, &style, tally);
    open_results_print(to->notes, &run->document, run->options->format == FORMAT_WIDE);
    fprintf(to->notes,
            "\n%s and one update of the product's row,\ncommitted with synchronous_commit on.\n",
            options->scenario == SCENARIO_COUNTER ? "A restock writes one row in restock"
                                                  : "An order writes one row in orders");
    if (options->rounds > 1)
        fprintf(to->notes,
                "Rates and latencies are medians of the rounds%s; the rest is the worst round's.\n",
                run->options->format == FORMAT_WIDE ? ", ± half their spread" : "");
}

/* The members of each run's object, but for what happened meanwhile and for those that have no
 * fixed ones (cost_per_order, audit.strategies, open_loop). What an article's row has comes last,
 * and is empty elsewhere. */
static const struct results_csv csv = {
    "results.csv",
    "strategy,body,instances,scenario,phase,round,connections,threads,duration_s:3,stock,products,"
    "requests,repeats,requests_per_s:1,committed,committed_per_s:1,refused,limit_reached,failed,"
    "unknown,latency_us_p50,latency_us_p90,latency_us_p99,latency_us_max,audit_sold,audit_oversold,"
    "audit_lost_updates,audit_duplicate_orders,audit_limit_violations,audit_queued,audit_held,"
    "audit_consistent,audit_undersold,audit_missing,audit_resold,audit_unrepeatable,audit_stock,"
    "promise,verdict:q,error:q,article_number:q,article_experiment:q,article_did:q,"
    "article_published:q,article_ours:q",
    true};

/* The lines of its sales stand there already. */
static void print_unpaid(FILE *to, const struct document *document, struct verdict_tally *tally)
{
    fputc('\n', to);
    for (size_t i = 0; i < json_array_size(document->runs); i++)
        tally->counts[document_verdict(json_array_get(document->runs, i))]++;
}

/* Files, then table and legend of what they say. Returns the exit status that the verdicts ask for.
 * What could not be written is printed all the same. */
static int report(struct run *run)
{
    const struct harness *harness = &run->harness;
    const struct outputs to = outputs_of(run->options);
    enum options_format format = run->options->format;
    struct verdict_tally tally = {{0}};
    struct error error;
    if (json_array_size(harness->runs) == 0)
        return 2;
    json_t *made = results_json_document(harness->runs, harness->options, &harness->machine);
    const struct results_csv *files = is(run, SCENARIO_UNPAID) ? &unpaid_csv : &csv;
    bool written = results_publish(harness->folder, made, files, &run->document, &error);
    if (!run->document.json)
        return process_fail(error.text);
    gate_take(&run->gate, &run->document);
    if (is(run, SCENARIO_ARTICLES))
        articles_print(to.table, &run->document, &tally);
    else if (is(run, SCENARIO_UNPAID))
        print_unpaid(to.table, &run->document, &tally);
    else
        print_table(run, &to, &tally);
    table_print_meanwhile(to.notes, &run->document);
    gate_print(to.notes, &run->gate);
    machine_print(to.notes, &harness->machine);
    if (!written ||
        (format == FORMAT_JSON && !files_copy(harness->folder, "results.json", stdout, &error)) ||
        (format == FORMAT_CSV && !files_copy(harness->folder, "results.csv", stdout, &error)))
        return process_fail(error.text);
    harness_print_files(harness, to.notes, "results.csv",
                        harness->options->rate_per_s > 0 ? ", and arrivals.csv beside them" : "");
    return gate_exit_status(&run->gate, verdict_exit_status(&tally));
}

static void forget_the_interrupted(struct run *run)
{
    json_t *runs = run->harness.runs;
    size_t kept = run->complete, count = json_array_size(runs);
    if (is(run, SCENARIO_ARTICLES) || is(run, SCENARIO_UNPAID)) { /* each stands for itself */
        kept = count;
        if (count > 0 && document_verdict(json_array_get(runs, count - 1)) == VERDICT_NO_RUN)
            kept--;
    }
    while (count-- > kept) {
        if (document_verdict(json_array_get(runs, count)) != VERDICT_BROKEN)
            json_array_remove(runs, count);
    }
}

int command_run(const struct run_options *options)
{
    struct run run = {.options = options};
    struct error error = {.text = ""};
    /* Mistakes on the command line are reported before anything is started. */
    bool begun = gate_open(&run.gate, &options->shared, &error) &&
                 harness_init(&run.harness, &options->shared, &error);
    bool made = begun && run_everything(&run, &error);
    harness_clear_progress(&run.harness);
    if (process_interrupted())
        forget_the_interrupted(&run);
    int status = begun ? report(&run) : 2;
    status = harness_status(made, status, &error);
    if (!gate_close(&run.gate, "run", made ? NULL : error.text, &error))
        status = process_fail(error.text);
    harness_fini(&run.harness);
    document_free(&run.document);
    return status;
}
