/*
 * A run and a stranger at the product's row: who has been sold something is told so, although the
 * next order of the run has to wait for somebody who is in no hurry.
 *
 * A trigger stops each sale at the figure of stock that it leaves, as long as the test holds that
 * figure. So the first order stands still until the others have queued up behind it, and the first
 * of their run until a stranger waits for the row.
 */
#include "lib/fixtures/shop.h"
#include "lib/stack.h"
#include "lib/t.h"
#include "lib/witness.h"

#include "base/clock.h"

#include <stdlib.h>

/* An order may stand still for longer than an answer is waited for. */
enum { RUN = 8, STOCK = 100, ROUNDS = 3, ANSWER_US = 10000000, PATIENCE_US = 60000000 };

static struct {
    char *conninfo;
    struct witness *witness; /* holds the figures */
    struct witness *stranger;
    struct server *server;
    int64_t product;
} here;

static int open_all(void **state)
{
    (void)state;
    here.conninfo = stack_database_create("seckill_run_strangers");
    server_use_database(here.conninfo);
    here.server = server_start("--work-timeout-ms", "30000", "--lock-ttl-ms", "60000");
    here.witness = witness_open(here.conninfo);
    here.stranger = witness_open(here.conninfo);
    witness_run(here.witness, "CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
                              " PERFORM pg_advisory_xact_lock(NEW.stock); RETURN NEW; END$$;"
                              "CREATE TRIGGER stop BEFORE UPDATE ON product FOR EACH ROW"
                              " WHEN (NEW.stock < OLD.stock) EXECUTE FUNCTION stop()");
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    server_stop(here.server);
    witness_close(here.witness);
    witness_close(here.stranger);
    free(here.conninfo);
    stack_database_drop("seckill_run_strangers");
    return 0;
}

static void hold(int64_t stock)
{
    witness_run(here.witness, "SELECT pg_advisory_lock(%lld)", (long long)stock);
}

static void let_go(int64_t stock)
{
    witness_run(here.witness, "SELECT pg_advisory_unlock(%lld)", (long long)stock);
}

/* Until so many stand still on a lock of this kind. */
static void wait_for_waiters(const char *kind, int64_t count)
{

    T_UNTIL(witness_number(here.witness,
                           "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                           " AND datname = current_database() AND wait_event = '%s'",
                           kind) >= count);
}

static void wait_for_orders(int64_t count)
{

    T_UNTIL(server_metric(here.server, "seckill_orders_in_flight", "") >= count);
}

/* Orders of users from `user` on. */
static struct crowd *send(const char *strategy, int64_t user, int count)
{
    struct crowd *crowd = crowd_create();

    for (int i = 0; i < count; i++) {
        struct buy buy = {.strategy = strategy,
                          .product = here.product,
                          .user = user + i,
                          .more = "&wait_ms=60000"};
        shop_crowd_buy(crowd, here.server, &buy);
    }
    crowd_send(crowd);
    return crowd;
}

static void expect_confirmed(struct crowd *crowd, const char *strategy)
{
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, 201, "") != crowd_size(crowd))
        fail_msg("%s: %s", strategy, crowd_summary(crowd));
    crowd_destroy(crowd);
}

/* Whichever order that is: the one that stood on the lock may have given that wait up. */
static void wait_for_a_sale(void)
{

    T_UNTIL(witness_sale(here.witness, here.product).orders != 0);
}

/* False when the order that stood on the lock has given that wait up, as it does after a while,
 * before it was let go: the stranger came before all of the run, which shows nothing. */
static bool sell_beside_a_stranger(const char *strategy)
{
    shop_put(here.server, ++here.product, STOCK, NULL);
    hold(STOCK - 1);
    hold(STOCK - 2);
    struct crowd *first = send(strategy, 1, 1);
    wait_for_waiters("advisory", 1);
    struct crowd *run = send(strategy, 10, RUN);
    wait_for_orders(1 + RUN);
    let_go(STOCK - 1);
    wait_for_a_sale();
    wait_for_waiters("advisory", 1);
    witness_run(here.stranger, "BEGIN");
    witness_send(here.stranger, "SELECT FROM product WHERE id = %lld FOR UPDATE",
                 (long long)here.product);
    wait_for_waiters("transactionid", 1);
    let_go(STOCK - 2);

    /* Nothing is sold any more from now on: whichever order the stranger came before, it waits. */
    witness_await(here.stranger, clock_mono_us() + PATIENCE_US);
    int sold = (int)witness_sale(here.witness, here.product).orders;
    assert_in_range(sold, 1, 1 + RUN);
    if (sold > 1 && !crowd_wait(run, sold - 1, clock_mono_us() + ANSWER_US))
        fail_msg("%s: %d of the run were sold: %s", strategy, sold - 1, crowd_summary(run));
    witness_run(here.stranger, "ROLLBACK");
    expect_confirmed(first, strategy);
    expect_confirmed(run, strategy);
    witness_expect_exact(here.witness, here.product);
    return sold > 1;
}

TEST(who_was_sold_something_is_told)
{
    for (int round = 0; round < ROUNDS; round++) {
        T_UNTIL(sell_beside_a_stranger("pipelined"));
    }
}

TEST_GROUP(open_all, close_all)
