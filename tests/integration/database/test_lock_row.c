/*
 * The lock row: what its lease is for, and what the two controls that lack a piece of it do.
 *
 * A server is killed with the lock in its hands; another one waits for the lease.
 */
#include "lib/fixtures/cases.h"

#include "lib/stack.h"

#include "base/clock.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_US t_patience_us()

enum { TRIES = 10 };

static struct witness *witness;
static int64_t product;

static struct server *start(const char *failpoints, const char *lease_ms, const char *work_ms)
{
    server_use_failpoints(failpoints);
    struct server *server = server_start("--lock-ttl-ms", lease_ms, "--work-timeout-ms", work_ms);
    server_use_failpoints(NULL);
    return server;
}

/* Whose own lease is nobody's matter. */
static struct server *start_patient(void)
{
    return start(NULL, "60000", "50000");
}

static struct buy buy_by(const char *strategy, int64_t user)
{
    return (struct buy){.strategy = strategy, .product = product, .user = user};
}

static bool is_locked(void)
{
    return witness_number(witness, "SELECT count(*) FROM product_lock WHERE product_id = %lld",
                          (long long)product) > 0;
}

/* A server takes the lock and is gone. */
static void die_holding(const char *strategy, const char *lease_ms, const char *work_ms)
{
    struct server *server = start("lock.acquired=kill", lease_ms, work_ms);
    struct crowd *crowd = crowd_create();
    struct buy buy = buy_by(strategy, 1);

    shop_put(server, product, 5, NULL);
    shop_crowd_buy(crowd, server, &buy);
    crowd_finish(crowd, PATIENCE_US);
    assert_int_equal(crowd_lost(crowd), 1);
    crowd_destroy(crowd);
    assert_int_equal(server_wait(server, (char[64]){""}, 64), 128 + SIGKILL);
    assert_true(is_locked());
}

/* By PostgreSQL's clock. */
static void let_lease_end_in(int seconds)
{
    witness_run(witness,
                "UPDATE product_lock SET lease_until = clock_timestamp() + interval '%d s'"
                " WHERE product_id = %lld",
                seconds, (long long)product);
}

/* The row has the lease that it is to have; then its end is the test's, so that no buyer comes too
 * late to meet it. */
TEST(a_dead_holders_lease_ends)
{
    struct server *server = start_patient();
    die_holding("lock-row", "6000", "5900");
    assert_int_equal(
        witness_number(witness,
                       "SELECT (lease_until <= clock_timestamp() + interval '6 s')::int"
                       " FROM product_lock WHERE product_id = %lld",
                       (long long)product),
        1);
    let_lease_end_in(3600);
    struct buy buy = buy_by("lock-row", 2);
    struct buy at_once = buy_by("lock-row", 3);
    at_once.more = "&wait_ms=0";
    shop_expect_buy(server, &at_once, 503, "wait_timeout", NULL);
    let_lease_end_in(1);
    buy.more = "&wait_ms=30000";
    shop_expect_buy(server, &buy, 201, "", NULL);
    T_UNTIL(!is_locked());           /* the answer comes before the release */
    at_once.more = "&wait_ms=30000"; /* it is free */
    shop_expect_buy(server, &at_once, 201, "", NULL);
    witness_expect_exact(witness, product);
    server_stop(server);
}

TEST(without_a_lease_it_is_for_ever)
{
    struct server *server = start_patient();
    die_holding("control-lease-less-lock-row", "2000", "1900");
    struct buy buy = buy_by("control-lease-less-lock-row", 2);
    buy.more = "&wait_ms=3000"; /* more than the other's lease */
    shop_expect_buy(server, &buy, 503, "wait_timeout", NULL);
    assert_true(is_locked());
    witness_run(witness, "DELETE FROM product_lock WHERE product_id = %lld", (long long)product);
    buy.more = "&wait_ms=30000";
    shop_expect_buy(server, &buy, 201, "", NULL);
    server_stop(server);
}

/* Four at once on the last unit; returns how many got it. Where PostgreSQL stood still for so long
 * that somebody was told so, it is asked again. */
static int sell_the_last_unit(struct server *server, const char *strategy)
{
    int sold = 0, told = 0;

    for (int attempt = 0; attempt < TRIES && told != 4; attempt++) {
        struct crowd *crowd = crowd_create();
        shop_put(server, ++product, 1, NULL);
        for (int i = 0; i < 4; i++) {
            struct buy buy = buy_by(strategy, 1 + i);
            buy.more = "&wait_ms=30000";
            shop_crowd_buy(crowd, server, &buy);
        }
        crowd_finish(crowd, PATIENCE_US);
        sold = crowd_count(crowd, 201, "");
        told = sold + crowd_count(crowd, 409, "sold_out");
        if (told + crowd_count(crowd, 503, "backend_unavailable") != 4)
            fail_msg("%s", crowd_summary(crowd));
        crowd_destroy(crowd);
    }
    assert_int_equal(told, 4);
    return sold;
}

TEST(an_upsert_excludes_nobody)
{
    /* No short lease: four that work at once on a busy machine must not outlast theirs. */
    struct server *server = server_start("--work-ms", "400", NULL);
    assert_int_equal(sell_the_last_unit(server, "lock-row"), 1);
    witness_expect_exact(witness, product);
    /* On a slow machine they may come one after the other; so more than one try may have to be
     * made.
     */
    int sold = 1;
    for (int attempt = 0; attempt < TRIES && sold == 1; attempt++)
        sold = sell_the_last_unit(server, "control-upsert-lock");
    assert_in_range(sold, 2, 4);
    struct sale sale = witness_sale(witness, product);
    assert_false(sale_is_exact(&sale));
    server_stop(server);
}

/* A holder whose row has another owner by now does not delete it. */
TEST(only_the_owner_deletes_it)
{
    struct server *server = start("lock.acquired=hold", "60000", "50000");
    struct crowd *crowd = crowd_create();
    struct buy buy = buy_by("lock-row", 1);

    shop_put(server, product, 5, NULL);
    shop_crowd_buy(crowd, server, &buy);
    crowd_send(crowd);
    T_UNTIL(is_locked());
    witness_run(witness, "UPDATE product_lock SET owner = 'another' WHERE product_id = %lld",
                (long long)product);
    server_let_go(server);
    crowd_finish(crowd, PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 201, ""), 1);
    crowd_destroy(crowd);
    server_wait_metric(server, "seckill_lease_overruns_total", "strategy=\"lock-row\"", 1);
    assert_true(is_locked());
    server_stop(server);
}

static int next_product(void **state)
{
    (void)state;
    product++;
    return 0;
}

TEST_EACH(next_product, server_teardown)

int main(void)
{
    char *conninfo = stack_database_create("seckill_lock_row");

    server_use_database(conninfo);
    witness = witness_open(conninfo);
    int failed = t_run_all(NULL, NULL);
    witness_close(witness);
    stack_database_drop("seckill_lock_row");
    free(conninfo);
    return failed != 0;
}
