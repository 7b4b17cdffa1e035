/* See options.h. */
#include "loadtest/base/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define X(name, NAME) NAME = COMMAND_##NAME,
enum { COMMANDS(X) };
#undef X
/* clang-format on */
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
    OPTION_ROW("database", (LOADS & ~(RUN | RECORD | FAULTS)) | ZOO, OPTION_SECRET, AT(database),
               "", 0, 0, true, "CONNINFO", "PostgreSQL, as libpq takes it (the PG* variables)"),
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
    *out = (struct options){
        .body = "", .work_ms = -1, .wait_ms = -1, .server_binary = "", .keys = "", .balancer = ""};
}

/* Without a flag. The first is enough for wrk to keep any server busy; with the second a server
 * that is slow for a tenth of a second at 10,000 orders a second makes nobody start late. */
enum { WRK_CONNECTIONS = 64, OPEN_CONNECTIONS = 1024 };

/* Of servers that run already, and of those that are started. */
static bool check_servers(const struct options *options, struct error *error)
{
    const struct option_list *servers = &options->servers;
    if (servers->count > OPTIONS_MAX_INSTANCES)
        return error_fail(error, "--server takes at most %d URLs", OPTIONS_MAX_INSTANCES);
    if (servers->count > 0 && options->work_ms >= 0)
        return error_fail(error,
                          "--work-ms needs servers that the harness starts: not with --server");
    if (servers->count > 0 && *options->server_binary)
        return error_fail(error, "--server-binary makes no sense with --server");
    if (servers->count == 0 && options->reset)
        return error_fail(error,
                          "--reset is for --server: started servers' products are always reset");
    for (size_t i = 0; i < servers->count; i++)
        if (strncmp(servers->items[i], "http://", 7) != 0)
            return error_fail(error, "--server takes http:// URLs, not '%s'", servers->items[i]);
    if (!*options->balancer)
        return true;
    if (servers->count == 0)
        return error_fail(error, "--balancer needs --server: all that it sends orders to");
    return strncmp(options->balancer, "http://", 7) == 0 ||
           error_fail(error, "--balancer takes an http:// URL, not '%s'", options->balancer);
}

bool options_finish(struct options *options, struct error *error)
{
    size_t servers = options->servers.count;
    if (options->connections == 0)
        options->connections = options->rate_per_s > 0 ? OPEN_CONNECTIONS : WRK_CONNECTIONS;
    if (*options->body && strcmp(options->body, "plain") != 0 &&
        strcmp(options->body, "guarded") != 0)
        return error_fail(error, "--body takes plain or guarded, not '%s'", options->body);
    if (!check_servers(options, error))
        return false;
    if (options->instances.count == 0) {
        options->instances.items[0] = servers ? (int)servers : 1;
        options->instances.count = 1;
    }
    for (size_t i = 0; i < options->instances.count; i++)
        if (servers > 0 && (size_t)options->instances.items[i] > servers)
            return error_fail(error, "--instances %d is more than the URLs of --server",
                              options->instances.items[i]);
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

bool options_read_share(const char *text, double *out)
{
    char *end = NULL;
    double percent = strtod(text, &end);
    *out = percent / 100;
    return end != text && strspn(text, "0123456789.") == (size_t)(end - text) &&
           strcmp(end, "%") == 0 && percent <= 100;
}
