/* See send.h. */
#include "loadtest/zoo/send.h"

#include "loadtest/zoo/value.h"

#include <stdio.h>
#include <string.h>

/* {0, epoch, stock left, codes, entry}, or a verdict that is not 0 (stock_reserve.lua). */
static void show_reserved(struct zoo_buyer *buyer, const redisReply *reply, char *came)
{
    redisReply *const *of = reply->element;
    buyer->sold = reply->elements > 3 && of[0]->integer == 0 && strcmp(of[3]->str, "1") == 0;
    snprintf(came, ZOO_CAME_SIZE, buyer->sold ? "reserved, %lld left" : "refused",
             buyer->sold ? of[2]->integer : 0);
}

static bool show_reply(struct zoo_buyer *buyer, const redisReply *reply, struct zoo_line *line,
                       struct error *error)
{
    switch (reply->type) {
    case REDIS_REPLY_INTEGER:
        snprintf(line->came, ZOO_CAME_SIZE, "%lld", reply->integer);
        return true;
    case REDIS_REPLY_NIL:
        snprintf(line->came, ZOO_CAME_SIZE, "nil");
        return true;
    case REDIS_REPLY_ARRAY:
        show_reserved(buyer, reply, line->came);
        return true;
    case REDIS_REPLY_ERROR:
        return error_fail(error, "%s: %s", line->text, reply->str);
    default:
        snprintf(line->came, ZOO_CAME_SIZE, "%s", reply->str);
        return true;
    }
}

static bool ask(struct zoo_stage *stage, struct zoo_buyer *buyer, enum zoo_node node,
                const char **words, int count, struct zoo_line *line, struct error *error)
{
    redisContext *redis = zoo_redis(stage, &buyer->sessions, node, error);
    if (!redis)
        return false;
    redisReply *reply = redisCommandArgv(redis, count, words, NULL);
    bool good = reply ? show_reply(buyer, reply, line, error)
                      : error_fail(error, "%s: %s", line->text, redis->errstr);
    freeReplyObject(reply);
    return good;
}

static bool command(struct zoo_stage *stage, struct zoo_buyer *buyer,
                    const struct zoo_verb_row *row, struct zoo_line *line, struct error *error)
{
    struct zoo_value values[ZOO_WORDS];
    const char *words[ZOO_WORDS];
    int count = zoo_value_words(values, stage, buyer, row->words);
    for (int i = 0; i < count; i++)
        words[i] = values[i].sent;
    return ask(stage, buyer, row->node, words, count, line, error);
}

/* "{lock} | {token}" becomes EVAL text 1 lock token. */
static bool script(struct zoo_stage *stage, struct zoo_buyer *buyer, const struct zoo_verb_row *row,
                   struct zoo_line *line, struct error *error)
{
    struct zoo_value values[ZOO_WORDS];
    const char *words[ZOO_WORDS + 2] = {"EVAL", zoo_lua(row->text)};
    char keys[12];
    int count = zoo_value_words(values, stage, buyer, row->words), used = 3;
    words[2] = keys;
    for (int i = 0; i < count; i++) {
        if (strcmp(values[i].sent, "|") == 0)
            snprintf(keys, sizeof keys, "%d", i);
        else
            words[used++] = values[i].sent;
    }
    return ask(stage, buyer, row->node, words, used, line, error);
}

/* "VALUE key 0 7 42\r\ntoken-A\r\nEND". */
static void read_item(struct zoo_buyer *buyer, const char *reply, char came[ZOO_CAME_SIZE])
{
    const char *text = strstr(reply, "\r\n");
    const char *number = text;
    if (strncmp(reply, "VALUE ", 6) != 0 || !text) {
        snprintf(came, ZOO_CAME_SIZE, "%.*s", ZOO_CAME_SIZE - 1, reply);
        return;
    }
    while (number > reply && number[-1] != ' ')
        number--;
    snprintf(buyer->cas, sizeof buyer->cas, "%.*s", (int)(text - number), number);
    snprintf(came, ZOO_CAME_SIZE, "%.*s", (int)strcspn(text + 2, "\r"), text + 2);
}

