/*
 * A relay in front of a real Redis: a script whose reply is swallowed has run, and commands and
 * replies of every form are followed, so that the one that is named is the one that is met.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "lib/stack.h"
#include "loadtest/judge/redis_link.h"
#include "loadtest/relay/relay.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY  "seckill-relay-test"
#define INCR "return redis.call('INCR', KEYS[1])"

static struct error error;

static struct {
    struct relay *relay;
    redisContext *client, *witness;
} here;

static void set(const struct relay_toxic *toxic)
{
    t_done(relay_set(here.relay, toxic, &error), error);
}

static int64_t bitten(enum relay_type type)
{
    return relay_count(here.relay).bitten[type];
}

static void connect_again(void)
{
    here.client = redis_link_open(t_text("redis://%s", relay_address(here.relay)), &error);
    t_done(here.client, error);
}

/* The reply's type, 0 when there was none. */
static int ask(redisContext *context, int64_t *integer, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    redisReply *reply = redisvCommand(context, format, values);
    va_end(values);
    int type = reply ? reply->type : 0;
    if (integer && reply)
        *integer = reply->integer;
    if (reply)
        freeReplyObject(reply);
    return type;
}

static int64_t counted(void)
{
    redisReply *reply = redisCommand(here.witness, "GET " KEY);
    int64_t count = reply->str ? strtoll(reply->str, NULL, 10) : 0;

    freeReplyObject(reply);
    return count;
}

static int eval(void)
{
    return ask(here.client, NULL, "EVAL %s 1 " KEY, INCR);
}

static void expect_lost(void)
{
    assert_true(here.client->err != 0);
    redisFree(here.client);
    connect_again();
}

/* It has run; one that Redis does not know has not, and does not count. */
TEST(the_reply_of_the_second_script_is_swallowed)
{
    set(&(struct relay_toxic){.type = RELAY_SWALLOW_REPLY, .what = "EVAL", .nth = 2});
    assert_int_equal(
        ask(here.client, NULL, "EVALSHA %s 1 " KEY, "0123456789012345678901234567890123456789"),
        REDIS_REPLY_ERROR);
    assert_int_equal(eval(), REDIS_REPLY_INTEGER);
    assert_int_equal(bitten(RELAY_SWALLOW_REPLY), 0);
    assert_int_equal(eval(), 0);
    assert_int_equal(bitten(RELAY_SWALLOW_REPLY), 1);
    expect_lost();
    assert_int_equal(counted(), 2);
    assert_int_equal(eval(), REDIS_REPLY_INTEGER);
}

/* A lock that was not free has not been taken, and does not count; what a script's 0 says is its
 * own. */
TEST(a_refusal_is_passed_on)
{
    static const char *const rows[][3] = {{"SETNX " KEY " 2", "SETNX", "SETNX " KEY " 3"},
                                          {"SET " KEY " 2 NX", "SET", "SET " KEY " 3 NX"}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ask(here.witness, NULL, "SET " KEY " 1");
        set(&(struct relay_toxic){.type = RELAY_SWALLOW_REPLY, .what = rows[i][1]});
        assert_int_not_equal(ask(here.client, NULL, rows[i][0]), 0);
        assert_int_equal(bitten(RELAY_SWALLOW_REPLY), (int64_t)i);
        ask(here.witness, NULL, "DEL " KEY);
        assert_int_equal(ask(here.client, NULL, rows[i][2]), 0);
        expect_lost();
        assert_int_equal(counted(), 3);
    }
    set(&(struct relay_toxic){.type = RELAY_SWALLOW_REPLY, .what = "EVAL"});
    assert_int_equal(ask(here.client, NULL, "EVAL %s 0", "return 0"), 0);
    expect_lost();
}

/* By hand: this hiredis reads no RESP3. */
TEST(nor_is_a_refusal_in_resp3)
{
    static const char request[] = "HELLO 3\r\nSET " KEY " 2 NX\r\n";
    char said[4096] = "";
    size_t length = 0;

    ask(here.witness, NULL, "SET " KEY " 1");
    set(&(struct relay_toxic){.type = RELAY_SWALLOW_REPLY, .what = "SET"});
    assert_int_equal(write(here.client->fd, request, strlen(request)), strlen(request));
    while (!strstr(said, "_\r\n")) {
        ssize_t got = read(here.client->fd, said + length, sizeof said - 1 - length);
        if (got <= 0)
            fail_msg("lost after %s", said);
        length += (size_t)got;
    }
    assert_int_equal(bitten(RELAY_SWALLOW_REPLY), 0);
}

/* The client hears nothing for a while, and only then that the connection is over. */
TEST(silence_lasts_as_long_as_it_is_told)
{
    set(&(struct relay_toxic){.type = RELAY_SWALLOW_REPLY, .what = "EVAL", .amount = 60000});
    int64_t began_us = clock_mono_us();
    assert_int_equal(eval(), 0);
    assert_true(clock_mono_us() - began_us >= 60000);
    expect_lost();
    assert_int_equal(counted(), 1);
}

