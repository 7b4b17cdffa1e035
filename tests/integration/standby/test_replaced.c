/*
 * A primary that is replaced by its asynchronous standby, lives on and takes every commit: of two
 * hosts that take writes the one that was promoted last is sold from.
 */
#include "lib/fixtures/shop.h"
#include "lib/postgres.h"

#include "lib/t.h"

#include "base/clock.h"

static struct {
    struct postgres *primary;
    struct postgres *standby;
    struct server *server;
} here;

enum { PRODUCT = 1, STOCK = 1000000 };

static int start(void **state)
{
    (void)state;
    here.primary = postgres_create(NULL);
    here.standby = postgres_standby(here.primary, "second");
    server_use_database(postgres_both(here.primary, here.standby));
    return 0;
}

static int stop(void **state)
{
    return postgres_teardown(state);
}

static int end(void **state)
{
    return server_teardown(state);
}

static int buy(int64_t user)
{
    struct buy order = {.strategy = "conditional", .product = PRODUCT, .user = user};
    struct http_reply reply = shop_send(here.server, &order);
    int status = reply.status;

    http_reply_fini(&reply);
    if (status != 201 && status != 503)
        fail_msg("it answers %d", status);
    return status;
}

static int64_t count_orders(struct postgres *postgres)
{
    struct witness *witness = witness_open(postgres_conninfo(postgres, "postgres", NULL));
    int64_t count = witness_number(witness, "SELECT count(*) FROM orders");

    witness_close(witness);
    return count;
}

TEST_WITH(it_is_left_for_the_new_one, NULL, end)
{
    int64_t until_us, user = 1;

    here.server = server_start(NULL);
    shop_put(here.server, PRODUCT, STOCK, NULL);
    assert_int_equal(buy(user), 201);
    while (count_orders(here.standby) < 1)
        clock_sleep_until(clock_mono_us() + 10000);
    postgres_promote(here.standby);
    until_us = clock_mono_us() + t_patience_us();
    while (count_orders(here.standby) < 2) {
        buy(++user);
        assert_true(clock_mono_us() < until_us);
    }
    server_wait_ready(here.server, 200, NULL);
    int64_t left_behind = count_orders(here.primary);
    for (int i = 0; i < 100; i++)
        assert_int_equal(buy(++user), 201);
    assert_int_equal(count_orders(here.primary), left_behind);
    server_stop(here.server);
}

/* It is the first of the list, and is asked first. */
TEST_WITH(it_is_left_by_who_begins_with_it, NULL, end)
{
    int64_t until_us = clock_mono_us() + t_patience_us(), user = INT64_C(2) * STOCK;

    here.server = server_start(NULL);
    for (int64_t had = count_orders(here.standby); count_orders(here.standby) == had;) {
        buy(++user);
        assert_true(clock_mono_us() < until_us);
    }
    server_stop(here.server);
}

TEST_GROUP(start, stop)
