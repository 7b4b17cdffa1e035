/*
 * Redis as teams have it: behind a password, with users whose rights end somewhere, over IPv6 and
 * TLS, behind Sentinels that fail over in mid-sale, and as a cluster.
 *
 * No message repeats a password.
 */
#include "lib/fixtures/shop.h"
#include "lib/net/certificates.h"
#include "lib/redis/redis_own.h"
#include "lib/stack.h"
#include "lib/t.h"
#include "lib/witness.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { URL_SIZE = 256 };

static char *conninfo; /* owned */
static struct witness *witness;
static int64_t product;

/* All that need the Redis of --redis or of --stock-redis. */
static const char *const strategies[] = {
    "redis-setnx", "redis-getset",    "redis-expiry",   "redis-uuid",
    "redis-token", "redis-reentrant", "redis-watchdog", "redis-fenced",
    "wllock",      "redis-queue",     "redis-stock",
};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static void expect_sale(struct server *server, const char *strategy)
{
    product++;
    struct buy buy = {.strategy = strategy, .product = product, .user = 1};

    shop_put(server, product, 1, NULL);
    shop_expect_buy(server, &buy, 201, "", NULL);
    buy.user = 2;
    shop_expect_buy(server, &buy, 409, "sold_out", NULL);
    assert_int_equal(witness_sale(witness, product).orders, 1);
}

/* `words` "": none. */
static void wait_detail(struct server *server, const char *backend, const char *words)
{
    int64_t since_us = clock_mono_us();

    for (;;) {
        struct server_backend is = server_backend(server, backend);
        if (*words ? strstr(is.detail, words) != NULL : !*is.detail)
            return;
        t_wait(since_us, "/readyz says \"%s\" of %s, and nothing of \"%s\"", is.detail, backend,
               words);
    }
}

static void url_of(const struct redis_own *redis, const char *before, const char *behind,
                   char out[URL_SIZE])
{
    snprintf(out, URL_SIZE, "%s:%d%s", before, redis_own_port(redis), behind);
}

TEST(a_password_is_given_and_never_told)
{
    struct redis_own *redis =
        redis_own_start((const char *const[]){"--requirepass", "p@s/,wordless", NULL});
    char url[URL_SIZE];
    char wrong[URL_SIZE];

    url_of(redis, "redis://:p%40s%2F%2Cwordless@127.0.0.1", "/3", url);
    struct server *server = server_start("--redis", url, "--stock-redis", NULL, NULL);
    expect_sale(server, "redis-token");
    expect_sale(server, "redis-stock");
    assert_string_equal(redis_own_tell(redis, "p@s/,wordless", "DBSIZE"), "0");
    assert_false(server_says(server, "wordless"));
    server_stop(server);

    url_of(redis, "redis://:not-the-secret@127.0.0.1", "", wrong);
    server = server_start("--redis", wrong, "--stock-redis", NULL, NULL);
    wait_detail(server, "redis", "WRONGPASS");
    shop_put(server, ++product, 1, NULL);
    shop_expect_buy(server, &(struct buy){.strategy = "redis-token", .product = product, .user = 1},
                    503, "backend_unavailable", NULL);
    assert_false(server_says(server, "not-the-secret"));
    server_stop(server);

    url_of(redis, "redis://127.0.0.1", "", wrong);
    server = server_start("--redis", wrong, "--stock-redis", NULL, NULL);
    wait_detail(server, "redis", "NOAUTH");
    server_stop(server);
}

static void expect_refused_start(const char *flag, const char *value, const char *words)
{
    const char *const flags[] = {flag, value, NULL};
    char log[4096];

    struct server *server = server_launch(flags);
    assert_int_equal(server_wait(server, log, sizeof log), 2);
    if (!strstr(log, flag) || !strstr(log, words) || strstr(log, "secret"))
        fail_msg("%s %s: %s", flag, value, log);
}

TEST(a_url_that_is_wrong_ends_the_start)
{
    expect_refused_start("--redis", "redis://u:secret@h:port", "port");
    expect_refused_start("--stock-redis", "redis-sentinel://u:secret@h", "Sentinels");
    expect_refused_start("--redlock", "redis://a,redis://b,redis://u:secret@h:port", "port");
    expect_refused_start("--redis", "http://secret", "takes");
    expect_refused_start("--database", "postgresql://u:secret@[::1/db", "IPv6");
    expect_refused_start("--database", "password=a secret", "connection info");
}

