/*
 * partitioned-queue, beside other users of the broker and under its administrator: servers that see
 * another database, queues that are deleted or of another type, an alarm, TLS.
 */
#include "queue_shop.h"

#include "base/clock.h"
#include "lib/net/certificates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PRODUCT = 17 };

/* A server under the shop's name that sees another PostgreSQL, in which the same sales are on and
 * none of the shop's orders is: after a failover, one that still sees the old primary. It is the
 * active consumer of every set when this returns, and the shop's first server alone is left. */
static struct server *let_another_consume(struct queue_shop *shop, const char *database,
                                          bool is_copy)
{
    char *conninfo = stack_database_create(database);
    struct server *other = server_start("--system-name", "nobody", "--database", conninfo);
    server_wait_ready(other, 200, NULL);
    struct witness *witness = witness_open(conninfo);

    if (is_copy)
        witness_run(witness, "UPDATE epoch_base SET base = %lld",
                    (long long)witness_number(shop->witness, "SELECT base FROM epoch_base"));
    witness_close(witness);
    server_stop(other);
    other = server_start("--system-name", shop->system, "--database", conninfo);
    for (int64_t product = 1; product <= 4; product++)
        shop_put(other, product, 100, NULL);
    for (int i = QUEUE_INSTANCES; i-- > 0;)
        server_stop(shop->servers[i]);
    for (int64_t product = 1; product <= 4; product++) {
        struct buy buy = queue_buy(product, 1);
        shop_expect_buy_soon(other, &buy, 201);
    }
    free(conninfo);
    shop->servers[0] = server_start("--system-name", shop->system);
    shop->servers[1] = shop->servers[2] = NULL;
    return other;
}

/* A consumer whose database has no row of an order cannot say that there is none. */
TEST(another_database_s_consumer_refuses_nothing)
{
    static const char database[] = "seckill_queue_other";
    struct queue_shop shop;
    char id[SHOP_ID_SIZE];

    queue_shop_open(&shop, NULL, -1, NULL);
    struct server *other = let_another_consume(&shop, database, true);
    for (int64_t product = 1; product <= 4; product++) {
        struct buy buy = queue_buy(product, 50);
        buy.more = "&wait_ms=30000";
        shop_expect_buy(shop.servers[0], &buy, 201, "", id);
        queue_expect_cancel(shop.servers[0], id, 200, "");
    }
    server_stop(other);
    stack_database_drop(database);
    queue_shop_close(&shop);
}

/* A rehearsal under the shop's name: each has queues of its own. */
TEST(two_databases_share_no_queue)
{
    static const char database[] = "seckill_queue_other";
    struct queue_shop shop;

    queue_shop_open(&shop, NULL, -1, NULL);
    struct server *other = let_another_consume(&shop, database, false);
    for (int64_t product = 1; product <= 4; product++) {
        struct buy buy = queue_buy(product, 50);
        shop_expect_buy_soon(shop.servers[0], &buy, 201);
        buy.user = 51;
        shop_expect_buy(other, &buy, 201, "", NULL);
    }
    assert_false(server_says(other, "handed back"));
    assert_false(server_says(shop.servers[0], "handed back"));
    server_stop(other);
    stack_database_drop(database);
    queue_shop_close(&shop);
}

/* Once its message has been handed back, its caller is answered, and no other order waits behind
 * it. */
