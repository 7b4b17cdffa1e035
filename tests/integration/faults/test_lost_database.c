/*
 * A schema that is dropped, a database that is made again, a table that is away for a while: under
 * a running server, which sells nothing then and is not ready, says so, and comes back by itself.
 * What Redis knows of the sale that was lost is sold to nobody.
 */
#include "lib/fixtures/shop.h"
#include "lib/stack.h"
#include "lib/witness.h"

#include "lib/t.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define DATABASE "seckill_lost"
enum { STOCK = 5, LEFT = 2 };

static struct {
    char *conninfo; /* owned */
    struct server *server;
    int64_t user;
} here;

/* redis-stock first: before its reconciler has seen that the products are gone. */
static const char *const strategies[] = {"redis-stock", "conditional", "pessimistic",
                                         "batch",       "buckets",     "partitioned-queue"};

/* The last one's broker may not be installed. */
static int count_strategies(void)
{
    return (int)(sizeof strategies / sizeof *strategies) - !stack_amqp();
}

static struct buy next_buy(int i)
{
    return (struct buy){.strategy = strategies[i], .product = i + 1, .user = ++here.user};
}

static void make_database(void)
{
    free(here.conninfo);
    here.conninfo = stack_database_create(DATABASE);
    server_use_database(here.conninfo);
}

static int start(void **state)
{
    (void)state;
    make_database();
    here.server = server_start(NULL);
    for (int i = 0; i < count_strategies(); i++) {
        struct buy buy = next_buy(i);
        shop_put(here.server, i + 1, STOCK, NULL);
        shop_expect_buy(here.server, &buy, 201, "", NULL);
    }
    return 0;
}

static int stop(void **state)
{
    int failed = server_teardown(state);

    stack_database_drop(DATABASE);
    return failed;
}

static void run(const char *sql)
{
    struct witness *witness = witness_open(here.conninfo);

    witness_run(witness, "%s", sql);
    witness_close(witness);
}

/* What an order of each strategy is answered, again and again, until each has once been `status`;
 * nothing is sold meanwhile, and nothing is a bug. */
static void buy_until(int status)
{
    int64_t until_us = clock_mono_us() + t_patience_us();

    for (int i = 0; i < count_strategies();) {
        struct buy buy = next_buy(i);
        struct http_reply reply = shop_send(here.server, &buy);
        int found = reply.status;
        http_reply_fini(&reply);
        if (found != 503 && found != status)
            fail_msg("%s: %d", strategies[i], found);
        if (found == status)
            i++;
        else if (clock_mono_us() >= until_us)
            fail_msg("%s: still %d", strategies[i], found);
    }
}

static void wait_ready(int status)
{
    int64_t until_us = clock_mono_us() + t_patience_us();

    while (server_status(here.server, "GET", "/readyz", NULL, NULL) != status) {
        if (clock_mono_us() >= until_us)
            fail_msg("readiness is not %d", status);
        clock_sleep_until(clock_mono_us() + 10 * CLOCK_US_PER_MS);
    }
}

/* As many as a new sale has, whatever was left of the old one. */
static void sell_anew(void)
{
    for (int i = 0; i < count_strategies(); i++) {
        shop_put(here.server, i + 1, LEFT, NULL);
        for (int n = 0; n <= LEFT; n++) {
            struct buy buy = next_buy(i);
            shop_expect_buy(here.server, &buy, n < LEFT ? 201 : 409, n < LEFT ? "" : "sold_out",
                            NULL);
        }
        shop_expect_consistent(here.server, i + 1);
    }
}

static void a_schema_is_dropped(void **state)
{
    (void)state;
    run("DROP SCHEMA seckill CASCADE");
    wait_ready(503);
    buy_until(503);
    assert_int_equal(server_status(here.server, "GET", "/products/1", NULL, NULL), 503);
    wait_ready(200);
    buy_until(404);
    sell_anew();
    server_stop(here.server);
}

static void a_database_is_made_again(void **state)
{
    (void)state;
    make_database();
    buy_until(404);
    wait_ready(200);
    sell_anew();
    server_stop(here.server);
}

/* The same while nobody is there who could see it. */
static void a_database_is_made_again_between(void **state)
{
    (void)state;
    server_stop(here.server);
    make_database();
    here.server = server_start(NULL);
    buy_until(404);
    sell_anew();
    server_stop(here.server);
}

static void a_table_is_away(void **state)
{
    (void)state;
    run("ALTER TABLE orders RENAME TO elsewhere");
    wait_ready(503);
    run("ALTER TABLE elsewhere RENAME TO orders");
    wait_ready(200);
    sell_anew();
    server_stop(here.server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_schema_is_dropped, start, stop),
        cmocka_unit_test_setup_teardown(a_database_is_made_again, start, stop),
        cmocka_unit_test_setup_teardown(a_database_is_made_again_between, start, stop),
        cmocka_unit_test_setup_teardown(a_table_is_away, start, stop),
    };

    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    free(here.conninfo);
    return failed != 0;
}
