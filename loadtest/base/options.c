/* See options.h. The rows come first, then what fills an option of each kind, then the walk over
 * argv. */
#include "loadtest/base/options.h"

#include "loadtest/base/options_read.h"
#include "loadtest/base/run_help.h"

#include <stdlib.h>
#include <string.h>

enum kind {
    KIND_TEXT,
    KIND_COUNT,
    KIND_SECONDS,
    KIND_LIST,
    KIND_NUMBERS,
    KIND_SCENARIO,
    KIND_SWITCH
};

enum {
    RUN = COMMAND_RUN,
    AUDIT = COMMAND_AUDIT,
    BENCH = COMMAND_BENCH,
    SWEEP = COMMAND_SWEEP,
    LOADS = RUN | BENCH | SWEEP, /* what starts servers and loads them */
    ANY = LOADS | AUDIT
};

struct row {
    const char *flag; /* without the dashes */
    unsigned commands;
    enum kind kind;
    size_t offset;
    const char *fallback; /* NULL: nothing unless given */
    int64_t min, max;
    const char *environment; /* NULL: the flag alone */
    const char *value;       /* how --help calls it */
    const char *help;
};

#define AT(member) offsetof(struct options, member)

static const struct row rows[] = {
    {"strategies", RUN, KIND_LIST, AT(strategies), "all", 0, 0, NULL, "a,b,...|all",
     "what to compare; all: every one that the servers can run now"},
    {"strategies", SWEEP, KIND_LIST, AT(strategies), "conditional", 0, 0, NULL, "a,b,...",
     "what to measure"},
    {"over", SWEEP, KIND_TEXT, AT(over), "", 0, 0, NULL, "NAME=1,2,4",
     "what to vary, and its values (below)"},
    {"set", SWEEP, KIND_LIST, AT(set), NULL, 0, 0, NULL, "NAME=1,...",
     "other settings, the same throughout"},
    {"scenario", RUN, KIND_SCENARIO, AT(scenario), "hot", 0, 0, NULL, "NAME",
     "hot, soldout, spread, counter, bell or articles (below)"},
    {"instances", RUN, KIND_NUMBERS, AT(instances), NULL, 1, OPTIONS_MAX_INSTANCES, NULL, "1,3",
     "how many servers share the load, one figure after the other (1; with --server: all of them)"},
    {"connections", RUN, KIND_COUNT, AT(connections), "0", 1, 20000, NULL, "N",
     "connections in all: wrk's, a multiple of the threads (64); at a --rate the most (1024)"},
    {"rate", RUN, KIND_COUNT, AT(rate_per_s), "0", 1, 1000000, NULL, "N",
     "orders a second, whether the servers keep up or not (as fast as they answer)"},
    {"arrivals", RUN, KIND_TEXT, AT(arrivals), "poisson", 0, 0, NULL, "poisson|constant",
     "how orders come at a --rate"},
    {"surge", RUN, KIND_COUNT, AT(surge), "20", 1, 1000, NULL, "N",
     "bell: how many times the --rate comes when the sale opens"},
    {"connections", BENCH, KIND_COUNT, AT(connections), "256", 1, 20000, NULL, "N",
     "wrk's connections in all, rounded up to a multiple of the threads"},
    {"max-lag-ms", RUN, KIND_COUNT, AT(max_lag_ms), "10", 0, 60000, NULL, "N",
     "with a --rate: no run when the harness was later than this with 1 % of the orders"},
    {"max-lag-ms", BENCH, KIND_COUNT, AT(max_lag_ms), "10", 0, 60000, NULL, "N",
     "row 17: not measured when the harness was later than this with 1 % of the orders"},
    {"threads", LOADS, KIND_COUNT, AT(threads), "0", 0, 256, NULL, "N",
     "wrk's threads, rounded up to a multiple of the instances; 0: one a core"},
    {"duration", RUN, KIND_SECONDS, AT(duration_s), "10s", 1, 86400, NULL, "10s",
     "how long a load whose stock cannot run out lasts"},
    {"duration", SWEEP, KIND_SECONDS, AT(duration_s), "2s", 1, 86400, NULL, "2s",
     "how long each measurement lasts"},
    {"duration", BENCH, KIND_SECONDS, AT(duration_s), "3s", 1, 86400, NULL, "5s",
     "how long each measurement lasts"},
    {"stock", RUN, KIND_COUNT, AT(stock), "100", 1, 1000000000, NULL, "N",
     "units on sale in the truth phase, for each product"},
    {"products", RUN, KIND_COUNT, AT(products), "100", 1, 100000, NULL, "N",
     "products of the spread scenario"},
    {"products", SWEEP, KIND_COUNT, AT(products), "1", 1, 100000, NULL, "N",
     "how many products are sold"},
    {"rounds", RUN, KIND_COUNT, AT(rounds), "1", 1, 1000, NULL, "N",
     "how often everything is repeated, strategies in turn"},
    {"rounds", SWEEP, KIND_COUNT, AT(rounds), "3", 1, 100, NULL, "N",
     "how often everything is repeated, values in turn"},
    {"rounds", BENCH, KIND_COUNT, AT(rounds), "3", 3, 100, NULL, "N",
     "how often everything is repeated, both sides in turn"},
    {"more-rounds", BENCH, KIND_COUNT, AT(more_rounds), "6", 0, 100, NULL, "N",
     "then, for rows within noise or with steal (in the short form as far as four minutes go)"},
    {"max-wait", BENCH, KIND_SECONDS, AT(max_wait_s), "600s", 0, 86400, NULL, "10s",
     "how long to wait in all for a host that takes the cores away (not in the short form)"},
    {"max-steal", BENCH, KIND_COUNT, AT(max_steal), "5", 0, 100, NULL, "N",
     "percent of the wanted time that the host may take from the cores in a round that counts; "
     "for a p99 a tenth of it"},
    {"work-ms", RUN, KIND_COUNT, AT(work_ms), "-1", 0, 60000, NULL, "N",
     "started servers hold their protection N ms longer"},
    {"body", RUN | SWEEP, KIND_TEXT, AT(body), "", 0, 0, NULL, "plain|guarded",
     "what runs under the lock, for strategies that have the choice"},
    {"wait-ms", RUN | SWEEP, KIND_COUNT, AT(wait_ms), "-1", 0, 60000, NULL, "N",
     "how long an order may wait"},
    {"seed", LOADS, KIND_COUNT, AT(seed), "1", 0, 1000000000, NULL, "N",
     "the same seed buys with the same user ids in the same order of products"},
    {"first-product", LOADS, KIND_COUNT, AT(first_product), "1000001", 1000000, 8000000, NULL, "ID",
     "products ID, ID+1, … are sold, and reset"},
    {"product", AUDIT, KIND_COUNT, AT(product), "0", 1, INT64_C(9007199254740991), NULL, "ID",
     "audit this product alone"},
    {"database", ANY, KIND_TEXT, AT(database), "", 0, 0, "SECKILL_DATABASE", "CONNINFO",
     "PostgreSQL, as libpq takes it (the PG* variables)"},
    {"redis", LOADS, KIND_TEXT, AT(redis), "", 0, 0, "SECKILL_REDIS", "URL",
     "Redis for the started servers"},
    {"stock-redis", LOADS, KIND_TEXT, AT(stock_redis), "", 0, 0, "SECKILL_STOCK_REDIS", "URL",
     "Redis for their redis-stock (--redis)"},
    {"amqp", LOADS, KIND_TEXT, AT(amqp), "", 0, 0, "SECKILL_AMQP", "URL",
     "RabbitMQ for the started servers"},
    {"redlock", LOADS, KIND_TEXT, AT(redlock), "", 0, 0, "SECKILL_REDLOCK", "URL,URL,URL",
     "Redlock's Redis nodes for the started servers"},
    {"memcached", LOADS, KIND_TEXT, AT(memcached), "", 0, 0, "SECKILL_MEMCACHED", "ADDRESS",
     "memcached for the started servers"},
    {"zookeeper", LOADS, KIND_TEXT, AT(zookeeper), "", 0, 0, "SECKILL_ZOOKEEPER", "HOSTS",
     "ZooKeeper for the started servers"},
    {"admin-token", LOADS, KIND_TEXT, AT(admin_token), "", 0, 0, "SECKILL_ADMIN_TOKEN", "T",
     "sent with admin calls, and given to the started servers"},
    {"out", LOADS, KIND_TEXT, AT(out), "", 0, 0, NULL, "DIR",
     "where the files go (a new folder in results/)"},
    {"server", RUN, KIND_LIST, AT(servers), NULL, 0, 0, NULL, "URL,URL,...",
     "use these running servers instead of starting some"},
    {"reset", RUN, KIND_SWITCH, AT(reset), NULL, 0, 0, NULL, NULL,
     "with --server: products that have orders may be reset"},
    {"full", BENCH, KIND_SWITCH, AT(full), NULL, 0, 0, NULL, NULL, "every row, not the short form"},
    {"rows", BENCH, KIND_LIST, AT(rows), NULL, 0, 0, NULL, "1,2,...", "these rows alone"},
    {"server-binary", LOADS, KIND_TEXT, AT(server_binary), "", 0, 0, NULL, "PATH",
     "the seckill-server to start (the one beside this program)"},
};

