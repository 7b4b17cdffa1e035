/* See stage.h. */
#include "loadtest/zoo/stage.h"

#include "base/random/random.h"
#include "loadtest/judge/connect.h"
#include "loadtest/judge/redis_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an act may leave in Redis, behind the prefix. */
static const char *const keys[] = {"lock",   "queue",    "next",     "tickets",
                                   "mirror", "loaded",   "stream",   "waiting",
                                   "units",  "caller:A", "caller:B", "caller:C"};
enum { KEYS = sizeof keys / sizeof keys[0], KEY_SIZE = 96 };

bool zoo_stage_has_key(const char *name)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(keys[i], name) == 0)
            return true;
    return false;
}

/* The n-th of Redlock's, from 1 on; "": there are fewer. */
static void find_url(const char *urls, int n, char *out, size_t size)
{
    while (n > 1 && *urls) {
        urls += strcspn(urls, ",");
        urls += *urls == ',';
        n--;
    }
    snprintf(out, size, "%.*s", (int)strcspn(urls, ","), urls);
}

const char *zoo_stage_lacks(const struct zoo_place *place, unsigned needs)
{
    char third[512];
    find_url(place->redlock, 3, third, sizeof third);
    if (needs & ZOO_NEEDS_REDIS && !*place->redis)
        return "--redis";
    if (needs & ZOO_NEEDS_REDLOCK && !*third)
        return "--redlock, with three nodes";
    if (needs & ZOO_NEEDS_MEMCACHED && !*place->memcached)
        return "--memcached";
    return needs & ZOO_NEEDS_ZOOKEEPER && !*place->zookeeper ? "--zookeeper" : NULL;
}

PGconn *zoo_pg(struct zoo_stage *stage, struct zoo_sessions *sessions, struct error *error)
{
    if (!sessions->pg)
        sessions->pg = connect_open(stage->place.database, "seckill-loadtest zoo", error);
    return sessions->pg;
}

redisContext *zoo_redis(struct zoo_stage *stage, struct zoo_sessions *sessions, enum zoo_node node,
                        struct error *error)
{
    const struct zoo_place *place = &stage->place;
    char url[512];
    if (sessions->nodes[node])
        return sessions->nodes[node];
    if (node == NODE_LOCKS || node == NODE_STOCK)
        snprintf(url, sizeof url, "%s",
                 node == NODE_STOCK && *place->stock_redis ? place->stock_redis : place->redis);
    else
        find_url(place->redlock, (int)(node - NODE_1) + 1, url, sizeof url);
    sessions->nodes[node] = redis_link_open(url, error);
    if (!sessions->nodes[node])
        error_prefix(error, node >= NODE_1 && node <= NODE_3 ? "--redlock" : "--redis");
    return sessions->nodes[node];
}

struct memcached *zoo_memcached(struct zoo_stage *stage, struct zoo_sessions *sessions,
                                struct error *error)
{
    if (!memcached_is_open(&sessions->memcached) &&
        !memcached_open(&sessions->memcached, stage->place.memcached, error))
        return NULL;
    return &sessions->memcached;
}

void zoo_zk_folder(const struct zoo_stage *stage, char out[ZK_NAME_SIZE])
{
    snprintf(out, ZK_NAME_SIZE, "/%.*s", (int)strlen(stage->prefix) - 2, stage->prefix + 1);
}

/* The folder is there once anybody has a session. */
struct zk *zoo_zk(struct zoo_stage *stage, struct zoo_sessions *sessions, struct error *error)
{
    char folder[ZK_NAME_SIZE], made[ZK_NAME_SIZE];
    if (zk_is_open(&sessions->zk))
        return &sessions->zk;
    if (!zk_open(&sessions->zk, stage->place.zookeeper, error))
        return NULL;
    zoo_zk_folder(stage, folder);
    enum zk_code code = zk_create(&sessions->zk, folder, ZK_STAYS, made, error);
    stage->has_folder = code == ZK_OK || code == ZK_EXISTS;
    if (!stage->has_folder && code != ZK_FAILED)
        error_fail(error, "ZooKeeper: the lock's folder cannot be made");
    return stage->has_folder ? &sessions->zk : NULL;
}

