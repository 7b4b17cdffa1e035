/* See run_options.h. */
#include "loadtest/commands/line/run_options.h"

#include "loadtest/commands/line/report_options.h"
#include "loadtest/commands/line/settle.h"

#include <inttypes.h>
#include <string.h>

enum {
    RUN = COMMAND_RUN,
    CAPACITY = COMMAND_CAPACITY,
    SWEEP = COMMAND_SWEEP,
    WRKS = RUN | SWEEP,
    CROWDS = COMMAND_RECORD | COMMAND_OASIS
};

#define AT(member) offsetof(struct run_options, member)

static const struct option_row rows[] = {
    OPTION_ROW("strategies", RUN, OPTION_LIST, AT(strategies), "all", 0, 0, false, "a,b,...|all",
               "what to compare; all: every one that the servers can run now"),
    OPTION_ROW("scenario", RUN, OPTION_CHOICE, AT(shared.scenario),
               "hot|soldout|spread|counter|bell|articles|unpaid", 0, 0, false, "NAME",
               "hot, soldout, spread, counter, bell, articles or unpaid (below)"),
    OPTION_ROW("instances", CAPACITY, OPTION_NUMBERS, AT(shared.instances), NULL, 1,
               OPTIONS_MAX_INSTANCES, false, "N",
               "how many servers share the load (1; with --server: all of them)"),
    OPTION_ROW("instances", RUN, OPTION_NUMBERS, AT(shared.instances), NULL, 1,
               OPTIONS_MAX_INSTANCES, false, "1,3",
               "how many servers share the load, one figure after the other (1; with --server: all "
               "of them)"),
    OPTION_ROW(
        "connections", RUN, OPTION_COUNT, AT(shared.connections), "0", 1, 20000, false, "N",
        "connections in all: wrk's, a multiple of the threads (64); at a --rate the most (1024)"),
    OPTION_ROW("users", WRKS | CAPACITY, OPTION_COUNT, AT(shared.users), "0", 1, 1000000000, false,
               "N", "orders are given by N users, drawn one by one (each by a user of its own)"),
    OPTION_ROW("limit", RUN, OPTION_COUNT, AT(shared.limit), "0", 1, 1000000000, false, "N",
               "units that one of the --users may have of a product (any number)"),
    OPTION_ROW(
        "keys", WRKS | CAPACITY, OPTION_TEXT, AT(shared.keys), "", 0, 0, false, "5%",
        "each order has an Idempotency-Key, and so many of a hundred are sent again with it"),
    OPTION_ROW("rate", RUN, OPTION_COUNT, AT(shared.rate_per_s), "0", 1, 1000000, false, "N",
               "orders a second, whether the servers keep up or not (as fast as they answer)"),
    OPTION_ROW("arrivals", RUN | CAPACITY, OPTION_CHOICE, AT(shared.arrivals), "poisson|constant",
               0, 0, false, "poisson|constant", "how orders come at a --rate"),
    OPTION_ROW("surge", RUN, OPTION_COUNT, AT(surge), "20", 1, 1000, false, "N",
               "bell: how many times the --rate comes when the sale opens"),
    OPTION_ROW("max-lag-ms", RUN | CAPACITY, OPTION_MS, AT(shared.max_lag_ms), "10", 0, 60000,
               false, "N",
               "with a --rate: no run when the harness was later than this with 1 % of the orders"),
    OPTION_ROW("duration", RUN, OPTION_SECONDS, AT(shared.duration_s), "10s", 1, 86400, false,
               "10s", "how long a load whose stock cannot run out lasts"),
    OPTION_ROW("duration", SWEEP, OPTION_SECONDS, AT(shared.duration_s), "2s", 1, 86400, false,
               "2s", "how long each measurement lasts"),
    OPTION_ROW("stock", RUN, OPTION_COUNT, AT(shared.stock), "100", 1, 1000000000, false, "N",
               "units on sale in the truth phase, for each product"),
    OPTION_ROW("products", RUN, OPTION_COUNT, AT(shared.products), "100", 1, 100000, false, "N",
               "products of the spread scenario"),
    OPTION_ROW("products", SWEEP, OPTION_COUNT, AT(shared.products), "1", 1, 100000, false, "N",
               "how many products are sold"),
    OPTION_ROW("rounds", RUN, OPTION_COUNT, AT(shared.rounds), "1", 1, 1000, false, "N",
               "how often everything is repeated, strategies in turn"),
    OPTION_ROW("rounds", SWEEP, OPTION_COUNT, AT(shared.rounds), "3", 1, 100, false, "N",
               "how often everything is repeated, values in turn"),
    OPTION_ROW("work-ms", RUN | CROWDS | CAPACITY, OPTION_MS, AT(shared.work_ms), "-1", 0, 60000,
               false, "N", "started servers hold their protection N ms longer"),
    OPTION_ROW("body", WRKS | CROWDS | CAPACITY, OPTION_TEXT, AT(shared.body), "", 0, 0, false,
               "plain|guarded", "what runs under the lock, for strategies that have the choice"),
    OPTION_ROW("header", RUN, OPTION_SECRETS, AT(header), NULL, 0, 0, false, "'Name: value'",
               "a header field that is sent with each order, and may be repeated"),
    OPTION_ROW("wait-ms", WRKS | CROWDS | CAPACITY, OPTION_MS, AT(shared.wait_ms), "-1", 0, 60000,
               false, "N", "how long an order may wait"),
    OPTION_ROW("system-name", WRKS | CROWDS | CAPACITY, OPTION_TEXT, AT(shared.system_name), "", 0,
               0, false, "NAME",
               "the started servers' prefix of keys and queues: another than a shop's beside it"),
    OPTION_ROW("server", RUN | CROWDS | CAPACITY, OPTION_LIST, AT(shared.servers), NULL, 0, 0,
               false, "URL,URL,...", "use these running servers instead of starting some"),
    OPTION_ROW("reset", RUN | CROWDS | CAPACITY, OPTION_SWITCH, AT(shared.reset), NULL, 0, 0, false,
               NULL, "with --server: products that have orders may be reset"),
    OPTION_ROW("format", RUN, OPTION_CHOICE, AT(format), "table|wide|md|json|csv", 0, 0, false,
               "NAME", "what is printed: table, wide, md (Markdown), json or csv (below)"),
    OPTION_ROW("wide", RUN, OPTION_SWITCH, AT(wide), NULL, 0, 0, false, NULL,
               "every column, as --format wide"),
    OPTION_ROW("fail-if", RUN, OPTION_TEXT, AT(fail_if), "", 0, 0, false, "p99>250ms,failed>1%",
               "exit status 1 when one of these conditions is met (below)"),
    OPTION_ROW("junit", RUN, OPTION_TEXT, AT(junit), "", 0, 0, false, "FILE",
               "write phases, verdicts and --fail-if as JUnit's XML, for a pipeline"),
};

