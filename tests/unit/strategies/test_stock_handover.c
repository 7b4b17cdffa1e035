/* What workers put for the writer, and when nothing is kept for it. */
#include "lib/t.h"

#include "base/clock.h"
#include "strategies/redis_stock/writer/stock_handover.h"

#include <stdio.h>

enum { COUNT = 3, PATIENCE_US = 60000000, MANY = 500, TOO_MANY = 20000 / MANY + 1 };

static struct order made[MANY];
static struct order *orders[MANY];
static struct claim claims[WRITE_MAX];
static struct stock_part part;
static struct stock_handover handover;

static int start(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++) {
        made[i] = (struct order){.outcome = ORDER_ACCEPTED,
                                 .product_id = 7,
                                 .user_id = 100 + i,
                                 .quantity = 1 + i,
                                 .created_us = 1000 + i};
        made[i].id.bytes[0] = (uint8_t)i;
        orders[i] = &made[i];
    }
    snprintf(made[1].key, sizeof made[1].key, "k");
    part = (struct stock_part){.claims = claims};
    stock_handover_init(&handover);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    stock_handover_fini(&handover);
    return 0;
}

/* Whether there is something now. */
static bool take(void)
{
    return stock_handover_take(&handover, &part, clock_mono_us());
}

TEST(nothing_is_kept_before_it_is_open)
{
    stock_handover_put(&handover, "1-1", 4, orders, COUNT);
    assert_false(take());
    stock_handover_open(&handover);
    assert_false(take());
    stock_handover_put(&handover, "1-2", 4, orders, COUNT);
    stock_handover_close(&handover);
    assert_false(stock_handover_is_open(&handover));
    assert_true(stock_handover_is_empty(&handover));
    stock_handover_put(&handover, "1-3", 4, orders, COUNT);
    assert_false(take());
}

static int kept(void)
{
    const struct kept_entry *page[2 * TOO_MANY];
    int slot = 0;

    return stock_kept_page(&handover.kept, clock_mono_us() + 1, &slot, page, 2 * TOO_MANY);
}

/* Of another group for each call. */
static void put(int count)
{
    static uint64_t group;

    group++;
    for (int i = 0; i < count; i++)
        made[i].id = uuid_v7_of_group(1000, group, (unsigned)i);
    stock_handover_put(&handover, "1-1", 4, orders, count);
}

/* It stands in Redis alone. */
TEST(what_is_not_handed_over_is_kept)
{
    put(COUNT);
    assert_int_equal(kept(), 1);
    stock_handover_open(&handover);
    put(COUNT);
    put(COUNT);
    assert_int_equal(kept(), 1);
    stock_handover_close(&handover);
    assert_int_equal(kept(), 3);
    stock_handover_open(&handover);
    for (int i = 0; i < TOO_MANY; i++)
        put(MANY);
    assert_false(stock_handover_is_open(&handover));
    assert_int_equal(kept(), 3 + TOO_MANY);
}

/* An entry with an undecided order is kept until that is decided. */
TEST(what_is_undecided_is_kept)
{
    static const enum claim_fate undecided[] = {CLAIM_OPEN, CLAIM_HELD, CLAIM_LOCKED};

    stock_handover_open(&handover);
    put(COUNT);
    put(COUNT);
    assert_true(stock_handover_take(&handover, &part, clock_mono_us() + PATIENCE_US));
    for (int i = 0; i < part.count; i++)
        claims[i].fate = CLAIM_CONFIRMED;
    for (size_t i = 0; i < sizeof undecided / sizeof *undecided; i++) {
        claims[COUNT + 1].fate = undecided[i];
        stock_handover_keep_undecided(&handover, &part);
        assert_int_equal(kept(), 1);
        claims[COUNT + 1].fate = CLAIM_REFUSED;
        stock_handover_keep_undecided(&handover, &part);
        assert_int_equal(kept(), 0);
    }
}

TEST(what_was_accepted_is_taken_as_claims)
{
    stock_handover_open(&handover);
    made[0].outcome = ORDER_SOLD_OUT;
    stock_handover_put(&handover, "1-1", 4, orders, COUNT);
    stock_handover_put(&handover, "1-2", 5, orders + COUNT, 1);
    assert_false(stock_handover_is_empty(&handover));
    assert_true(stock_handover_take(&handover, &part, clock_mono_us() + PATIENCE_US));
    assert_true(stock_handover_is_empty(&handover));
    assert_true(part.fresh);
    assert_int_equal(part.entries_count, 2);
    assert_string_equal(part.entries[0].id, "1-1");
    assert_int_equal(part.entries[0].first, 0);
    assert_int_equal(part.entries[0].count, 2);
    assert_string_equal(part.entries[1].id, "1-2");
    assert_int_equal(part.entries[1].first, 2);
    assert_int_equal(part.entries[1].count, 1);
    assert_true(part.entries[0].whole && part.entries[1].whole);
    assert_int_equal(part.count, 3);
    for (int i = 0; i < part.count; i++) {
        const struct claim *claim = &part.claims[i];
        assert_true(uuid_equal(&claim->order.id, &made[i + 1].id));
        assert_int_equal(claim->order.product_id, 7);
        assert_int_equal(claim->order.epoch, i < 2 ? 4 : 5);
        assert_int_equal(claim->order.user_id, made[i + 1].user_id);
        assert_int_equal(claim->order.quantity, made[i + 1].quantity);
        assert_int_equal(claim->order.created_us, made[i + 1].created_us);
        assert_string_equal(claim->order.key, i == 0 ? "k" : "");
        assert_int_equal(claim->fate, CLAIM_OPEN);
    }
}

TEST(entries_are_taken_whole)
{
    stock_handover_open(&handover);
    for (int i = 0; i < 3; i++)
        stock_handover_put(&handover, "1-1", 4, orders, MANY - 1);
    assert_true(take());
    assert_int_equal(part.entries_count, 2);
    assert_int_equal(part.count, 2 * (MANY - 1));
    assert_true(take());
    assert_int_equal(part.entries_count, 1);
    assert_false(take());
}

TEST(more_than_can_be_written_is_not_kept)
{
    stock_handover_open(&handover);
    for (int i = 0; i < TOO_MANY; i++) {
        assert_true(stock_handover_is_open(&handover));
        stock_handover_put(&handover, "1-1", 4, orders, MANY);
    }
    assert_false(stock_handover_is_open(&handover));
    assert_false(take());
    stock_handover_open(&handover);
    stock_handover_put(&handover, "1-2", 4, orders, COUNT);
    assert_true(take());
    assert_int_equal(part.count, COUNT);
}

TEST_EACH(start, stop)
