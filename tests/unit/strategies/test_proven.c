/* What a flush has proven, and what it has not: by product, sale, version and session. */
#include "sale/proven.h"

#include "lib/t.h"

enum { PRODUCT = 7, TICKET = 3, BEGUN = 1000 };

static int start(void **state)
{
    *state = proven_create();
    assert_non_null(*state);
    proven_note(*state, PRODUCT, (struct product_version){5, 20}, TICKET, BEGUN);
    return 0;
}

static int stop(void **state)
{
    proven_destroy(*state);
    return 0;
}

static bool has(const struct proven *proven, int64_t product_id, int64_t epoch, int64_t version,
                unsigned ticket)
{
    return proven_since_us(proven, product_id, (struct product_version){epoch, version}, ticket) !=
           0;
}

TEST(what_came_before_is_covered_and_nothing_later)
{
    assert_true(has(*state, PRODUCT, 5, 20, TICKET));
    assert_true(has(*state, PRODUCT, 5, 19, TICKET));
    assert_false(has(*state, PRODUCT, 5, 21, TICKET));
    assert_false(has(*state, PRODUCT, 6, 20, TICKET));
    assert_false(has(*state, PRODUCT, 4, 20, TICKET)); /* of a database before, maybe */
    assert_false(has(*state, PRODUCT + 1, 5, 20, TICKET));
}

TEST(a_row_without_a_version_is_never_covered)
{
    assert_false(has(*state, PRODUCT, 5, 0, TICKET));
}

TEST(another_session_has_proven_nothing)
{
    assert_false(has(*state, PRODUCT, 5, 20, TICKET + 1));
    assert_false(has(*state, PRODUCT, 5, 20, 0));
    proven_note(*state, PRODUCT, (struct product_version){5, 10}, TICKET + 1, BEGUN + 1);
    assert_true(has(*state, PRODUCT, 5, 10, TICKET + 1));
    assert_false(has(*state, PRODUCT, 5, 20, TICKET + 1));
    assert_false(has(*state, PRODUCT, 5, 10, TICKET));
}

/* Of two orders that wait for one flush the last may have read first. */
TEST(the_highest_version_stays)
{
    proven_note(*state, PRODUCT, (struct product_version){5, 18}, TICKET, BEGUN + 1);
    assert_int_equal(proven_since_us(*state, PRODUCT, (struct product_version){5, 20}, TICKET),
                     BEGUN + 1);
    proven_note(*state, PRODUCT, (struct product_version){6, 2}, TICKET, BEGUN + 2);
    assert_false(has(*state, PRODUCT, 6, 3, TICKET));
}

TEST(two_products_with_one_place_do_not_mix)
{
    enum { ALL = 1 << 16 };

    for (int64_t i = 1; i <= ALL; i++)
        proven_note(*state, PRODUCT + i, (struct product_version){5, 30}, TICKET, BEGUN);
    assert_false(has(*state, PRODUCT, 5, 20, TICKET));
}

TEST_EACH(start, stop)
