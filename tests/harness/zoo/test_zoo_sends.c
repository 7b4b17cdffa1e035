/*
 * What the bug zoo shows is in the server's statements, and what it sends to Redis is what a server
 * sends: MONITOR tells, while a real one sells by each strategy.
 */
#include "lib/t.h"

#include "harness/fixtures/program.h"
#include "lib/redis/redis_probe.h"
#include "loadtest/zoo/stage.h"

#include <stdlib.h>
#include <string.h>

static struct error error;

static struct zoo zoo;

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

TEST(shown_statements_are_pieces_of_the_servers)
{
    char text[4096];
    for (size_t i = 0; i < zoo.count; i++) {
        const struct zoo_exhibit *exhibit = &zoo.exhibits[i];
        for (size_t j = 0; j < exhibit->verbs_count; j++) {
            const struct zoo_verb *verb = &exhibit->verbs[j];
            if (verb->kind != ZOO_SQL && verb->kind != ZOO_SALE)
                continue;
            flatten(verb->text, text, sizeof text);
            is_of(verb->shows.en, text);
        }
    }
}

static void buy(const struct fleet *fleet, const char *strategy)
{
    static int64_t user;
    struct api_answer answer = {.status = 0};
    const char *body = t_text("{\"product_id\": 1000001, \"user_id\": %lld}", (long long)++user);
    if (!api_post(fleet->api, fleet->urls[0], t_text("/orders?strategy=%s", strategy), body,
                  &answer, &error) ||
        (answer.status != 201 && answer.status != 202))
        fail_msg("%s: %ld %s", strategy, answer.status, error.text);
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

/* A key, a value in braces, a time and a word in quotes may be anything, and all of a script's but
 * the number of its keys. */
static bool is_free(const char *word)
{
    return strpbrk(word, "@{\"") != NULL || strtol(word, NULL, 10) > 9;
}

/* Whether these words are the step's. */
static bool is_sent(const struct zoo_verb *verb, const struct said *said)
{
    char text[ZOO_VALUE_SIZE], sha[64] = "";
    const char *rest = verb->words;
    int at = 0;
    if (verb->text)
        redis_probe(sha, sizeof sha, "SCRIPT LOAD %s", verb->text);
    for (; zoo_value_word(&rest, text); at++) {
        const char *word = text;
        bool free = verb->text ? at > 2 : is_free(word);
        if (verb->text && at < 2)
            word = at == 0 ? "EVALSHA" : sha;
        if (at >= said->count || (!free && strcmp(said->words[at], word) != 0))
            return false;
    }
    return at == said->count;
}

static void expect(redisContext *monitor, const struct zoo_act *act, const struct zoo_verb *verb)
{
    struct said said = {.count = 0};
    do {
        if (!hear(monitor, &said))
            fail_msg("%s: the server does not send '%s'", act->strategy, verb->words);
    } while (!is_sent(verb, &said));
}

/* The buyer's commands come, in their order, among what the server sends. */
static void compare(redisContext *monitor, const struct zoo_act *act, enum zoo_column who)
{
    size_t compared = 0;
    for (size_t i = 0; i < act->count; i++) {
        const struct zoo_step *step = &act->steps[i];
        for (size_t j = 0; step->who == who && j < step->count; j++) {
            if (step->verbs[j]->kind != ZOO_REDIS || step->verbs[j]->happens)
                continue;
            expect(monitor, act, step->verbs[j]);
            compared++;
        }
    }
    assert_true(compared > 0);
}

/* The buyer who does all that one alone does. */
static const struct {
    const char *exhibit;
    bool safe;
    enum zoo_column who;
} alone[] = {
    {"redis-setnx", false, A},    {"redis-getset", false, A}, {"redis-expiry", false, C},
    {"redis-uuid", false, C},     {"redis-token", false, B},  {"redis-reentrant", false, B},
    {"redis-watchdog", false, B}, {"wllock", false, B},       {"redis-stock", false, B},
    {"redis-token", true, B},     {"wllock", true, B},
};

static redisContext *open_monitor(void)
{
    redisContext *monitor = redis_probe_dial(stack_redis());
    redisReply *reply = redisCommand(monitor, "MONITOR");
    assert_true(reply && reply->type == REDIS_REPLY_STATUS);
    freeReplyObject(reply);
    return monitor;
}

TEST(commands_are_the_servers)
{
    const struct api_sale sale = {.first = 1000001, .count = 1, .stock = 100};
    redisContext *monitor = open_monitor();
    struct fleet fleet;
    program_open_fleet(program, &fleet);
    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; i++) {
        const struct zoo_exhibit *exhibit = zoo_find(&zoo, alone[i].exhibit);
        const struct zoo_act *act = alone[i].safe ? &exhibit->safe : &exhibit->unsafe;
        t_done(api_put_products(fleet.api, fleet.urls[0], &sale, &error), error);
        buy(&fleet, act->strategy);
        compare(monitor, act, alone[i].who);
    }
    program_close_fleet(&fleet);
    redisFree(monitor);
}

BEFORE_ALL()
{
    t_done(zoo_open(&zoo, &error), error);
    program = program_create(1);
}

AFTER_ALL()
{
    zoo_close(&zoo);
    program_destroy(program);
}
