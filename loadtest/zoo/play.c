/* See play.h. */
#include "loadtest/zoo/play.h"

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

/* A verb on its way over the buyer's own session, and the line that says what came of it. */
struct sending {
    struct zoo_stage *stage;
    struct zoo_buyer *buyer;
    const struct zoo_verb *verb;
    struct zoo_line *line;
    bool blocked; /* a lock of another buyer's, says PostgreSQL, not a clock: it is still under way
                   */
};

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

static bool send_sql(const struct sending *sending, struct error *error)
{
    const struct zoo_verb *verb = sending->verb;
    struct zoo_value values[ZOO_WORDS];
    const char *sent[ZOO_WORDS];
    int count = zoo_value_words(values, sending->stage, sending->buyer, verb->words);
    PGconn *pg = zoo_pg(sending->stage, &sending->buyer->sessions, error);
    char *sql = connect_qualify(verb->text, ZOO_SCHEMA);
    for (int i = 0; i < count; i++)
        sent[i] = strcmp(values[i].sent, "null") == 0 ? NULL : values[i].sent;
    show(verb->shows, values, count, sending->line->text);
    bool good = pg && sql && PQsendQueryParams(pg, sql, count, NULL, sent, NULL, NULL, 0) == 1;
    free(sql);
    if (pg && !good)
        connect_failed(pg, sending->line->text, error);
    return good;
}

