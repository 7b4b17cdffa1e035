/* See stage.h. */
#include "loadtest/zoo/stage.h"

#include "base/random/random.h"
#include "loadtest/base/pool.h"
#include "loadtest/judge/connect.h"
#include "loadtest/judge/redis_link.h"

#include "sql_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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

const char *zoo_stage_lacks(const struct options *options, unsigned nodes)
{
    char third[512];
    find_url(options->redlock, 3, third, sizeof third);
    if (nodes & (1U << NODE_LOCKS | 1U << NODE_STOCK) && !*options->redis)
        return "--redis";
    if (nodes & (1U << NODE_1 | 1U << NODE_2 | 1U << NODE_3) && !*third)
        return "--redlock, with three nodes";
    return nodes & 1U << NODE_MEMCACHED && !*options->memcached ? "--memcached" : NULL;
}

PGconn *zoo_pg(struct zoo_stage *stage, struct zoo_sessions *sessions, struct error *error)
{
    if (!sessions->pg)
        sessions->pg = connect_open(stage->options->database, ZOO_NAME, error);
    return sessions->pg;
}

static redisContext *open_redis(const struct options *options, enum zoo_node node,
                                struct error *error)
{
    char url[512];
    if (node == NODE_LOCKS || node == NODE_STOCK)
        snprintf(url, sizeof url, "%s",
                 node == NODE_STOCK && *options->stock_redis ? options->stock_redis
                                                             : options->redis);
    else
        find_url(options->redlock, (int)(node - NODE_1) + 1, url, sizeof url);
    redisContext *redis = redis_link_open(url, error);
    if (!redis)
        error_prefix(error, node >= NODE_1 && node <= NODE_3 ? "--redlock" : "--redis");
    return redis;
}

static redisContext *open_memcached(const char *address, struct error *error)
{
    static const char scheme[] = "unix://";
    const struct timeval limit = {.tv_sec = 5};
    const char *colon = strrchr(address, ':');
    char host[256];
    bool is_path = strncmp(address, scheme, strlen(scheme)) == 0;
    snprintf(host, sizeof host, "%.*s", colon ? (int)(colon - address) : 0, address);
    redisContext *session =
        is_path
            ? redisConnectUnixWithTimeout(address + strlen(scheme), limit)
            : redisConnectWithTimeout(host, colon ? (int)strtol(colon + 1, NULL, 10) : 0, limit);
    if (session && !session->err && redisSetTimeout(session, limit) == REDIS_OK)
        return session;
    error_fail(error, "memcached (--memcached): %s", session ? session->errstr : "out of memory");
    if (session)
        redisFree(session);
    return NULL;
}

redisContext *zoo_node(struct zoo_stage *stage, struct zoo_sessions *sessions, enum zoo_node node,
                       struct error *error)
{
    if (!sessions->nodes[node])
        sessions->nodes[node] = node == NODE_MEMCACHED
                                    ? open_memcached(stage->options->memcached, error)
                                    : open_redis(stage->options, node, error);
    return sessions->nodes[node];
}

/* A line that ends an answer: every one but VALUE and what follows it. */
static bool is_whole(const char *reply, size_t length)
{
    if (length < 2 || memcmp(reply + length - 2, "\r\n", 2) != 0)
        return false;
    return strncmp(reply, "VALUE ", 6) != 0 ||
           (length >= 7 && memcmp(reply + length - 7, "\r\nEND\r\n", 7) == 0);
}

bool zoo_memcached_say(redisContext *session, const char *command, char reply[MEMCACHED_REPLY_SIZE],
                       struct error *error)
{
    char line[MEMCACHED_REPLY_SIZE];
    size_t length = 0;
    int size = snprintf(line, sizeof line, "%s\r\n", command);
    if (size >= (int)sizeof line || send(session->fd, line, (size_t)size, MSG_NOSIGNAL) != size)
        return error_fail(error, "memcached: the command cannot be sent");
    while (!is_whole(reply, length)) {
        ssize_t got = length + 1 < MEMCACHED_REPLY_SIZE
                          ? recv(session->fd, reply + length, MEMCACHED_REPLY_SIZE - 1 - length, 0)
                          : 0;
        if (got <= 0)
            return error_fail(error, "memcached: %s",
                              got < 0 ? strerror(errno) : "no whole answer");
        length += (size_t)got;
        reply[length] = '\0';
    }
    reply[length - 2] = '\0';
    return strncmp(reply, "ERROR", 5) != 0 && strncmp(reply, "CLIENT_ERROR", 12) != 0 &&
                   strncmp(reply, "SERVER_ERROR", 12) != 0
               ? true
               : error_fail(error, "memcached: %s", reply);
}