void zoo_hang_up(struct zoo_sessions *sessions)
{
    PQfinish(sessions->pg);
    for (int i = 0; i < ZOO_NODES; i++) {
        if (sessions->nodes[i])
            redisFree(sessions->nodes[i]);
    }
    memcached_close(&sessions->memcached);
    zk_close(&sessions->zk);
    *sessions = (struct zoo_sessions){.pg = NULL};
}

static bool run(PGconn *pg, const char *sql, struct error *error)
{
    PGresult *result = PQexec(pg, sql);
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ||
           connect_failed(pg, "the zoo's schema", error);
}

bool zoo_stage_run(struct zoo_stage *stage, const char *sql, struct error *error)
{
    char *text = connect_qualify(sql, ZOO_SCHEMA);
    bool good = text ? run(stage->own.pg, text, error) : error_fail(error, "out of memory");
    free(text);
    return good;
}

/* CREATE without IF NOT EXISTS: what is there is somebody else's. */
static bool make_schema(struct zoo_stage *stage, struct error *error)
{
    PGresult *result = PQexec(stage->own.pg, "CREATE SCHEMA " ZOO_SCHEMA);
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    bool there = state && strcmp(state, "42P06") == 0;
    stage->has_schema = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    if (there)
        return error_fail(error, "the schema " ZOO_SCHEMA " is there already: another zoo plays in "
                                 "this database, or one was killed in the middle. When none plays: "
                                 "DROP SCHEMA " ZOO_SCHEMA " CASCADE");
    return stage->has_schema || connect_failed(stage->own.pg, "CREATE SCHEMA", error);
}

/* A version's block is PL/pgSQL (schema.sql). */
static bool make_tables(struct zoo_stage *stage, struct error *error)
{
    bool good = run(stage->own.pg,
                    "SET search_path TO " ZOO_SCHEMA "; SET client_min_messages TO warning", error);
    for (int i = 0; good && zoo_schema(i); i++) {
        char *block = NULL;
        if (asprintf(&block, "DO $zoo$ BEGIN\n%s\nEND $zoo$", zoo_schema(i)) < 0)
            return error_fail(error, "out of memory");
        good = run(stage->own.pg, block, error);
        free(block);
    }
    return good;
}

bool zoo_stage_open(struct zoo_stage *stage, const struct zoo_place *place, struct error *error)
{
    char token[RANDOM_TOKEN_LENGTH + 1];
    struct error ignored;
    *stage = (struct zoo_stage){.place = *place};
    random_token(token);
    snprintf(stage->prefix, sizeof stage->prefix, "{seckill-zoo-%.12s}", token);
    if (zoo_pg(stage, &stage->own, error) && make_schema(stage, error) && make_tables(stage, error))
        return true;
    zoo_stage_close(stage, &ignored);
    return false;
}

bool zoo_stage_forget(struct zoo_stage *stage, enum zoo_node node, struct error *error)
{
    char names[KEYS][KEY_SIZE];
    const char *words[KEYS + 1] = {"DEL"};
    redisContext *redis = zoo_redis(stage, &stage->own, node, error);
    if (!redis)
        return false;
    for (int i = 0; i < KEYS; i++) {
        snprintf(names[i], KEY_SIZE, "%s:%s", stage->prefix, keys[i]);
        words[i + 1] = names[i];
    }
    redisReply *reply = redisCommandArgv(redis, KEYS + 1, words, NULL);
    bool good = reply && reply->type == REDIS_REPLY_INTEGER;
    if (!good)
        error_fail(error, "Redis: %s", reply ? reply->str : redis->errstr);
    freeReplyObject(reply);
    return good;
}

/* In those that somebody has used. */
static bool forget_all(struct zoo_stage *stage, struct error *error)
{
    bool good = true;
    for (int node = 0; node < ZOO_NODES; node++) {
        bool used = stage->own.nodes[node] != NULL;
        for (int i = 0; i < ZOO_BUYERS; i++)
            used = used || stage->buyers[i].sessions.nodes[node];
        good = (!used || zoo_stage_forget(stage, (enum zoo_node)node, error)) && good;
    }
    return good;
}

