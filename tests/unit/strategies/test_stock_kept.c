/* Waiting orders are kept until their outcome is known. */
#include "lib/t.h"

#include "base/clock.h"
#include "strategies/redis_stock/writer/stock_kept.h"

enum { MANY = 500, PAGE = 7 };

static struct stock_kept kept;
static struct waiting_order orders[MANY];
static const struct kept_entry *page[PAGE];

static int start(void **state)
{
    (void)state;
    stock_kept_init(&kept);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    stock_kept_fini(&kept);
    return 0;
}

/* Orders of one group. */
static void add(uint64_t group, int count)
{
    for (int i = 0; i < count; i++)
        orders[i] = (struct waiting_order){.id = uuid_v7_of_group(1000, group, (unsigned)i),
                                           .product_id = 7,
                                           .epoch = 4,
                                           .user_id = 100 + i,
                                           .quantity = 1 + i,
                                           .created_us = 1000 + i};
    stock_kept_add(&kept, "1700000000000-12", orders, sizeof *orders, count);
}

static void remove_group(uint64_t group)
{
    struct uuid id = uuid_v7_of_group(2000, group, 0);

    stock_kept_remove(&kept, &id);
}

/* What a search that begins now sees. */
static int count(void)
{
    int64_t before_us = clock_mono_us() + 1;
    int slot = 0;
    int sum = 0;
    int n;

    do {
        n = stock_kept_page(&kept, before_us, &slot, page, PAGE);
        sum += n;
    } while (n == PAGE);
    clock_sleep_until(before_us + 1);
    return sum;
}

TEST(what_is_kept_is_found_once)
{
    assert_int_equal(count(), 0);
    add(UINT64_C(0xabcdef012345), 3);
    add(UINT64_C(0xabcdef012345), 3);
    assert_int_equal(count(), 1);
    assert_true(page[0]->group == UINT64_C(0xabcdef012345));
    assert_true(page[0]->ms == UINT64_C(1700000000000) && page[0]->n == 12);
    assert_int_equal(page[0]->product_id, 7);
    assert_int_equal(page[0]->epoch, 4);
    assert_int_equal(page[0]->count, 3);
    for (int i = 0; i < 3; i++) {
        assert_true(uuid_equal(&page[0]->orders[i].id, &orders[i].id));
        assert_int_equal(page[0]->orders[i].user_id, 100 + i);
        assert_int_equal(page[0]->orders[i].quantity, 1 + i);
        assert_int_equal(page[0]->orders[i].created_us, 1000 + i);
    }
    remove_group(1);
    assert_int_equal(count(), 1);
    remove_group(UINT64_C(0xabcdef012345));
    assert_int_equal(count(), 0);
}

/* Pages of a slot that many share, and of others. */
TEST(each_is_on_one_page)
{
    for (uint64_t i = 0; i < 30; i++)
        add(5 + i * KEPT_SLOTS, 1);
    for (uint64_t i = 0; i < 10; i++)
        add(6 + i, 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(count(), 40);
}

TEST(what_comes_during_a_search_waits_for_the_next)
{
    int slot = 0;

    int64_t before_us = clock_mono_us();
    add(1, 1);
    assert_int_equal(stock_kept_page(&kept, before_us, &slot, page, PAGE), 0);
    assert_int_equal(count(), 1);
}

TEST(it_does_not_grow_without_end)
{
    for (uint64_t i = 0; i < 2000; i++)
        add(i, MANY);
    assert_true(kept.full);
    assert_true(kept.bytes <= KEPT_BYTES_MAX);
    int held = count();
    assert_true(held * MANY > 100000 && held < 2000);
    for (uint64_t i = 0; i < 2000; i++)
        remove_group(i);
    assert_int_equal(count(), 0);
    assert_int_equal(kept.bytes, 0);
    assert_false(kept.full);
    add(1, MANY);
    assert_int_equal(count(), 1);
}

TEST_EACH(start, stop)
