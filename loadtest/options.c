/* See options.h. The rows come first, then what reads a value of each kind, then the walk over
 * argv. */
#include "loadtest/options.h"

#include "loadtest/run_help.h"

#include <errno.h>
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

enum { RUN = COMMAND_RUN, AUDIT = COMMAND_AUDIT, BENCH = COMMAND_BENCH, ANY = RUN | AUDIT | BENCH };

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
    {"scenario", RUN, KIND_SCENARIO, AT(scenario), "hot", 0, 0, NULL, "NAME",
     "hot, soldout, spread, counter or articles (below)"},
    {"instances", RUN, KIND_NUMBERS, AT(instances), NULL, 1, OPTIONS_MAX_INSTANCES, NULL, "1,3",
     "how many servers share the load, one figure after the other (1; with --server: all of them)"},
    {"connections", RUN, KIND_COUNT, AT(connections), "64", 1, 20000, NULL, "N",
     "wrk's connections in all, rounded up to a multiple of the threads"},
    {"connections", BENCH, KIND_COUNT, AT(connections), "256", 1, 20000, NULL, "N",
     "wrk's connections in all, rounded up to a multiple of the threads"},
    {"threads", RUN | BENCH, KIND_COUNT, AT(threads), "0", 0, 256, NULL, "N",
     "wrk's threads, rounded up to a multiple of the instances; 0: one a core"},
    {"duration", RUN, KIND_SECONDS, AT(duration_s), "10s", 1, 86400, NULL, "10s",
     "how long a load whose stock cannot run out lasts"},
    {"duration", BENCH, KIND_SECONDS, AT(duration_s), "3s", 1, 86400, NULL, "5s",
     "how long each measurement lasts"},
    {"stock", RUN, KIND_COUNT, AT(stock), "100", 1, 1000000000, NULL, "N",
     "units on sale in the truth phase, for each product"},
    {"products", RUN, KIND_COUNT, AT(products), "100", 1, 100000, NULL, "N",
     "products of the spread scenario"},
    {"rounds", RUN, KIND_COUNT, AT(rounds), "1", 1, 1000, NULL, "N",
     "how often everything is repeated, strategies in turn"},
    {"rounds", BENCH, KIND_COUNT, AT(rounds), "3", 3, 100, NULL, "N",
     "how often everything is repeated, both sides in turn"},
    {"work-ms", RUN, KIND_COUNT, AT(work_ms), "-1", 0, 60000, NULL, "N",
     "started servers hold their protection N ms longer"},
    {"body", RUN, KIND_TEXT, AT(body), "", 0, 0, NULL, "plain|guarded",
     "what runs under the lock, for strategies that have the choice"},
    {"wait-ms", RUN, KIND_COUNT, AT(wait_ms), "-1", 0, 60000, NULL, "N",
     "how long an order may wait"},
    {"seed", RUN | BENCH, KIND_COUNT, AT(seed), "1", 0, 1000000000, NULL, "N",
     "the same seed buys with the same user ids in the same order of products"},
    {"first-product", RUN | BENCH, KIND_COUNT, AT(first_product), "1000001", 1000000, 8000000, NULL,
     "ID", "products ID, ID+1, … are sold, and reset"},
    {"product", AUDIT, KIND_COUNT, AT(product), "0", 1, INT64_C(9007199254740991), NULL, "ID",
     "audit this product alone"},
    {"database", ANY, KIND_TEXT, AT(database), "", 0, 0, "SECKILL_DATABASE", "CONNINFO",
     "PostgreSQL, as libpq takes it (the PG* variables)"},
    {"redis", RUN | BENCH, KIND_TEXT, AT(redis), "", 0, 0, "SECKILL_REDIS", "URL",
     "Redis for the started servers"},
    {"stock-redis", RUN | BENCH, KIND_TEXT, AT(stock_redis), "", 0, 0, "SECKILL_STOCK_REDIS", "URL",
     "Redis for their redis-stock (--redis)"},
    {"amqp", RUN | BENCH, KIND_TEXT, AT(amqp), "", 0, 0, "SECKILL_AMQP", "URL",
     "RabbitMQ for the started servers"},
    {"redlock", RUN | BENCH, KIND_TEXT, AT(redlock), "", 0, 0, "SECKILL_REDLOCK", "URL,URL,URL",
     "Redlock's Redis nodes for the started servers"},
    {"memcached", RUN | BENCH, KIND_TEXT, AT(memcached), "", 0, 0, "SECKILL_MEMCACHED", "ADDRESS",
     "memcached for the started servers"},
    {"zookeeper", RUN | BENCH, KIND_TEXT, AT(zookeeper), "", 0, 0, "SECKILL_ZOOKEEPER", "HOSTS",
     "ZooKeeper for the started servers"},
    {"admin-token", RUN | BENCH, KIND_TEXT, AT(admin_token), "", 0, 0, "SECKILL_ADMIN_TOKEN", "T",
     "sent with admin calls, and given to the started servers"},
    {"out", RUN | BENCH, KIND_TEXT, AT(out), "", 0, 0, NULL, "DIR",
     "where the files go (a new folder in results/)"},
    {"server", RUN, KIND_LIST, AT(servers), NULL, 0, 0, NULL, "URL,URL,...",
     "use these running servers instead of starting some"},
    {"reset", RUN, KIND_SWITCH, AT(reset), NULL, 0, 0, NULL, NULL,
     "with --server: products that have orders may be reset"},
    {"full", BENCH, KIND_SWITCH, AT(full), NULL, 0, 0, NULL, NULL, "every row, not the short form"},
    {"rows", BENCH, KIND_LIST, AT(rows), NULL, 0, 0, NULL, "1,2,...", "these rows alone"},
    {"server-binary", RUN | BENCH, KIND_TEXT, AT(server_binary), "", 0, 0, NULL, "PATH",
     "the seckill-server to start (the one beside this program)"},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static const struct {
    const char *name;
    enum command command;
    const char *summary;
} commands[] = {
    {"run", COMMAND_RUN, "load strategies side by side and say what each promised and kept"},
    {"audit", COMMAND_AUDIT, "say from PostgreSQL's rows whether each product's books agree"},
    {"bench", COMMAND_BENCH, "measure how close the server comes to the machine's limits"},
};

