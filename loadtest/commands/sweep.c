/*
 * `sweep`: one setting through a list of values, for the figures behind the defaults.
 *
 * Every round takes every value in turn, with servers started anew, and every strategy under each;
 * so what changes on the machine meanwhile meets all of them. The table has medians, and marks what
 * cannot be told from the best. A value whose run was none, or whose promise was BROKEN, is shown
 * as that and decides the exit status (2, 1); a server that dies ends everything, and what was
 * found so far is still printed and written.
 */
#include "loadtest/commands/line/command_line.h"

#include "base/options/nearest.h"
#include "loadtest/commands/harness.h"
#include "loadtest/commands/sweep.h"
#include "loadtest/faults/way.h"

#include <inttypes.h>
#include <string.h>

static const struct {
    const char *name;
    enum option_kind kind;
    int64_t min, max;    /* the server's own ranges, where it is a setting of the server */
    size_t offset;       /* in the options */
    const char *setting; /* in results.json, which has none of the value that varies; NULL: none */
} dimensions[SWEEP_DIMENSIONS] = {
#define AT(member) offsetof(struct sweep_options, member)
    [SWEEP_IN_FLIGHT] = {"in-flight-per-product", OPTION_COUNT, 1, 1000,
                         AT(shared.in_flight_per_product), NULL},
    [SWEEP_PG_SESSIONS] = {"pg-sessions", OPTION_COUNT, 4, 1000, AT(shared.pg_sessions), NULL},
    [SWEEP_MAX_BATCH] = {"max-batch", OPTION_COUNT, 1, 500, AT(shared.max_batch), NULL},
    [SWEEP_CONNECTIONS] = {"connections", OPTION_COUNT, 1, 20000, AT(shared.connections),
                           "connections"},
    [SWEEP_WORK_MS] = {"work-ms", OPTION_MS, 0, 60000, AT(shared.work_ms), "work_ms"},
    [SWEEP_INSTANCES] = {"instances", OPTION_COUNT, 1, OPTIONS_MAX_INSTANCES, 0, "instances"},
    [SWEEP_REDIS_DELAY_US] = {"redis-delay-us", OPTION_US, 0, 1000000, AT(redis_delay_us), NULL},
#undef AT
};

void sweep_apply(struct sweep_options *options, enum sweep_dimension dimension, int64_t value)
{
    if (dimension == SWEEP_INSTANCES)
        options->shared.instances.items[0] = (int)value;
    else
        memcpy((char *)options + dimensions[dimension].offset, &value, sizeof value);
}

/* "NAME=…": the dimension, and what follows the sign. */
static bool split(const char *flag, const char *text, enum sweep_dimension *dimension,
                  const char **values, struct error *error)
{
    size_t length = strcspn(text, "=");
    for (int i = 0; i < SWEEP_DIMENSIONS && text[length] == '='; i++) {
        if (strlen(dimensions[i].name) == length &&
            strncmp(dimensions[i].name, text, length) == 0) {
            *dimension = (enum sweep_dimension)i;
            *values = text + length + 1;
            return true;
        }
    }
    char names[300] = "", meant[NEAREST_TEXT_SIZE];
    struct nearest nearest = nearest_to(text, length);
    for (int i = 0; i < SWEEP_DIMENSIONS; i++) {
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "",
                 dimensions[i].name);
        nearest_offer(&nearest, dimensions[i].name);
    }
    if (nearest.slips == 0) /* the name was right, and nothing behind it */
        nearest.name = NULL;
    return error_fail(error, "--%s takes NAME=NUMBERS with a name of %s, not '%s'%s", flag, names,
                      text, nearest_text(&nearest, "", meant));
}

static bool read_value(const char *flag, enum sweep_dimension dimension, const char *text,
                       int64_t *out, struct error *error)
{
    char name[64];
    snprintf(name, sizeof name, "--%s %s", flag, dimensions[dimension].name);
    struct option_range range = {name, dimensions[dimension].min, dimensions[dimension].max,
                                 dimensions[dimension].kind};
    return option_read_number(&range, text, out, error);
}