/* Without a flag. The first is enough for wrk to keep any server busy; with the second a server
 * that is slow for a tenth of a second at 10,000 orders a second makes nobody start late. */
enum { WRK_CONNECTIONS = 64, OPEN_CONNECTIONS = 1024, BELL_RATE = 500 };

enum { ROWS = sizeof rows / sizeof rows[0] };

static const struct {
    const char *name;
    enum command command;
    const char *summary;
} commands[] = {
    {"run", COMMAND_RUN, "load strategies side by side and say what each promised and kept"},
    {"audit", COMMAND_AUDIT, "say from PostgreSQL's rows whether each product's books agree"},
    {"sweep", COMMAND_SWEEP, "take one setting through a list of values"},
    {"bench", COMMAND_BENCH, "measure how close the server comes to the machine's limits"},
};

static const char *const scenarios[] = {"hot", "soldout", "spread", "counter", "bell", "articles"};

bool options_use_wrk(const struct options *options)
{
    return options->rate_per_s == 0 && options->scenario != SCENARIO_ARTICLES;
}

const char *scenario_name(enum scenario scenario)
{
    return scenarios[scenario];
}

/* A pointer into the options for a row: the one place where the table's offsets are used. */
static void *field(struct options *options, const struct row *row)
{
    return (char *)options + row->offset;
}

