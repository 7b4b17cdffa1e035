/* What follows from a command's options, and which do not go together (command_line.h). Each
 * message says what would mend it. */
#include "loadtest/commands/line/command_line.h"

#include <inttypes.h>
#include <string.h>

/* The first flag that was given and is one of these names, which end with NULL, or is none of them;
 * NULL: there is none. */
static const char *find_given(const struct option_given *given, const char *const names[],
                              bool among)
{
    for (size_t i = 0; i < given->count; i++) {
        size_t at = 0;
        while (names[at] && strcmp(given->flags[i], names[at]) != 0)
            at++;
        if ((names[at] != NULL) == among)
            return given->flags[i];
    }
    return NULL;
}

static bool finish_keys(struct options *options, struct error *error)
{
    options->keyed = *options->keys != '\0';
    return !options->keyed || options_read_share(options->keys, &options->repeats) ||
           error_fail(error,
                      "--keys takes a share of the orders from 0%% to 100%%, as 5%%, not '%s'",
                      options->keys);
}

static bool finish_fleet(struct options *options, struct error *error)
{
    return options_finish(options, error) &&
           (options->instances.count == 1 ||
            error_fail(error, "--instances takes one figure here"));
}

enum { BELL_RATE = 500 }; /* without --rate */

/* What a scenario says itself, or has no use for. */
static const struct {
    enum scenario scenario;
    const char *flags[20];
    const char *name; /* of the scenario, and why */
} unfit[] = {
    {SCENARIO_ARTICLES,
     {"strategies", "instances", "connections", "threads", "duration", "stock", "products",
      "rounds", "work-ms", "body", "wait-ms", "server", "rate", "fail-if", "junit", "header",
      "users", "limit", "keys"},
     "articles: its experiments are the articles' own"},
    {SCENARIO_COUNTER, {"keys", "users", "limit"}, "counter, whose restocks are nobody's orders"},
    {SCENARIO_UNPAID, {"keys", "users", "limit"}, "unpaid, which has buyers of its own"},
    {SCENARIO_UNPAID, {"header", "fail-if", "junit", "balancer"}, "unpaid"},
    {SCENARIO_SOLDOUT, {"limit"}, "soldout, where nothing is bought"},
};

static bool check_scenario(const struct options *options, const struct option_given *given,
                           struct error *error)
{
    for (size_t i = 0; i < sizeof unfit / sizeof unfit[0]; i++) {
        const char *flag = find_given(given, unfit[i].flags, true);
        if (options->scenario == unfit[i].scenario && flag)
            return error_fail(error, "--%s is not for --scenario %s", flag, unfit[i].name);
    }
    return true;
}

/* One unit must be left over for somebody, or nobody is told "sold out". */
static bool sells_out(const struct options *options, struct error *error)
{
    int64_t most = options->users * options->limit;
    return most > options->stock ||
           error_fail(error,
                      "--users %" PRId64 " with --limit %" PRId64 " may have %" PRId64
                      " units of --stock %" PRId64 ", so that it cannot sell out: at least "
                      "--users %" PRId64 " or --limit %" PRId64 " would do",
                      options->users, options->limit, most, options->stock,
                      options->stock / options->limit + 1, options->stock / options->users + 1);
}

static bool check_limit(const struct options *options, struct error *error)
{
    if (options->limit == 0)
        return true;
    if (options->users == 0)
        return error_fail(error, "--limit needs --users: without it each order is another user's, "
                                 "and nobody comes to a limit");
    return sells_out(options, error);
}

static bool finish_headers(struct run_options *own, struct error *error)
{
    struct options *options = &own->shared;
    if (!headers_read(&own->header, options->headers, error))
        return false;
    return options->scenario != SCENARIO_COUNTER ||
           !headers_have(options->headers, "Authorization") ||
           error_fail(error, "--header: Authorization cannot be set for --scenario counter: a "
                             "restock's is --admin-token");
}

/* It has its own lines. */
static bool check_unpaid(const struct run_options *options, struct error *error)
{
    return options->shared.scenario != SCENARIO_UNPAID ||
           (options->format == FORMAT_TABLE && options->shared.rate_per_s == 0) ||
           error_fail(error, "--format, --wide and --rate are not for --scenario unpaid, which "
                             "prints its own lines; results.json and results.csv are written all "
                             "the same");
}

static bool finish_format(struct run_options *options, struct error *error)
{
    if (options->wide && options->format > FORMAT_WIDE)
        return error_fail(error,
                          "--wide is a form of the table: not with --format md, json or csv");
    if (options->wide)
        options->format = FORMAT_WIDE;
    return true;
}

static bool finish_run(struct run_options *options, const struct option_given *given,
                       struct error *error)
{
    struct options *shared = &options->shared;
    if (shared->scenario == SCENARIO_BELL && shared->rate_per_s == 0)
        shared->rate_per_s = BELL_RATE;
    if (shared->databases.count > 1 && !*shared->balancer)
        return error_fail(error, "more than one --database are cells, which have a --balancer "
                                 "before them");
    shared->database = shared->databases.items[0];
    return check_scenario(shared, given, error) && finish_format(options, error) &&
           check_unpaid(options, error) && finish_headers(options, error) &&
           finish_keys(shared, error) && check_limit(shared, error) &&
           options_finish(shared, error);
}