void zoo_hang_up(struct zoo_sessions *sessions)
{
    PQfinish(sessions->pg);
    for (int i = 0; i < ZOO_NODES; i++) {
        if (sessions->nodes[i])
            redisFree(sessions->nodes[i]);
    }
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
    bool good = run(stage->own.pg, text, error);
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
    for (int i = 0; good && i < SQL_SCHEMA_VERSION; i++) {
        struct pool pool = {NULL};
        good = run(stage->own.pg, pool_text(&pool, "DO $zoo$ BEGIN\n%s\nEND $zoo$", sql_schema[i]),
                   error);
        pool_fini(&pool);
    }
    return good;
}

bool zoo_stage_open(struct zoo_stage *stage, const struct options *options, struct error *error)
{
    char token[RANDOM_TOKEN_LENGTH + 1];
    struct error ignored;
    *stage = (struct zoo_stage){.options = options, .keys = json_object()};
    random_token(token);
    snprintf(stage->prefix, sizeof stage->prefix, "{seckill-zoo-%.12s}", token);
    if (zoo_pg(stage, &stage->own, error) && make_schema(stage, error) && make_tables(stage, error))
        return true;
    zoo_stage_close(stage, &ignored);
    return false;
}

static bool forget_key(redisContext *node, bool is_memcached, const char *key, struct error *error)
{
    char command[128], reply[MEMCACHED_REPLY_SIZE];
    snprintf(command, sizeof command, "delete %s", key);
    if (is_memcached)
        return zoo_memcached_say(node, command, reply, error);
    redisReply *deleted = redis_link_ask(node, error, "DEL %s", key);
    freeReplyObject(deleted);
    return deleted != NULL;
}

/* In the nodes that somebody has used. */
static bool forget_keys(struct zoo_stage *stage, struct error *error)
{
    const char *key;
    json_t *ignored;
    bool good = true;
    for (enum zoo_node node = 0; node < ZOO_NODES; node++) {
        bool used = stage->own.nodes[node] != NULL;
        for (int i = 0; i < ZOO_BUYERS; i++)
            used = used || stage->buyers[i].sessions.nodes[node];
        redisContext *session = used ? zoo_node(stage, &stage->own, node, error) : NULL;
        good = good && (session || !used);
        json_object_foreach(session ? stage->keys : NULL, key, ignored)
        {
            good = forget_key(session, node == NODE_MEMCACHED, key, error) && good;
        }
    }
    return good;
}

bool zoo_stage_close(struct zoo_stage *stage, struct error *error)
{
    bool good = forget_keys(stage, error);
    for (int i = 0; i < ZOO_BUYERS; i++)
        zoo_hang_up(&stage->buyers[i].sessions);
    if (stage->has_schema)
        good = run(stage->own.pg, "DROP SCHEMA " ZOO_SCHEMA " CASCADE", error) && good;
    zoo_hang_up(&stage->own);
    json_decref(stage->keys);
    stage->keys = NULL;
    stage->has_schema = false;
    return good;
}

bool zoo_stage_set(struct zoo_stage *stage, int stock, struct error *error)
{
    char sql[400];
    bool good = forget_keys(stage, error);
    for (int i = 0; i < ZOO_BUYERS; i++) {
        zoo_hang_up(&stage->buyers[i].sessions);
        stage->buyers[i] =
            (struct zoo_buyer){.column = (enum zoo_column)i, .figures[FIGURE_NUMBER] = i + 1};
    }
    snprintf(sql, sizeof sql,
             "DELETE FROM {schema}.orders; DELETE FROM {schema}.product_lock;"
             "DELETE FROM {schema}.product;"
             "INSERT INTO {schema}.product (id, initial_stock, stock, epoch, version)"
             " VALUES (1, %d, %d, 1, 1)",
             stock, stock);
    return good && zoo_stage_run(stage, sql, error);
}

