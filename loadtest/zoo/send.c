/* See send.h. */
#include "loadtest/zoo/send.h"

#include "loadtest/zoo/memcached.h"
#include "loadtest/zoo/value.h"

#include <stdio.h>
#include <stdlib.h>
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

static bool redis(struct zoo_stage *stage, struct zoo_buyer *buyer, const struct zoo_verb *verb,
                  redisContext *session, struct zoo_line *line, struct error *error)
{
    struct zoo_value values[ZOO_WORDS];
    const char *words[ZOO_WORDS];
    int count = zoo_value_words(values, stage, buyer, verb->words);
    for (int i = 0; i < count; i++) {
        words[i] = values[i].sent;
        if (!zoo_stage_remember(stage, words[i], error))
            return false;
    }
    if (verb->text)
        words[1] = verb->text; /* of the script that is named there */
    redisReply *reply = redisCommandArgv(session, count, words, NULL);
    bool good = reply ? show_reply(buyer, reply, line, error)
                      : error_fail(error, "%s: %s", line->text, session->errstr);
    freeReplyObject(reply);
    return good;
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
    buyer->figures[FIGURE_CAS] = strtoll(number, NULL, 10);
    snprintf(came, ZOO_CAME_SIZE, "%.*s", (int)strcspn(text + 2, "\r"), text + 2);
}

static bool memcached(struct zoo_stage *stage, struct zoo_buyer *buyer, const struct zoo_verb *verb,
                      redisContext *session, struct zoo_line *line, struct error *error)
{
    struct zoo_value values[ZOO_WORDS];
    char command[ZOO_VALUE_SIZE] = "", reply[MEMCACHED_REPLY_SIZE];
    int count = zoo_value_words(values, stage, buyer, verb->words);
    for (int i = 0; i < count; i++) {
        size_t used = strlen(command);
        if (!zoo_stage_remember(stage, values[i].sent, error))
            return false;
        snprintf(command + used, sizeof command - used, "%s%s", i ? " " : "", values[i].sent);
    }
    if (!memcached_say(session, command, reply, error))
        return false;
    read_item(buyer, reply, line->came);
    return true;
}

static bool say(struct zoo_stage *stage, struct zoo_buyer *buyer, const struct zoo_verb *verb,
                struct zoo_line *line, struct error *error)
{
    struct zoo_sessions *sessions = verb->happens ? &stage->own : &buyer->sessions;
    if (verb->kind == ZOO_RUN)
        return zoo_stage_run(stage, verb->words, error);
    if (verb->kind == ZOO_DIES) {
        zoo_hang_up(&buyer->sessions);
        return true;
    }
    redisContext *session = zoo_node(stage, sessions, verb->node, error);
    return session &&
           (verb->kind == ZOO_REDIS ? redis : memcached)(stage, buyer, verb, session, line, error);
}

enum zoo_sent zoo_send(struct zoo_stage *stage, struct zoo_buyer *buyer,
                       const struct zoo_verb *verb, struct zoo_line *line, struct error *error)
{
    struct zoo_value shown;
    if (verb->kind == ZOO_SQL || verb->kind == ZOO_SALE)
        return zoo_sql_send(stage, buyer, verb, line, error) == ZOO_DONE
                   ? zoo_sql_wait(stage, buyer, verb, false, line, error)
                   : ZOO_FAILED;
    zoo_value_fill(&shown, stage, buyer, verb->shows);
    snprintf(line->text, sizeof line->text, "%.*s", ZOO_LINE_SIZE - 1, shown.shown);
    if (!say(stage, buyer, verb, line, error))
        return ZOO_FAILED;
    if (verb->gives && strcmp(verb->gives, line->came) != 0) {
        error_fail(error, "'%s' gives '%s', not '%s'", verb->words, line->came, verb->gives);
        return ZOO_FAILED;
    }
    if (verb->happens) {
        line->kind = ZOO_NOTE;
        line->came[0] = '\0';
        line->zh = verb->shows_zh;
    }
    return ZOO_DONE;
}

bool zoo_send_resume(struct zoo_stage *stage, struct zoo_buyer *buyer, const struct zoo_verb *verb,
                     struct zoo_line *line, struct error *error)
{
    return zoo_sql_wait(stage, buyer, verb, true, line, error) == ZOO_DONE;
}
