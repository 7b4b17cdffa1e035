/* See options.h. */
#include "loadtest/base/options.h"

#include "base/options/nearest.h"
#include "loadtest/base/options_texts.h"

#include <string.h>

enum {
    RUN = COMMAND_RUN,
    AUDIT = COMMAND_AUDIT,
    SWEEP = COMMAND_SWEEP,
    REPORT = COMMAND_REPORT,
    RECORD = COMMAND_RECORD,
    OASIS = COMMAND_OASIS,
    CHECK = COMMAND_CHECK,
    FAULTS = COMMAND_FAULTS,
    ZOO = COMMAND_ZOO,
    CAPACITY = COMMAND_CAPACITY,
    SHOP = COMMAND_SHOP
};
enum {
    WRKS = RUN | SWEEP,
    CROWDS = RECORD | OASIS,
    LOADS = WRKS | CROWDS | FAULTS | CAPACITY,
    ANY = LOADS | AUDIT | CHECK
};

#define AT(member) offsetof(struct options, member)

static const struct option_row backends[] = {
    OPTION_ROW("threads", WRKS, OPTION_COUNT, AT(threads), "0", 0, 256, false, "N",
               "wrk's threads, rounded up to a multiple of the instances; 0: one a core"),
    OPTION_ROW("seed", LOADS | SHOP, OPTION_COUNT, AT(seed), "1", 0, 1000000000, false, "N",
               "the same seed buys with the same user ids in the same order of products"),
    OPTION_ROW("first-product", LOADS, OPTION_COUNT, AT(first_product), "1000001", 1000000, 8000000,
               false, "ID", "products ID, ID+1, … are sold, and reset"),
    OPTION_ROW("database", ANY | ZOO, OPTION_SECRET, AT(database), "", 0, 0, true, "CONNINFO",
               "PostgreSQL, as libpq takes it (the PG* variables)"),
    OPTION_ROW("schema", ANY, OPTION_TEXT, AT(schema), "seckill", 0, 0, true, "NAME",
               "schema that the servers' tables are in; given to the started servers"),
    OPTION_ROW("redis", LOADS, OPTION_SECRET, AT(redis), "", 0, 0, true, "URL",
               "Redis for the started servers"),
    OPTION_ROW("stock-redis", LOADS, OPTION_SECRET, AT(stock_redis), "", 0, 0, true, "URL",
               "Redis for their redis-stock (--redis)"),
    OPTION_ROW("amqp", LOADS, OPTION_SECRET, AT(amqp), "", 0, 0, true, "URL",
               "RabbitMQ for the started servers"),
    OPTION_ROW("redlock", LOADS, OPTION_SECRET, AT(redlock), "", 0, 0, true, "URL,URL,URL",
               "Redlock's Redis nodes for the started servers"),
    OPTION_ROW("memcached", LOADS, OPTION_TEXT, AT(memcached), "", 0, 0, true, "ADDRESS",
               "memcached for the started servers"),
    OPTION_ROW("zookeeper", LOADS, OPTION_TEXT, AT(zookeeper), "", 0, 0, true, "HOSTS",
               "ZooKeeper for the started servers"),
    OPTION_ROW("admin-token", LOADS, OPTION_SECRET, AT(admin_token), "", 0, 0, true, "T",
               "sent with admin calls, and given to the started servers"),
    OPTION_ROW("out", LOADS | SHOP, OPTION_TEXT, AT(out), "", 0, 0, false, "DIR",
               "where the files go (a new folder in results/)"),
    OPTION_ROW("out", REPORT, OPTION_TEXT, AT(out), "", 0, 0, false, "DIR",
               "where report.html goes (the run's folder; of several runs: this one)"),
    OPTION_ROW("server-binary", LOADS, OPTION_TEXT, AT(server_binary), "", 0, 0, false, "PATH",
               "the seckill-server to start (the one beside this program)"),
};

const struct option_table option_table_backends = {.rows = backends,
                                                   .count = sizeof backends / sizeof backends[0]};

static const char *const scenarios[] = {"hot",  "soldout",  "spread", "counter",
                                        "bell", "articles", "unpaid"};

