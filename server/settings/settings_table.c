/*
 * The one table of settings. To add a setting: a member in struct settings, a row here, and
 * `seckill-server --help=markdown > docs/CONFIG.md`.
 */
#include "settings/settings_table.h"

#include "settings/settings.h"
#include "settings/settings_accept.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#define TEXT(name, text)                                                                           \
    .kind = SETTINGS_TEXT, .offset = offsetof(struct settings, name), .standard = (text)
#define NUMBER(name, text, low, high, of)                                                          \
    .kind = SETTINGS_NUMBER, .offset = offsetof(struct settings, name), .standard = (text),        \
    .min = (low), .max = (high), .unit = (of), .value = "N"

/* clang-format off */
static const struct settings_row rows[] = {
    {
        .flag = "listen", TEXT(listen, "127.0.0.1:8080"),
        .value = "HOST:PORT", .takes = "HOST:PORT, with a port from 0 to 65535",
        .accepts = settings_accepts_listen,
        .help = "address to serve HTTP on; port 0 takes a free one",
        .detail =
            "The address and port to serve HTTP on. Port `0` takes a free one; which one is said on "
            "stdout (`listening on http://HOST:PORT`). `0.0.0.0:8080` serves every network the "
            "machine is in; an IPv6 address stands in brackets, `[::1]:8080`. The service believes "
            "the `user_id` it is sent: put it behind whatever authenticates your buyers.",
    },
    {
        .flag = "database", TEXT(database, ""), .secret = true,
        .value = "CONNINFO", .takes = "a libpq connection string",
        .help = "PostgreSQL, as libpq writes it; empty: the PG* variables",
        .detail =
            "Where PostgreSQL is: a libpq connection string (`host=db dbname=shop user=seckill`) or "
            "URI (`postgresql://seckill@db/shop`). Empty means libpq's own environment variables "
            "(`PGHOST`, `PGDATABASE`, …). Keep a password out of it, in `~/.pgpass` or "
            "`PGPASSWORD`: other users of the machine can read a process's flags. The tables are "
            "created at start.",
    },
    {
        .flag = "redis", TEXT(redis, ""), .secret = true,
        .value = "URL", .takes = "redis://HOST:PORT/DB or unix:///PATH, or nothing",
        .accepts = settings_accepts_redis,
        .help = "Redis for the locks; empty: none, and its strategies answer 503",
        .detail =
            "The Redis that holds the locks: `redis://HOST:PORT/DB` or `unix:///PATH`. Empty means "
            "that there is none: the strategies that need it are listed as unavailable and answer "
            "503, the others do not notice. It need not be up when the server starts.",
    },
    {
        .flag = "stock-redis", TEXT(stock_redis, ""), .secret = true,
        .value = "URL", .takes = "redis://HOST:PORT/DB or unix:///PATH, or nothing",
        .accepts = settings_accepts_redis,
        .help = "Redis for redis-stock's stock and queue; empty: --redis",
        .detail =
            "The Redis that holds what `redis-stock` has reserved and PostgreSQL has not decided "
            "yet, written as `--redis` is. Empty means the Redis of `--redis`. Whatever it loses is "
            "lost to the buyers who were told 202, so it should run with `appendonly yes`, "
            "`appendfsync always` and `maxmemory-policy noeviction`: the server warns at start when "
            "it does not, and `GET /readyz` says so. It must be Redis 6.2 or newer. A Redis for "
            "locks needs none of this and is faster without, hence two settings.",
    },
    {
        .flag = "redlock", TEXT(redlock, ""), .secret = true,
        .value = "URL,URL,URL", .takes = "3 or 5 different Redis URLs with commas between them, or nothing",
        .accepts = settings_accepts_redlock,
        .help = "independent Redis servers for redlock; empty: none, and it answers 503",
        .detail =
            "The 3 or 5 Redis servers over which `redlock` holds its locks, as in `--redis`, with "
            "commas between them. They must know nothing of each other: no replicas, no cluster. "
            "One that crashes must stay away for `--lock-ttl-ms` before it comes back, or be durable "
            "(`appendfsync always`). Empty means that there are none: the strategy is listed as "
            "unavailable and answers 503, the others do not notice. They need not be up when the "
            "server starts.",
    },
    {
        .flag = "memcached", TEXT(memcached, ""),
        .value = "HOST:PORT", .takes = "HOST:PORT or unix:///PATH, or nothing",
        .accepts = settings_accepts_memcached,
        .help = "memcached for memcached-lock; empty: none, and it answers 503",
        .detail =
            "The memcached that holds the locks of `memcached-lock`: `HOST:PORT` or `unix:///PATH`. "
            "Run it with `-M`, so that a full one refuses a lock instead of throwing another out. "
            "Its leases are whole seconds: `--lock-ttl-ms` rounded up, and two more. Empty means that "
            "there is none: the strategy is listed as unavailable and answers 503, the others do not "
            "notice. It need not be up when the server starts.",
    },
    {
        .flag = "zookeeper", TEXT(zookeeper, ""),
        .value = "HOSTS", .takes = "HOST:PORT,… and perhaps a /PATH, or nothing",
        .accepts = settings_accepts_zookeeper,
        .help = "ZooKeeper for zookeeper-lock; empty: none, and it answers 503",
        .detail =
            "The servers of the ZooKeeper ensemble that holds the locks of `zookeeper-lock`, "
            "`HOST:PORT` with commas between them; a `/PATH` at the end, which must exist, is put "
            "before every name. 3.5 or later. The session's time is `--lock-ttl-ms`, as far as the "
            "servers' `minSessionTimeout` and `maxSessionTimeout` allow. Empty means that there is "
            "none: the strategy is listed as unavailable and answers 503, the others do not notice. "
            "It need not be up when the server starts.",
    },
    {
        .flag = "amqp", TEXT(amqp, ""), .secret = true,
        .value = "URL", .takes = "amqp://USER:PASSWORD@HOST:PORT/VHOST, or nothing",
        .accepts = settings_accepts_amqp,
        .help = "RabbitMQ for partitioned-queue; empty: none, and it answers 503",
        .detail =
            "The RabbitMQ that `partitioned-queue` sends its orders through: "
            "`amqp://USER:PASSWORD@HOST:PORT/VHOST`; without a vhost it is `/`. It "
            "needs quorum queues (3.8 or later). Empty means that there is none: the strategy is "
            "listed as unavailable and answers 503, the others do not notice. It need not be up "
            "when the server starts. Prefer the environment to the flag: other users of the machine "
            "can read a process's flags.",
    },
    {
        .flag = "default-strategy", TEXT(default_strategy, "conditional"),
        .value = "NAME", .takes = "the name of a strategy", .accepts = settings_accepts_name,
        .help = "strategy of an order that names none",
        .detail =
            "How stock is protected for an order without `?strategy=`. `GET /strategies` and "
            "`--help` list the names. A product should be sold by one strategy at a time, unless "
            "`GET /strategies` says that they mix.",
    },
    {
        .flag = "system-name", TEXT(system_name, "seckill"),
        .value = "NAME", .takes = "1 to 64 of the characters A-Z a-z 0-9 _ . -",
        .accepts = settings_accepts_system_name,
        .help = "prefix of every Redis key, lock and queue name",
        .detail =
            "The prefix of every Redis key and every lock's and queue's name. Give the instances of one service "
            "the same name, and two services that share a Redis different ones: the same name would "
            "make them wait for each other's locks.\n\nIn wllock: `systemName`.",
    },
    {
        .flag = "admin-token", TEXT(admin_token, ""), .secret = true,
        .value = "TOKEN", .takes = "up to 512 visible ASCII characters without spaces",
        .accepts = settings_accepts_token,
        .help = "token of admin calls; empty: admin calls from loopback only",
        .detail =
            "Admin calls (set up a product, restock, audit) must carry `Authorization: Bearer "
            "TOKEN`. Empty means that they are served without a token, to clients of the same "
            "machine alone. Prefer the environment to the flag: other users of the machine can read "
            "a process's flags. It is never logged.",
    },
    {
        .flag = "log-level", TEXT(log_level, "info"),
        .value = "LEVEL", .takes = "error, warn, info or debug", .accepts = settings_accepts_log_level,
        .help = "least urgent level that is logged: error, warn, info, debug",
        .detail =
            "The least urgent level that is written to stderr: `error`, `warn`, `info` or `debug`. "
            "Orders that are refused (sold out, over the limit, queue full) are counted in "
            "`GET /metrics`, and are logged at `debug` alone.",
    },
    {
        .flag = "max-batch", NUMBER(max_batch, "500", 1, 500, "orders"),
        .help = "most orders merged into one transaction",
        .detail =
            "The most orders that a strategy which merges orders (`batch`, `redis-queue`) puts into one "
            "transaction. No order waits for a batch to fill: what has queued up while the last one "
            "was written is the next. `1` shows what merging is worth; other strategies ignore it.",
    },
    {
        .flag = "queue-capacity", NUMBER(queue_capacity, "10000", 1, 1000000, "orders"),
        .help = "orders that may wait in a queue before 503 queue_full",
        .detail =
            "How many orders may wait in this instance: for each product in a strategy that keeps "
            "one queue a product (`local-lock`, `redis-queue`), and for each strategy in all others. "
            "One more is refused at once with 503 `queue_full`. More means longer waits under "
            "overload, not more sales.\n\nIn wllock: `singleWaitThreshold`.",
    },
    {
        .flag = "in-flight-per-product",
        NUMBER(in_flight_per_product, "0", 0, 1000, "orders"),
        .help = "orders of one product worked on at once; 0: as the strategy has it",
        .detail =
            "How many orders of one product, or runs or batches of them, this instance works on "
            "at the same time. `0` leaves each strategy at the figure that was measured best for it (`docs/STRATEGIES.md`). "
            "Strategies that work on one at a time by nature ignore it.",
    },
    {
        .flag = "pg-sessions", NUMBER(pg_sessions, "24", 4, 1000, "sessions"),
        .help = "most PostgreSQL sessions of this instance",
        .detail =
            "The most connections to PostgreSQL that this instance opens. Times the instances it "
            "must stay below PostgreSQL's `max_connections`. They are opened when orders need them "
            "and closed after 10 s without work. More than a few for each core of the database "
            "makes a hot product slower.",
    },
    {
        .flag = "sets", NUMBER(sets, "4", 1, 64, "queues"),
        .help = "queues that partitioned-queue spreads the products over",
        .detail =
            "How many queues `partitioned-queue` has: product `P` belongs to number `P % sets`, and "
            "the orders of one queue are decided one batch after the other. More let more products "
            "be decided at once. Every instance must have the same figure; after a change the "
            "orders that still wait in the old queues are sent again to the new ones.",
    },
    {
        .flag = "lock-wait-ms", NUMBER(lock_wait_ms, "5000", 0, 60000, "ms"),
        .help = "longest wait in queue and for a lock, for orders without wait_ms",
        .detail =
            "How long an order may wait, in the queue and for a lock together, before 503 "
            "`wait_timeout`; for orders that do not say `?wait_ms=`. `0` takes what is free at once "
            "and does not wait.\n\nIn wllock: `tryLockMilliSeconds`, which is `wait_ms` of each "
            "order here.",
    },
    {
        .flag = "lock-ttl-ms", NUMBER(lock_ttl_ms, "10000", 100, 600000, "ms"),
        .help = "lease of a lock: what a crashed holder costs the others",
        .detail =
            "A lock that is held in Redis frees itself after this time. Long: after a crash the "
            "others wait that long for the product. Short: a holder that is held up loses its lock "
            "while it still works. Must be more than `--work-timeout-ms`.\n\nIn wllock: "
            "`lockTimeMaxMillis`.",
    },
    {
        .flag = "work-timeout-ms", NUMBER(work_timeout_ms, "5000", 50, 300000, "ms"),
        .help = "longest that an order's work may take once begun",
        .detail =
            "How long the work on an order may take once its wait is over, PostgreSQL's answers "
            "included. Work that is not done by then is broken off and answered with 503, or with "
            "504 `outcome_unknown` when it was committing. Must be less than `--lock-ttl-ms`, so "
            "that work ends before the lease that protects it.",
    },
    {
        .flag = "work-ms", NUMBER(work_ms, "0", 0, 60000, "ms"),
        .help = "for experiments: hold the protection this much longer",
        .detail =
            "For experiments: every strategy holds its protection (lock, row, queue) this much "
            "longer, between decision and write, once per hold or batch. It stands for the work of "
            "a real shop's order, and it changes which strategy is fastest. Must be less than "
            "`--work-timeout-ms`. Leave it at `0` when you sell.",
    },
    {
        .flag = "buckets", NUMBER(buckets, "8", 1, 64, "buckets"),
        .help = "rows over which the strategy buckets spreads a product's stock",
        .detail =
            "Over how many rows the strategy `buckets` spreads a product's stock. More let more "
            "orders be written at the same time, up to what the database's cores and disk take, and "
            "make the last units harder to find. A product gets this many when its first order "
            "splits the stock, and whenever what is left is spread again; give the instances of one "
            "service the same figure.",
    },
    {
        .flag = "max-connections", NUMBER(max_connections, "16384", 16, 1000000, "connections"),
        .help = "most HTTP connections at once",
        .detail =
            "The most HTTP connections open at once; more wait until one of them ends. Each takes "
            "some 35 KiB of memory and a file descriptor, so `ulimit -n` must allow it.",
    },
};
/* clang-format on */

size_t settings_row_count(void)
{
    return sizeof rows / sizeof *rows;
}

const struct settings_row *settings_row_at(size_t index)
{
    return &rows[index];
}

void settings_variable(const struct settings_row *row, char out[SETTINGS_VARIABLE_LENGTH])
{
    int length = snprintf(out, SETTINGS_VARIABLE_LENGTH, "SECKILL_%s", row->flag);
    for (int i = 0; i < length && i < SETTINGS_VARIABLE_LENGTH - 1; i++) {
        if (out[i] == '-')
            out[i] = '_';
        else
            out[i] = (char)toupper((unsigned char)out[i]);
    }
}

void settings_takes(const struct settings_row *row, char *out, size_t size)
{
    if (row->kind == SETTINGS_NUMBER)
        snprintf(out, size, "a whole number from %" PRId64 " to %" PRId64, row->min, row->max);
    else
        snprintf(out, size, "%s", row->takes);
}
