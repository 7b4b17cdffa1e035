/* See play.h. */
#include "loadtest/zoo/play.h"

#include "base/clock.h"
#include "loadtest/base/process.h"
#include "loadtest/judge/connect.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = 200, CAME_SIZE = 64 };

/* A verb on its way over the buyer's own session, and what came of it. */
struct sending {
    struct zoo_stage *stage;
    struct zoo_buyer *buyer;
    const struct zoo_verb *verb;
    char text[TEXT_SIZE]; /* as it is shown */
    char came[CAME_SIZE]; /* "": nothing that matters */
    bool blocked; /* a lock of another buyer's, says PostgreSQL, not a clock: it is still under way
                   */
};

enum { PATIENCE_US = 30000000, LOOK_MS = 5 };

/* Statements, none of which is waited for blindly (libpq's asynchronous processing): while no
 * answer is there, the stage's own session asks PostgreSQL whether another buyer blocks it ----- */

/* "UPDATE product SET stock = $3" with the third parameter. */
static void show(const char *shown, const struct zoo_value *values, int count, char out[TEXT_SIZE])
{
    size_t used = 0;
    for (; *shown && used + 1 < TEXT_SIZE; shown++) {
        char *end = NULL;
        long n = *shown == '$' ? strtol(shown + 1, &end, 10) : 0;
        if (n < 1 || n > count) {
            out[used++] = *shown;
            continue;
        }
        int wrote = snprintf(out + used, TEXT_SIZE - used, "%s", values[n - 1].shown);
        used += (size_t)wrote < TEXT_SIZE - used ? (size_t)wrote : TEXT_SIZE - used - 1;
        shown = end - 1;
    }
    out[used] = '\0';
}

static bool send_sql(struct sending *sending, struct error *error)
{
    const struct zoo_verb *verb = sending->verb;
    struct zoo_value values[ZOO_WORDS];
    const char *sent[ZOO_WORDS];
    int count = zoo_value_words(values, sending->stage, sending->buyer, verb->words);
    PGconn *pg = zoo_pg(sending->stage, &sending->buyer->sessions, error);
    char *sql = connect_qualify(verb->text, ZOO_SCHEMA);
    for (int i = 0; i < count; i++)
        sent[i] = strcmp(values[i].sent, "null") == 0 ? NULL : values[i].sent;
    show(verb->shows.en, values, count, sending->text);
    bool good = pg && PQsendQueryParams(pg, sql, count, NULL, sent, NULL, NULL, 0) == 1;
    free(sql);
    if (pg && !good)
        connect_failed(pg, sending->text, error);
    return good;
}

/* Whether another session of the zoo's has what it waits for. False: it cannot be asked. */
static bool look_if_blocked(struct sending *sending, struct error *error)
{
    static const char sql[] = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = ANY"
                              " (pg_blocking_pids($1::int)) AND application_name = '" ZOO_NAME "')";
    PGconn *own = sending->stage->own.pg;
    char pid[16];
    const char *const values[] = {pid};
    snprintf(pid, sizeof pid, "%d", PQbackendPID(sending->buyer->sessions.pg));
    PGresult *row = PQexecParams(own, sql, 1, NULL, values, NULL, NULL, 0);
    bool asked = PQresultStatus(row) == PGRES_TUPLES_OK;
    sending->blocked = asked && *PQgetvalue(row, 0, 0) == 't';
    PQclear(row);
    return asked || connect_failed(own, "pg_blocking_pids", error);
}

/* What the rows' columns tell; stock_row gives its sum no name. */
static void learn(struct zoo_buyer *buyer, const PGresult *result, char came[CAME_SIZE])
{
    static const struct {
        const char *column;
        enum zoo_figure figure;
        const char *shown; /* NULL: it is not */
    } known[] = {
        {"epoch", FIGURE_EPOCH, NULL},
        {"fence", FIGURE_FENCE, "fence"},
        {"?column?", FIGURE_STOCK, "stock"},
        {"stock", FIGURE_STOCK, "stock"},
    };
    snprintf(came, CAME_SIZE, "%s", PQntuples(result) == 0 ? "0 rows" : "");
    for (size_t i = 0; PQntuples(result) > 0 && i < sizeof known / sizeof known[0]; i++) {
        int column = PQfnumber(result, known[i].column);
        int64_t *figure = &buyer->figures[known[i].figure];
        if (column < 0)
            continue;
        *figure = strtoll(PQgetvalue(result, 0, column), NULL, 10);
        if (known[i].shown)
            snprintf(came, CAME_SIZE, "%s %" PRId64, known[i].shown, *figure);
    }
    buyer->figures[FIGURE_LEFT] = buyer->figures[FIGURE_STOCK] - 1;
}

