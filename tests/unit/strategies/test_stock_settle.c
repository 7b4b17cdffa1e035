/* Which mirrors are noted as wrong when a part is settled. No test here needs Redis: no entry is
 * let go of. */
#include "lib/t.h"

#include "strategies/redis_stock/writer/stock_settle.h"

enum { REFUSED, SOLD, ENDED, COUNT, PRODUCT = 7, OTHER_PRODUCT = 8, EPOCH = 3 };

static struct claim claims[COUNT];
static struct stock_part part;
static struct stock_stream stream;
static struct stock_link link_of_none;

static int start(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT; i++)
        claims[i] = (struct claim){.order = {.product_id = PRODUCT, .epoch = EPOCH, .quantity = 1}};
    claims[REFUSED].fate = CLAIM_REFUSED;
    claims[SOLD].fate = CLAIM_CONFIRMED;
    claims[ENDED].fate = CLAIM_ENDED;
    claims[ENDED].order.product_id = OTHER_PRODUCT;
    stream = (struct stock_stream){.wrong_count = 0};
    part = (struct stock_part){.claims = claims, .count = COUNT};
    return 0;
}

static void expect_both_noted(void)
{
    assert_int_equal(stream.wrong_count, 2);
    assert_int_equal(stream.wrong[0].product_id, PRODUCT);
    assert_int_equal(stream.wrong[0].ended, 0);
    assert_int_equal(stream.wrong[1].product_id, OTHER_PRODUCT);
    assert_int_equal(stream.wrong[1].ended, EPOCH);
}

/* Every entry of the part has an order whose row is held, so the writer has taken all of them out.
 */
static void a_refusal_in_a_put_off_entry_is_noted(void **state)
{
    (void)state;
    assert_true(stock_settle(&stream, &link_of_none, &part, false));
    expect_both_noted();
}

/* What is left of the part was sold, which alone would say nothing of any mirror. */
static void so_it_is_beside_an_entry_that_was_sold(void **state)
{
    (void)state;
    part.entries_count = 1;
    part.entries[0] = (struct part_entry){.id = "1-1", .first = SOLD, .count = 1, .whole = true};
    assert_true(stock_settle(&stream, &link_of_none, &part, true));
    assert_int_equal(stream.settled_count, 1);
    expect_both_noted();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_refusal_in_a_put_off_entry_is_noted, start),
        cmocka_unit_test_setup(so_it_is_beside_an_entry_that_was_sold, start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
