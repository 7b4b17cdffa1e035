/*
 * What the bug zoo shows is in the server's statements, and what it sends to Redis is what a server
 * sends: MONITOR tells, while a real one sells by each strategy.
 */
#include "lib/t.h"

#include "harness/bed/own_bed.h"
#include "loadtest/zoo/exhibits/exhibits.h"

#include <curl/curl.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

static redisContext *open_redis(void)
{
    static const char scheme[] = "unix://";
    const char *url = getenv("SECKILL_TEST_REDIS");
    assert_non_null(url);
    assert_int_equal(strncmp(url, scheme, strlen(scheme)), 0);
    redisContext *redis = redisConnectUnix(url + strlen(scheme));
    assert_true(redis && !redis->err);
    return redis;
}

/* Without types, the schema's place, and more than one blank. */
static void flatten(const char *sql, char *out, size_t size)
{
    size_t used = 0;
    while (*sql && used + 1 < size) {
        if (strncmp(sql, "{schema}.", 9) == 0) {
            sql += 9;
        } else if (strncmp(sql, "::", 2) == 0) {
            sql += 2 + strspn(sql + 2, "abcdefghijklmnopqrstuvwxyz0123456789[]");
        } else if (*sql == ' ' || *sql == '\n') {
            sql += strspn(sql, " \n");
            out[used++] = ' ';
        } else {
            out[used++] = *sql++;
        }
    }
    out[used] = '\0';
}

/* Its pieces, between " … ", stand in the text one behind the other. */
static void is_of(const char *shown, const char *text)
{
    static const char between[] = " … ";
    const char *at = text;
    while (shown) {
        char piece[300];
        const char *end = strstr(shown, between);
        size_t length = end ? (size_t)(end - shown) : strlen(shown);
        assert_true(length < sizeof piece);
        memcpy(piece, shown, length);
        piece[length] = '\0';
        at = strstr(at, piece);
        if (!at) {
            fail_msg("'%s' is not in: %s", piece, text);
            return;
        }
        at += length;
        shown = end ? end + strlen(between) : NULL;
    }
}

static void shown_statements_are_pieces_of_the_servers(void **state)
{
    (void)state;
    char text[4096];
    for (int i = END + 1; i < ZOO_VERBS; i++) {
        const struct zoo_verb_row *row = zoo_verb_row((enum zoo_verb)i);
        if (row->kind != ZOO_SQL)
            continue;
        flatten(zoo_sql(row->text), text, sizeof text);
        is_of(row->shown, text);
    }
}

static size_t forget(char *bytes, size_t size, size_t number, void *context)
{
    (void)bytes, (void)context;
    return size * number;
}

static void buy(const char *strategy)
{
    static int64_t user;
    char url[500], body[100];
    long status = 0;
    CURL *curl = curl_easy_init();
    assert_non_null(curl);
    snprintf(url, sizeof url, "%s/orders?strategy=%s", bed->servers[0].url, strategy);
    snprintf(body, sizeof body, "{\"product_id\": 1000001, \"user_id\": %lld}", (long long)++user);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, forget);
    assert_int_equal(curl_easy_perform(curl), CURLE_OK);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    if (status != 201 && status != 202)
        fail_msg("%s: %ld", strategy, status);
}

enum { SAID_WORDS = 40, WORD_MAX = 64 };

/* A command as MONITOR shows it. */
struct said {
    char words[SAID_WORDS][WORD_MAX];
    int count;
};

/* 1764.5 [0 unix:/path] "SET" "key" "value". */
static void split(struct said *said, const char *line)
{
    said->count = 0;
    for (const char *at = strchr(line, '"'); at && said->count < SAID_WORDS;
         at = strchr(at + 1, '"')) {
        const char *end = at + 1;
        while (*end && *end != '"')
            end += *end == '\\' ? 2 : 1;
        snprintf(said->words[said->count++], WORD_MAX, "%.*s", (int)(end - at) - 1, at + 1);
        at = end;
    }
}

/* The next one that is a client's; what a script does is [0 lua]. False: none comes. */
static bool hear(redisContext *monitor, struct said *said)
{
    for (;;) {
        redisReply *reply = NULL;
        if (redisGetReply(monitor, (void **)&reply) != REDIS_OK)
            return false;
        bool ours = !strstr(reply->str, " lua] ");
        split(said, reply->str);
        freeReplyObject(reply);
        if (ours)
            return true;
    }
}