static bool forget_memcached(struct zoo_stage *stage, struct error *error)
{
    char command[128], reply[MEMCACHED_REPLY_SIZE];
    bool used = memcached_is_open(&stage->own.memcached);
    for (int i = 0; i < ZOO_BUYERS; i++)
        used = used || memcached_is_open(&stage->buyers[i].sessions.memcached);
    if (!used)
        return true;
    struct memcached *memcached = zoo_memcached(stage, &stage->own, error);
    snprintf(command, sizeof command, "delete %s:lock\r\n", stage->prefix);
    return memcached && memcached_say(memcached, command, reply, error);
}

static bool forget_everything(struct zoo_stage *stage, struct error *error)
{
    bool good = forget_all(stage, error);
    return forget_memcached(stage, error) && good;
}

/* Once the buyers' sessions, and with them their nodes, are gone. */
static bool forget_folder(struct zoo_stage *stage, struct error *error)
{
    char folder[ZK_NAME_SIZE];
    if (!stage->has_folder)
        return true;
    struct zk *zk = zoo_zk(stage, &stage->own, error);
    if (!zk)
        return false;
    zoo_zk_folder(stage, folder);
    enum zk_code code = zk_delete(zk, folder, error);
    stage->has_folder = code != ZK_OK && code != ZK_NO_NODE;
    if (stage->has_folder && code == ZK_SESSION_LOST)
        error_fail(error, "ZooKeeper: the connection is lost, and %s is left behind", folder);
    zk_close(&stage->own.zk); /* the next session makes it anew */
    return !stage->has_folder;
}

bool zoo_stage_close(struct zoo_stage *stage, struct error *error)
{
    bool good = forget_everything(stage, error);
    for (int i = 0; i < ZOO_BUYERS; i++)
        zoo_hang_up(&stage->buyers[i].sessions);
    good = forget_folder(stage, error) && good;
    if (stage->has_schema)
        good = run(stage->own.pg, "DROP SCHEMA " ZOO_SCHEMA " CASCADE", error) && good;
    zoo_hang_up(&stage->own);
    stage->has_schema = false;
    return good;
}

bool zoo_stage_set(struct zoo_stage *stage, int stock, struct error *error)
{
    char sql[400];
    bool good = forget_everything(stage, error);
    for (int i = 0; i < ZOO_BUYERS; i++) {
        zoo_hang_up(&stage->buyers[i].sessions);
        stage->buyers[i] = (struct zoo_buyer){.column = (enum zoo_column)i};
    }
    good = forget_folder(stage, error) && good;
    snprintf(sql, sizeof sql,
             "DELETE FROM {schema}.orders; DELETE FROM {schema}.product_lock;"
             "DELETE FROM {schema}.product;"
             "INSERT INTO {schema}.product (id, initial_stock, stock, epoch, version)"
             " VALUES (%d, %d, %d, 1, 1)",
             ZOO_PRODUCT, stock, stock);
    return good && zoo_stage_run(stage, sql, error);
}

static bool count_rows(struct zoo_stage *stage, struct zoo_books *books, struct error *error)
{
    static const char sql[] = "SELECT initial_stock, stock, (SELECT coalesce(sum(quantity), 0)"
                              " FROM {schema}.orders WHERE status = 1) FROM {schema}.product";
    const struct connect_place place = {.schema = ZOO_SCHEMA, .role = ""};
    PGresult *row = connect_ask(stage->own.pg, &place, sql, 0, NULL, error);
    if (!row)
        return false;
    books->stock = (int)strtol(PQgetvalue(row, 0, 0), NULL, 10);
    books->left = (int)strtol(PQgetvalue(row, 0, 1), NULL, 10);
    books->sold = (int)strtol(PQgetvalue(row, 0, 2), NULL, 10);
    PQclear(row);
    return true;
}

bool zoo_stage_count(struct zoo_stage *stage, struct zoo_books *books, struct error *error)
{
    if (!count_rows(stage, books, error))
        return false;
    if (!*stage->place.redis)
        return true;
    redisContext *redis = zoo_redis(stage, &stage->own, NODE_LOCKS, error);
    redisReply *life = redis ? redis_link_ask(redis, error, "PTTL %s:lock", stage->prefix) : NULL;
    books->stuck = life && life->type == REDIS_REPLY_INTEGER && life->integer == -1;
    bool good = life != NULL;
    freeReplyObject(life);
    return good;
}