static bool memcached(struct zoo_stage *stage, struct zoo_buyer *buyer,
                      const struct zoo_verb_row *row, struct zoo_line *line, struct error *error)
{
    char reply[MEMCACHED_REPLY_SIZE];
    struct zoo_value text;
    struct memcached *session = zoo_memcached(stage, &buyer->sessions, error);
    zoo_value_fill(&text, stage, buyer, row->words);
    if (!session || !memcached_say(session, text.sent, reply, error))
        return false;
    read_item(buyer, reply, line->came);
    return true;
}

/* What stands behind the folder; a lost session is an answer as well. */
static void show_node(enum zk_code code, const char *node, char came[ZOO_CAME_SIZE])
{
    static const char *const codes[] = {
        [ZK_OK] = "done",
        [ZK_NO_NODE] = "no such node",
        [ZK_EXISTS] = "exists",
        [ZK_SESSION_LOST] = "the session is gone",
    };
    const char *slash = strrchr(node, '/');
    const char *name = slash ? slash + 1 : node;
    snprintf(came, ZOO_CAME_SIZE, "%.*s", ZOO_CAME_SIZE - 1,
             code == ZK_OK && *name ? name : codes[code]);
}

static bool zookeeper(struct zoo_stage *stage, struct zoo_buyer *buyer, enum zoo_verb verb,
                      struct zoo_line *line, struct error *error)
{
    char folder[ZK_NAME_SIZE], path[2 * ZK_NAME_SIZE], node[ZK_NAME_SIZE] = "";
    struct zoo_value token;
    enum zk_code code;
    struct zk *zk = zoo_zk(stage, &buyer->sessions, error);
    if (!zk)
        return false;
    zoo_zk_folder(stage, folder);
    zoo_value_fill(&token, stage, buyer, "{token}");
    snprintf(path, sizeof path, "%s/%.*s-", folder, ZK_NAME_SIZE / 2, token.sent);
    if (verb == ZK_JOIN)
        code = zk_create(zk, path, ZK_EPHEMERAL_SEQUENTIAL, node, error);
    else if (verb == ZK_LOOK)
        code = zk_lowest(zk, folder, node, error);
    else
        code = zk_delete(zk, buyer->node, error);
    if (verb == ZK_JOIN)
        memcpy(buyer->node, node, sizeof node);
    if (code != ZK_FAILED)
        show_node(code, node, line->came);
    return code != ZK_FAILED;
}

static enum zoo_sent sent(bool good)
{
    return good ? ZOO_DONE : ZOO_FAILED;
}

enum zoo_sent zoo_send(struct zoo_stage *stage, struct zoo_buyer *buyer, enum zoo_verb verb,
                       struct zoo_line *line, struct error *error)
{
    const struct zoo_verb_row *row = zoo_verb_row(verb);
    struct zoo_value shown;
    if (row->kind == ZOO_SQL)
        return zoo_sql_send(stage, buyer, row, line, error) == ZOO_DONE
                   ? zoo_sql_wait(stage, buyer, row, false, line, error)
                   : ZOO_FAILED;
    zoo_value_fill(&shown, stage, buyer, row->shown ? row->shown : row->words);
    snprintf(line->text, sizeof line->text, "%.*s", ZOO_LINE_SIZE - 1, shown.shown);
    switch (row->kind) {
    case ZOO_REDIS:
        return sent(command(stage, buyer, row, line, error));
    case ZOO_SCRIPT:
        return sent(script(stage, buyer, row, line, error));
    case ZOO_MEMCACHED:
        return sent(memcached(stage, buyer, row, line, error));
    case ZOO_ZOOKEEPER:
        return sent(zookeeper(stage, buyer, verb, line, error));
    default:
        line->kind = ZOO_NOTE;
        return sent(zoo_happen(stage, buyer, verb, error));
    }
}

bool zoo_send_resume(struct zoo_stage *stage, struct zoo_buyer *buyer, enum zoo_verb verb,
                     struct zoo_line *line, struct error *error)
{
    const struct zoo_verb_row *row = zoo_verb_row(verb);
    return zoo_sql_wait(stage, buyer, row, true, line, error) == ZOO_DONE;
}