/* The rights that docs/OPERATIONS.md says are enough; and one that is missing is named. */
TEST(the_documented_rights_are_enough)
{
    struct redis_own *redis = redis_own_start((const char *const[]){NULL});
    char url[URL_SIZE];

    redis_own_tell(
        redis, NULL,
        "ACL SETUSER shop on >open ~seckill:* ~{seckill}:stock* &seckill:* +@read +@write "
        "+@scripting +@pubsub +@connection +info +role +config|get +time");
    url_of(redis, "redis://shop:open@127.0.0.1", "", url);
    struct server *server = server_start("--redis", url, "--stock-redis", NULL, NULL);
    wait_detail(server, "redis", "");
    for (int i = 0; i < STRATEGIES; i++)
        expect_sale(server, strategies[i]);
    assert_string_equal(server_backend(server, "redis").detail, "");
    redis_own_tell(redis, NULL, "ACL SETUSER shop -evalsha");
    wait_detail(server, "redis", "NOPERM");
    redis_own_tell(redis, NULL, "ACL SETUSER shop +evalsha");
    wait_detail(server, "redis", "");
    server_stop(server);
}

TEST(an_ipv6_address_stands_in_brackets)
{
    struct redis_own *redis = redis_own_start((const char *const[]){NULL});
    char url[URL_SIZE];

    url_of(redis, "redis://[::1]", "/1", url);
    struct server *server = server_start("--redis", url, "--stock-redis", NULL, NULL);
    expect_sale(server, "redis-token");
    server_stop(server);
}

#ifdef SECKILL_REDIS_TLS
TEST(tls_is_spoken_with_a_server_that_proves_its_name)
{
    char folder[] = "/tmp/seckill-tls.XXXXXX";
    char ca[64];
    char other[64];
    char key[64];
    char certificate[64];
    char url[URL_SIZE];

    assert_non_null(mkdtemp(folder));
    certificates_make(folder);
    snprintf(ca, sizeof ca, "%s/ca.pem", folder);
    snprintf(other, sizeof other, "%s/other.pem", folder);
    snprintf(key, sizeof key, "%s/server.key", folder);
    snprintf(certificate, sizeof certificate, "%s/server.pem", folder);
    struct redis_own *redis = redis_own_start((const char *const[]){
        "--tls-port", "PORT", "--tls-auth-clients", "no", "--tls-cert-file", certificate,
        "--tls-key-file", key, "--tls-ca-cert-file", ca, "--requirepass", "closed", NULL});

    url_of(redis, "rediss://:closed@localhost", "/2", url);
    struct server *server =
        server_start("--redis", url, "--redis-ca", ca, "--stock-redis", NULL, NULL);
    for (int i = 0; i < STRATEGIES; i++)
        expect_sale(server, strategies[i]);
    server_stop(server);

    server = server_start("--redis", url, "--redis-ca", other, "--stock-redis", NULL, NULL);
    wait_detail(server, "redis", "TLS: ");
    server_stop(server);

    url_of(redis, "rediss://:closed@127.0.0.1", "/2", url); /* the certificate is for localhost */
    server = server_start("--redis", url, "--redis-ca", ca, "--stock-redis", NULL, NULL);
    wait_detail(server, "redis", "TLS: ");
    server_stop(server);
    char log[4096];
    server =
        server_launch((const char *const[]){"--redis", url, "--redis-ca", "/nowhere/ca.pem", NULL});
    assert_int_equal(server_wait(server, log, sizeof log), 2);
    assert_non_null(strstr(log, "--redis-ca"));
    assert_int_equal(t_call((char *const[]){"rm", "-r", folder, NULL}), 0);
}
#else
TEST(tls_is_refused_by_a_build_without)
{
    expect_refused_start("--redis", "rediss://u:secret@localhost", "built without");
}
#endif