static const char *const scenarios[] = {"hot", "soldout", "spread", "counter", "articles"};

const char *scenario_name(enum scenario scenario)
{
    return scenarios[scenario];
}

/* A pointer into the options for a row: the one place where the table's offsets are used. */
static void *field(struct options *options, const struct row *row)
{
    return (char *)options + row->offset;
}

static bool read_count(const struct row *row, const char *text, int64_t *out,
                       struct problem *problem)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < row->min || value > row->max)
        return problem_set(problem, "--%s takes a number from %lld to %lld, not '%s'", row->flag,
                           (long long)row->min, (long long)row->max, text);
    *out = value;
    return true;
}

static bool read_seconds(const struct row *row, const char *text, int64_t *out,
                         struct problem *problem)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    bool number = !errno && end != text && value > 0 && value <= row->max;
    long long unit = 0;
    if (*end == '\0' || strcmp(end, "s") == 0)
        unit = 1;
    else if (strcmp(end, "m") == 0)
        unit = 60;
    if (!number || unit == 0 || value * unit > row->max)
        return problem_set(problem, "--%s takes whole seconds like 10s or 2m, not '%s'", row->flag,
                           text);
    *out = value * unit;
    return true;
}

static bool read_list(const struct row *row, const char *text, struct option_list *out,
                      struct problem *problem)
{
    out->count = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (length == 0 || length >= sizeof out->items[0])
            return problem_set(problem, "--%s has an empty or overlong item in '%s'", row->flag,
                               text);
        if (out->count == OPTIONS_MAX_LIST)
            return problem_set(problem, "--%s takes at most %d items", row->flag, OPTIONS_MAX_LIST);
        memcpy(out->items[out->count], at, length);
        out->items[out->count][length] = '\0';
        out->count++;
        at += length;
        if (*at == '\0')
            return true;
    }
}

static bool read_numbers(const struct row *row, const char *text, struct options *options,
                         struct problem *problem)
{
    struct option_list list;
    if (!read_list(row, text, &list, problem))
        return false;
    for (size_t i = 0; i < list.count; i++) {
        int64_t value = 0;
        if (!read_count(row, list.items[i], &value, problem))
            return false;
        options->instances[i] = (int)value;
    }
    options->instances_count = list.count;
    return true;
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
    return problem_set(problem, "--%s takes hot, soldout, spread, counter or articles, not '%s'",
                       row->flag, text);
}

static bool read_value(struct options *options, const struct row *row, const char *text,
                       struct problem *problem)
{
    switch (row->kind) {
    case KIND_TEXT:
        *(const char **)field(options, row) = text;
        return true;
    case KIND_COUNT:
        return read_count(row, text, field(options, row), problem);
    case KIND_SECONDS:
        return read_seconds(row, text, field(options, row), problem);
    case KIND_LIST:
        return read_list(row, text, field(options, row), problem);
    case KIND_NUMBERS:
        return read_numbers(row, text, options, problem);
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

static bool check_together(struct options *options, struct problem *problem)
{
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
    static const char *const fixed[] = {"strategies", "instances", "connections", "threads",
                                        "duration",   "stock",     "products",    "rounds",
                                        "work-ms",    "body",      "wait-ms",     "server"};
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
    return problem_set(problem, "'%s' is no command; there are run, audit and bench (--help)",
                       word);
}

bool options_parse(struct options *out, enum options_action *action, int argc, char **argv,
                   char *(*environment)(const char *), struct problem *problem)
{
    *out = (struct options){.body = "", .work_ms = -1, .wait_ms = -1, .server_binary = ""};
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
}
