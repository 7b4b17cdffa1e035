/*
 * The engine with a wire by hand: who is asked when, what is sent after what, and what a behaviour
 * hears; and over real sockets, where a connection without an answer goes next.
 */
#include "lib/t.h"

#include "harness/shop/wire/listener.h"
#include "loadtest/engine/engine.h"

#include <string.h>

enum { CONNECTIONS = 3 };

/* What happened, a word each: "n0" next on connection 0, "c" the commit, "s0" sent, "r0" could not
 * be, "a0" answered, "u0" heard that it was not sent, "l0" that no answer came. */
static char story[400];
static struct error error;

static void tell(int what, size_t connection)
{
    size_t used = strlen(story);
    snprintf(story + used, sizeof story - used, "%s%c%zu", used ? " " : "", what, connection);
}

/* Answers everything that is under way at each turn, in the order of the connections. */
struct hand_wire {
    bool sent[CONNECTIONS];
    int refusals; /* so many cannot be sent */
};

static bool hand_open(void *self, size_t connection, struct error *ignored)
{
    (void)self, (void)ignored;
    return connection < CONNECTIONS;
}

static void hand_prepare(void *self, size_t connection, const struct http_request *request)
{
    (void)self, (void)connection;
    assert_string_equal(request->method, "GET");
}

static bool hand_send(void *self, size_t connection)
{
    struct hand_wire *wire = self;
    assert_false(wire->sent[connection]);
    if (wire->refusals > 0) {
        wire->refusals--;
        tell('r', connection);
        return false;
    }
    tell('s', connection);
    wire->sent[connection] = true;
    return true;
}

static bool hand_turn(void *self, struct engine *engine, struct error *ignored)
{
    struct hand_wire *wire = self;
    (void)ignored;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        bool sent = wire->sent[i];
        wire->sent[i] = false;
        if (sent)
            engine_ended(engine, i, &(struct answer){.status = 200});
    }
    return true;
}

static void hand_drop(void *self, size_t connection)
{
    (void)self, (void)connection;
    fail_msg("nothing is late");
}

static const struct wire hand = {hand_open, hand_prepare, hand_send, hand_turn, hand_drop};

/* Asks so often, on any connection but one. */
struct asker {
    int left, ended;
    size_t not_on;
    bool cannot_commit, stops;
};

static enum engine_next next(void *self, size_t connection, int64_t now_us,
                             struct http_request *request)
{
    struct asker *asker = self;
    assert_true(now_us > 0);
    if (asker->left == 0)
        return ENGINE_RESTS;
    if (connection == asker->not_on)
        return ENGINE_PASSES;
    tell('n', connection);
    asker->left--;
    *request = (struct http_request){.method = "GET", .target = "/"};
    return ENGINE_ASKS;
}

static void answered(void *self, size_t connection, int64_t now_us, const struct answer *answer)
{
    struct asker *asker = self;
    (void)now_us;
    asker->ended++;
    tell(answer->status ? 'a' : answer->unsent ? 'u' : 'l', connection);
}

static bool commit(void *self, struct error *out)
{
    const struct asker *asker = self;
    tell('c', 0);
    return !asker->cannot_commit || error_fail(out, "the disk is full");
}

static bool is_over(void *self, size_t busy, int64_t now_us)
{
    const struct asker *asker = self;
    (void)now_us;
    return asker->left == 0 && busy == 0;
}

static bool tick(void *self, int64_t now_us, struct error *out)
{
    const struct asker *asker = self;
    (void)now_us;
    return !asker->stops || asker->ended == 0 || error_fail(out, "enough");
}

static const struct behaviour asks = {
    .next = next, .answered = answered, .is_over = is_over, .tick = tick};
static const struct behaviour commits = {
    .next = next, .answered = answered, .is_over = is_over, .commit = commit};

