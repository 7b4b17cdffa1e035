/*
 * Backends that are connected and behave badly: one that goes away in the middle of the start, one
 * that sends a byte at a time. Neither ends the server, and neither gets more than a call's time.
 */
#include "lib/fixtures/shop.h"
#include "lib/net/peer.h"
#include "lib/stack.h"
#include "lib/t.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "redis/redis.h"

#include <stdlib.h>
#include <string.h>

enum { URL_SIZE = 96 };

/* A write after its first answer would raise SIGPIPE. */
TEST(one_that_leaves_does_not_end_the_start)
{
    static const char ok[] = "+OK\r\n";
    struct peer *peer = peer_start(PEER_LEAVES, ok, sizeof ok - 1);
    char url[URL_SIZE];

    snprintf(url, sizeof url, "unix://%s", peer_path(peer));
    struct server *server = server_start("--redis", url, "--stock-redis", url);
    assert_int_equal(server_status(server, "GET", "/healthz", NULL, NULL), 200);
    server_stop(server);
    peer_stop(peer);
}

enum { TIME_US = 300000, MARGIN_US = 1500000 };

/* How long it takes who has TIME_US for it. */
static int64_t give_up_us(const char *url)
{
    struct error error;
    struct redis_server *server = redis_server_create(url, "", &error);
    struct redis *redis = redis_create(server);

    assert_non_null(server);
    int64_t begun_us = clock_mono_us();
    assert_false(redis_connect(redis, begun_us + TIME_US));
    int64_t took_us = clock_mono_us() - begun_us;
    redis_destroy(redis);
    redis_server_destroy(server);
    assert_true(took_us >= TIME_US / 2);
    return took_us;
}

/* An end that each byte puts off comes with the last one, each time; one that a busy machine puts
 * off does not. */
static void expect_given_up(enum peer_way way, const char *words, int length, const char *scheme,
                            const char *path)
{
    int64_t until_us = clock_mono_us() + t_patience_us();
    int64_t took_us;
    char url[URL_SIZE];

    do {
        struct peer *peer = peer_start(way, words, length);
        assert_true(clock_mono_us() < until_us);
        snprintf(url, sizeof url, "%s://127.0.0.1:%d%s", scheme, peer_port(peer), path);
        took_us = give_up_us(url);
        peer_stop(peer);
    } while (took_us > TIME_US + MARGIN_US);
}

TEST_WITH(each_byte_puts_no_end_off, NULL, NULL)
{
    /* The beginnings of a long text, and of a TLS record. */
    static const char text[] = "$1000000\r\n";
    static const char record[] = "\x16\x03\x03\x3f\xff\x02\x00\x3f\xfb\x03\x03";
    static const struct {
        const char *words;
        int length;
        const char *scheme, *path;
    } cases[] = {
        {text, sizeof text - 1, "redis", ""},
        {text, sizeof text - 1, "redis-sentinel", "/primary"},
#ifdef SECKILL_REDIS_TLS
        {record, sizeof record - 1, "rediss", ""},
#endif
    };

    (void)record;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_given_up(PEER_DRIPS, cases[i].words, cases[i].length, cases[i].scheme,
                        cases[i].path);
}

/* A name server never answers: that there is an end is all. */
TEST_WITH(a_name_without_an_answer_is_given_up, NULL, NULL)
{
    give_up_us("redis://cache.invalid:6379");
    give_up_us("redis-sentinel://cache.invalid:26379/primary");
}

static int held_lookups(const struct server *server)
{
    char line[512];
    int count = 0;
    FILE *log = t_open(server_log_path(server));

    while (fgets(line, sizeof line, log))
        count += strstr(line, "failpoint resolver.ask: hold") != NULL;
    fclose(log);
    return count;
}

/* In the whole server: each backend's name is looked up where nobody waits without end, and what
 * needs none of them is sold. */
TEST(names_without_an_answer_hold_nobody)
{
    struct buy buy = {.strategy = "conditional", .product = 1, .user = 1};
    int64_t until_us = clock_mono_us() + t_patience_us();
    int names = 1;

    server_use_failpoints("resolver.ask=hold@1,resolver.ask=hold@2,resolver.ask=hold@3,"
                          "resolver.ask=hold@4");
    struct server *server =
        server_start("--redis", "redis://cache.invalid:6379", "--stock-redis", stack_stock_redis(),
                     "--memcached", stack_memcached() ? "cache.invalid:11211" : NULL, "--amqp",
                     stack_amqp() ? "amqp://u:p@broker.invalid:5672" : NULL, "--zookeeper",
                     stack_zookeeper() ? "keeper.invalid:2181/shop" : NULL);
    shop_put(server, 1, 2, NULL);
    if (stack_memcached()) {
        names++;
        buy.strategy = "memcached-lock";
        shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
    }
    if (stack_zookeeper()) {
        names++;
        buy.strategy = "zookeeper-lock";
        shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
    }
    names += stack_amqp() != NULL;
    T_UNTIL(held_lookups(server) == names);
    assert_int_equal(server_status(server, "GET", "/readyz", NULL, NULL), 200);
    buy.strategy = "conditional";
    shop_expect_buy(server, &buy, 201, "", NULL);
    server_stop(server);
    assert_true(clock_mono_us() < until_us);
    server_use_failpoints(NULL);
}

TEST_EACH(NULL, server_teardown)

int main(void)
{
    setenv("SECKILL_FAILPOINTS", "resolver.ask=hold@1,resolver.ask=hold@2", 1);
    assert_true(failpoint_check(getenv("SECKILL_FAILPOINTS")));

    return t_run_all(NULL, NULL);
}
