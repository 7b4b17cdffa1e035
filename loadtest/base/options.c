/* See options.h. */
#include "loadtest/base/options.h"

#include "loadtest/base/option_rows.h"
#include "loadtest/base/run_help.h"

#include <string.h>

enum { RUN = COMMAND_RUN, AUDIT = COMMAND_AUDIT, SWEEP = COMMAND_SWEEP };

#define AT(member) offsetof(struct options, member)

static const struct option_row rows[] = {
    {"strategies", RUN, OPTION_LIST, AT(strategies), "all", 0, 0, NULL, "a,b,...|all",
     "what to compare; all: every one that the servers can run now"},
    {"strategies", SWEEP, OPTION_LIST, AT(strategies), "conditional", 0, 0, NULL, "a,b,...",
     "what to measure"},
    {"over", SWEEP, OPTION_TEXT, AT(over), "", 0, 0, NULL, "NAME=1,2,4",
     "what to vary, and its values (below)"},
    {"set", SWEEP, OPTION_LIST, AT(set), NULL, 0, 0, NULL, "NAME=1,...",
     "other settings, the same throughout"},
    {"scenario", RUN, OPTION_SCENARIO, AT(scenario), "hot", 0, 0, NULL, "NAME",
     "hot, soldout, spread, counter, bell or articles (below)"},
    {"instances", RUN, OPTION_NUMBERS, AT(instances), NULL, 1, OPTIONS_MAX_INSTANCES, NULL, "1,3",
     "how many servers share the load, one figure after the other (1; with --server: all of them)"},
    {"connections", RUN, OPTION_COUNT, AT(connections), "0", 1, 20000, NULL, "N",
     "connections in all: wrk's, a multiple of the threads (64); at a --rate the most (1024)"},
    {"rate", RUN, OPTION_COUNT, AT(rate_per_s), "0", 1, 1000000, NULL, "N",
     "orders a second, whether the servers keep up or not (as fast as they answer)"},
    {"arrivals", RUN, OPTION_TEXT, AT(arrivals), "poisson", 0, 0, NULL, "poisson|constant",
     "how orders come at a --rate"},
    {"surge", RUN, OPTION_COUNT, AT(surge), "20", 1, 1000, NULL, "N",
     "bell: how many times the --rate comes when the sale opens"},
    {"max-lag-ms", RUN, OPTION_COUNT, AT(max_lag_ms), "10", 0, 60000, NULL, "N",
     "with a --rate: no run when the harness was later than this with 1 % of the orders"},
    {"duration", RUN, OPTION_SECONDS, AT(duration_s), "10s", 1, 86400, NULL, "10s",
     "how long a load whose stock cannot run out lasts"},
    {"duration", SWEEP, OPTION_SECONDS, AT(duration_s), "2s", 1, 86400, NULL, "2s",
     "how long each measurement lasts"},
    {"stock", RUN, OPTION_COUNT, AT(stock), "100", 1, 1000000000, NULL, "N",
     "units on sale in the truth phase, for each product"},
    {"products", RUN, OPTION_COUNT, AT(products), "100", 1, 100000, NULL, "N",
     "products of the spread scenario"},
    {"products", SWEEP, OPTION_COUNT, AT(products), "1", 1, 100000, NULL, "N",
     "how many products are sold"},
    {"rounds", RUN, OPTION_COUNT, AT(rounds), "1", 1, 1000, NULL, "N",
     "how often everything is repeated, strategies in turn"},
    {"rounds", SWEEP, OPTION_COUNT, AT(rounds), "3", 1, 100, NULL, "N",
     "how often everything is repeated, values in turn"},
    {"work-ms", RUN, OPTION_COUNT, AT(work_ms), "-1", 0, 60000, NULL, "N",
     "started servers hold their protection N ms longer"},
    {"body", RUN | SWEEP, OPTION_TEXT, AT(body), "", 0, 0, NULL, "plain|guarded",
     "what runs under the lock, for strategies that have the choice"},
    {"wait-ms", RUN | SWEEP, OPTION_COUNT, AT(wait_ms), "-1", 0, 60000, NULL, "N",
     "how long an order may wait"},
    {"product", AUDIT, OPTION_COUNT, AT(product), "0", 1, INT64_C(9007199254740991), NULL, "ID",
     "audit this product alone"},
    {"server", RUN, OPTION_LIST, AT(servers), NULL, 0, 0, NULL, "URL,URL,...",
     "use these running servers instead of starting some"},
    {"reset", RUN, OPTION_SWITCH, AT(reset), NULL, 0, 0, NULL, NULL,
     "with --server: products that have orders may be reset"},
};

static const struct option_table table = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .more = &option_table_backends};