static const struct option_row rows[] = {
    OPTION_ROW("strategies", RUN, OPTION_LIST, AT(strategies), "all", 0, 0, false, "a,b,...|all",
               "what to compare; all: every one that the servers can run now"),
    OPTION_ROW("strategies", FAULTS, OPTION_LIST, AT(strategies), "all", 0, 0, false, "a,b,...|all",
               "the matrix's rows; all: every one that the servers can run now"),
    OPTION_ROW("faults", FAULTS, OPTION_LIST, AT(faults), "all", 0, 0, false, "a,b,...|all",
               "the matrix's columns (below)"),
    OPTION_ROW("runs", FAULTS, OPTION_COUNT, AT(runs), "3", 1, 1000, false, "N",
               "how often each cell is run, with another seed each time"),
    OPTION_ROW("short", FAULTS, OPTION_SWITCH, AT(short_form), NULL, 0, 0, false, NULL,
               "only the cells that tell the strategies apart, one run of each"),
    OPTION_ROW("promised", FAULTS, OPTION_SWITCH, AT(promised), NULL, 0, 0, false, NULL,
               "only the cells that a promise is held to: more seeds for --join"),
    OPTION_ROW("reproduce", FAULTS, OPTION_TEXT, AT(reproduce), "", 0, 0, false, "STRATEGY/FAULT",
               "one run of one cell, with the schedule of --seed, and all that was found"),
    OPTION_ROW("join", FAULTS, OPTION_LIST, AT(join), NULL, 0, 0, false, "FOLDER,...",
               "break nothing: add up the runs of matrices made before, in one"),
    OPTION_ROW("stack", FAULTS, OPTION_TEXT, AT(stack), "", 0, 0, false, "COMMAND",
               "kills, starts and stops the private backends: scripts/stack.sh --dir DIR"),
    OPTION_ROW("control-binary", FAULTS, OPTION_TEXT, AT(control_binary), "", 0, 0, false, "PATH",
               "a seckill-server with failpoints, for the controls that a release has not"),
    OPTION_ROW("expect", FAULTS, OPTION_LIST, AT(expect), NULL, 0, 0, false,
               "CELL=holds|breaks,...", "expect something else of a cell than its promise says"),
    OPTION_ROW("strategy", RECORD, OPTION_TEXT, AT(strategy), "conditional", 0, 0, false, "NAME",
               "what sells"),
    OPTION_ROW("strategy", OASIS, OPTION_TEXT, AT(strategy), "batch", 0, 0, false, "NAME",
               "what sells"),
    OPTION_ROW("strategy", CAPACITY, OPTION_TEXT, AT(strategy), "conditional", 0, 0, false, "NAME",
               "what sells"),
    OPTION_ROW("slo", CAPACITY, OPTION_TEXT, AT(slo), "p99<50ms,failed<0.1%", 0, 0, false,
               "CONDITION,...", "what must hold, as in run's --fail-if"),
    OPTION_ROW("rate", CAPACITY, OPTION_COUNT, AT(rate_per_s), "200", 1, 1000000, false, "N",
               "orders a second to begin with"),
    OPTION_ROW("within", CAPACITY, OPTION_SECONDS, AT(within_s), "3m", 1, 86400, false, "3m",
               "end after so long, found or not"),
    OPTION_ROW("duration", CAPACITY, OPTION_SECONDS, AT(duration_s), "3s", 1, 86400, false, "3s",
               "how long each rate is offered"),
    OPTION_ROW("connections", CAPACITY, OPTION_COUNT, AT(connections), "1024", 1, 20000, false, "N",
               "connections at the most"),
    OPTION_ROW("tickets", OASIS, OPTION_COUNT, AT(tickets), "1400000", 1, 100000000, false, "N",
               "tickets on sale, of all nights together"),
    OPTION_ROW("products", OASIS, OPTION_COUNT, AT(products), "17", 1, 1000, false, "N",
               "nights, a product each"),
    OPTION_ROW("strategies", SWEEP, OPTION_LIST, AT(strategies), "conditional", 0, 0, false,
               "a,b,...", "what to measure"),
    OPTION_ROW("strategies", REPORT, OPTION_LIST, AT(strategies), NULL, 0, 0, false, "a,b,...",
               "show these alone (all)"),
    OPTION_ROW("over", SWEEP, OPTION_TEXT, AT(over), "", 0, 0, false, "NAME=1,2,4",
               "what to vary, and its values (below)"),
    OPTION_ROW("set", SWEEP, OPTION_LIST, AT(set), NULL, 0, 0, false, "NAME=1,...",
               "other settings, the same throughout"),
    OPTION_ROW("scenario", RUN, OPTION_CHOICE, AT(scenario),
               "hot|soldout|spread|counter|bell|articles|unpaid", 0, 0, false, "NAME",
               "hot, soldout, spread, counter, bell, articles or unpaid (below)"),
    OPTION_ROW("instances", CROWDS | CAPACITY, OPTION_NUMBERS, AT(instances), NULL, 1,
               OPTIONS_MAX_INSTANCES, false, "N",
               "how many servers share the load (1; with --server: all of them)"),
    OPTION_ROW("instances", RUN, OPTION_NUMBERS, AT(instances), NULL, 1, OPTIONS_MAX_INSTANCES,
               false, "1,3",
               "how many servers share the load, one figure after the other (1; with --server: all "
               "of them)"),
    OPTION_ROW(
        "connections", RUN, OPTION_COUNT, AT(connections), "0", 1, 20000, false, "N",
        "connections in all: wrk's, a multiple of the threads (64); at a --rate the most (1024)"),
    OPTION_ROW("connections", RECORD, OPTION_COUNT, AT(connections), "16", 1, 20000, false, "N",
               "buyers at once, who each wait for their answer"),
    OPTION_ROW("connections", OASIS, OPTION_COUNT, AT(connections), "256", 1, 10000, false, "N",
               "buyers at once, with two connections each"),
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
    OPTION_ROW("operations", RECORD, OPTION_COUNT, AT(operations), "0", 0, 1000000000, false, "N",
               "end after so many, if that is before --duration; 0: any number"),
    OPTION_ROW("users", WRKS | CAPACITY, OPTION_COUNT, AT(users), "0", 1, 1000000000, false, "N",
               "orders are given by N users, drawn one by one (each by a user of its own)"),
    OPTION_ROW("limit", RUN, OPTION_COUNT, AT(limit), "0", 1, 1000000000, false, "N",
               "units that one of the --users may have of a product (any number)"),
    OPTION_ROW(
        "keys", WRKS | CAPACITY, OPTION_TEXT, AT(keys), "", 0, 0, false, "5%",
        "each order has an Idempotency-Key, and so many of a hundred are sent again with it"),
    OPTION_ROW("users", RECORD, OPTION_COUNT, AT(users), "200", 1, 1000000000, false, "N",
               "how many users they buy for"),
    OPTION_ROW("limit", RECORD, OPTION_COUNT, AT(limit), "0", 0, 1000000000, false, "N",
               "units that a user may have of a product; 0: any number"),
    OPTION_ROW("rate", SHOP, OPTION_COUNT, AT(rate_per_s), "0", 1, 1000000, false, "N",
               "purchases a second for --duration, whether the shop keeps up or not"),
    OPTION_ROW("holds", RECORD, OPTION_COUNT, AT(holds), "0", 0, 100, false, "PERCENT",
               "so many of a hundred buys are to be paid within --hold-s"),
    OPTION_ROW("hold-s", RECORD, OPTION_SECONDS, AT(hold_s), "1s", 1, 86400, false, "1s",
               "how long those orders may wait to be paid"),
    OPTION_ROW("paid", RECORD, OPTION_COUNT, AT(paid), "40", 0, 100, false, "PERCENT",
               "so many of a hundred of them are paid at once"),
    OPTION_ROW("paid-late", RECORD, OPTION_COUNT, AT(paid_late), "30", 0, 100, false, "PERCENT",
               "and so many when their hold ends, a moment before or after; the rest never"),
    OPTION_ROW("rate", RUN, OPTION_COUNT, AT(rate_per_s), "0", 1, 1000000, false, "N",
               "orders a second, whether the servers keep up or not (as fast as they answer)"),
    OPTION_ROW("arrivals", RUN | CAPACITY | SHOP, OPTION_CHOICE, AT(arrivals), "poisson|constant",
               0, 0, false, "poisson|constant", "how orders come at a --rate"),
    OPTION_ROW("surge", RUN, OPTION_COUNT, AT(surge), "20", 1, 1000, false, "N",
               "bell: how many times the --rate comes when the sale opens"),
    OPTION_ROW("max-lag-ms", RUN | CAPACITY | SHOP, OPTION_MS, AT(max_lag_ms), "10", 0, 60000,
               false, "N",
               "with a --rate: no run when the harness was later than this with 1 % of the orders"),
    OPTION_ROW("duration", SHOP, OPTION_SECONDS, AT(duration_s), "10s", 1, 86400, false, "10s",
               "how long purchases come at a --rate"),
    OPTION_ROW("duration", RUN, OPTION_SECONDS, AT(duration_s), "10s", 1, 86400, false, "10s",
               "how long a load whose stock cannot run out lasts"),
    OPTION_ROW("duration", SWEEP, OPTION_SECONDS, AT(duration_s), "2s", 1, 86400, false, "2s",
               "how long each measurement lasts"),
    OPTION_ROW("duration", RECORD, OPTION_SECONDS, AT(duration_s), "5s", 1, 86400, false, "5s",
               "how long the buyers go on"),
    OPTION_ROW("stock", RECORD, OPTION_COUNT, AT(stock), "100", 0, 1000000000, false, "N",
               "units on sale, of each product"),
    OPTION_ROW("products", RECORD, OPTION_COUNT, AT(products), "4", 1, 100000, false, "N",
               "how many products are sold"),
    OPTION_ROW("stock", RUN, OPTION_COUNT, AT(stock), "100", 1, 1000000000, false, "N",
               "units on sale in the truth phase, for each product"),
    OPTION_ROW("products", RUN, OPTION_COUNT, AT(products), "100", 1, 100000, false, "N",
               "products of the spread scenario"),
    OPTION_ROW("products", SWEEP, OPTION_COUNT, AT(products), "1", 1, 100000, false, "N",
               "how many products are sold"),
    OPTION_ROW("rounds", RUN, OPTION_COUNT, AT(rounds), "1", 1, 1000, false, "N",
               "how often everything is repeated, strategies in turn"),
    OPTION_ROW("rounds", SWEEP, OPTION_COUNT, AT(rounds), "3", 1, 100, false, "N",
               "how often everything is repeated, values in turn"),
    OPTION_ROW("work-ms", RUN | CROWDS | CAPACITY, OPTION_MS, AT(work_ms), "-1", 0, 60000, false,
               "N", "started servers hold their protection N ms longer"),
    OPTION_ROW("body", WRKS | CROWDS | CAPACITY, OPTION_TEXT, AT(body), "", 0, 0, false,
               "plain|guarded", "what runs under the lock, for strategies that have the choice"),
    OPTION_ROW("header", RUN, OPTION_SECRETS, AT(header), NULL, 0, 0, false, "'Name: value'",
               "a header field that is sent with each order, and may be repeated"),
    OPTION_ROW("wait-ms", WRKS | CROWDS | CAPACITY, OPTION_MS, AT(wait_ms), "-1", 0, 60000, false,
               "N", "how long an order may wait"),
    OPTION_ROW("redis", CHECK, OPTION_SECRET, AT(redis), "", 0, 0, true, "URL",
               "the locks' Redis: locks without a lease are residue (not looked at)"),
    OPTION_ROW("stock-redis", CHECK, OPTION_SECRET, AT(stock_redis), "", 0, 0, true, "URL",
               "redis-stock's: its stock is the database's when all is quiet (--redis)"),
    OPTION_ROW("system-name", FAULTS, OPTION_TEXT, AT(system_name), "seckill-faults", 0, 0, false,
               "NAME",
               "the started servers' prefix of keys in Redis: every key with it is deleted"),
    OPTION_ROW("system-name", WRKS | CROWDS | CAPACITY, OPTION_TEXT, AT(system_name), "", 0, 0,
               false, "NAME",
               "the started servers' prefix of keys and queues: another than a shop's beside it"),
    OPTION_ROW("system-name", CHECK, OPTION_TEXT, AT(system_name), "seckill", 0, 0, true, "NAME",
               "the servers' prefix of keys in Redis"),
    OPTION_ROW("show", CHECK, OPTION_COUNT, AT(show), "3", 0, 1000000, false, "N",
               "of each kind of violation, print so many cases with their operations"),
    OPTION_ROW("exact", CHECK, OPTION_COUNT, AT(exact), "200", 0, 512, false, "N",
               "products with at most N operations are searched exactly; 0: none"),
    OPTION_ROW("product", AUDIT, OPTION_COUNT, AT(product), "0", 1, INT64_C(9007199254740991),
               false, "ID", "audit this product alone"),
    OPTION_ROW("server", RUN | CROWDS | CAPACITY, OPTION_LIST, AT(servers), NULL, 0, 0, false,
               "URL,URL,...", "use these running servers instead of starting some"),
    OPTION_ROW("reset", RUN | CROWDS | CAPACITY, OPTION_SWITCH, AT(reset), NULL, 0, 0, false, NULL,
               "with --server: products that have orders may be reset"),
    OPTION_ROW("format", RUN, OPTION_CHOICE, AT(format), "table|wide|md|json|csv", 0, 0, false,
               "NAME", "what is printed: table, wide, md (Markdown), json or csv (below)"),
    OPTION_ROW("wide", RUN, OPTION_SWITCH, AT(wide), NULL, 0, 0, false, NULL,
               "every column, as --format wide"),
    OPTION_ROW("fail-if", RUN | SHOP | FAULTS, OPTION_TEXT, AT(fail_if), "", 0, 0, false,
               "p99>250ms,failed>1%", "exit status 1 when one of these conditions is met (below)"),
    OPTION_ROW("junit", RUN, OPTION_TEXT, AT(junit), "", 0, 0, false, "FILE",
               "write phases, verdicts and --fail-if as JUnit's XML, for a pipeline"),
    OPTION_ROW("junit", SHOP, OPTION_TEXT, AT(junit), "", 0, 0, false, "FILE",
               "write claims, the verdict and --fail-if as JUnit's XML, for a pipeline"),
    OPTION_ROW("junit", FAULTS, OPTION_TEXT, AT(junit), "", 0, 0, false, "FILE",
               "write cells, controls and --fail-if as JUnit's XML, for a pipeline"),
    OPTION_ROW("redis", ZOO, OPTION_SECRET, AT(redis), "", 0, 0, true, "URL",
               "Redis, for the exhibits with a lock there"),
    OPTION_ROW("stock-redis", ZOO, OPTION_SECRET, AT(stock_redis), "", 0, 0, true, "URL",
               "Redis for redis-stock's exhibit (--redis)"),
    OPTION_ROW("redlock", ZOO, OPTION_SECRET, AT(redlock), "", 0, 0, true, "URL,URL,URL",
               "three Redis nodes, for redlock's"),
    OPTION_ROW("memcached", ZOO, OPTION_TEXT, AT(memcached), "", 0, 0, true, "ADDRESS",
               "memcached, for memcached-lock's"),
    OPTION_ROW("format", ZOO, OPTION_CHOICE, AT(zoo_format), "table|json", 0, 0, false, "NAME",
               "what is printed: a table, or the live page's data"),
    OPTION_ROW("step", ZOO, OPTION_SWITCH, AT(step), NULL, 0, 0, false, NULL,
               "wait for Enter before each step, where there is a terminal"),
};

