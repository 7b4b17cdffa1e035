/*
 * What redis-stock does not know for sure it does not act on: a look into Redis that has failed.
 */
#include "lib/fixtures/stock_bed.h"

#include <stdlib.h>

/* Redis refuses the look for the key's first order, which waits, and obeys all else. */
static void a_look_that_fails_frees_no_key(void **state)
{
    char id[SHOP_ID_SIZE];
    char again[SHOP_ID_SIZE];

    (void)state;
    bed.product++;
    struct server *server = bed_start("stock-writer-read=hold", NULL);
    shop_put(server, bed.product, 5, NULL);
    struct buy buy = bed_buy(1, 1);
    buy.key = "once";
    bed_accept(server, &buy, id);
    bed_redis("ACL SETUSER default -hexists");
    shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
    bed_redis("ACL SETUSER default allcommands");
    assert_int_equal(bed_redis("EXISTS @key:%lld:once", (long long)buy.user), 1);
    server_let_go(server);
    bed_wait_status(server, id, "confirmed");
    shop_expect_buy(server, &buy, 200, "", again);
    assert_string_equal(again, id);
    bed_expect_settled();
    assert_int_equal(witness_sale(bed.witness, bed.product).orders, 1);
    bed_stop_all();
}

static int allowed_again(void **state)
{
    bed_redis("ACL SETUSER default allcommands");
    return bed_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_look_that_fails_frees_no_key, allowed_again),
    };

    bed_begin("redis_stock_doubts");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bed_end("redis_stock_doubts");
    return failed != 0;
}