/* Every form of a reply between the command and its own. */
TEST(replies_of_every_form_are_followed)
{
    char big[40000];
    int64_t length = 0;

    memset(big, 'x', sizeof big);
    set(&(struct relay_toxic){.type = RELAY_SWALLOW_REPLY, .what = "strlen"});
    redisAppendCommand(here.client, "PING");
    redisAppendCommand(here.client, "EVAL %s 0", "return {1, {'a', false, {}}, 'b', {{{2}}}}");
    redisAppendCommand(here.client, "EVAL %s 0", "return {}");
    redisAppendCommand(here.client, "NOSUCH a b");
    redisAppendCommand(here.client, "SET " KEY " %b", big, sizeof big);
    redisAppendCommand(here.client, "GET " KEY);
    redisAppendCommand(here.client, "GET " KEY "-none");
    redisAppendCommand(here.client, "MULTI");
    redisAppendCommand(here.client, "LLEN " KEY "-none");
    redisAppendCommand(here.client, "EXEC");
    redisAppendCommand(here.client, "HELLO 3");
    redisAppendCommand(here.client, "CONFIG GET maxmem*");
    redisAppendCommand(here.client, "EVAL %s 0", "redis.setresp(3) return {double = 1.5}");
    for (int i = 0; i < 10; i++) {
        redisReply *reply = NULL;
        assert_int_equal(redisGetReply(here.client, (void **)&reply), REDIS_OK);
        freeReplyObject(reply);
    }
    assert_int_equal(bitten(RELAY_SWALLOW_REPLY), 0);
    redisFree(here.client); /* this hiredis reads no RESP3; the relay has to */
    connect_again();
    assert_int_equal(ask(here.client, &length, "STRLEN " KEY), 0);
    assert_int_equal(bitten(RELAY_SWALLOW_REPLY), 1);
    expect_lost();
}

/* Others pass; it arrives when its client has gone. */
TEST(a_held_command_arrives_when_it_is_let_go)
{
    set(&(struct relay_toxic){.type = RELAY_HOLD_REQUEST, .what = "INCR"});
    redisAppendCommand(here.client, "PING");
    redisAppendCommand(here.client, "INCR " KEY);
    int done = 0;
    while (!done)
        assert_int_equal(redisBufferWrite(here.client, &done), REDIS_OK);
    T_UNTIL(bitten(RELAY_HOLD_REQUEST) == 1);
    T_UNTIL(relay_count(here.relay).bytes[RELAY_DOWNSTREAM] >= (int64_t)strlen("+PONG\r\n"));
    redisFree(here.client); /* with an answer unread, which resets its socket */
    connect_again();
    assert_int_equal(ask(here.client, NULL, "INCRBY " KEY " 10"), REDIS_REPLY_INTEGER);
    assert_int_equal(counted(), 10);
    relay_clear(here.relay, RELAY_HOLD_REQUEST);
    T_UNTIL(counted() == 11);
}

TEST(a_lost_command_never_arrives)
{
    set(&(struct relay_toxic){.type = RELAY_LOSE_REQUEST, .what = "INCR", .nth = 2});
    assert_int_equal(ask(here.client, NULL, "INCR " KEY), REDIS_REPLY_INTEGER);
    assert_int_equal(ask(here.client, NULL, "INCR " KEY), 0);
    expect_lost();
    assert_int_equal(counted(), 1);
}

/* It is sent what it has not asked for; the relay passes that on and matches nothing any more. */
TEST(a_subscription_passes_unread)
{
    redisReply *reply = NULL;

    set(&(struct relay_toxic){.type = RELAY_SWALLOW_REPLY, .what = "PING"});
    assert_int_equal(ask(here.client, NULL, "SUBSCRIBE " KEY), REDIS_REPLY_ARRAY);
    assert_int_equal(ask(here.witness, NULL, "PUBLISH " KEY " news"), REDIS_REPLY_INTEGER);
    assert_int_equal(redisGetReply(here.client, (void **)&reply), REDIS_OK);
    assert_string_equal(reply->element[2]->str, "news");
    freeReplyObject(reply);
    assert_int_equal(ask(here.client, NULL, "PING"), REDIS_REPLY_ARRAY);
    assert_int_equal(bitten(RELAY_SWALLOW_REPLY), 0);
}

BEFORE_EACH()
{
    const char *real = stack_redis();

    here.witness = redis_link_open(real, &error);
    t_done(here.witness, error);
    ask(here.witness, NULL, "DEL " KEY);
    here.relay = relay_start(RELAY_REDIS, NULL, real + strlen("unix://"), &error);
    t_done(here.relay, error);
    connect_again();
}

AFTER_EACH()
{
    redisFree(here.client);
    relay_stop(here.relay);
    ask(here.witness, NULL, "DEL " KEY);
    redisFree(here.witness);
}
