/* See flags.h. */
#include "bench/flags.h"

enum { ALWAYS = COMMAND_SWEEP }; /* the one command: it takes the backends that a sweep does */

#define AT(member) offsetof(struct bench_options, member)

static const struct option_row rows[] = {
    OPTION_ROW("connections", ALWAYS, OPTION_COUNT, AT(base.connections), "256", 1, 20000, false,
               "N", "wrk's connections in all, rounded up to a multiple of the threads"),
    OPTION_ROW("max-lag-ms", ALWAYS, OPTION_MS, AT(base.max_lag_ms), "10", 0, 60000, false, "N",
               "row 17: not measured when the harness was later than this with 1 % of the orders"),
    OPTION_ROW("duration", ALWAYS, OPTION_SECONDS, AT(base.duration_s), "3s", 1, 86400, false, "5s",
               "how long each measurement lasts"),
    OPTION_ROW("rounds", ALWAYS, OPTION_COUNT, AT(base.rounds), "3", 3, 100, false, "N",
               "how often everything is repeated, both sides in turn"),
    OPTION_ROW(
        "more-rounds", ALWAYS, OPTION_COUNT, AT(more_rounds), "6", 0, 100, false, "N",
        "then, for rows within noise or with steal (in the short form as far as four minutes go)"),
    OPTION_ROW(
        "max-wait", ALWAYS, OPTION_SECONDS, AT(max_wait_s), "600s", 0, 86400, false, "10s",
        "how long to wait in all for a host that takes the cores away (not in the short form)"),
    OPTION_ROW(
        "max-steal", ALWAYS, OPTION_COUNT, AT(max_steal), "5", 0, 100, false, "N",
        "percent of the wanted time that the host may take from the cores in a round that counts; "
        "for a p99 a tenth of it"),
    OPTION_ROW("full", ALWAYS, OPTION_SWITCH, AT(full), NULL, 0, 0, false, NULL,
               "every row, not the short form"),
    OPTION_ROW("rows", ALWAYS, OPTION_LIST, AT(rows), NULL, 0, 0, false, "1,2,...",
               "these rows alone"),
    OPTION_ROW("standby", ALWAYS, OPTION_TEXT, AT(standby), "", 0, 0, false, "COMMAND",
               "row 23: starts a standby for which commits wait, and which finds PostgreSQL by the "
               "conninfo $SECKILL_STANDBY_FROM"),
};

static const struct option_stop stops[] = {
    {"--version", OPTIONS_VERSION, "print the version and exit"},
    {"--help", OPTIONS_HELP, "print this and exit"},
    {"-h", OPTIONS_HELP, NULL},
    {"help", OPTIONS_HELP, NULL},
    {NULL, 0, NULL},
};

static const struct option_table table = {.rows = rows,
                                          .count = sizeof rows / sizeof rows[0],
                                          .more = &option_table_backends,
                                          .stops = stops};

bool bench_options_parse(struct bench_options *out, enum options_action *action, int argc,
                         char **argv, char *(*environment)(const char *), struct error *error)
{
    struct option_given given;
    *out = (struct bench_options){.max_steal = 0};
    options_begin(&out->base);
    struct option_line line = {"--help", argc - 1, argv + 1, environment};
    if (!option_rows_parse(&table, ALWAYS, &line, &out->base, &given, error))
        return false;
    *action = (enum options_action)given.stop;
    return *action != OPTIONS_GO || options_finish(&out->base, error);
}

void bench_options_print_help(FILE *to)
{
    fputs("seckill-bench [flags]: measure how close the server comes to the machine's limits\n\n",
          to);
    option_rows_print(to, &table, ALWAYS);
}
