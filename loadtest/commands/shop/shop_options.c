/* See shop_options.h. */
#include "loadtest/commands/shop/shop_options.h"

#include "loadtest/commands/faults/faults_options.h"

#include <string.h>

enum { SHOP = COMMAND_SHOP };

#define AT(member) offsetof(struct shop_options, member)

static const struct option_row rows[] = {
    OPTION_ROW("connections", SHOP, OPTION_COUNT, AT(connections), "64", 1, 20000, false, "N",
               "buyers at once, with a connection each; at a --rate the most"),
    OPTION_ROW("buyers", SHOP, OPTION_COUNT, AT(buyers), "0", 1, 100000000, false, "N",
               "purchases in all, the next when a connection is free (three times the stock, at "
               "least 300)"),
    OPTION_ROW("timeout", SHOP, OPTION_SECONDS, AT(timeout_s), "30s", 1, 3600, false, "30s",
               "how long a request may take; what is not answered then is unknown"),
    OPTION_ROW("judge", SHOP, OPTION_TEXT, AT(judge), "", 0, 0, false, "LEDGER",
               "send nothing: judge the ledger.jsonl that an earlier run has left"),
    OPTION_ROW("ca-file", SHOP, OPTION_TEXT, AT(ca_file), "", 0, 0, false, "FILE",
               "certificates (PEM) that an https shop is trusted by (the system's)"),
    OPTION_ROW("rate", SHOP, OPTION_COUNT, AT(rate_per_s), "0", 1, 1000000, false, "N",
               "purchases a second for --duration, whether the shop keeps up or not"),
    OPTION_ROW("arrivals", SHOP, OPTION_CHOICE, AT(arrivals), "poisson|constant", 0, 0, false,
               "poisson|constant", "how orders come at a --rate"),
    OPTION_ROW("max-lag-ms", SHOP, OPTION_MS, AT(max_lag_ms), "10", 0, 60000, false, "N",
               "with a --rate: no run when the harness was later than this with 1 % of the orders"),
    OPTION_ROW("duration", SHOP, OPTION_SECONDS, AT(duration_s), "10s", 1, 86400, false, "10s",
               "how long purchases come at a --rate"),
    OPTION_ROW("fail-if", SHOP, OPTION_TEXT, AT(fail_if), "", 0, 0, false, "p99>250ms,failed>1%",
               "exit status 1 when one of these conditions is met (below)"),
    OPTION_ROW("junit", SHOP, OPTION_TEXT, AT(junit), "", 0, 0, false, "FILE",
               "write claims, the verdict and --fail-if as JUnit's XML, for a pipeline"),
};

const struct option_table option_table_shop = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .more = &option_table_faults};

/* --judge makes no load, so a load's options mean nothing beside it. A name that is empty, as a
 * script's variable may be, is no wish for a load. */
static bool check_judge(const struct shop_options *options, const struct option_given *given,
                        struct error *error)
{
    static const char *const taken[] = {"judge", "out", "fail-if", "junit"};
    bool judges = false;
    for (size_t i = 0; i < given->count; i++)
        judges = judges || strcmp(given->flags[i], "judge") == 0;
    for (size_t i = 0; judges && i < given->count; i++) {
        size_t at = 0;
        while (at < sizeof taken / sizeof taken[0] && strcmp(given->flags[i], taken[at]) != 0)
            at++;
        if (at == sizeof taken / sizeof taken[0])
            return error_fail(error,
                              "--%s is for a load, and with --judge nothing is sent: there are "
                              "--out, --fail-if and --junit",
                              given->flags[i]);
    }
    return !judges || *options->judge || error_fail(error, "--judge: which ledger? Name its file");
}

/* A closed loop or an open one. */
static bool check_loop(const struct shop_options *options, const struct option_given *given,
                       struct error *error)
{
    for (size_t i = 0; i < given->count; i++) {
        const char *flag = given->flags[i];
        bool of_a_rate = strcmp(flag, "duration") == 0 || strcmp(flag, "arrivals") == 0 ||
                         strcmp(flag, "max-lag-ms") == 0;
        if (of_a_rate && options->rate_per_s == 0)
            return error_fail(error, "--%s needs a --rate", flag);
        if (strcmp(flag, "buyers") == 0 && options->rate_per_s > 0)
            return error_fail(error, "--buyers is a number of purchases: not with a --rate, which "
                                     "lasts for --duration");
    }
    return true;
}

bool shop_options_settle(const struct shop_options *options, const struct option_given *given,
                         struct error *error)
{
    return check_judge(options, given, error) && check_loop(options, given, error);
}
