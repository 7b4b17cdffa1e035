/* See send.h. */
#include "loadtest/zoo/send.h"

#include "base/clock.h"
#include "loadtest/base/process.h"
#include "loadtest/judge/connect.h"
#include "loadtest/zoo/memcached.h"
#include "loadtest/zoo/value.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_US = 30000000, LOOK_MS = 5 };

/* Statements, none of which is waited for blindly (libpq's asynchronous processing): while no
 * answer is there, the stage's own session asks PostgreSQL whether another buyer blocks it ----- */

/* "UPDATE product SET stock = $3" with the third parameter. */
static void show(const char *shown, const struct zoo_value *values, int count,
                 char out[ZOO_LINE_SIZE])
{
    size_t used = 0;
    for (; *shown && used + 1 < ZOO_LINE_SIZE; shown++) {
        char *end = NULL;
        long n = *shown == '$' ? strtol(shown + 1, &end, 10) : 0;
        if (n < 1 || n > count) {
            out[used++] = *shown;
            continue;
        }
        int wrote = snprintf(out + used, ZOO_LINE_SIZE - used, "%s", values[n - 1].shown);
        used += (size_t)wrote < ZOO_LINE_SIZE - used ? (size_t)wrote : ZOO_LINE_SIZE - used - 1;
        shown = end - 1;
    }
    out[used] = '\0';
}

static bool sql_send(struct zoo_stage *stage, struct zoo_buyer *buyer, const struct zoo_verb *verb,
                     struct zoo_line *line, struct error *error)
{
    struct zoo_value values[ZOO_WORDS];
    const char *sent[ZOO_WORDS];
    int count = zoo_value_words(values, stage, buyer, verb->words);
    PGconn *pg = zoo_pg(stage, &buyer->sessions, error);
    char *sql = connect_qualify(verb->text, ZOO_SCHEMA);
    for (int i = 0; i < count; i++)
        sent[i] = strcmp(values[i].sent, "null") == 0 ? NULL : values[i].sent;
    show(verb->shows, values, count, line->text);
    bool good = pg && sql && PQsendQueryParams(pg, sql, count, NULL, sent, NULL, NULL, 0) == 1;
    free(sql);
    if (pg && !good)
        connect_failed(pg, line->text, error);
    return good;
}

/* -1: it cannot be asked. */
static int is_blocked(struct zoo_stage *stage, const struct zoo_buyer *buyer, struct error *error)
{
    char pids[100] = "{0", pid[16];
    const char *const values[] = {pid, pids};
    for (int i = 0; i < ZOO_BUYERS; i++) {
        const PGconn *other = stage->buyers[i].sessions.pg;
        if (other)
            snprintf(pids + strlen(pids), sizeof pids - strlen(pids), ",%d", PQbackendPID(other));
    }
    snprintf(pids + strlen(pids), sizeof pids - strlen(pids), "}");
    snprintf(pid, sizeof pid, "%d", PQbackendPID(buyer->sessions.pg));
    PGresult *row = PQexecParams(stage->own.pg, "SELECT pg_blocking_pids($1::int) && $2::int[]", 2,
                                 NULL, values, NULL, NULL, 0);
    bool asked = PQresultStatus(row) == PGRES_TUPLES_OK;
    int blocked = asked ? *PQgetvalue(row, 0, 0) == 't' : -1;
    PQclear(row);
    if (!asked)
        connect_failed(stage->own.pg, "pg_blocking_pids", error);
    return blocked;
}

static bool read_figure(struct zoo_buyer *buyer, enum zoo_figure figure, const PGresult *result,
                        const char *name)
{
    int column = PQfnumber(result, name);
    if (column >= 0)
        buyer->figures[figure] = strtoll(PQgetvalue(result, 0, column), NULL, 10);
    return column >= 0;
}

