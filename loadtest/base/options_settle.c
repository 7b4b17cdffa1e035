/* What is to be said of a command line's options together (options.h): what they are where nothing
 * was said, and what cannot be said together, each with what would mend it. */
#include "loadtest/base/options.h"

#include "loadtest/base/share.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ONE_FLEET = COMMAND_RECORD | COMMAND_OASIS | COMMAND_CAPACITY };

/* Without a flag. The first is enough for wrk to keep any server busy; with the second a server
 * that is slow for a tenth of a second at 10,000 orders a second makes nobody start late. */
enum { WRK_CONNECTIONS = 64, OPEN_CONNECTIONS = 1024, BELL_RATE = 500 };

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

static bool settle_limit(const struct options *options, struct error *error)
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

/* Articles say themselves what they do not take, and other commands have other flags. */
static bool settle_buyers(struct options *options, struct error *error)
{
    options->keyed = *options->keys != '\0';
    const char *flag = options->keyed ? "--keys" : options->users > 0 ? "--users" : "--limit";
    const char *reason = why_not(options);
    if (options->keyed && !share_read(options->keys, &options->repeats))
        return error_fail(error,
                          "--keys takes a share of the orders from 0%% to 100%%, as 5%%, not '%s'",
                          options->keys);
    if (options->command != COMMAND_RUN || options->scenario == SCENARIO_ARTICLES)
        return true;
    if (reason && (options->keyed || options->users > 0 || options->limit > 0))
        return error_fail(error, "%s is not for --scenario %s", flag, reason);
    return settle_limit(options, error);
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

bool options_settle(struct options *options, struct error *error)
{
    if (options->scenario == SCENARIO_BELL && options->rate_per_s == 0)
        options->rate_per_s = BELL_RATE;
    if (options->connections == 0)
        options->connections = options->rate_per_s > 0 ? OPEN_CONNECTIONS : WRK_CONNECTIONS;
    if (*options->body && strcmp(options->body, "plain") != 0 &&
        strcmp(options->body, "guarded") != 0)
        return error_fail(error, "--body takes plain or guarded, not '%s'", options->body);
    if (options->wide && options->format > FORMAT_WIDE)
        return error_fail(error,
                          "--wide is a form of the table: not with --format md, json or csv");
    if (options->wide)
        options->format = FORMAT_WIDE;
    if (options->scenario == SCENARIO_UNPAID &&
        (options->format != FORMAT_TABLE || options->rate_per_s > 0))
        return error_fail(error, "--format, --wide and --rate are not for --scenario unpaid, which "
                                 "prints its own lines; results.json and results.csv are written "
                                 "all the same");
    if (options->scenario == SCENARIO_UNPAID && (*options->fail_if || *options->junit))
        return error_fail(error, "--fail-if and --junit are not for --scenario unpaid");
    if (!settle_headers(options, error) || !settle_buyers(options, error))
        return false;
    if (options->paid + options->paid_late > 100)
        return error_fail(error, "--paid and --paid-late are more than 100 of a hundred orders");
    if (options->servers.count > OPTIONS_MAX_INSTANCES)
        return error_fail(error, "--server takes at most %d URLs", OPTIONS_MAX_INSTANCES);
    if (options->servers.count > 0 && options->work_ms >= 0)
        return error_fail(error,
                          "--work-ms needs servers that the harness starts: not with --server");
    if (options->servers.count > 0 && *options->server_binary)
        return error_fail(error, "--server-binary makes no sense with --server");
    if (options->servers.count == 0 && options->reset)
        return error_fail(error,
                          "--reset is for --server: started servers' products are always reset");
    for (size_t i = 0; i < options->servers.count; i++) {
        if (strncmp(options->servers.items[i], "http://", 7) != 0)
            return error_fail(error, "--server takes http:// URLs, not '%s'",
                              options->servers.items[i]);
    }
    if (options->instances.count == 0) {
        options->instances.items[0] = options->servers.count ? (int)options->servers.count : 1;
        options->instances.count = 1;
    }
    if ((options->command & ONE_FLEET) && options->instances.count > 1)
        return error_fail(error, "--instances takes one figure here");
    if (options->command == COMMAND_OASIS && options->tickets < options->products)
        return error_fail(error, "--tickets must be at least one for each of --products");
    for (size_t i = 0; i < options->instances.count; i++) {
        if (options->servers.count > 0 &&
            (size_t)options->instances.items[i] > options->servers.count)
            return error_fail(error, "--instances %d is more than the URLs of --server",
                              options->instances.items[i]);
    }
    return true;
}

void options_buyers_text(const struct options *options, char *out, size_t size)
{
    int used = 0;
    *out = '\0';
    if (options->users > 0)
        used = snprintf(out, size, ", %" PRId64 " users", options->users);
    if (options->limit > 0)
        used += snprintf(out + used, size - (size_t)used, " of at most %" PRId64 " units each",
                         options->limit);
    if (options->keyed)
        snprintf(out + used, size - (size_t)used, ", %.16s sent again", options->keys);
}