static struct options_range range_of(const struct row *row)
{
    return (struct options_range){.flag = row->flag, .min = row->min, .max = row->max};
}

static bool read_scenario(const struct row *row, const char *text, enum scenario *out,
                          struct problem *problem)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        if (strcmp(text, scenarios[i]) == 0) {
            *out = (enum scenario)i;
            return true;
        }
    }
    return problem_set(problem,
                       "--%s takes hot, soldout, spread, counter, bell or articles, not '%s'",
                       row->flag, text);
}

static bool read_value(struct options *options, const struct row *row, const char *text,
                       struct problem *problem)
{
    struct options_range range = range_of(row);
    switch (row->kind) {
    case KIND_TEXT:
        *(const char **)field(options, row) = text;
        return true;
    case KIND_COUNT:
        return options_read_count(&range, text, field(options, row), problem);
    case KIND_SECONDS:
        return options_read_seconds(&range, text, field(options, row), problem);
    case KIND_LIST:
        return options_read_list(row->flag, text, field(options, row), problem);
    case KIND_NUMBERS:
        return options_read_instances(&range, text, options, problem);
    case KIND_SCENARIO:
        return read_scenario(row, text, field(options, row), problem);
    case KIND_SWITCH:
        *(bool *)field(options, row) = true;
        return true;
    }
    return problem_set(problem, "--%s: a kind without a reader", row->flag);
}

/* Defaults may lie outside the range: they stand for "not given". */
static bool set_fallback(struct options *options, const struct row *row,
                         char *(*environment)(const char *), struct problem *problem)
{
    const char *value = row->environment ? environment(row->environment) : NULL;
    if (value)
        return read_value(options, row, value, problem);
    if (!row->fallback)
        return true;
    if (row->kind == KIND_COUNT) {
        *(int64_t *)field(options, row) = strtoll(row->fallback, NULL, 10);
        return true;
    }
    return read_value(options, row, row->fallback, problem);
}

static const struct row *find_row(enum command command, const char *flag, size_t length)
{
    for (size_t i = 0; i < ROWS; i++) {
        if ((rows[i].commands & command) && strlen(rows[i].flag) == length &&
            strncmp(rows[i].flag, flag, length) == 0)
            return &rows[i];
    }
    return NULL;
}

/* What is left to the generator. */
static bool settle_load(struct options *options, struct problem *problem)
{
    if (strcmp(options->arrivals, "poisson") != 0 && strcmp(options->arrivals, "constant") != 0)
        return problem_set(problem, "--arrivals takes poisson or constant, not '%s'",
                           options->arrivals);
    options->arrivals_kind = *options->arrivals == 'c' ? ARRIVALS_CONSTANT : ARRIVALS_POISSON;
    if (options->scenario == SCENARIO_BELL && options->rate_per_s == 0)
        options->rate_per_s = BELL_RATE;
    if (options->connections == 0)
        options->connections = options->rate_per_s > 0 ? OPEN_CONNECTIONS : WRK_CONNECTIONS;
    return true;
}

