/*
 * The one table of settings. To add a setting: a member in struct settings, a row here, and a
 * section in docs/CONFIG.md, which begins with what `seckill-server --help=markdown` says of it.
 */
#include "settings/settings.h"

#include "settings/settings_accept.h"

#define TEXT(name, text)                  ROW(OPTION_TEXT, name, text)
#define SECRET(name, text)                ROW(OPTION_SECRET, name, text)
#define NUMBER(name, text, low, high, of) COUNTED(OPTION_COUNT, name, text, low, high, of)
#define MS(name, text, low, high)         COUNTED(OPTION_MS, name, text, low, high, "ms")
#define SECONDS(name, text, low, high)    COUNTED(OPTION_SECONDS, name, text, low, high, "seconds")
#define COUNTED(type, name, text, low, high, of)                                                   \
    ROW(type, name, text), .min = (low), .max = (high), .unit = (of), .value = "N"
#define ROW(type, name, text)                                                                      \
    .commands = SETTINGS_OF_SERVER, .kind = (type), .offset = offsetof(struct settings, name),     \
    .fallback = (text), .environment = true

/* clang-format off */
static const struct option_row rows[] = {
    {
        .flag = "listen", TEXT(listen, "127.0.0.1:8080"),
        .value = "HOST:PORT", .takes = "HOST:PORT, with a port from 0 to 65535",
        .accepts = settings_accepts_listen,
        .help = "address to serve HTTP on; port 0 takes a free one",
    },
    {
        .flag = "database", SECRET(database, ""),
        .value = "CONNINFO", .takes = "a libpq connection string",
        .help = "PostgreSQL, as libpq writes it; empty: the PG* variables",
    },
    {
        .flag = "schema", TEXT(schema, "seckill"),
        .value = "NAME", .takes = "the name of a schema, 1 to 63 bytes without control characters", .accepts = settings_accepts_schema,
        .help = "schema that the tables are in; made if it is not there",
    },
    {
        .flag = "migrate", TEXT(migrate, "auto"),
        .value = "auto|never", .takes = "auto or never", .accepts = settings_accepts_migrate,
        .help = "auto: the server makes and updates its tables; never: somebody else",
    },
    {
        .flag = "redis", SECRET(redis, ""),
        .value = "URL", .takes = "redis[s]://[USER:PASSWORD@]HOST:PORT/DB, redis-sentinel://HOST,HOST/NAME, unix:///PATH, or nothing",
        .accepts = settings_accepts_redis,
        .help = "Redis for the locks; empty: none, and its strategies answer 503",
    },
    {
        .flag = "stock-redis", SECRET(stock_redis, ""),
        .value = "URL", .takes = "redis[s]://[USER:PASSWORD@]HOST:PORT/DB, redis-sentinel://HOST,HOST/NAME, unix:///PATH, or nothing",
        .accepts = settings_accepts_redis,
        .help = "Redis for redis-stock's stock and queue; empty: --redis",
    },
    {
        .flag = "stock-redis-replicas", NUMBER(stock_redis_replicas, "0", 0, 8, "replicas"),
        .help = "replicas of --stock-redis that must have a 202 on disk, as it has itself; 0: nobody asks",
    },
    {
        .flag = "stock-streams", NUMBER(stock_streams, "1", 1, 32, "streams"),
        .help = "redis-stock's products share so many streams, over the nodes of a cluster; the same in all instances",
    },
    {
        .flag = "redis-ca", TEXT(redis_ca, ""),
        .value = "FILE", .takes = "a PEM file of certificates, or nothing",
        .help = "CAs that a rediss:// server's certificate may come from; empty: the system's",
    },
    {
        .flag = "redlock", SECRET(redlock, ""),
        .value = "URL,URL,URL", .takes = "3 or 5 different Redis URLs with commas between them, or nothing",
        .accepts = settings_accepts_redlock,
        .help = "independent Redis servers for redlock; empty: none, and it answers 503",
    },
    {
        .flag = "memcached", TEXT(memcached, ""),
        .value = "HOST:PORT", .takes = "HOST:PORT or unix:///PATH, or nothing",
        .accepts = settings_accepts_memcached,
        .help = "memcached for memcached-lock; empty: none, and it answers 503",
    },
    {
        .flag = "zookeeper", TEXT(zookeeper, ""),
        .value = "HOSTS", .takes = "HOST:PORT,… and perhaps a /PATH, or nothing",
        .accepts = settings_accepts_zookeeper,
        .help = "ZooKeeper for zookeeper-lock; empty: none, and it answers 503",
    },
    {
        .flag = "amqp", SECRET(amqp, ""),
        .value = "URLS", .takes = "amqp[s]://USER:PASSWORD@HOST:PORT/VHOST,…, or nothing",
        .accepts = settings_accepts_amqp,
        .help = "RabbitMQ for partitioned-queue; empty: none, and it answers 503",
    },
    {
        .flag = "amqp-ca", TEXT(amqp_ca, ""),
        .value = "FILE", .takes = "a PEM file of certificates, or nothing",
        .help = "CAs that an amqps:// broker's certificate may come from; empty: the system's",
    },
    {
        .flag = "default-strategy", TEXT(default_strategy, "conditional"),
        .value = "NAME", .takes = "the name of a strategy", .accepts = settings_accepts_name,
        .help = "strategy of an order that names none",
    },
    {
        .flag = "flush", TEXT(flush, ""),
        .value = "WHOSE", .takes = "own, shared, or nothing", .accepts = settings_accepts_flush,
        .help = "flush of orders that do not say: own or shared; empty: the strategy's",
    },
    {
        .flag = "system-name", TEXT(system_name, "seckill"),
        .value = "NAME", .takes = "1 to 64 of the characters A-Z a-z 0-9 _ . -",
        .accepts = settings_accepts_system_name,
        .help = "prefix of every Redis key, lock and queue name",
    },
    {
        .flag = "admin-token", SECRET(admin_token, ""),
        .value = "TOKEN", .takes = "up to 512 visible ASCII characters without spaces",
        .accepts = settings_accepts_token,
        .help = "token of admin calls; empty: admin calls from loopback only",
    },
    {
        .flag = "log-level", TEXT(log_level, "info"),
        .value = "error|warn|info|debug", .takes = "error, warn, info or debug", .accepts = settings_accepts_log_level,
        .help = "least urgent level that is logged: error, warn, info, debug",
    },
    {
        .flag = "max-batch", NUMBER(max_batch, "500", 1, 500, "orders"),
        .help = "most orders merged into one transaction",
    },
    {
        .flag = "queue-capacity", NUMBER(queue_capacity, "10000", 1, 1000000, "orders"),
        .help = "orders that may wait in a queue before 503 queue_full",
    },
    {
        .flag = "in-flight-per-product",
        NUMBER(in_flight_per_product, "0", 0, 1000, "orders"),
        .help = "orders of one product worked on at once; 0: as the strategy has it",
    },
    {
        .flag = "pg-sessions", NUMBER(pg_sessions, "24", 4, 1000, "sessions"),
        .help = "most PostgreSQL sessions of this instance",
    },
    {
        .flag = "standbys", NUMBER(standbys, "0", 0, 8, "standbys"),
        .help = "named synchronous standbys that must have flushed a sale before its 201",
    },
    {
        .flag = "cell", TEXT(cell, ""),
        .value = "K/N", .takes = "K/N, cell K of N, with 1 <= K <= N <= 64, or nothing",
        .accepts = settings_accepts_cell,
        .help = "this cell's number, in each order's id; others' products and orders are 421; empty: there are no cells",
    },
    {
        .flag = "sets", NUMBER(sets, "4", 1, 64, "queues"),
        .help = "queues that partitioned-queue spreads the products over",
    },
    {
        .flag = "lock-wait-ms", MS(lock_wait_ms, "5000", 0, 60000),
        .help = "longest wait in queue and for a lock, for orders without wait_ms",
    },
    {
        .flag = "lock-ttl-ms", MS(lock_ttl_ms, "10000", 100, 600000),
        .help = "lease of a lock: what a crashed holder costs the others",
    },
    {
        .flag = "work-timeout-ms", MS(work_timeout_ms, "5000", 50, 300000),
        .help = "longest that an order's work may take once begun",
    },
    {
        .flag = "work-ms", MS(work_ms, "0", 0, 60000),
        .help = "for experiments: hold the protection this much longer",
    },
    {
        .flag = "stall-ms", MS(stall_ms, "0", 0, 60000),
        .help = "for experiments: let ?stall=true stop an order until so long after its lease; 0: refuse it",
    },
    {
        .flag = "buckets", NUMBER(buckets, "8", 1, 64, "buckets"),
        .help = "rows over which the strategy buckets spreads a product's stock",
    },
    {
        .flag = "hold-s", SECONDS(hold_s, "0", 0, 86400),
        .help = "how long an order may wait to be paid where neither it nor its product says; 0: it need not be",
    },
    {
        .flag = "max-connections", NUMBER(max_connections, "16384", 16, 1000000, "connections"),
        .help = "most HTTP connections at once",
    },
    {
        .flag = "idle-timeout-s", SECONDS(idle_timeout_s, "75", 1, 86400),
        .help = "how long a connection is kept open without a request",
    },
};
/* What the program does instead of serving, by the settings. */
static const struct option_row acts[] = {
    {
        .flag = "print-schema", .commands = SETTINGS_OF_SERVER, .kind = OPTION_SWITCH,
        .offset = offsetof(struct settings, print_schema),
        .help = "print the SQL that makes the tables in --schema, and exit",
    },
};
static const struct option_stop stops[] = {
    {"--strategies", SETTINGS_STRATEGIES, "list them and exit; --strategies=markdown: as a table"},
    {"--strategies=markdown", SETTINGS_STRATEGIES_MARKDOWN, NULL},
    {"--version", SETTINGS_VERSION, "print the version and exit"},
    {"--help", SETTINGS_HELP, "print this and exit; --help=markdown: as a table"},
    {"--help=markdown", SETTINGS_HELP_MARKDOWN, NULL},
    {"-h", SETTINGS_HELP, NULL},
    {"help", SETTINGS_HELP, NULL},
    {NULL, 0, NULL},
};
/* clang-format on */

static const struct option_table act_table = {.rows = acts, .count = sizeof acts / sizeof *acts};
const struct option_table settings_table = {
    .rows = rows, .count = sizeof rows / sizeof *rows, .more = &act_table, .stops = stops};

static const struct option_command command = {
    .command = SETTINGS_OF_SERVER,
    .example = "seckill-server --listen 0.0.0.0:8080 --database 'host=db dbname=shop' "
               "--redis redis://cache:6379"};
const struct option_program settings_program = {
    .name = "seckill-server",
    .summary = "sell over HTTP what must not be oversold, and let each order choose how",
    .table = &settings_table,
    .commands = &command,
    .commands_count = 1,
    .files = "/etc/seckill/seckill.env has the variables of the Debian package's unit.\n",
    .status = "0: it has stopped as it was told. 2: the command line or the environment is wrong.\n"
              "Another: it could not start, or not go on; the log says why.\n",
};