TEST(an_order_without_a_row_stops_nobody)
{
    struct queue_shop shop;
    char id[SHOP_ID_SIZE];
    struct buy buy = queue_buy(PRODUCT, 1);

    queue_shop_open(&shop, NULL, -1, NULL);
    shop_put(shop.servers[0], PRODUCT, 10, NULL);
    struct witness *holder = witness_hold(shop.conninfo, PRODUCT);
    queue_expect_accepted(shop.servers[1], &buy, id);
    struct crowd *crowd = crowd_create();
    shop_crowd_cancel(crowd, shop.servers[2], id);
    crowd_send(crowd);
    witness_wait_blocked(shop.witness, 1);
    witness_run(shop.witness, "DELETE FROM orders WHERE id = '%s'", id);
    witness_release(holder);
    crowd_finish(crowd, QUEUE_PATIENCE_US);
    if (crowd_count(crowd, 404, "not_found") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    buy.user = 2;
    shop_expect_buy(shop.servers[2], &buy, 201, "", NULL);
    witness_expect_exact(shop.witness, PRODUCT);
    queue_shop_close(&shop);
}

static void sell_to(struct queue_shop *shop, int64_t user)
{
    for (int i = 0; i < QUEUE_INSTANCES; i++)
        for (int64_t product = 1; product <= 4; product++) {
            struct buy buy = queue_buy(product, user + i);
            buy.more = "&wait_ms=30000";
            shop_expect_buy(shop->servers[i], &buy, 201, "", NULL);
        }
}

TEST(deleted_queues_are_made_again)
{
    struct queue_shop shop;

    queue_shop_open(&shop, NULL, -1, NULL);
    assert_int_equal(queue_delete(&shop, "orders"), 4);
    sell_to(&shop, 10);
    assert_int_equal(queue_delete(&shop, "replies"), QUEUE_INSTANCES);
    sell_to(&shop, 20);
    queue_shop_close(&shop);
}

/* Whose instance has died, and its queue is gone. */
TEST(replies_that_nobody_takes_are_told)
{
    struct queue_shop shop;
    char id[SHOP_ID_SIZE];
    struct buy buy = queue_buy(PRODUCT, 1);

    queue_shop_open(&shop, NULL, -1, NULL);
    shop_put(shop.servers[0], PRODUCT, 10, NULL);
    struct witness *holder = witness_hold(shop.conninfo, PRODUCT);
    queue_expect_accepted(shop.servers[1], &buy, id);
    witness_wait_blocked(shop.witness, 1);
    for (int i = 1; i < QUEUE_INSTANCES; i++) {
        server_kill(shop.servers[i]);
        shop.servers[i] = NULL;
    }
    queue_delete(&shop, "replies");
    witness_release(holder);
    queue_wait_decided(&shop, PRODUCT);
    T_UNTIL(server_says(shop.servers[0], "replies are lost"));
    buy.user = 2;
    shop_expect_buy(shop.servers[0], &buy, 201, "", NULL);
    queue_shop_close(&shop);
}

/* The clock of the instance that took it in was a minute behind. */
TEST(what_was_lost_is_sent_again_by_one_clock)
{
    enum { WITHIN_US = 20000000 };
    struct queue_shop shop;
    char id[SHOP_ID_SIZE];
    struct buy buy = queue_buy(PRODUCT, 1);

    queue_shop_open(&shop, NULL, -1, NULL);
    shop_put(shop.servers[0], PRODUCT, 10, NULL);
    struct witness *holder = witness_hold(shop.conninfo, PRODUCT);
    queue_expect_accepted(shop.servers[1], &buy, id);
    witness_run(shop.witness,
                "UPDATE orders SET created_at = created_at - interval '1 min' WHERE id = '%s'", id);
    for (int i = 0; i < QUEUE_INSTANCES; i++) {
        server_kill(shop.servers[i]);
        shop.servers[i] = NULL;
    }
    queue_delete(&shop, "orders");
    witness_release(holder);
    shop.servers[0] = server_start("--system-name", shop.system);
    int64_t until_us = clock_mono_us() + WITHIN_US;
    T_UNTIL(witness_sale(shop.witness, PRODUCT).orders != 0);
    assert_true(clock_mono_us() < until_us);
    queue_shop_close(&shop);
}

TEST(a_queue_of_another_type_is_shown)
{
    struct queue_shop shop;
    char name[128];

    queue_shop_open(&shop, NULL, -1, NULL);
    snprintf(name, sizeof name, "%s.orders.%lld.1.0", shop.system,
             (long long)witness_number(shop.witness, "SELECT base >> 26 FROM epoch_base"));
    free(queue_ctl("eval rabbit_amqqueue:declare({resource,<<47>>,queue,"
                   "atom_to_binary('%s',utf8)},true,false,[],none,<<120>>).",
                   name));
    struct server *other = server_start("--system-name", shop.system, "--sets", "1");
    queue_wait_shown(other, true, "inequivalent arg");
    free(queue_ctl("delete_queue %s", name));
    queue_wait_shown(other, true, "");
    struct buy buy = queue_buy(1, 50);
    buy.more = "&wait_ms=30000";
    shop_expect_buy(other, &buy, 201, "", NULL);
    server_stop(other);
    queue_shop_close(&shop);
}

/* From version 4 on RabbitMQ drops what was delivered too often, unless the queue says not to; one
 * that was made without such a word serves, too. */
TEST(nothing_is_dropped_for_its_deliveries)
{
    struct queue_shop shop;
    char name[128];

    queue_shop_open(&shop, NULL, -1, NULL);
    snprintf(name, sizeof name, "%s.orders.%lld.2.", shop.system,
             (long long)witness_number(shop.witness, "SELECT base >> 26 FROM epoch_base"));
    free(queue_ctl("eval rabbit_amqqueue:declare({resource,<<47>>,queue,"
                   "atom_to_binary('%s0',utf8)},true,false,[{atom_to_binary('x-queue-type',utf8),"
                   "longstr,atom_to_binary(quorum,utf8)},"
                   "{atom_to_binary('x-single-active-consumer',utf8),bool,true}],none,<<120>>).",
                   name));
    struct server *other = server_start("--system-name", shop.system, "--sets", "2");
    for (int64_t product = 1; product <= 4; product++) { /* of both sets */
        struct buy buy = queue_buy(product, 50);
        buy.more = "&wait_ms=30000";
        shop_put(other, product, 10, NULL);
        shop_expect_buy(other, &buy, 201, "", NULL);
    }
    queue_wait_shown(other, true, "");
    char *said = queue_ctl("eval {ok,Q}=rabbit_amqqueue:lookup({resource,<<47>>,queue,"
                           "atom_to_binary('%s1',utf8)}),"
                           "{rabbit_misc:version(),amqqueue:get_arguments(Q)}.",
                           name);
    bool limits = atoi(said + strcspn(said, "0123456789")) >= 4;
    if ((strstr(said, "\"x-delivery-limit\">>,signedint,-1") != NULL) != limits)
        fail_msg("%s", said);
    free(said);
    server_stop(other);
    queue_shop_close(&shop);
}

/* However that ended. */
static int end_alarm(void **state)
{
    free(queue_ctl("set_vm_memory_high_watermark 0.4"));
    return server_teardown(state);
}

/* Nothing is accepted that could not be sent, and nothing has to be restarted. */
TEST_WITH(an_alarm_is_shown, NULL, end_alarm)
{
    struct queue_shop shop;
    struct buy buy = queue_buy(PRODUCT, 1);

    queue_shop_open(&shop, NULL, -1, NULL);
    shop_put(shop.servers[0], PRODUCT, 10, NULL);
    free(queue_ctl("set_vm_memory_high_watermark absolute 1"));
    for (int i = 0; i < QUEUE_INSTANCES; i++) {
        queue_wait_shown(shop.servers[i], false, "memory");
        shop_expect_buy(shop.servers[i], &buy, 503, "backend_unavailable", NULL);
    }
    assert_int_equal(
        witness_number(shop.witness, "SELECT count(*) FROM orders WHERE product_id = 17"), 0);
    free(queue_ctl("set_vm_memory_high_watermark 0.4"));
    for (int i = 0; i < QUEUE_INSTANCES; i++) {
        queue_wait_shown(shop.servers[i], true, "");
        buy.user = 2 + i;
        shop_expect_buy(shop.servers[i], &buy, 201, "", NULL);
    }
    queue_shop_close(&shop);
}

/* The stack's broker gets a listener more, until it is stopped. */
static int listen_with_tls(char *folder)
{
    int port = t_free_port();

    certificates_make(folder);
    assert_int_equal(t_call((char *const[]){"chmod", "-R", "a+rX", folder, NULL}), 0);
    free(queue_ctl("eval ssl:start(),rabbit_networking:start_ssl_listener("
                   "{atom_to_list('127.0.0.1'),%d},[{certfile,atom_to_list('%s/server.pem')},"
                   "{keyfile,atom_to_list('%s/server.key')}],1).",
                   port, folder, folder));
    return port;
}

TEST(tls_is_spoken_with_a_broker_that_proves_its_name)
{
    char folder[] = "/tmp/seckill-tls.XXXXXX";
    char url[256], ca[64], other[64], log[4096];
    struct buy buy = queue_buy(PRODUCT, 1);

    assert_non_null(mkdtemp(folder));
    snprintf(ca, sizeof ca, "%s/ca.pem", folder);
    snprintf(other, sizeof other, "%s/other.pem", folder);
    int port = listen_with_tls(folder);
    const char *login = stack_amqp() + strlen("amqp://");
    int length = (int)strcspn(login, "@");

    server_use_database(stack_database());
    snprintf(url, sizeof url, "amqps://%.*s@localhost:%d/", length, login, port);
    struct server *server = server_start("--amqp", url, "--amqp-ca", ca);
    shop_put(server, PRODUCT, 1, NULL);
    shop_expect_buy_soon(server, &buy, 201);
    server_stop(server);

    server = server_start("--amqp", url, "--amqp-ca", other);
    queue_wait_shown(server, false, "peer cert verification failed");
    server_stop(server);

    snprintf(url, sizeof url, "amqps://%.*s@127.0.0.1:%d/", length, login, port);
    server = server_start("--amqp", url, "--amqp-ca", ca);
    queue_wait_shown(server, false, "hostname"); /* the certificate is for localhost */
    server_stop(server);

    server = server_launch((const char *const[]){"--amqp", url, "--amqp-ca", "/nowhere", NULL});
    assert_int_equal(server_wait(server, log, sizeof log), 2);
    assert_non_null(strstr(log, "\"/nowhere\" has no certificates, or cannot be read (--amqp-ca)"));
    assert_int_equal(t_call((char *const[]){"rm", "-r", folder, NULL}), 0);
}

/* Two rows without a message, of which somebody else's trigger keeps one as it is. */
TEST(one_that_is_withheld_stops_no_other)
{
    struct queue_shop shop;

    queue_shop_open(&shop, NULL, -1, NULL);
    shop_put(shop.servers[0], PRODUCT, 5, NULL);
    witness_run(shop.witness, "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS"
                              " 'BEGIN RETURN NULL; END'");
    witness_run(shop.witness, "CREATE TRIGGER keep BEFORE UPDATE ON orders FOR EACH ROW"
                              " WHEN (OLD.user_id = 1) EXECUTE FUNCTION keep()");
    witness_run(shop.witness,
                "INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status,"
                " created_at, published_at, expire_at) SELECT gen_random_uuid(), id, epoch, n, 1,"
                " 'partitioned-queue', 0, now(), now() - interval '1 min', now() - interval '1 min'"
                " FROM product, generate_series(1, 2) AS n WHERE id = 17");
    T_UNTIL(witness_sale(shop.witness, PRODUCT).orders == 1);
    witness_run(shop.witness, "DROP FUNCTION keep CASCADE");
    queue_wait_decided(&shop, PRODUCT);
    assert_int_equal(witness_sale(shop.witness, PRODUCT).orders, 2);
    witness_expect_exact(shop.witness, PRODUCT);
    queue_shop_close(&shop);
}

TEST_EACH(NULL, server_teardown)

int main(void)
{
    return queue_run();
}