static bool read_over(struct sweep_plan *plan, const char *text, struct error *error)
{
    struct option_list list;
    const char *values = "";
    if (!split("over", text, &plan->over, &values, error) ||
        !option_read_list("--over", values, &list, error))
        return false;
    for (; plan->count < list.count; plan->count++) {
        if (!read_value("over", plan->over, list.items[plan->count], &plan->values[plan->count],
                        error))
            return false;
    }
    return true;
}

static bool read_set(struct sweep_plan *plan, struct sweep_options *options, struct error *error)
{
    for (size_t i = 0; i < options->set.count; i++) {
        enum sweep_dimension dimension = SWEEP_DIMENSIONS;
        const char *text = "";
        int64_t value = 0;
        if (!split("set", options->set.items[i], &dimension, &text, error) ||
            !read_value("set", dimension, text, &value, error))
            return false;
        if (dimension == plan->over)
            return error_fail(error, "--set %s is what --over varies", dimensions[dimension].name);
        plan->delayed = plan->delayed || dimension == SWEEP_REDIS_DELAY_US;
        sweep_apply(options, dimension, value);
    }
    return true;
}

bool sweep_plan_read(struct sweep_plan *plan, struct sweep_options *options, struct error *error)
{
    *plan = (struct sweep_plan){.count = 0};
    if (!read_over(plan, options->over, error))
        return false;
    plan->delayed = plan->over == SWEEP_REDIS_DELAY_US;
    return read_set(plan, options, error);
}

struct sweep {
    struct sweep_options options; /* as given, with the value under test */
    struct sweep_plan plan;
    struct harness harness;
    struct way ways[2]; /* to --redis and --stock-redis */
};

static bool put_redis_behind(struct sweep *sweep, struct error *error)
{
    struct options *options = &sweep->options.shared;
    if (!sweep->plan.delayed)
        return true;
    if (!*options->redis && !*options->stock_redis)
        return error_fail(error, "redis-delay-us needs --redis");
    return (!*options->redis || way_before_redis(&sweep->ways[0], &options->redis, 0, error)) &&
           (!*options->stock_redis ||
            way_before_redis(&sweep->ways[1], &options->stock_redis, 0, error));
}

static bool run_strategy(struct sweep *sweep, size_t value, int round, const char *name,
                         struct error *error)
{
    const struct sweep_options *options = &sweep->options;
    struct harness *harness = &sweep->harness;
    const struct api_strategy *strategy = harness_choose(harness, name, error);
    if (!strategy)
        return false;
    struct phase_result result;
    struct phase_plan plan = harness_plan(harness, strategy, round);
    plan.scenario = plan.load.products > 1 ? SCENARIO_SPREAD : SCENARIO_HOT;
    size_t number = json_array_size(harness->runs);
    size_t all = sweep->plan.count * options->strategies.count * (size_t)options->shared.rounds;
    bool made = harness_measure(harness, &plan, all, &result, error);
    if (process_interrupted())
        json_array_remove(harness->runs, number); /* it says nothing */
    else
        json_object_update_new(json_array_get(harness->runs, number),
                               json_pack("{ss sI sI sI}", "over", dimensions[sweep->plan.over].name,
                                         "value", sweep->plan.values[value], "work_ms",
                                         options->shared.work_ms > 0 ? options->shared.work_ms : 0,
                                         "redis_delay_us", options->redis_delay_us));
    return made;
}

static bool run_value(struct sweep *sweep, size_t value, int round, struct error *error)
{
    struct sweep_options *options = &sweep->options;
    sweep_apply(options, sweep->plan.over, sweep->plan.values[value]);
    for (size_t i = 0; i < 2; i++)
        if (sweep->ways[i].relay && !way_delay(&sweep->ways[i], options->redis_delay_us, error))
            return false;
    if (!harness_open_fleet(&sweep->harness, options->shared.instances.items[0], error))
        return false;
    for (size_t i = 0; i < options->strategies.count; i++) {
        if (!run_strategy(sweep, value, round, options->strategies.items[i], error))
            return false;
    }
    return harness_close_fleet(&sweep->harness, error);
}

static bool run_everything(struct sweep *sweep, struct error *error)
{
    for (int round = 1; round <= (int)sweep->options.shared.rounds; round++) {
        for (size_t value = 0; value < sweep->plan.count; value++) {
            if (!run_value(sweep, value, round, error))
                return error_prefix(error, "%s=%" PRId64, dimensions[sweep->plan.over].name,
                                    sweep->plan.values[value]);
        }
    }
    return true;
}

