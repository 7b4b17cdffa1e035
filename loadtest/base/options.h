/*
 * The options that commands share: backends, the servers that they start, and a sale. Every part of
 * the harness may read them. Each command's own struct begins with them
 * (commands/line/command_line.h). The flags are tables (option_rows.h).
 *
 * --admin-token and the addresses of backends may also stand in the environment, as for the server
 * (SECKILL_DATABASE, SECKILL_REDIS, SECKILL_AMQP …), and what is a secret of the server's also in a
 * file that SECKILL_…_FILE names; the flag wins.
 */
#ifndef SECKILL_LOADTEST_BASE_OPTIONS_H
#define SECKILL_LOADTEST_BASE_OPTIONS_H

#include "base/options/option_rows.h"
#include "loadtest/base/headers.h"

/* The commands: NAME_options, command_NAME and COMMAND_NAME are made of these. */
#define COMMANDS(X)                                                                                \
    X(run, RUN)                                                                                    \
    X(audit, AUDIT)                                                                                \
    X(sweep, SWEEP)                                                                                \
    X(report, REPORT)                                                                              \
    X(check, CHECK)                                                                                \
    X(record, RECORD)                                                                              \
    X(oasis, OASIS)                                                                                \
    X(faults, FAULTS)                                                                              \
    X(zoo, ZOO)                                                                                    \
    X(shop, SHOP)                                                                                  \
    X(capacity, CAPACITY)

/* clang-format off */
#define X(name, NAME) NUMBER_##NAME,
enum command_number { COMMANDS(X) };
#undef X
#define X(name, NAME) COMMAND_##NAME = 1 << NUMBER_##NAME,
enum command { COMMANDS(X) };
#undef X
/* clang-format on */
enum scenario {
    SCENARIO_HOT,
    SCENARIO_SOLDOUT,
    SCENARIO_SPREAD,
    SCENARIO_COUNTER,
    SCENARIO_BELL,
    SCENARIO_ARTICLES,
    SCENARIO_UNPAID
};
enum options_format { FORMAT_TABLE, FORMAT_WIDE, FORMAT_MD, FORMAT_JSON, FORMAT_CSV };
enum arrivals_kind { ARRIVALS_POISSON, ARRIVALS_CONSTANT };
/* OPTIONS_USAGE: nothing was said, so the help is what is wrong. */
enum options_action { OPTIONS_GO, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_USAGE };

enum { OPTIONS_MAX_INSTANCES = 16 };

/* Strings point into argv, the environment or the table: borrowed. */
struct options {
    enum command command;
    enum scenario scenario;
    struct option_numbers instances; /* how many instances, one after the other */
    int64_t connections;
    int64_t threads;    /* 0: one a core */
    int64_t rate_per_s; /* 0: wrk, as fast as the servers answer */
    enum arrivals_kind arrivals;
    int64_t max_lag_ms;
    int64_t duration_s;
    int64_t stock;
    int64_t products;
    int64_t rounds;
    int64_t work_ms; /* -1: the server's own */
    int64_t wait_ms; /* -1: the server's own */
    /* Of started servers, 0: their own. Experiments and sweeps set them; they are no flags. */
    int64_t queue_capacity, in_flight_per_product, pg_sessions, max_batch;
    int64_t lock_ttl_ms, work_timeout_ms;
    const char *body;           /* "": the strategy's own */
    char headers[HEADERS_SIZE]; /* more of each order, as lines of a request */
    int64_t seed;
    int64_t first_product;
    const char *database;
    struct option_texts databases; /* of run, audit, check, record and faults: the cells' */
    const char *schema;            /* of the servers' tables, not quoted */
    const char *redis;
    const char *stock_redis; /* "": the same */
    const char *amqp;
    const char *redlock;
    const char *memcached;
    const char *zookeeper;
    const char *admin_token;
    const char *out; /* "": a new folder under results/ */
    struct option_list servers;
    const char *balancer;      /* "": none; else orders go to these servers through it */
    const char *server_binary; /* "": found beside the harness */
    bool reset;
    struct option_list words; /* behind the command's name */
    const char *keys;         /* "": orders have none; else "5%" are sent again */
    bool keyed;               /* the same: whether they have, and the share, 0 to 1 */
    double repeats;
    int64_t users, limit; /* 0 and 0: each order is another user's; any number of units */
    const char *system_name;
    const char *fail_if, *junit; /* "": none */
    char said[400]; /* the command as it was typed, for passing on (option_rows_said) */
};

/* Backends, what started servers are, where files go: for whatever loads servers. */
extern const struct option_table option_table_backends;

/* For a command with a table of its own: the options before any flag; what follows from them, and
 * the checks of them together. */
void options_begin(struct options *out);
bool options_finish(struct options *options, struct error *error);

/* ", 200 users of at most 2 units each, 5% sent again", for a line above results; "" when nothing
 * is special about the buyers. */
void options_buyers_text(const struct options *options, char *out, size_t size);

/* Whether wrk makes the load; else a generator of the harness's own does. */
bool options_use_wrk(const struct options *options);

const char *scenario_name(enum scenario scenario);

/* A share as it is typed: "5%", from 0% to 100%; `out`: 0 to 1. False: it is none. */
bool options_read_share(const char *text, double *out);

#endif