static bool play(const struct behaviour *behaviour, struct asker *asker, int refusals)
{
    struct hand_wire wire = {.refusals = refusals};
    const struct engine_plan plan = {.behaviour = behaviour,
                                     .self = asker,
                                     .wire = &hand,
                                     .wire_self = &wire,
                                     .connections = CONNECTIONS};
    story[0] = '\0';
    return engine_run(&plan, &error);
}

static void plays(const struct behaviour *behaviour, struct asker asker, int refusals,
                  const char *wanted)
{
    bool good = play(behaviour, &asker, refusals);
    assert_string_equal(story, wanted);
    assert_int_equal(good, !asker.cannot_commit);
}

TEST(a_connection_carries_one_at_a_time)
{
    plays(&asks, (struct asker){.left = 4, .not_on = CONNECTIONS}, 0,
          "n0 s0 n1 s1 n2 s2 a0 a1 a2 n0 s0 a0");
}

TEST(what_one_passes_another_takes)
{
    plays(&asks, (struct asker){.left = 3, .not_on = 1}, 0, "n0 s0 n2 s2 a0 a2 n0 s0 a0");
}

TEST(nothing_is_sent_before_the_commit)
{
    plays(&commits, (struct asker){.left = 3, .not_on = CONNECTIONS}, 0,
          "n0 n1 n2 c0 s0 s1 s2 a0 a1 a2");
    plays(&commits, (struct asker){.left = 3, .not_on = CONNECTIONS, .cannot_commit = true}, 0,
          "n0 n1 n2 c0");
    assert_string_equal(error.text, "the disk is full");
}

/* Its connection is free again, and comes after the others. */
TEST(what_cannot_be_sent_is_heard_of)
{
    plays(&asks, (struct asker){.left = 4, .not_on = CONNECTIONS}, 1,
          "n0 r0 u0 n1 s1 n2 s2 n0 s0 a0 a1 a2");
    plays(&commits, (struct asker){.left = 2, .not_on = CONNECTIONS}, 2, "n0 n1 c0 r0 u0 r1 u1");
}

TEST(a_behaviour_may_stop_it)
{
    struct asker asker = {.left = 100, .not_on = CONNECTIONS, .stops = true};
    assert_false(play(&asks, &asker, 0));
    assert_string_equal(error.text, "enough");
    assert_int_equal(asker.left, 100 - CONNECTIONS);
}

static size_t of_the_first(size_t connection)
{
    (void)connection;
    return 0;
}

/* The first server answers once and hangs up on the second request; how many came to each. */
static void ask_thrice(bool moves_on, size_t *first, size_t *second)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    static char heard[2000];
    char urls[2][64];
    struct listener *listeners[2] = {listener_start(LISTENER_HANGS_UP, answer),
                                     listener_start(LISTENER_ANSWERS, answer)};
    for (size_t i = 0; i < 2; i++)
        snprintf(urls[i], sizeof urls[i], "http://127.0.0.1:%d", listener_port(listeners[i]));
    const char *const servers[] = {urls[0], urls[1]};
    struct asker asker = {.left = 3, .not_on = CONNECTIONS};
    const struct plain_plan plan = {.behaviour = &asks,
                                    .self = &asker,
                                    .connections = 1,
                                    .servers = servers,
                                    .servers_count = 2,
                                    .server_of = of_the_first,
                                    .moves_on = moves_on};
    story[0] = '\0';
    bool made = plain_run(&plan, &error);
    *first = listener_stop(listeners[0], heard, sizeof heard);
    *second = listener_stop(listeners[1], heard, sizeof heard);
    t_done(made, error);
    assert_string_equal(story, "n0 a0 n0 l0 n0 a0");
}

TEST(without_an_answer_the_next_server_is_asked)
{
    size_t first = 0, second = 0;
    ask_thrice(true, &first, &second);
    assert_int_equal(first, 2);
    assert_int_equal(second, 1);
    ask_thrice(false, &first, &second);
    assert_int_equal(first, 3);
    assert_int_equal(second, 0);
}
