/* See options.h. */
#include "loadtest/base/options.h"

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
    OPTION_ROW("strategies", REPORT, OPTION_LIST, AT(strategies), NULL, 0, 0, false, "a,b,...",
               "show these alone (all)"),
    OPTION_ROW("scenario", RUN, OPTION_CHOICE, AT(scenario),
               "hot|soldout|spread|counter|bell|articles|unpaid", 0, 0, false, "NAME",
               "hot, soldout, spread, counter, bell, articles or unpaid (below)"),
    OPTION_ROW("instances", CAPACITY, OPTION_NUMBERS, AT(instances), NULL, 1, OPTIONS_MAX_INSTANCES,
               false, "N", "how many servers share the load (1; with --server: all of them)"),
    OPTION_ROW("instances", RUN, OPTION_NUMBERS, AT(instances), NULL, 1, OPTIONS_MAX_INSTANCES,
               false, "1,3",
               "how many servers share the load, one figure after the other (1; with --server: all "
               "of them)"),
    OPTION_ROW(
        "connections", RUN, OPTION_COUNT, AT(connections), "0", 1, 20000, false, "N",
        "connections in all: wrk's, a multiple of the threads (64); at a --rate the most (1024)"),
    OPTION_ROW("users", WRKS | CAPACITY, OPTION_COUNT, AT(users), "0", 1, 1000000000, false, "N",
               "orders are given by N users, drawn one by one (each by a user of its own)"),
    OPTION_ROW("limit", RUN, OPTION_COUNT, AT(limit), "0", 1, 1000000000, false, "N",
               "units that one of the --users may have of a product (any number)"),
    OPTION_ROW(
        "keys", WRKS | CAPACITY, OPTION_TEXT, AT(keys), "", 0, 0, false, "5%",
        "each order has an Idempotency-Key, and so many of a hundred are sent again with it"),
    OPTION_ROW("rate", RUN, OPTION_COUNT, AT(rate_per_s), "0", 1, 1000000, false, "N",
               "orders a second, whether the servers keep up or not (as fast as they answer)"),
    OPTION_ROW("arrivals", RUN | CAPACITY, OPTION_CHOICE, AT(arrivals), "poisson|constant", 0, 0,
               false, "poisson|constant", "how orders come at a --rate"),
    OPTION_ROW("surge", RUN, OPTION_COUNT, AT(surge), "20", 1, 1000, false, "N",
               "bell: how many times the --rate comes when the sale opens"),
    OPTION_ROW("max-lag-ms", RUN | CAPACITY, OPTION_MS, AT(max_lag_ms), "10", 0, 60000, false, "N",
               "with a --rate: no run when the harness was later than this with 1 % of the orders"),
    OPTION_ROW("duration", RUN, OPTION_SECONDS, AT(duration_s), "10s", 1, 86400, false, "10s",
               "how long a load whose stock cannot run out lasts"),
    OPTION_ROW("duration", SWEEP, OPTION_SECONDS, AT(duration_s), "2s", 1, 86400, false, "2s",
               "how long each measurement lasts"),
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
    OPTION_ROW("system-name", WRKS | CROWDS | CAPACITY, OPTION_TEXT, AT(system_name), "", 0, 0,
               false, "NAME",
               "the started servers' prefix of keys and queues: another than a shop's beside it"),
    OPTION_ROW("server", RUN | CROWDS | CAPACITY, OPTION_LIST, AT(servers), NULL, 0, 0, false,
               "URL,URL,...", "use these running servers instead of starting some"),
    OPTION_ROW("reset", RUN | CROWDS | CAPACITY, OPTION_SWITCH, AT(reset), NULL, 0, 0, false, NULL,
               "with --server: products that have orders may be reset"),
    OPTION_ROW("format", RUN, OPTION_CHOICE, AT(format), "table|wide|md|json|csv", 0, 0, false,
               "NAME", "what is printed: table, wide, md (Markdown), json or csv (below)"),
    OPTION_ROW("wide", RUN, OPTION_SWITCH, AT(wide), NULL, 0, 0, false, NULL,
               "every column, as --format wide"),
    OPTION_ROW("fail-if", RUN, OPTION_TEXT, AT(fail_if), "", 0, 0, false, "p99>250ms,failed>1%",
               "exit status 1 when one of these conditions is met (below)"),
    OPTION_ROW("junit", RUN, OPTION_TEXT, AT(junit), "", 0, 0, false, "FILE",
               "write phases, verdicts and --fail-if as JUnit's XML, for a pipeline"),
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

const struct option_table option_table_loads = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .more = &option_table_backends};

const char *scenario_name(enum scenario scenario)
{
    return scenarios[scenario];
}

bool options_use_wrk(const struct options *options)
{
    return !(options->command & (CROWDS | FAULTS)) && options->rate_per_s == 0 &&
           options->scenario != SCENARIO_ARTICLES && options->scenario != SCENARIO_UNPAID;
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