static const struct option_stop stops[] = {
    {"--help", OPTIONS_HELP, "print this and exit"},
    {"-h", OPTIONS_HELP, NULL},
    {"help", OPTIONS_HELP, NULL},
    {NULL, 0, NULL},
};

static const struct option_table table = {.rows = rows,
                                          .count = sizeof rows / sizeof rows[0],
                                          .more = &option_table_backends,
                                          .stops = stops};

static const struct option_command commands[] = {
    {"run", COMMAND_RUN, "load strategies side by side and say what each promised and kept",
     options_run_text},
    {"audit", COMMAND_AUDIT, "say from PostgreSQL's rows whether each product's books agree", NULL},
    {"sweep", COMMAND_SWEEP, "take one setting through a list of values", options_sweep_text},
    {"capacity", COMMAND_CAPACITY,
     "find the highest rate of orders at which a strategy holds an SLO", options_capacity_text},
    {"report", COMMAND_REPORT,
     "DIR [DIR...]: make report.html of a run's or a sweep's folder, or compare several",
     options_report_text},
    {"record", COMMAND_RECORD, "buy, repeat, cancel and restock, and write down every answer",
     options_record_text},
    {"oasis", COMMAND_OASIS, "sell 1,400,000 tickets, at most four a buyer, and count the rows",
     options_oasis_text},
    {"faults", COMMAND_FAULTS,
     "break things while strategies sell, and say who keeps what it promises", options_faults_text},
    {"check", COMMAND_CHECK, "LEDGER: judge what was recorded against what the database holds",
     options_check_text},
    {"shop", COMMAND_SHOP,
     "TARGET.yaml: load any shop over HTTP as the file says, and judge it by its own books",
     options_shop_text},
    {"zoo", COMMAND_ZOO, "[NAME...]: play how an unsafe strategy breaks, step by step",
     options_zoo_text},
};