static void count_rows(struct zoo_buyer *buyer, const struct zoo_verb *verb, PGresult *result,
                       char came[CAME_SIZE])
{
    const char *rows = PQcmdTuples(result);
    *came = '\0';
    if (*rows)
        snprintf(came, CAME_SIZE, "%s row%s", rows, strcmp(rows, "1") == 0 ? "" : "s");
    if (verb->kind == ZOO_SALE && strcmp(rows, "0") != 0)
        buyer->written = true;
    if (strcmp(PQcmdStatus(result), "ROLLBACK") == 0)
        buyer->written = false;
}

/* The whole answer, which is there. */
static bool take_answer(struct sending *sending, struct error *error)
{
    struct zoo_buyer *buyer = sending->buyer;
    PGconn *pg = buyer->sessions.pg;
    bool good = true;
    for (PGresult *result; (result = PQgetResult(pg)) != NULL; PQclear(result)) {
        bool rows = PQresultStatus(result) == PGRES_TUPLES_OK;
        if (rows && sending->verb->kind == ZOO_SQL)
            learn(buyer, result, sending->came);
        else if (rows || PQresultStatus(result) == PGRES_COMMAND_OK)
            count_rows(buyer, sending->verb, result, sending->came);
        else
            good = false;
    }
    if (buyer->written && PQtransactionStatus(pg) == PQTRANS_IDLE)
        buyer->sold = true;
    return good || connect_failed(pg, sending->text, error);
}

/* Until it is answered, or, but `to_the_end`, blocked. */
static bool wait_for_sql(struct sending *sending, bool to_the_end, struct error *error)
{
    const char *text = sending->text;
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
    snprintf(came, CAME_SIZE, buyer->sold ? "reserved, %lld left" : "refused",
             buyer->sold ? of[2]->integer : 0);
}

static bool show_reply(struct sending *sending, const redisReply *reply, struct error *error)
{
    char *came = sending->came;
    switch (reply->type) {
    case REDIS_REPLY_INTEGER:
        snprintf(came, CAME_SIZE, "%lld", reply->integer);
        return true;
    case REDIS_REPLY_NIL:
        snprintf(came, CAME_SIZE, "nil");
        return true;
    case REDIS_REPLY_ARRAY:
        show_reserved(sending->buyer, reply, came);
        return true;
    case REDIS_REPLY_ERROR:
        return error_fail(error, "%s: %s", sending->text, reply->str);
    default:
        snprintf(came, CAME_SIZE, "%s", reply->str);
        return true;
    }
}

static bool redis(struct sending *sending, redisContext *session, const char **words, int count,
                  struct error *error)
{
    if (sending->verb->text)
        words[1] = sending->verb->text; /* of the script that is named there */
    redisReply *reply = redisCommandArgv(session, count, words, NULL);
    bool good = reply ? show_reply(sending, reply, error)
                      : error_fail(error, "%s: %s", sending->text, session->errstr);
    freeReplyObject(reply);
    return good;
}

/* "VALUE key 0 7 42\r\ntoken-A\r\nEND". */
static void read_item(struct zoo_buyer *buyer, const char *reply, char came[CAME_SIZE])
{
    const char *text = strstr(reply, "\r\n");
    const char *number = text;
    if (strncmp(reply, "VALUE ", 6) != 0 || !text) {
        snprintf(came, CAME_SIZE, "%.*s", CAME_SIZE - 1, reply);
        return;
    }
    while (number > reply && number[-1] != ' ')
        number--;
    buyer->figures[FIGURE_CAS] = strtoll(number, NULL, 10);
    snprintf(came, CAME_SIZE, "%.*s", (int)strcspn(text + 2, "\r"), text + 2);
}

static bool memcached(struct sending *sending, redisContext *session, const char **words, int count,
                      struct error *error)
{
    char command[ZOO_VALUE_SIZE] = "", reply[MEMCACHED_REPLY_SIZE];
    for (int i = 0; i < count; i++) {
        size_t used = strlen(command);
        snprintf(command + used, sizeof command - used, "%s%s", i ? " " : "", words[i]);
    }
    if (!zoo_memcached_say(session, command, reply, error))
        return false;
    read_item(sending->buyer, reply, sending->came);
    return true;
}

static bool say(struct sending *sending, struct error *error)
{
    const struct zoo_verb *verb = sending->verb;
    struct zoo_stage *stage = sending->stage;
    struct zoo_sessions *its = &sending->buyer->sessions;
    struct zoo_value values[ZOO_WORDS];
    const char *words[ZOO_WORDS];
    if (verb->kind == ZOO_RUN)
        return zoo_stage_run(stage, verb->words, error);
    if (verb->kind == ZOO_DIES) {
        zoo_hang_up(its);
        return true;
    }
    redisContext *session = zoo_node(stage, verb->happens ? &stage->own : its, verb->node, error);
    int count = zoo_value_words(values, stage, sending->buyer, verb->words);
    for (int i = 0; i < count; i++)
        words[i] = values[i].sent;
    return session &&
           (verb->kind == ZOO_REDIS ? redis : memcached)(sending, session, words, count, error);
}

