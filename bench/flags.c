/* See flags.h. */
#include "bench/flags.h"

#include "loadtest/base/option_rows.h"

#include <string.h>

enum { ALWAYS = 1 }; /* the one command */

#define AT(member) offsetof(struct bench_options, member)

static const struct option_row rows[] = {
    {"connections", ALWAYS, OPTION_COUNT, AT(base.connections), "256", 1, 20000, NULL, "N",
     "wrk's connections in all, rounded up to a multiple of the threads"},
    {"max-lag-ms", ALWAYS, OPTION_COUNT, AT(base.max_lag_ms), "10", 0, 60000, NULL, "N",
     "row 17: not measured when the harness was later than this with 1 % of the orders"},
    {"duration", ALWAYS, OPTION_SECONDS, AT(base.duration_s), "3s", 1, 86400, NULL, "5s",
     "how long each measurement lasts"},
    {"rounds", ALWAYS, OPTION_COUNT, AT(base.rounds), "3", 3, 100, NULL, "N",
     "how often everything is repeated, both sides in turn"},
    {"more-rounds", ALWAYS, OPTION_COUNT, AT(more_rounds), "6", 0, 100, NULL, "N",
     "then, for rows within noise or with steal (in the short form as far as four minutes go)"},
    {"max-wait", ALWAYS, OPTION_SECONDS, AT(max_wait_s), "600s", 0, 86400, NULL, "10s",
     "how long to wait in all for a host that takes the cores away (not in the short form)"},
    {"max-steal", ALWAYS, OPTION_COUNT, AT(max_steal), "5", 0, 100, NULL, "N",
     "percent of the wanted time that the host may take from the cores in a round that counts; "
     "for a p99 a tenth of it"},
    {"full", ALWAYS, OPTION_SWITCH, AT(full), NULL, 0, 0, NULL, NULL,
     "every row, not the short form"},
    {"rows", ALWAYS, OPTION_LIST, AT(rows), NULL, 0, 0, NULL, "1,2,...", "these rows alone"},
};

static const struct option_table table = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .more = &option_table_backends};

bool bench_options_parse(struct bench_options *out, enum options_action *action, int argc,
                         char **argv, char *(*environment)(const char *), struct error *error)
{
    struct option_given given;
    bool help;
    *out = (struct bench_options){.max_steal = 0};
    options_begin(&out->base);
    *action = OPTIONS_GO;
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        *action = OPTIONS_VERSION;
        return true;
    }
    struct option_line line = {"seckill-bench", argc - 1, argv + 1, environment};
    if (!option_rows_parse(&table, ALWAYS, &line, &out->base, &given, &help, error))
        return false;
    if (help) {
        *action = OPTIONS_HELP;
        return true;
    }
    return options_settle(&out->base, error);
}

void bench_options_print_help(FILE *to)
{
    fputs("seckill-bench [flags]: measure how close the server comes to the machine's limits\n\n",
          to);
    option_rows_print(to, &table, ALWAYS);
}