const struct option_table option_table_run = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .more = &option_table_report};

enum { BELL_RATE = 500 }; /* without --rate */

/* What the articles' experiments say themselves. */
static bool check_articles(const struct options *options, const struct option_given *given,
                           struct error *error)
{
    static const char *const fixed[] = {
        "strategies", "instances", "connections", "threads", "duration", "stock", "products",
        "rounds",     "work-ms",   "body",        "wait-ms", "server",   "rate",  "fail-if",
        "junit",      "header",    "users",       "limit",   "keys"};
    if (options->scenario != SCENARIO_ARTICLES)
        return true;
    for (size_t i = 0; i < given->count; i++) {
        for (size_t j = 0; j < sizeof fixed / sizeof fixed[0]; j++) {
            if (strcmp(given->flags[i], fixed[j]) == 0)
                return error_fail(error,
                                  "--%s is not for --scenario articles: its experiments are the "
                                  "articles' own",
                                  fixed[j]);
        }
    }
    return true;
}

/* Why the scenario has no such buyers; NULL: it may have them. */
static const char *why_not(const struct options *options)
{
    if (options->scenario == SCENARIO_COUNTER)
        return "counter, whose restocks are nobody's orders";
    return options->scenario == SCENARIO_UNPAID ? "unpaid, which has buyers of its own" : NULL;
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
    if (options->scenario == SCENARIO_SOLDOUT)
        return error_fail(error, "--limit is not for --scenario soldout, where nothing is bought");
    if (options->users == 0)
        return error_fail(error, "--limit needs --users: without it each order is another user's, "
                                 "and nobody comes to a limit");
    return sells_out(options, error);
}

/* Articles say themselves what they do not take. */
static bool check_buyers(const struct options *options, struct error *error)
{
    const char *flag = options->keyed ? "--keys" : options->users > 0 ? "--users" : "--limit";
    const char *reason = why_not(options);
    if (options->scenario == SCENARIO_ARTICLES)
        return true;
    if (reason && (options->keyed || options->users > 0 || options->limit > 0))
        return error_fail(error, "%s is not for --scenario %s", flag, reason);
    return check_limit(options, error);
}

static bool settle_headers(struct run_options *own, struct error *error)
{
    struct options *options = &own->shared;
    if (!headers_read(&own->header, options->headers, error))
        return false;
    if (*options->headers && options->scenario == SCENARIO_UNPAID)
        return error_fail(error, "--header is not for --scenario unpaid");
    return options->scenario != SCENARIO_COUNTER ||
           !headers_have(options->headers, "Authorization") ||
           error_fail(error, "--header: Authorization cannot be set for --scenario counter: a "
                             "restock's is --admin-token");
}

/* It has its own lines. */
static bool check_unpaid(const struct run_options *options, struct error *error)
{
    if (options->shared.scenario != SCENARIO_UNPAID)
        return true;
    if (options->format != FORMAT_TABLE || options->shared.rate_per_s > 0)
        return error_fail(error, "--format, --wide and --rate are not for --scenario unpaid, which "
                                 "prints its own lines; results.json and results.csv are written "
                                 "all the same");
    return (!*options->fail_if && !*options->junit) ||
           error_fail(error, "--fail-if and --junit are not for --scenario unpaid");
}

static bool settle_format(struct run_options *options, struct error *error)
{
    if (options->wide && options->format > FORMAT_WIDE)
        return error_fail(error,
                          "--wide is a form of the table: not with --format md, json or csv");
    if (options->wide)
        options->format = FORMAT_WIDE;
    return true;
}

bool run_options_settle(struct run_options *options, const struct option_given *given,
                        struct error *error)
{
    struct options *shared = &options->shared;
    if (shared->scenario == SCENARIO_BELL && shared->rate_per_s == 0)
        shared->rate_per_s = BELL_RATE;
    return settle_body(shared, error) && settle_format(options, error) &&
           check_unpaid(options, error) && settle_headers(options, error) &&
           settle_keys(shared, error) && check_buyers(shared, error) &&
           options_settle(shared, error) && check_articles(shared, given, error);
}