static const char *find_sha(redisContext *redis, int lua)
{
    static char sha[64];
    redisReply *reply = redisCommand(redis, "SCRIPT LOAD %s", zoo_lua(lua));
    assert_true(reply && reply->type == REDIS_REPLY_STRING);
    snprintf(sha, sizeof sha, "%s", reply->str);
    freeReplyObject(reply);
    return sha;
}

/* Whether these words are the row's: what stands in braces may be anything. */
static bool is_sent(redisContext *redis, const struct zoo_verb_row *row, const struct said *said)
{
    char text[400];
    int at = 0;
    char *rest = NULL;
    if (row->kind == ZOO_SCRIPT) {
        if (said->count < 3 || strcmp(said->words[0], "EVALSHA") != 0 ||
            strcmp(said->words[1], find_sha(redis, row->text)) != 0)
            return false;
        at = 3;
    }
    snprintf(text, sizeof text, "%s", row->words);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        bool is_bar = strcmp(word, "|") == 0;
        if (is_bar && strtol(said->words[2], NULL, 10) != at - 3)
            return false;
        if (is_bar)
            continue;
        bool free = row->kind == ZOO_SCRIPT || *word == '{';
        if (at >= said->count || (!free && strcmp(said->words[at], word) != 0))
            return false;
        at++;
    }
    return at == said->count;
}

static void expect(redisContext *redis, redisContext *monitor, const struct zoo_act *act,
                   enum zoo_verb verb)
{
    const struct zoo_verb_row *row = zoo_verb_row(verb);
    struct said said = {.count = 0};
    do {
        if (!hear(monitor, &said))
            fail_msg("%s: the server does not send '%s'", act->strategy, row->words);
    } while (!is_sent(redis, row, &said));
}

static bool is_for_redis(enum zoo_verb verb)
{
    enum zoo_kind kind = zoo_verb_row(verb)->kind;
    return kind == ZOO_REDIS || kind == ZOO_SCRIPT;
}

/* The buyer's commands come, in their order, among what the server sends. */
static void compare(redisContext *redis, redisContext *monitor, const struct zoo_act *act,
                    enum zoo_column who)
{
    size_t compared = 0;
    for (size_t i = 0; i < act->count; i++) {
        const enum zoo_verb *verb = act->steps[i].verbs;
        for (; act->steps[i].who == who && *verb != END; verb++) {
            if (!is_for_redis(*verb))
                continue;
            expect(redis, monitor, act, *verb);
            compared++;
        }
    }
    assert_true(compared > 0);
}

/* The buyer who does all that one alone does. */
static const struct {
    const struct zoo_act *act;
    enum zoo_column who;
} alone[] = {
    {&zoo_redis_setnx.unsafe, A},    {&zoo_redis_getset.unsafe, A},
    {&zoo_redis_expiry.unsafe, C},   {&zoo_redis_uuid.unsafe, C},
    {&zoo_redis_token.unsafe, B},    {&zoo_redis_reentrant.unsafe, B},
    {&zoo_redis_watchdog.unsafe, B}, {&zoo_wllock.unsafe, B},
    {&zoo_redis_stock.unsafe, B},    {&zoo_fenced_paused, B},
};

static redisContext *open_monitor(void)
{
    const struct timeval patience = {.tv_sec = (time_t)(t_patience_us() / 1000000)};
    redisContext *monitor = open_redis();
    redisReply *reply = redisCommand(monitor, "MONITOR");
    assert_true(reply && reply->type == REDIS_REPLY_STATUS);
    freeReplyObject(reply);
    assert_int_equal(redisSetTimeout(monitor, patience), REDIS_OK);
    return monitor;
}

static void commands_are_the_servers(void **state)
{
    (void)state;
    const struct api_sale sale = {.first = 1000001, .count = 1, .stock = 100};
    redisContext *redis = open_redis(), *monitor = open_monitor();
    struct error error = {.text = ""};
    struct fleet fleet;
    bed_open_fleet(bed, &fleet);
    for (size_t i = 0; i <= sizeof alone / sizeof alone[0]; i++) {
        bool last = i == sizeof alone / sizeof alone[0];
        const struct zoo_act *act = last ? zoo_wllock.safe : alone[i].act;
        if (!api_put_products(fleet.api, fleet.urls[0], &sale, &error))
            fail_msg("%s", error.text);
        buy(act->strategy);
        compare(redis, monitor, act, last ? B : alone[i].who);
    }
    bed_close_fleet(&fleet);
    redisFree(monitor);
    redisFree(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shown_statements_are_pieces_of_the_servers),
        cmocka_unit_test(commands_are_the_servers),
    };
    return cmocka_run_group_tests(tests, own_bed_one, own_bed_end);
}
