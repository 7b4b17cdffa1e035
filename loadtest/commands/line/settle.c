/* See settle.h. */
#include "loadtest/commands/line/settle.h"

#include "loadtest/base/share.h"

#include <inttypes.h>
#include <string.h>

enum { BELL_RATE = 500 }; /* without --rate */

/* --- what several have --- */

bool settle_body(const struct options *options, struct error *error)
{
    return !*options->body || strcmp(options->body, "plain") == 0 ||
           strcmp(options->body, "guarded") == 0 ||
           error_fail(error, "--body takes plain or guarded, not '%s'", options->body);
}

bool settle_keys(struct options *options, struct error *error)
{
    options->keyed = *options->keys != '\0';
    return !options->keyed || share_read(options->keys, &options->repeats) ||
           error_fail(error,
                      "--keys takes a share of the orders from 0%% to 100%%, as 5%%, not '%s'",
                      options->keys);
}

bool settle_fleet(struct options *options, struct error *error)
{
    return settle_body(options, error) && options_settle(options, error) &&
           (options->instances.count == 1 ||
            error_fail(error, "--instances takes one figure here"));
}

/* --- run --- */

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

static bool settle_headers(struct options *options, struct error *error)
{
    if (!headers_read(&options->header, options->headers, error))
        return false;
    if (*options->headers && options->scenario == SCENARIO_UNPAID)
        return error_fail(error, "--header is not for --scenario unpaid");
    return options->scenario != SCENARIO_COUNTER ||
           !headers_have(options->headers, "Authorization") ||
           error_fail(error, "--header: Authorization cannot be set for --scenario counter: a "
                             "restock's is --admin-token");
}

/* It has its own lines. */
static bool check_unpaid(const struct options *options, struct error *error)
{
    if (options->scenario != SCENARIO_UNPAID)
        return true;
    if (options->format != FORMAT_TABLE || options->rate_per_s > 0)
        return error_fail(error, "--format, --wide and --rate are not for --scenario unpaid, which "
                                 "prints its own lines; results.json and results.csv are written "
                                 "all the same");
    return (!*options->fail_if && !*options->junit) ||
           error_fail(error, "--fail-if and --junit are not for --scenario unpaid");
}

bool run_settle(struct options *options, const struct option_given *given, struct error *error)
{
    if (options->scenario == SCENARIO_BELL && options->rate_per_s == 0)
        options->rate_per_s = BELL_RATE;
    if (!settle_body(options, error))
        return false;
    if (options->wide && options->format > FORMAT_WIDE)
        return error_fail(error,
                          "--wide is a form of the table: not with --format md, json or csv");
    if (options->wide)
        options->format = FORMAT_WIDE;
    return check_unpaid(options, error) && settle_headers(options, error) &&
           settle_keys(options, error) && check_buyers(options, error) &&
           options_settle(options, error) && check_articles(options, given, error);
}