/* stock_row gives its sum no name. */
static bool read_stock(struct zoo_buyer *buyer, const PGresult *result)
{
    if (!read_figure(buyer, FIGURE_STOCK, result, "stock") &&
        !read_figure(buyer, FIGURE_STOCK, result, "?column?"))
        return false;
    buyer->figures[FIGURE_LEFT] = buyer->figures[FIGURE_STOCK] - 1;
    return true;
}

static void learn(struct zoo_buyer *buyer, const PGresult *result, char came[ZOO_CAME_SIZE])
{
    *came = '\0';
    if (PQntuples(result) == 0) {
        snprintf(came, ZOO_CAME_SIZE, "0 rows");
        return;
    }
    read_figure(buyer, FIGURE_EPOCH, result, "epoch");
    if (read_stock(buyer, result))
        snprintf(came, ZOO_CAME_SIZE, "stock %" PRId64, buyer->figures[FIGURE_STOCK]);
    else if (read_figure(buyer, FIGURE_FENCE, result, "fence"))
        snprintf(came, ZOO_CAME_SIZE, "fence %" PRId64, buyer->figures[FIGURE_FENCE]);
}

static void count_rows(struct zoo_buyer *buyer, const struct zoo_verb *verb, PGresult *result,
                       char came[ZOO_CAME_SIZE])
{
    const char *rows = PQcmdTuples(result);
    *came = '\0';
    if (*rows)
        snprintf(came, ZOO_CAME_SIZE, "%s row%s", rows, strcmp(rows, "1") == 0 ? "" : "s");
    if (verb->kind == ZOO_SALE && strcmp(rows, "0") != 0)
        buyer->written = true;
    if (strcmp(PQcmdStatus(result), "ROLLBACK") == 0)
        buyer->written = false;
}

/* The whole answer, which is there. */
static enum zoo_sent take(struct zoo_buyer *buyer, const struct zoo_verb *verb,
                          struct zoo_line *line, struct error *error)
{
    PGconn *pg = buyer->sessions.pg;
    enum zoo_sent sent = ZOO_DONE;
    for (PGresult *result; (result = PQgetResult(pg)) != NULL; PQclear(result)) {
        bool rows = PQresultStatus(result) == PGRES_TUPLES_OK;
        if (rows && verb->kind == ZOO_SQL)
            learn(buyer, result, line->came);
        else if (rows || PQresultStatus(result) == PGRES_COMMAND_OK)
            count_rows(buyer, verb, result, line->came);
        else
            sent = ZOO_FAILED;
    }
    if (sent == ZOO_FAILED)
        connect_failed(pg, line->text, error);
    if (buyer->written && PQtransactionStatus(pg) == PQTRANS_IDLE)
        buyer->sold = true;
    return sent;
}

static enum zoo_sent sql_wait(struct zoo_stage *stage, struct zoo_buyer *buyer,
                              const struct zoo_verb *verb, bool to_the_end, struct zoo_line *line,
                              struct error *error)
{
    int64_t until_us = clock_mono_us() + PATIENCE_US;
    PGconn *pg = buyer->sessions.pg;
    struct pollfd answer = {.fd = PQsocket(pg), .events = POLLIN};
    for (;;) {
        if (!PQconsumeInput(pg)) {
            connect_failed(pg, line->text, error);
            return ZOO_FAILED;
        }
        if (!PQisBusy(pg))
            return take(buyer, verb, line, error);
        if (process_interrupted() || clock_mono_us() > until_us) {
            error_fail(error, "%s: %s", line->text,
                       process_interrupted() ? "interrupted" : "no answer in 30 s");
            return ZOO_FAILED;
        }
        if (poll(&answer, 1, LOOK_MS) > 0 || to_the_end)
            continue;
        int blocked = is_blocked(stage, buyer, error);
        if (blocked != 0)
            return blocked > 0 ? ZOO_BLOCKED : ZOO_FAILED;
    }
}

/* Redis and memcached ------------------------------------------------------------------------- */

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
        return sql_send(stage, buyer, verb, line, error)
                   ? sql_wait(stage, buyer, verb, false, line, error)
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
    return sql_wait(stage, buyer, verb, true, line, error) == ZOO_DONE;
}