static bool count_rows(struct zoo_stage *stage, struct zoo_books *books, struct error *error)
{
    static const char sql[] = "SELECT initial_stock, stock, (SELECT coalesce(sum(quantity), 0)"
                              " FROM {schema}.orders WHERE status = 1) FROM {schema}.product";
    const struct tables tables = {stage->own.pg, .schema = ZOO_SCHEMA, .role = ""};
    PGresult *row = tables_ask(&tables, sql, 0, NULL, error);
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
    if (!*stage->options->redis)
        return true;
    redisContext *redis = zoo_node(stage, &stage->own, NODE_LOCKS, error);
    redisReply *life = redis ? redis_link_ask(redis, error, "PTTL %s:lock", stage->prefix) : NULL;
    books->stuck = life && life->type == REDIS_REPLY_INTEGER && life->integer == -1;
    bool good = life != NULL;
    freeReplyObject(life);
    return good;
}

/* Values -------------------------------------------------------------------------------------- */

size_t zoo_value_name(const char *text)
{
    size_t letters = *text == '{' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz") : 0;
    return letters && text[letters + 1] == '}' ? letters + 2 : 0;
}

int zoo_value_find(const char *text)
{
    static const char *const names[ZOO_VALUES] = {
        [FIGURE_NUMBER] = "{number}", [FIGURE_STOCK] = "{stock}",  [FIGURE_LEFT] = "{left}",
        [FIGURE_EPOCH] = "{epoch}",   [FIGURE_FENCE] = "{fence}",  [FIGURE_CAS] = "{cas}",
        [VALUE_LETTER] = "{letter}",  [VALUE_PREFIX] = "{prefix}",
    };
    for (int i = 0; i < ZOO_VALUES; i++)
        if (strncmp(text, names[i], strlen(names[i])) == 0)
            return i;
    return -1;
}

static void add(char *to, const char *text)
{
    size_t used = strlen(to);
    snprintf(to + used, ZOO_VALUE_SIZE - used, "%s", text);
}

void zoo_value_fill(struct zoo_value *out, const struct zoo_stage *stage,
                    const struct zoo_buyer *buyer, const char *text)
{
    *out = (struct zoo_value){.sent = ""};
    for (size_t length; *text; text += length) {
        char value[80] = {*text, '\0'};
        int known = zoo_value_find(text);
        length = known < 0 ? 1 : zoo_value_name(text);
        if (*text == '@') /* shown without what makes the key the zoo's own */
            snprintf(value, sizeof value, "%s:", stage->prefix);
        else if (known == VALUE_PREFIX)
            snprintf(value, sizeof value, "%s", stage->prefix);
        else if (known == VALUE_LETTER)
            value[0] = (char)('A' + (int)buyer->column);
        else if (known >= 0)
            snprintf(value, sizeof value, "%" PRId64, buyer->figures[known]);
        add(out->sent, value);
        add(out->shown, *text == '@' ? "" : value);
    }
}

bool zoo_value_word(const char **at, char out[ZOO_VALUE_SIZE])
{
    const char *text = *at + strspn(*at, " ");
    bool quoted = *text == '"';
    size_t used = 0;
    if (!*text)
        return false;
    for (text += quoted; *text && *text != (quoted ? '"' : ' '); text++) {
        char byte = *text;
        if (used + 1 == ZOO_VALUE_SIZE)
            return false;
        if (byte == '\\' && (text[1] == 'r' || text[1] == 'n'))
            byte = *++text == 'r' ? '\r' : '\n';
        out[used++] = byte;
    }
    out[used] = '\0';
    *at = text + (quoted && *text);
    return true;
}

int zoo_value_words(struct zoo_value out[ZOO_WORDS], const struct zoo_stage *stage,
                    const struct zoo_buyer *buyer, const char *text)
{
    char word[ZOO_VALUE_SIZE];
    int count = 0;
    for (; count < ZOO_WORDS && zoo_value_word(&text, word); count++) {
        zoo_value_fill(&out[count], stage, buyer, word);
        if (*word == '@')
            json_object_set_new(stage->keys, out[count].sent, json_true());
    }
    return count;
}
