/* The sold-out flag of redis-stock: whom it refuses, and for how long. */
#include "lib/t.h"

#include "strategies/redis_stock/stock_flag.h"

#include "base/clock.h"

#include <string.h>

static struct stock_flag flag;

enum { PRODUCT = 7, OTHER = 7 + 4096 }; /* they share a slot */

static bool refuses(int64_t product, enum order_kind kind, const char *key, int64_t arrived_us)
{
    struct order order = {.kind = kind, .product_id = product, .arrived_us = arrived_us};

    strcpy(order.key, key);
    bool refused = stock_flag_refuses(&flag, &order);
    assert_int_equal(order.outcome, refused ? ORDER_SOLD_OUT : ORDER_PENDING);
    return refused;
}

static int forget(void **state)
{
    (void)state;
    stock_flag_fini(&flag);
    stock_flag_init(&flag);
    return 0;
}

TEST(it_lasts_a_lease_from_the_sending)
{
    assert_false(refuses(PRODUCT, ORDER_BUY, "", 1000));
    stock_flag_note(&flag, PRODUCT, 3, true, 1000);
    assert_true(refuses(PRODUCT, ORDER_BUY, "", 1001));
    assert_true(refuses(PRODUCT, ORDER_BUY, "", 1000 + STOCK_LEASE_US - 1));
    assert_false(refuses(PRODUCT, ORDER_BUY, "", 1000 + STOCK_LEASE_US));
}

TEST(it_answers_plain_buys_alone)
{
    stock_flag_note(&flag, PRODUCT, 1, true, 1000);
    assert_false(refuses(PRODUCT, ORDER_BUY, "key", 1001));
    assert_false(refuses(PRODUCT, ORDER_CANCEL, "", 1001));
    assert_false(refuses(PRODUCT, ORDER_RESTOCK, "", 1001));
    assert_false(refuses(PRODUCT + 1, ORDER_BUY, "", 1001));
}

TEST(a_script_that_finds_stock_takes_it_down)
{
    stock_flag_note(&flag, PRODUCT, 1, true, 1000);
    stock_flag_note(&flag, PRODUCT, 2, false, 1001);
    assert_false(refuses(PRODUCT, ORDER_BUY, "", 1002));
}

TEST(two_products_of_one_slot)
{
    stock_flag_note(&flag, PRODUCT, 1, true, 1000);
    stock_flag_note(&flag, OTHER, 5, true, 1000);
    assert_false(refuses(PRODUCT, ORDER_BUY, "", 1001));
    assert_true(refuses(OTHER, ORDER_BUY, "", 1001));
}

/* An epoch is the row's, and known until something is newer than the look at the row. */
TEST(an_epoch_is_known_until_it_is_doubted)
{
    stock_flag_note(&flag, PRODUCT, 3, true, 1000);
    assert_int_equal(stock_flag_epoch(&flag, PRODUCT), 0); /* a mirror's */
    stock_flag_learn(&flag, PRODUCT, 4, 1000);
    assert_int_equal(stock_flag_epoch(&flag, PRODUCT), 4);
    stock_flag_doubt(&flag, 999);
    assert_int_equal(stock_flag_epoch(&flag, PRODUCT), 4);
    stock_flag_learn(&flag, PRODUCT, 3, 998); /* comes late */
    assert_int_equal(stock_flag_epoch(&flag, PRODUCT), 4);
    stock_flag_note(&flag, PRODUCT, 4, false, 2000);
    stock_flag_doubt(&flag, 1000);
    assert_int_equal(stock_flag_epoch(&flag, PRODUCT), 0);
    stock_flag_doubt(&flag, 500);
    assert_int_equal(stock_flag_epoch(&flag, PRODUCT), 0);
    stock_flag_learn(&flag, PRODUCT, 5, 2001);
    assert_int_equal(stock_flag_epoch(&flag, PRODUCT), 5);
    stock_flag_forget(&flag, PRODUCT);
    assert_int_equal(stock_flag_epoch(&flag, PRODUCT), 0);
    stock_flag_learn(&flag, PRODUCT, 5, 2002);
    stock_flag_note(&flag, OTHER, 5, false, 2003);
    assert_int_equal(stock_flag_epoch(&flag, PRODUCT), 0);
}

TEST(the_wait_is_a_whole_lease)
{
    int64_t begun_us = clock_mono_us();

    stock_flag_wait();
    assert_true(clock_mono_us() - begun_us >= STOCK_LEASE_US);
}

TEST_EACH(forget, NULL)

int main(void)
{
    stock_flag_init(&flag);
    return t_run_all(NULL, NULL);
}