/* Without a flag. The first is enough for wrk to keep any server busy; with the second a server
 * that is slow for a tenth of a second at 10,000 orders a second makes nobody start late. */
enum { WRK_CONNECTIONS = 64, OPEN_CONNECTIONS = 1024, BELL_RATE = 500 };

static const struct {
    const char *name;
    enum command command;
    const char *summary;
} commands[] = {
    {"run", COMMAND_RUN, "load strategies side by side and say what each promised and kept"},
    {"audit", COMMAND_AUDIT, "say from PostgreSQL's rows whether each product's books agree"},
    {"sweep", COMMAND_SWEEP, "take one setting through a list of values"},
};

bool options_use_wrk(const struct options *options)
{
    return options->rate_per_s == 0 && options->scenario != SCENARIO_ARTICLES;
}

/* What is left to the generator. */
static bool settle_load(struct options *options, struct error *error)
{
    if (strcmp(options->arrivals, "poisson") != 0 && strcmp(options->arrivals, "constant") != 0)
        return error_fail(error, "--arrivals takes poisson or constant, not '%s'",
                          options->arrivals);
    options->arrivals_kind = *options->arrivals == 'c' ? ARRIVALS_CONSTANT : ARRIVALS_POISSON;
    if (options->scenario == SCENARIO_BELL && options->rate_per_s == 0)
        options->rate_per_s = BELL_RATE;
    if (options->connections == 0)
        options->connections = options->rate_per_s > 0 ? OPEN_CONNECTIONS : WRK_CONNECTIONS;
    return true;
}

bool options_settle(struct options *options, struct error *error)
{
    if (!settle_load(options, error))
        return false;
    if (*options->body && strcmp(options->body, "plain") != 0 &&
        strcmp(options->body, "guarded") != 0)
        return error_fail(error, "--body takes plain or guarded, not '%s'", options->body);
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
    if (options->instances_count == 0) {
        options->instances[0] = options->servers.count ? (int)options->servers.count : 1;
        options->instances_count = 1;
    }
    for (size_t i = 0; i < options->instances_count; i++) {
        if (options->servers.count > 0 && (size_t)options->instances[i] > options->servers.count)
            return error_fail(error, "--instances %d is more than the URLs of --server",
                              options->instances[i]);
    }
    return true;
}

/* What the articles' experiments say themselves. */
static bool check_articles(const struct options *options, const struct option_given *given,
                           struct error *error)
{
    static const char *const fixed[] = {
        "strategies", "instances", "connections", "threads", "duration", "stock", "products",
        "rounds",     "work-ms",   "body",        "wait-ms", "server",   "rate"};
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

static bool find_command(struct options *options, enum options_action *action, int argc,
                         char **argv, struct error *error)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--help") == 0 || strcmp(word, "--version") == 0) {
        *action = word[2] == 'h' ? OPTIONS_HELP : OPTIONS_VERSION;
        return true;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(word, commands[i].name) == 0)
            options->command = commands[i].command;
    }
    if (options->command)
        return true;
    return error_fail(error, "'%s' is no command; there are run, audit and sweep (--help)", word);
}

void options_begin(struct options *out)
{
    *out = (struct options){
        .body = "", .arrivals = "poisson", .work_ms = -1, .wait_ms = -1, .server_binary = ""};
}

bool options_parse(struct options *out, enum options_action *action, int argc, char **argv,
                   char *(*environment)(const char *), struct error *error)
{
    struct option_given given;
    bool help;
    options_begin(out);
    *action = OPTIONS_GO;
    if (!find_command(out, action, argc, argv, error))
        return false;
    if (*action != OPTIONS_GO)
        return true;
    struct option_line line = {argv[1], argc - 2, argv + 2, environment};
    if (!option_rows_parse(&table, out->command, &line, out, &given, &help, error))
        return false;
    if (help) {
        *action = OPTIONS_HELP;
        return true;
    }
    return options_settle(out, error) && check_articles(out, &given, error);
}

void options_print_help(FILE *to, enum command command)
{
    if (!command) {
        fputs("seckill-loadtest COMMAND [flags]\n\n", to);
        for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
            fprintf(to, "  %-6s %s\n", commands[i].name, commands[i].summary);
        fputs("\nseckill-loadtest COMMAND --help lists its flags.\n", to);
        return;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (commands[i].command == command)
            fprintf(to, "seckill-loadtest %s: %s\n\n", commands[i].name, commands[i].summary);
    }
    option_rows_print(to, &table, command);
    if (command == COMMAND_RUN)
        fprintf(to, "\n%s", run_help);
    if (command == COMMAND_SWEEP)
        fprintf(to, "\n%s", sweep_help);
}