/* Nothing is run, so nothing that says how can be meant. */
static bool check_join(const struct faults_options *options, const struct option_given *given,
                       struct error *error)
{
    static const char *const idle[] = {
        "strategies", "faults",   "runs",    "short", "reproduce",     "stack", "control-binary",
        "expect",     "promised", "fail-if", "seed",  "server-binary", NULL};
    const char *flag = find_given(given, idle, true);
    return options->join.count == 0 || !flag ||
           error_fail(error, "--%s is not for --join, which runs nothing", flag);
}

/* --judge makes no load, so a load's options mean nothing beside it. A name that is empty, as a
 * script's variable may be, is no wish for a load. */
static bool check_judge(const struct shop_options *options, const struct option_given *given,
                        struct error *error)
{
    static const char *const taken[] = {"judge", "out", "fail-if", "junit", NULL};
    const char *flag = find_given(given, taken, false);
    bool judges = find_given(given, (const char *const[]){"judge", NULL}, true);
    if (judges && flag)
        return error_fail(error,
                          "--%s is for a load, and with --judge nothing is sent: there are --out, "
                          "--fail-if and --junit",
                          flag);
    return !judges || *options->judge || error_fail(error, "--judge: which ledger? Name its file");
}

/* --init makes a file: all of its own flags, and no other. */
static bool check_init(const struct shop_options *options, const struct option_given *given,
                       struct error *error)
{
    bool inits = *options->init, all = *options->curl && *options->bought && *options->sold_out;
    size_t own =
        (size_t)inits + (*options->curl != 0) + (*options->bought != 0) + (*options->sold_out != 0);
    if (own == 0 || (inits && all && given->count == own))
        return true;
    return error_fail(error, "a target file is made by shop FILE --init URL --curl FILE --bought "
                             "FILE --sold-out FILE, and by nothing besides");
}

/* A closed loop or an open one. */
static bool check_loop(const struct shop_options *options, const struct option_given *given,
                       struct error *error)
{
    static const char *const of_a_rate[] = {"duration", "arrivals", "max-lag-ms", NULL};
    static const char *const of_none[] = {"buyers", NULL};
    const char *flag = find_given(given, of_a_rate, true);
    if (flag && options->shared.rate_per_s == 0)
        return error_fail(error, "--%s needs a --rate", flag);
    if (find_given(given, of_none, true) && options->shared.rate_per_s > 0)
        return error_fail(error, "--buyers is a number of purchases: not with a --rate, which "
                                 "lasts for --duration");
    return true;
}

static bool finish_record(struct record_options *options, struct error *error)
{
    if (options->paid + options->paid_late > 100)
        return error_fail(error, "--paid and --paid-late are more than 100 of a hundred orders");
    if (options->shared.databases.count > 1 && options->shared.servers.count == 0)
        return error_fail(error, "more than one --database are cells, whose servers run already: "
                                 "--server names what is before them");
    options->shared.database = options->shared.databases.items[0];
    return finish_fleet(&options->shared, error);
}

static bool finish_oasis(struct oasis_options *options, struct error *error)
{
    return finish_fleet(&options->shared, error) &&
           (options->tickets >= options->shared.products ||
            error_fail(error, "--tickets must be at least one for each of --products"));
}

/* Each cell has a Redis of its own. */
static bool check_cells(const struct check_options *options, struct error *error)
{
    if (options->shared.databases.count < 2 || (!*options->redis && !*options->stock_redis))
        return true;
    return error_fail(error, "--redis and --stock-redis are one cell's: not with more than one "
                             "--database");
}

static bool finish_faults(struct faults_options *options, const struct option_given *given,
                          struct error *error)
{
    struct options *shared = &options->shared;
    if (shared->databases.count > 1)
        return error_fail(error, "more than one --database are cells, of which scripts/failover.sh "
                                 "--faults cell breaks one");
    shared->database = shared->databases.items[0];
    return options_finish(shared, error) && check_join(options, given, error);
}

bool command_line_check(union command_options *options, const struct option_given *given,
                        struct error *error)
{
    struct options *shared = &options->shared;
    switch (shared->command) {
    case COMMAND_FAULTS:
        return finish_faults(&options->faults, given, error);
    case COMMAND_SHOP:
        return check_init(&options->shop, given, error) &&
               check_judge(&options->shop, given, error) &&
               check_loop(&options->shop, given, error);
    case COMMAND_CHECK:
        return check_cells(&options->check, error);
    case COMMAND_AUDIT:
    case COMMAND_REPORT:
    case COMMAND_ZOO:
        return true;
    case COMMAND_RUN:
        return finish_run(&options->run, given, error);
    case COMMAND_SWEEP:
        return finish_keys(shared, error) && options_finish(shared, error);
    case COMMAND_CAPACITY:
        return finish_keys(shared, error) && finish_fleet(shared, error);
    case COMMAND_RECORD:
        return finish_record(&options->record, error);
    case COMMAND_OASIS:
        return finish_oasis(&options->oasis, error);
    }
    return false;
}