/* The primary dies in mid-sale, its replica takes over, and what was answered holds. */
TEST(sentinels_lead_to_the_new_primary)
{
    struct redis_own *primary =
        redis_own_start((const char *const[]){"--requirepass", "word", NULL});
    char port[8];
    char url[URL_SIZE];

    snprintf(port, sizeof port, "%d", redis_own_port(primary));
    struct redis_own *replica = redis_own_start((const char *const[]){
        "--requirepass", "word", "--masterauth", "word", "--replicaof", "127.0.0.1", port, NULL});
    struct redis_own *sentinels[3];
    for (int i = 0; i < 3; i++) {
        sentinels[i] = redis_own_sentinel(primary, "shop", 2);
        redis_own_tell(sentinels[i], NULL, "SENTINEL SET shop auth-pass word");
    }
    for (int i = 0; i < 3; i++)
        T_UNTIL(
            strstr(redis_own_tell(sentinels[i], NULL, "INFO sentinel"), "slaves=1,sentinels=3"));
    /* The first one is nobody. */
    snprintf(url, sizeof url, "redis-sentinel://:word@127.0.0.1:1,127.0.0.1:%d,127.0.0.1:%d/shop",
             redis_own_port(sentinels[0]), redis_own_port(sentinels[1]));
    struct server *server = server_start("--redis", url, "--stock-redis", NULL, NULL);
    expect_sale(server, "redis-token");
    expect_sale(server, "redis-stock");
    assert_string_equal(redis_own_tell(primary, "word", "EXISTS {seckill}:stock:orders"), "1");

    shop_put(server, ++product, 100, NULL);
    struct buy buy = {.strategy = "redis-token", .product = product, .user = 1};
    shop_expect_buy(server, &buy, 201, "", NULL);
    redis_own_kill(primary);
    shop_expect_buy_soon(server, &buy, 201);
    assert_true(strstr(redis_own_tell(replica, "word", "ROLE"), "master") != NULL);
    assert_int_equal(witness_sale(witness, product).orders, 2);
    wait_detail(server, "redis", "");
    expect_sale(server, "redis-fenced");
    shop_expect_consistent(server, product);
    server_stop(server);
}

/* A Sentinel that has not noticed, and cannot act alone. */
TEST(what_sentinels_name_must_be_a_primary)
{
    struct redis_own *redis = redis_own_start((const char *const[]){NULL});
    struct redis_own *sentinel = redis_own_sentinel(redis, "shop", 2);
    char url[URL_SIZE];

    url_of(sentinel, "redis-sentinel://127.0.0.1", "/shop", url);
    struct server *server = server_start("--redis", url, "--stock-redis", NULL, NULL);
    expect_sale(server, "redis-token");
    redis_own_tell(redis, NULL, "REPLICAOF 127.0.0.1 1");
    wait_detail(server, "redis", "no primary");
    redis_own_tell(redis, NULL, "REPLICAOF NO ONE");
    product++;
    struct buy buy = {.strategy = "redis-token", .product = product, .user = 1};
    shop_put(server, product, 1, NULL);
    shop_expect_buy_soon(server, &buy, 201);
    server_stop(server);
}

/* Three nodes, each with a third of the slots, and a user whose rights are those that
 * docs/OPERATIONS.md says are enough. */
static void start_cluster(const char *rights, const char *first, char url[URL_SIZE])
{
    const char *const slots[] = {first, "5461 10922", "10923 16383"};
    struct redis_own *nodes[3];

    for (int i = 0; i < 3; i++) {
        char command[64];
        nodes[i] = redis_own_start((const char *const[]){"--cluster-enabled", "yes",
                                                         "--cluster-require-full-coverage", "no",
                                                         "--requirepass", "closed", NULL});
        snprintf(command, sizeof command, "CLUSTER ADDSLOTSRANGE %s", slots[i]);
        redis_own_tell(nodes[i], "closed", command);
        redis_own_tell(nodes[i], "closed",
                       "ACL SETUSER shop on >open ~seckill:* ~{seckill}:stock* ~{seckill:*");
        redis_own_tell(nodes[i], "closed", rights);
        if (i > 0)
            redis_own_tell(nodes[i], "closed", "CLUSTER MEET 127.0.0.1 %d",
                           redis_own_port(nodes[0]));
    }
    for (int i = 0; i < 3; i++)
        T_UNTIL(strstr(redis_own_tell(nodes[i], "closed", "CLUSTER INFO"), "cluster_state:ok"));
    url_of(nodes[0], "redis://shop:open@127.0.0.1", "", url);
}