static void print_line(const struct document *document, const struct line *line,
                       struct verdict_tally *tally)
{
    const struct span *its = line->figures;
    const struct span *rate = &its[LINE_COMMITTED];
    bool counts = line->verdict == VERDICT_BROKEN || line->verdict == VERDICT_NO_RUN;
    printf("%-18s %21" PRId64 " %9.0f %9.0f %9.0f %6.2f  %-6s %9.2f %9.2f %9.0f\n", line->strategy,
           line->value, rate->median, rate->least, rate->most,
           line->best > 0 ? rate->median / line->best : 0, document_mark_word(document, line),
           its[LINE_P50].median, its[LINE_P99].median, its[LINE_FAILED].median);
    if (counts)
        printf("  ! %s %s\n", verdict_name(line->verdict), line->error ? line->error : "");
    tally->counts[counts ? line->verdict : VERDICT_KEPT]++;
}

static void print_strategy(const struct sweep *sweep, const struct document *document,
                           const char *strategy, struct verdict_tally *tally)
{
    for (size_t i = 0; i < sweep->plan.count; i++) {
        const struct line *line = document_swept(document, strategy, sweep->plan.values[i]);
        if (line)
            print_line(document, line, tally);
    }
}

/* The settings that stayed the same; of the varied one, the values. */
static json_t *json_document(const struct sweep *sweep)
{
    const struct sweep_options *options = &sweep->options;
    json_t *document =
        results_json_document(sweep->harness.runs, &options->shared, &sweep->harness.machine);
    json_t *settings = json_object_get(document, "settings");
    if (dimensions[sweep->plan.over].setting)
        json_object_del(settings, dimensions[sweep->plan.over].setting);
    json_t *set = json_array();
    for (size_t i = 0; i < options->set.count; i++)
        json_array_append_new(set, json_string(options->set.items[i]));
    json_object_update_new(settings, json_pack("{ss so}", "over", options->over, "set", set));
    return document;
}

static const struct results_csv csv = {
    "sweep.csv",
    "over,value,strategy,instances,connections,work_ms,redis_delay_us,round,"
    "requests_per_s:1,committed_per_s:1,refused,failed,unknown,latency_us_p50,"
    "latency_us_p90,latency_us_p99,latency_us_max,verdict:q",
    false};

static int report(const struct sweep *sweep)
{
    struct verdict_tally tally = {{0}};
    struct document document;
    struct error error;
    bool written =
        results_publish(sweep->harness.folder, json_document(sweep), &csv, &document, &error);
    printf("\n%-18s %21s %9s %9s %9s %6s  %-6s %9s %9s %9s\n", "strategy",
           dimensions[sweep->plan.over].name, "commit/s", "least", "most", "ratio", "", "p50 ms",
           "p99 ms", "failed/s");
    for (size_t i = 0; i < sweep->options.strategies.count; i++)
        print_strategy(sweep, &document, sweep->options.strategies.items[i], &tally);
    document_free(&document);
    printf(
        "\nMedians of %" PRId64 " round%s of %" PRId64
        " s, the values in turn. = best: no difference from it is shown (Mann and Whitney's test, "
        "with Holm's correction).\n",
        sweep->options.shared.rounds, sweep->options.shared.rounds == 1 ? "" : "s",
        sweep->options.shared.duration_s);
    machine_print(stdout, &sweep->harness.machine);
    if (!written)
        return process_fail(error.text);
    harness_print_files(&sweep->harness, stdout, "sweep.csv", "");
    return verdict_exit_status(&tally);
}

int command_sweep(const struct sweep_options *options)
{
    struct error error = {.text = ""};
    struct sweep sweep = {.options = *options};
    bool made = sweep_plan_read(&sweep.plan, &sweep.options, &error) &&
                harness_init(&sweep.harness, &sweep.options.shared, &error) &&
                put_redis_behind(&sweep, &error) && run_everything(&sweep, &error);
    harness_clear_progress(&sweep.harness);
    int status = json_array_size(sweep.harness.runs) > 0 ? report(&sweep) : 2;
    status = harness_status(made, status, &error);
    harness_fini(&sweep.harness);
    way_close(&sweep.ways[0]);
    way_close(&sweep.ways[1]);
    return status;
}
