/*
 * Where exhibits are played: the zoo's own schema in the database that was named, keys of its own
 * in Redis and memcached, and each buyer's own sessions.
 *
 * Happy path: zoo_stage_open makes the schema `seckill_zoo` with the server's tables; zoo_stage_set
 * puts one product on sale for an act; zoo_stage_close drops the schema and deletes the keys.
 * Failure modes: a schema of that name that is there already is not ours, and is not touched; a
 * player that is killed leaves its schema, which the next one's error says how to drop; keys have a
 * random part, so they are nobody else's.
 *
 * Thread rule: a stage belongs to one thread.
 */
#ifndef SECKILL_LOADTEST_ZOO_STAGE_H
#define SECKILL_LOADTEST_ZOO_STAGE_H

#include "base/error.h"
#include "loadtest/zoo/backends/memcached.h"
#include "loadtest/zoo/backends/zk.h"
#include "loadtest/zoo/exhibits/exhibits.h"

#include <hiredis/hiredis.h>
#include <libpq-fe.h>
#include <stdint.h>

#define ZOO_SCHEMA "seckill_zoo"
enum { ZOO_PRODUCT = 1 }; /* the one that is on sale there */

/* As the options take them; "": not there, and stock_redis is then redis. Borrowed. */
struct zoo_place {
    const char *database, *redis, *stock_redis, *redlock, *memcached, *zookeeper;
};

/* Opened when first used. The stage has one too, for what happens to a buyer. */
struct zoo_sessions {
    PGconn *pg;
    redisContext *nodes[ZOO_NODES];
    struct memcached memcached;
    struct zk zk;
};

/* What a buyer has read, and what it was sold. */
struct zoo_buyer {
    struct zoo_sessions sessions;
    enum zoo_column column;
    int64_t stock, epoch, fence;
    char cas[24];
    char node[ZK_NAME_SIZE];       /* its own in ZooKeeper; a whole path */
    bool written;                  /* an order's row, in a transaction that may yet roll back */
    bool sold;                     /* committed, or reserved */
    const struct zoo_step *waited; /* the step that waits for a lock, and at which of its verbs */
    int waited_at;
};

struct zoo_stage {
    struct zoo_place place;
    struct zoo_sessions own;
    char prefix[64]; /* of keys */
    bool has_schema;
    bool has_folder; /* in ZooKeeper */
    struct zoo_buyer buyers[ZOO_BUYERS];
};

/* What the rows say at the end of an act, and how many buyers were told yes. */
struct zoo_books {
    int stock, sold, left, told;
    bool stuck; /* the lock is held and has no lease */
};

/* The option that an exhibit lacks: "--redis"; NULL: none. */
const char *zoo_stage_lacks(const struct zoo_place *place, unsigned needs);

/* False with the error, and nothing left behind. */
bool zoo_stage_open(struct zoo_stage *stage, const struct zoo_place *place, struct error *error);
/* Also after a failure in the middle of an act. False: the schema, or a key, could not be removed.
 */
bool zoo_stage_close(struct zoo_stage *stage, struct error *error);

/* A new sale of `stock` units, no locks, no orders, buyers who know nothing. */
bool zoo_stage_set(struct zoo_stage *stage, int stock, struct error *error);
/* All but `told`. */
bool zoo_stage_count(struct zoo_stage *stage, struct zoo_books *books, struct error *error);

/* A session of these, opened if need be; NULL with the error. */
PGconn *zoo_pg(struct zoo_stage *stage, struct zoo_sessions *sessions, struct error *error);
redisContext *zoo_redis(struct zoo_stage *stage, struct zoo_sessions *sessions, enum zoo_node node,
                        struct error *error);
struct memcached *zoo_memcached(struct zoo_stage *stage, struct zoo_sessions *sessions,
                                struct error *error);
struct zk *zoo_zk(struct zoo_stage *stage, struct zoo_sessions *sessions, struct error *error);
/* The folder of the lock's nodes in ZooKeeper. */
void zoo_zk_folder(const struct zoo_stage *stage, char out[ZK_NAME_SIZE]);
/* Ends them all, and with them their transactions. */
void zoo_hang_up(struct zoo_sessions *sessions);

/* Whether the zoo has such a key in Redis, behind its prefix: all that it takes away at the end. */
bool zoo_stage_has_key(const char *name);
/* Redis's newest writes are lost: every key of the zoo in this node. */
bool zoo_stage_forget(struct zoo_stage *stage, enum zoo_node node, struct error *error);
/* Runs a statement of the zoo's own, in its schema. */
bool zoo_stage_run(struct zoo_stage *stage, const char *sql, struct error *error);

#endif