/* In a command's place. */
static const struct option_stop first_stops[] = {
    {"--version", OPTIONS_VERSION, "print the version and exit"},
    {"--help", OPTIONS_HELP, "list the commands and exit; help COMMAND lists its flags"},
    {"-h", OPTIONS_HELP, NULL},
    {"help", OPTIONS_HELP, NULL},
    {NULL, 0, NULL},
};

const struct option_program options_program = {
    .name = "seckill-loadtest",
    .summary = "load seckill servers and audit what they promise",
    .table = &table,
    .commands = commands,
    .commands_count = sizeof commands / sizeof commands[0],
    .stops = first_stops,
};

const char *scenario_name(enum scenario scenario)
{
    return scenarios[scenario];
}

bool options_use_wrk(const struct options *options)
{
    return !(options->command & (CROWDS | FAULTS)) && options->rate_per_s == 0 &&
           options->scenario != SCENARIO_ARTICLES && options->scenario != SCENARIO_UNPAID;
}

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

/* Nothing is run, so nothing that says how can be meant. */
static bool check_faults(const struct options *options, const struct option_given *given,
                         struct error *error)
{
    static const char *const idle[] = {"strategies", "faults",  "runs",           "short",
                                       "reproduce",  "stack",   "control-binary", "expect",
                                       "promised",   "fail-if", "seed",           "server-binary"};
    for (size_t i = 0; options->join.count > 0 && i < given->count; i++) {
        for (size_t j = 0; j < sizeof idle / sizeof idle[0]; j++) {
            if (strcmp(given->flags[i], idle[j]) == 0)
                return error_fail(error, "--%s is not for --join, which runs nothing", idle[j]);
        }
    }
    return true;
}