/* Sends a verb and waits for its answer; fills the line. False: nobody answers, or the answer is an
 * error, or another than the text gives. */
static bool send_verb(struct sending *sending, struct error *error)
{
    const struct zoo_verb *verb = sending->verb;
    struct zoo_value shown;
    if (verb->kind == ZOO_SQL || verb->kind == ZOO_SALE)
        return send_sql(sending, error) && wait_for_sql(sending, false, error);
    zoo_value_fill(&shown, sending->stage, sending->buyer, verb->shows.en);
    snprintf(sending->text, sizeof sending->text, "%.*s", TEXT_SIZE - 1, shown.shown);
    if (!say(sending, error))
        return false;
    return !verb->gives || strcmp(verb->gives, sending->came) == 0 ||
           error_fail(error, "'%s' gives '%s', not '%s'", verb->words, sending->came, verb->gives);
}

/* Acts ---------------------------------------------------------------------------------------- */

static void add_line(json_t *step, const char *kind, const char *text, const char *more)
{
    json_array_append_new(step, json_pack("[sss]", kind, text, more ? more : ""));
}

/* The verbs from `at` on. False: an error, or another than the one that has to waits. */
static bool run_verbs(struct zoo_stage *stage, struct zoo_buyer *buyer, const struct zoo_step *step,
                      size_t at, json_t *lines, struct error *error)
{
    for (; at < step->count; at++) {
        const struct zoo_verb *verb = step->verbs[at];
        struct sending sending = {.stage = stage, .buyer = buyer, .verb = verb};
        bool has_to_wait = at + 1 == step->waits;
        bool sent = send_verb(&sending, error);
        if (verb->happens)
            add_line(lines, "n", sending.text, verb->shows.zh);
        else
            add_line(lines, "s", sending.text, sending.blocked ? "waits" : sending.came);
        if (!sent)
            return false;
        if (!sending.blocked && has_to_wait)
            return error_fail(error, "it does not wait for another buyer");
        if (!sending.blocked)
            continue;
        buyer->waited = step;
        return has_to_wait || error_fail(error, "'%s' waits for another buyer", sending.text);
    }
    return true;
}

static bool resume(struct zoo_stage *stage, struct zoo_buyer *buyer, json_t *lines,
                   struct error *error)
{
    const struct zoo_step *waited = buyer->waited;
    struct sending sending = {.stage = stage, .buyer = buyer, .text = "… goes on"};
    buyer->waited = NULL;
    if (waited)
        sending.verb = waited->verbs[waited->waits - 1];
    bool done = waited ? wait_for_sql(&sending, true, error)
                       : error_fail(error, "nothing waits that could go on");
    add_line(lines, "s", sending.text, sending.came);
    return done && waited && run_verbs(stage, buyer, waited, waited->waits, lines, error);
}

static bool is_yes(const char *answer)
{
    return answer && strncmp(answer, "20", 2) == 0;
}

static bool tell(const struct zoo_buyer *buyer, const char *answer, struct zoo_books *books,
                 json_t *lines, struct error *error)
{
    if (!answer)
        return true;
    if (is_yes(answer) != buyer->sold)
        return error_fail(error, "the buyer cannot be told %s: it was %s", answer,
                          buyer->sold ? "sold a unit" : "sold nothing");
    add_line(lines, "a", answer, NULL);
    books->told += is_yes(answer);
    return true;
}

static bool play_step(struct zoo_stage *stage, const struct zoo_step *step, struct zoo_books *books,
                      json_t *lines, struct error *error)
{
    struct zoo_buyer *buyer = &stage->buyers[step->who];
    if (process_interrupted())
        return error_fail(error, "interrupted");
    if (step->note.en)
        add_line(lines, "n", step->note.en, step->note.zh);
    bool done = step->resumes ? resume(stage, buyer, lines, error)
                              : run_verbs(stage, buyer, step, 0, lines, error);
    return done && tell(buyer, step->answer, books, lines, error);
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
    *record = (struct zoo_record){.act = act, .steps = json_array()};
    bool good = zoo_stage_set(stage, act->stock, error);
    for (size_t i = 0; good && i < act->count; i++) {
        const struct zoo_step *step = &act->steps[i];
        json_t *lines = json_pack("[i]", (int)step->who);
        good = play_step(stage, step, &record->books, lines, error);
        json_array_append_new(record->steps, lines);
        if (!good)
            error_prefix(error, "step %zu", i + 1);
    }
    good = good && zoo_stage_count(stage, &record->books, error) && judge(record, error);
    return good || error_prefix(error, "%s", act->strategy);
}

void zoo_record_drop(struct zoo_record *record)
{
    json_decref(record->steps);
    record->steps = NULL;
}