/* Whether another buyer has what it waits for (pg_blocking_pids). False: it cannot be asked. */
static bool look_if_blocked(struct sending *sending, struct error *error)
{
    const struct zoo_stage *stage = sending->stage;
    char pids[100] = "{0", pid[16];
    const char *const values[] = {pid, pids};
    for (int i = 0; i < ZOO_BUYERS; i++) {
        const PGconn *other = stage->buyers[i].sessions.pg;
        if (other)
            snprintf(pids + strlen(pids), sizeof pids - strlen(pids), ",%d", PQbackendPID(other));
    }
    snprintf(pids + strlen(pids), sizeof pids - strlen(pids), "}");
    snprintf(pid, sizeof pid, "%d", PQbackendPID(sending->buyer->sessions.pg));
    PGresult *row = PQexecParams(stage->own.pg, "SELECT pg_blocking_pids($1::int) && $2::int[]", 2,
                                 NULL, values, NULL, NULL, 0);
    bool asked = PQresultStatus(row) == PGRES_TUPLES_OK;
    sending->blocked = asked && *PQgetvalue(row, 0, 0) == 't';
    PQclear(row);
    return asked || connect_failed(stage->own.pg, "pg_blocking_pids", error);
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
static bool take_answer(const struct sending *sending, struct error *error)
{
    struct zoo_buyer *buyer = sending->buyer;
    PGconn *pg = buyer->sessions.pg;
    bool good = true;
    for (PGresult *result; (result = PQgetResult(pg)) != NULL; PQclear(result)) {
        bool rows = PQresultStatus(result) == PGRES_TUPLES_OK;
        if (rows && sending->verb->kind == ZOO_SQL)
            learn(buyer, result, sending->line->came);
        else if (rows || PQresultStatus(result) == PGRES_COMMAND_OK)
            count_rows(buyer, sending->verb, result, sending->line->came);
        else
            good = false;
    }
    if (buyer->written && PQtransactionStatus(pg) == PQTRANS_IDLE)
        buyer->sold = true;
    return good || connect_failed(pg, sending->line->text, error);
}

/* Until it is answered, or, but `to_the_end`, blocked. */
static bool wait_for_sql(struct sending *sending, bool to_the_end, struct error *error)
{
    const char *text = sending->line->text;
    int64_t until_us = clock_mono_us() + PATIENCE_US;
    PGconn *pg = sending->buyer->sessions.pg;
    struct pollfd answer = {.fd = PQsocket(pg), .events = POLLIN};
    while (!sending->blocked) {
        if (!PQconsumeInput(pg))
            return connect_failed(pg, text, error);
        if (!PQisBusy(pg))
            return take_answer(sending, error);
        if (process_interrupted() || clock_mono_us() > until_us)
            return error_fail(error, "%s: %s", text,
                              process_interrupted() ? "interrupted" : "no answer in 30 s");
        if (poll(&answer, 1, LOOK_MS) == 0 && !to_the_end && !look_if_blocked(sending, error))
            return false;
    }
    return true;
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

static bool show_reply(const struct sending *sending, const redisReply *reply, struct error *error)
{
    char *came = sending->line->came;
    switch (reply->type) {
    case REDIS_REPLY_INTEGER:
        snprintf(came, ZOO_CAME_SIZE, "%lld", reply->integer);
        return true;
    case REDIS_REPLY_NIL:
        snprintf(came, ZOO_CAME_SIZE, "nil");
        return true;
    case REDIS_REPLY_ARRAY:
        show_reserved(sending->buyer, reply, came);
        return true;
    case REDIS_REPLY_ERROR:
        return error_fail(error, "%s: %s", sending->line->text, reply->str);
    default:
        snprintf(came, ZOO_CAME_SIZE, "%s", reply->str);
        return true;
    }
}

/* -1: they cannot be sent. */
static int fill_words(const struct sending *sending, struct zoo_value values[ZOO_WORDS],
                      struct error *error)
{
    int count = zoo_value_words(values, sending->stage, sending->buyer, sending->verb->words);
    for (int i = 0; i < count; i++) {
        if (!zoo_stage_remember(sending->stage, values[i].sent, error))
            return -1;
    }
    return count;
}

static bool redis(const struct sending *sending, redisContext *session, struct error *error)
{
    struct zoo_value values[ZOO_WORDS];
    const char *words[ZOO_WORDS];
    int count = fill_words(sending, values, error);
    if (count < 0)
        return false;
    for (int i = 0; i < count; i++)
        words[i] = values[i].sent;
    if (sending->verb->text)
        words[1] = sending->verb->text; /* of the script that is named there */
    redisReply *reply = redisCommandArgv(session, count, words, NULL);
    bool good = reply ? show_reply(sending, reply, error)
                      : error_fail(error, "%s: %s", sending->line->text, session->errstr);
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

static bool memcached(const struct sending *sending, redisContext *session, struct error *error)
{
    struct zoo_value values[ZOO_WORDS];
    char command[ZOO_VALUE_SIZE] = "", reply[MEMCACHED_REPLY_SIZE];
    int count = fill_words(sending, values, error);
    for (int i = 0; i < count; i++) {
        size_t used = strlen(command);
        snprintf(command + used, sizeof command - used, "%s%s", i ? " " : "", values[i].sent);
    }
    if (count < 0 || !memcached_say(session, command, reply, error))
        return false;
    read_item(sending->buyer, reply, sending->line->came);
    return true;
}

static bool say(const struct sending *sending, struct error *error)
{
    const struct zoo_verb *verb = sending->verb;
    struct zoo_stage *stage = sending->stage;
    struct zoo_sessions *its = &sending->buyer->sessions;
    if (verb->kind == ZOO_RUN)
        return zoo_stage_run(stage, verb->words, error);
    if (verb->kind == ZOO_DIES) {
        zoo_hang_up(its);
        return true;
    }
    redisContext *session = zoo_node(stage, verb->happens ? &stage->own : its, verb->node, error);
    return session && (verb->kind == ZOO_REDIS ? redis : memcached)(sending, session, error);
}

/* Sends a verb and waits for its answer; fills the line. False: nobody answers, or the answer is an
 * error, or another than the text gives. */
static bool send_verb(struct sending *sending, struct error *error)
{
    const struct zoo_verb *verb = sending->verb;
    struct zoo_line *line = sending->line;
    struct zoo_value shown;
    if (verb->kind == ZOO_SQL || verb->kind == ZOO_SALE)
        return send_sql(sending, error) && wait_for_sql(sending, false, error);
    zoo_value_fill(&shown, sending->stage, sending->buyer, verb->shows);
    snprintf(line->text, sizeof line->text, "%.*s", ZOO_LINE_SIZE - 1, shown.shown);
    if (!say(sending, error))
        return false;
    if (verb->gives && strcmp(verb->gives, line->came) != 0)
        return error_fail(error, "'%s' gives '%s', not '%s'", verb->words, line->came, verb->gives);
    if (verb->happens) {
        line->kind = ZOO_NOTE;
        line->came[0] = '\0';
        line->zh = verb->shows_zh;
    }
    return true;
}

/* Acts ---------------------------------------------------------------------------------------- */

static struct zoo_line *add_line(struct zoo_row *row, enum zoo_line_kind kind, const char *text)
{
    struct zoo_line *line = &row->lines[row->count++];
    line->kind = kind;
    snprintf(line->text, sizeof line->text, "%s", text);
    return line;
}

/* The verbs from `at` on. False: an error, or another than the one that has to waits. */
static bool run_verbs(struct zoo_stage *stage, struct zoo_buyer *buyer, const struct zoo_step *step,
                      size_t at, struct zoo_row *row, struct error *error)
{
    for (; at < step->count; at++) {
        struct zoo_line *line = add_line(row, ZOO_SENT, "");
        struct sending sending = {stage, buyer, step->verbs[at], line, false};
        bool has_to_wait = at + 1 == step->waits;
        if (!send_verb(&sending, error))
            return false;
        if (!sending.blocked && has_to_wait)
            return error_fail(error, "it does not wait for another buyer");
        if (!sending.blocked)
            continue;
        snprintf(line->came, sizeof line->came, "waits");
        buyer->waited = step;
        return has_to_wait || error_fail(error, "'%s' waits for another buyer", line->text);
    }
    return true;
}

static bool resume(struct zoo_stage *stage, struct zoo_buyer *buyer, struct zoo_row *row,
                   struct error *error)
{
    const struct zoo_step *waited = buyer->waited;
    struct zoo_line *line = add_line(row, ZOO_SENT, "… goes on");
    if (!waited)
        return error_fail(error, "nothing waits that could go on");
    struct sending sending = {stage, buyer, waited->verbs[waited->waits - 1], line, false};
    buyer->waited = NULL;
    return wait_for_sql(&sending, true, error) &&
           run_verbs(stage, buyer, waited, waited->waits, row, error);
}

static bool is_yes(const char *answer)
{
    return answer && strncmp(answer, "20", 2) == 0;
}

static bool tell(const struct zoo_buyer *buyer, const char *answer, struct zoo_record *record,
                 struct zoo_row *row, struct error *error)
{
    if (!answer)
        return true;
    if (is_yes(answer) != buyer->sold)
        return error_fail(error, "the buyer cannot be told %s: it was %s", answer,
                          buyer->sold ? "sold a unit" : "sold nothing");
    add_line(row, ZOO_ANSWER, answer);
    record->books.told += is_yes(answer);
    return true;
}

static bool play_step(struct zoo_stage *stage, const struct zoo_step *step,
                      struct zoo_record *record, struct zoo_row *row, struct error *error)
{
    struct zoo_buyer *buyer = &stage->buyers[step->who];
    if (process_interrupted())
        return error_fail(error, "interrupted");
    if (step->note)
        add_line(row, ZOO_NOTE, step->note)->zh = step->note_zh;
    bool done = step->resumes ? resume(stage, buyer, row, error)
                              : run_verbs(stage, buyer, step, 0, row, error);
    return done && tell(buyer, step->answer, record, row, error);
}

enum zoo_end zoo_end_of(const struct zoo_books *books)
{
    if (books->sold > books->stock)
        return ZOO_OVERSOLD;
    if (books->told > books->sold)
        return ZOO_LOST;
    return books->sold == 0 && books->stuck ? ZOO_STUCK : ZOO_KEPT;
}

static bool judge(struct zoo_record *record, struct error *error)
{
    static const char *const ends[ZOO_ENDS] = {
        [ZOO_KEPT] = "nothing wrong",
        [ZOO_OVERSOLD] = "it oversold",
        [ZOO_LOST] = "an order that was accepted is lost",
        [ZOO_STUCK] = "it is locked for ever",
    };
    enum zoo_end wanted = record->act->end, end = zoo_end_of(&record->books);
    return end == wanted ||
           error_fail(error, "it had to end with: %s; and ended with: %s", ends[wanted], ends[end]);
}

bool zoo_play(struct zoo_stage *stage, const struct zoo_act *act, struct zoo_record *record,
              struct error *error)
{
    *record = (struct zoo_record){.act = act};
    bool good = zoo_stage_set(stage, act->stock, error);
    for (size_t i = 0; good && i < act->count; i++) {
        struct zoo_row *row = &record->rows[i];
        *row = (struct zoo_row){.number = (int)i + 1, .who = act->steps[i].who};
        good = play_step(stage, &act->steps[i], record, row, error);
        record->count++;
        if (!good)
            error_prefix(error, "step %d", row->number);
    }
    good = good && zoo_stage_count(stage, &record->books, error) && judge(record, error);
    return good || error_prefix(error, "%s", act->strategy);
}
