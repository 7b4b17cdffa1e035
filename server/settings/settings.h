/*
 * Settings: one table of rows says every flag, its variable in the environment, its type, default,
 * range and help (base/options/option_rows.h reads a command line by it). It drives parsing, --help
 * and docs/CONFIG.md, so none of them can go stale alone. The values are frozen after
 * settings_load.
 */
#ifndef SECKILL_SETTINGS_SETTINGS_H
#define SECKILL_SETTINGS_SETTINGS_H

#include "base/options/option_program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The server's settings. Strings point into argv, the environment, the table or what is kept until
 * the process ends: borrowed, never freed. */
struct settings {
    const char *listen;           /* HOST:PORT */
    const char *database;         /* libpq conninfo; "" means libpq's own PG* variables */
    const char *schema;           /* of the tables, not quoted */
    const char *migrate;          /* auto, never */
    const char *redis;            /* redis://host:port/db or unix:///path; "" means none */
    const char *stock_redis;      /* as redis; "" means the same one */
    int64_t stock_redis_replicas; /* that must have a 202 on disk, too */
    int64_t stock_streams;        /* shards of redis-stock, each a stream */
    const char *redis_ca;         /* a file of CAs for rediss://; "" the system's */
    const char *redlock;          /* 3 or 5 such URLs with commas between them; "" means none */
    const char *memcached;        /* HOST:PORT or unix:///path; "" means none */
    const char *zookeeper;        /* HOST:PORT,…/PATH; "" means none */
    const char *amqp;             /* amqp[s]://user:pass@host:port/vhost,…; "" means none */
    const char *amqp_ca;          /* a file of CAs for amqps://; "" the system's */
    const char *default_strategy; /* a name from the registry; app checks it */
    const char *flush;            /* of orders that do not say: own, shared; "": the strategy's */
    const char *system_name;      /* prefix of every Redis key and lock name */
    const char *admin_token;      /* "" means loopback only; secret */
    const char *log_level;
    const char *cell;            /* K/N; "" means none */
    unsigned cell_number, cells; /* K and N of it; 0: none */
    int64_t max_batch;
    int64_t queue_capacity;
    int64_t in_flight_per_product; /* 0: each strategy's own */
    int64_t pg_sessions;
    int64_t standbys; /* that must have flushed a sale before it is a 201 */
    int64_t sets;     /* queues that partitioned-queue spreads the products over */
    int64_t lock_wait_ms;
    int64_t lock_ttl_ms;
    int64_t work_timeout_ms;
    int64_t work_ms;
    int64_t stall_ms; /* past its lease that an order may be told to stand still; 0: none may */
    int64_t buckets;
    int64_t hold_s; /* of orders and products that do not say; 0: none */
    int64_t max_connections;
    int64_t idle_timeout_s;
    bool print_schema; /* instead of a start */
};

enum { SETTINGS_OF_SERVER = 1 }; /* the one command that the rows are of */
extern const struct option_table settings_table;
extern const struct option_program settings_program;

enum settings_action {
    SETTINGS_RUN,
    SETTINGS_HELP,                /* --help, -h, help */
    SETTINGS_HELP_MARKDOWN,       /* --help=markdown: each setting's facts, as they stand in
                                     docs/CONFIG.md */
    SETTINGS_STRATEGIES,          /* --strategies: what there is, for a script */
    SETTINGS_STRATEGIES_MARKDOWN, /* --strategies=markdown: as the table of docs/STRATEGIES.md */
    SETTINGS_VERSION              /* --version */
};

/* Fills `out`. False with a text that names the flag (or the variable) and what it takes: an
 * unknown flag, a missing value, not a number, out of range, empty where not allowed, an argument
 * that is no flag, or two that contradict each other (work-ms must be less than work-timeout-ms,
 * and that less than lock-ttl-ms). `out` is complete only when *action is SETTINGS_RUN.
 * `environment` looks a variable up (getenv in the server, a fake in tests). */
bool settings_load(struct settings *out, enum settings_action *action, int argc, char **argv,
                   char *(*environment)(const char *), struct error *error);

void settings_print_help(FILE *to, const char *program);
void settings_print_markdown(FILE *to);

#endif