#define RIGHTS                                                                                     \
    "ACL SETUSER shop &seckill:* +@read +@write +@scripting +@pubsub +@connection +info +role "    \
    "+config|get +time"

/* Of the locks, and of the stock, in one stream. */
TEST(a_cluster_has_the_locks_and_the_stock)
{
    char url[URL_SIZE];

    start_cluster(RIGHTS " +cluster|slots", "0 5460", url);
    struct server *server = server_start("--redis", url, "--stock-redis", NULL, NULL);
    wait_detail(server, "redis", "");
    for (int i = 0; i < STRATEGIES; i++)
        for (int k = 0; k < 3; k++) /* on more than one node, as a rule */
            expect_sale(server, strategies[i]);
    server_wait_ready(server, 200, "\"name\": \"redis\", \"up\": true");
    server_stop(server);

    server = server_start("--redis", url, "--stock-redis", stack_stock_redis());
    for (int i = 0; i < STRATEGIES; i++)
        expect_sale(server, strategies[i]);
    server_stop(server);
}

TEST(a_right_that_a_cluster_needs_is_named)
{
    char url[URL_SIZE];

    start_cluster(RIGHTS, "0 5460", url);
    struct server *server = server_start("--redis", url, "--stock-redis", NULL, NULL);
    wait_detail(server, "redis", "NOPERM");
    server_stop(server);
}

TEST(slots_that_nobody_has_are_told)
{
    char url[URL_SIZE];

    start_cluster(RIGHTS " +cluster|slots", "0 5000", url);
    struct server *server = server_start("--redis", url, "--stock-redis", NULL, NULL);
    wait_detail(server, "redis", "460 of the cluster's 16384 slots");
    server_stop(server);
}

/* "": a sale. */
static void wait_code(struct server *server, const struct buy *buy, const char *wanted)
{
    int64_t since_us = clock_mono_us();
    char code[64];

    for (;;) {
        struct http_reply reply = shop_send(server, buy);
        http_reply_code(&reply, code, sizeof code);
        http_reply_fini(&reply);
        if (strcmp(code, wanted) == 0)
            return;
        t_wait(since_us, "%s: still \"%s\", not \"%s\"", buy->strategy, code, wanted);
    }
}

static void lead(const char *link, const char *path)
{
    unlink(link);
    assert_int_equal(symlink(path, link), 0);
}

/* A socket, which leads to one node alone, comes to lead to a node of a cluster, and back again. */
TEST(what_stands_in_a_clusters_place_is_used)
{
    struct buy buys[] = {{.strategy = "redis-token", .user = 1},
                         {.strategy = "redis-stock", .user = 2}};
    char folder[] = "/tmp/seckill-moved.XXXXXX";
    char paths[2][64];
    char link[64];
    char url[URL_SIZE];

    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%d", folder, i);
        redis_own_start((const char *const[]){"--unixsocket", paths[i], "--cluster-enabled",
                                              i == 0 ? "no" : "yes", NULL});
    }
    snprintf(link, sizeof link, "%s/link", folder);
    snprintf(url, sizeof url, "unix://%s", link);
    lead(link, paths[0]);
    struct server *server = server_start("--redis", url, "--stock-redis", NULL, NULL);
    product++;
    shop_put(server, product, 1000, NULL);
    buys[0].product = buys[1].product = product;
    lead(link, paths[1]);
    for (int i = 0; i < 2; i++)
        wait_code(server, &buys[i], "strategy_unavailable");
    lead(link, paths[0]);
    for (int i = 0; i < 2; i++)
        wait_code(server, &buys[i], "");
    server_stop(server);
    unlink(link);
    for (int i = 0; i < 2; i++)
        unlink(paths[i]);
    rmdir(folder);
}

static int set_up(void **state)
{
    (void)state;
    conninfo = stack_database_create("seckill_redis_urls");
    server_use_database(conninfo);
    witness = witness_open(conninfo);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    witness_close(witness);
    stack_database_drop("seckill_redis_urls");
    free(conninfo);
    return 0;
}

static int end_all(void **state)
{
    server_teardown(state);
    return redis_own_teardown(state);
}

TEST_GROUP(set_up, tear_down)
TEST_EACH(NULL, end_all)