/* What is of a load means nothing where there is none. A name that is empty, as a script's variable
 * may be, is no wish for a load. */
static bool check_judge(const struct options *options, const struct option_given *given,
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

/* One that is empty, as a script's variable may be, would judge nothing and pass. */
static bool check_gates(const struct options *options, const struct option_given *given,
                        struct error *error)
{
    for (size_t i = 0; i < given->count; i++) {
        const char *flag = given->flags[i];
        bool is_empty = (strcmp(flag, "fail-if") == 0 && !*options->fail_if) ||
                        (strcmp(flag, "slo") == 0 && !*options->slo) ||
                        (strcmp(flag, "junit") == 0 && !*options->junit);
        if (is_empty)
            return error_fail(error, "--%s is empty", flag);
    }
    return true;
}

/* A closed loop or an open one. */
static bool check_shop(const struct options *options, const struct option_given *given,
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

/* What is no command is not repeated: it may be what a space has cut off a secret. */
static bool name_command(struct options *options, int number, const char *word, struct error *error)
{
    char names[120] = "", meant[NEAREST_TEXT_SIZE];
    struct nearest nearest = nearest_to(word, strlen(word));
    for (size_t i = 0; i < options_program.commands_count; i++) {
        const char *name = commands[i].name;
        if (strcmp(word, name) == 0)
            options->command = (enum command)commands[i].command;
        nearest_offer(&nearest, name);
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                 i == 0                                    ? ""
                 : i + 1 == options_program.commands_count ? " and "
                                                           : ", ",
                 name);
    }
    return options->command ||
           error_fail(error, "argument %d is no command; there are %s (--help)%s", number, names,
                      nearest_text(&nearest, "", meant));
}

static bool find_command(struct options *options, enum options_action *action, int argc,
                         char **argv, struct error *error)
{
    const char *word = argc > 1 ? argv[1] : "";
    const struct option_stop *stop = option_find_stop(first_stops, word, strlen(word));
    *action = argc < 2 ? OPTIONS_USAGE : stop ? (enum options_action)stop->number : OPTIONS_GO;
    if (*action == OPTIONS_HELP && argc > 2) /* help run */
        return name_command(options, 2, argv[2], error);
    if (*action != OPTIONS_GO)
        return true;
    return name_command(options, 1, word, error);
}

/* The folders, the ledger, or the names, stand before the flags. */
static bool take_folders(struct options *out, struct option_line *line, struct error *error)
{
    bool one = out->command == COMMAND_CHECK || out->command == COMMAND_SHOP;
    const char *command = out->command == COMMAND_CHECK  ? "check"
                          : out->command == COMMAND_SHOP ? "shop"
                          : out->command == COMMAND_ZOO  ? "zoo"
                                                         : "report";
    size_t most = one ? 1 : OPTION_LIST_MAX;
    for (; line->argc > 0 && line->argv[0][0] != '-'; line->argc--, line->argv++) {
        if (out->folders.count == most)
            return error_fail(error, "%s: at most %zu of them", command, most);
        if (strlen(line->argv[0]) >= sizeof out->folders.items[0])
            return error_fail(error, "%s: %.40s... is too long a name", command, line->argv[0]);
        snprintf(out->folders.items[out->folders.count++], sizeof out->folders.items[0], "%s",
                 line->argv[0]);
    }
    return true;
}

void options_begin(struct options *out)
{
    *out = (struct options){.body = "",
                            .work_ms = -1,
                            .wait_ms = -1,
                            .server_binary = "",
                            .fail_if = "",
                            .junit = "",
                            .keys = ""};
}

bool options_parse(struct options *out, enum options_action *action, int argc, char **argv,
                   char *(*environment)(const char *), struct error *error)
{
    struct option_given given;
    char help[16];
    options_begin(out);
    *action = OPTIONS_GO;
    if (!find_command(out, action, argc, argv, error))
        return false;
    if (*action != OPTIONS_GO)
        return true;
    snprintf(help, sizeof help, "%s --help", argv[1]);
    struct option_line line = {help, argc - 2, argv + 2, environment};
    bool takes_files = out->command == COMMAND_REPORT || out->command == COMMAND_CHECK ||
                       out->command == COMMAND_SHOP;
    if ((takes_files || out->command == COMMAND_ZOO) && !take_folders(out, &line, error))
        return false;
    if (!option_rows_parse(&table, out->command, &line, out, &given, error))
        return false;
    if (given.stop) {
        *action = (enum options_action)given.stop;
        return true;
    }
    if (takes_files && out->folders.count == 0)
        return error_fail(
            error, out->command == COMMAND_CHECK ? "check: which ledger? Name its file"
                   : out->command == COMMAND_SHOP
                       ? "shop: which one? Name its target file (docs/JUDGING.md#the-target-file)"
                       : "report: which run? Name the folder of its results.json");
    if (!check_gates(out, &given, error))
        return false;
    if (out->command == COMMAND_SHOP)
        return check_judge(out, &given, error) && check_shop(out, &given, error);
    if (takes_files || out->command == COMMAND_ZOO)
        return true;
    return options_settle(out, error) && check_articles(out, &given, error) &&
           check_faults(out, &given, error);
}

void options_print_help(FILE *to, enum command command)
{
    if (!command)
        fputs("seckill-loadtest COMMAND [flags]\n\n", to);
    for (size_t i = 0; i < options_program.commands_count; i++) {
        if (!command)
            fprintf(to, "  %-6s %s\n", commands[i].name, commands[i].summary);
        if (commands[i].command != command)
            continue;
        fprintf(to, "seckill-loadtest %s: %s\n\n", commands[i].name, commands[i].summary);
        option_rows_print(to, &table, command);
        if (commands[i].text)
            fprintf(to, "\n%s", commands[i].text);
    }
    if (!command)
        fputs("\nseckill-loadtest COMMAND --help lists its flags; --version says which this is.\n",
              to);
}