static bool check_together(struct options *options, struct problem *problem)
{
    if (!settle_load(options, problem))
        return false;
    if (*options->body && strcmp(options->body, "plain") != 0 &&
        strcmp(options->body, "guarded") != 0)
        return problem_set(problem, "--body takes plain or guarded, not '%s'", options->body);
    if (options->servers.count > OPTIONS_MAX_INSTANCES)
        return problem_set(problem, "--server takes at most %d URLs", OPTIONS_MAX_INSTANCES);
    if (options->servers.count > 0 && options->work_ms >= 0)
        return problem_set(problem,
                           "--work-ms needs servers that the harness starts: not with --server");
    if (options->servers.count > 0 && *options->server_binary)
        return problem_set(problem, "--server-binary makes no sense with --server");
    if (options->servers.count == 0 && options->reset)
        return problem_set(problem,
                           "--reset is for --server: started servers' products are always reset");
    for (size_t i = 0; i < options->servers.count; i++) {
        if (strncmp(options->servers.items[i], "http://", 7) != 0)
            return problem_set(problem, "--server takes http:// URLs, not '%s'",
                               options->servers.items[i]);
    }
    if (options->instances_count == 0) {
        options->instances[0] = options->servers.count ? (int)options->servers.count : 1;
        options->instances_count = 1;
    }
    for (size_t i = 0; i < options->instances_count; i++) {
        if (options->servers.count > 0 && (size_t)options->instances[i] > options->servers.count)
            return problem_set(problem, "--instances %d is more than the URLs of --server",
                               options->instances[i]);
    }
    return true;
}

/* What the articles' experiments say themselves. */
static bool check_articles(const struct options *options, const bool *given,
                           struct problem *problem)
{
    static const char *const fixed[] = {
        "strategies", "instances", "connections", "threads", "duration", "stock", "products",
        "rounds",     "work-ms",   "body",        "wait-ms", "server",   "rate"};
    if (options->scenario != SCENARIO_ARTICLES)
        return true;
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; given[i] && j < sizeof fixed / sizeof fixed[0]; j++) {
            if (strcmp(rows[i].flag, fixed[j]) == 0)
                return problem_set(problem,
                                   "--%s is not for --scenario articles: its experiments are the "
                                   "articles' own",
                                   fixed[j]);
        }
    }
    return true;
}

static bool find_command(struct options *options, enum options_action *action, int argc,
                         char **argv, struct problem *problem)
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
    return problem_set(problem,
                       "'%s' is no command; there are run, audit, sweep and bench (--help)", word);
}

bool options_parse(struct options *out, enum options_action *action, int argc, char **argv,
                   char *(*environment)(const char *), struct problem *problem)
{
    *out = (struct options){
        .body = "", .arrivals = "poisson", .work_ms = -1, .wait_ms = -1, .server_binary = ""};
    bool given[ROWS] = {false};
    *action = OPTIONS_GO;
    if (!find_command(out, action, argc, argv, problem))
        return false;
    if (*action != OPTIONS_GO)
        return true;
    for (size_t i = 0; i < ROWS; i++) {
        if ((rows[i].commands & out->command) && !set_fallback(out, &rows[i], environment, problem))
            return false;
    }
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            *action = OPTIONS_HELP;
            return true;
        }
        if (strncmp(argv[i], "--", 2) != 0)
            return problem_set(problem, "'%s' is no flag", argv[i]);
        const char *flag = argv[i] + 2;
        size_t length = strcspn(flag, "=");
        const struct row *row = find_row(out->command, flag, length);
        if (!row)
            return problem_set(problem, "--%.*s is unknown to %s", (int)length, flag, argv[1]);
        const char *value = flag[length] == '=' ? flag + length + 1 : NULL;
        if (row->kind == KIND_SWITCH && value)
            return problem_set(problem, "--%s takes no value", row->flag);
        if (row->kind != KIND_SWITCH && !value) {
            if (++i == argc)
                return problem_set(problem, "--%s needs a value", row->flag);
            value = argv[i];
        }
        if (!read_value(out, row, value, problem))
            return false;
        given[row - rows] = true;
    }
    return check_together(out, problem) && check_articles(out, given, problem);
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
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        if (!(row->commands & command))
            continue;
        char left[64];
        snprintf(left, sizeof left, "--%s %s", row->flag, row->value ? row->value : "");
        fprintf(to, "  %-26s %s", left, row->help);
        if (row->fallback && *row->fallback && *row->fallback != '-' && row->kind != KIND_SWITCH &&
            strcmp(row->fallback, "0") != 0)
            fprintf(to, " (%s)", row->fallback);
        if (row->environment)
            fprintf(to, " [%s]", row->environment);
        fputc('\n', to);
    }
    if (command == COMMAND_RUN)
        fprintf(to, "\n%s", run_help);
    if (command == COMMAND_SWEEP)
        fprintf(to, "\n%s", sweep_help);
}
