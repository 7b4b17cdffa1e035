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
    *out =
        (struct options){.body = "", .work_ms = -1, .wait_ms = -1, .server_binary = "", .keys = ""};
}
