/*
 * What a buyer can do in an exhibit: a statement, a command or a script of the server's, or what
 * happens to it (it is paused past its lease, it dies, Redis forgets).
 *
 * Statements and scripts are the server's own, by name (sql/, lua/), so they cannot drift; what is
 * shown of a statement is pieces of its text, with " … " for what is left out. Redis's and
 * memcached's commands stand here as the server's locks send them;
 * tests/harness/zoo/test_zoo_sends.c compares them with what a server sends.
 */
#ifndef SECKILL_LOADTEST_ZOO_VERBS_H
#define SECKILL_LOADTEST_ZOO_VERBS_H

enum zoo_verb {
    END, /* of a step's list */
    /* PostgreSQL */
    BEGIN,
    COMMIT,
    ROLLBACK,
    READ,
    READ_FOR_UPDATE,
    SET_STOCK,
    TAKE_STOCK,
    INSERT_SOLD,
    INSERT_SOLD_FENCED,
    INSERT_ORDER,
    REGISTER_FENCE,
    ADVISORY_LOCK,
    LOCK_ROW_INSERT,
    LOCK_ROW_TAKE_OVER,
    LOCK_ROW_DELETE,
    STOCK_ROW,
    BATCH_BUY,
    BATCH_BUY_FENCED,
    BATCH_LOCK_FENCED,
    FIND_ORDER,
    /* Redis */
    SETNX_1,
    PEXPIRE_LOCK,
    SETNX_STAMP,
    GET_STAMP,
    GETSET_STAMP,
    SET_1,
    SET_TOKEN,
    GET_TOKEN,
    DEL_LOCK,
    RELEASE_TOKEN,
    REENTRANT_ACQUIRE,
    REENTRANT_RELEASE,
    WLLOCK_ACQUIRE,
    QUEUE_ACQUIRE,
    QUEUE_RELEASE,
    LOAD_MIRROR,
    RESERVE,
    /* Redlock's nodes */
    SET_NODE_1,
    SET_NODE_2,
    SET_NODE_3,
    RELEASE_NODE_1,
    RELEASE_NODE_2,
    RELEASE_NODE_3,
    /* memcached */
    MEMCACHED_ADD,
    MEMCACHED_GETS,
    MEMCACHED_CAS,
    /* ZooKeeper */
    ZK_JOIN,
    ZK_LOOK,
    ZK_LEAVE,
    /* What happens */
    PAUSED,
    LEASE_ENDS,
    LEASE_OVER,
    LOCK_ROW_ENDS,
    MEMCACHED_LEASE_ENDS,
    SESSION_ENDS,
    DIES,
    REDIS_FORGETS,
    NODE_2_FORGETS,
    STOCK_REDIS_FORGETS,
    ZOO_VERBS
};

enum zoo_kind { ZOO_SQL, ZOO_REDIS, ZOO_SCRIPT, ZOO_MEMCACHED, ZOO_ZOOKEEPER, ZOO_HAPPENS };

/* Which Redis: the locks', one of Redlock's, redis-stock's. */
enum zoo_node { NODE_LOCKS, NODE_1, NODE_2, NODE_3, NODE_STOCK, ZOO_NODES };

struct zoo_verb_row {
    enum zoo_kind kind;
    int text; /* enum sql or enum lua */
    enum zoo_node node;
    /* Names of values in braces (value.h). Of a statement: its parameters, {null} for
     * none. Of a script: its keys,
     * " | ", its arguments. */
    const char *words;
    /* $1 is a statement's first parameter; NULL: as `words`. */
    const char *shown;
    int sells; /* its rows, or what it reserves, are orders */
};

const struct zoo_verb_row *zoo_verb_row(enum zoo_verb verb);

/* A statement's or a script's text, of `text`. */
const char *zoo_sql(int text);
const char *zoo_lua(int text);
/* The blocks of the server's schema, from 0 on; NULL behind the last. */
const char *zoo_schema(int version);

#endif
