/*
 * Transactions of one statement each, sent behind one another (postgres/pipeline.c), straight
 * against PostgreSQL: each has its own result or failure, and it is known which of them were sent.
 */
#include "lib/stack.h"
#include "lib/t.h"
#include "lib/witness.h"

#include "base/clock.h"
#include "metrics/cost.h"
#include "postgres/pg.h"

#include <stdlib.h>

#define DATABASE "seckill_pipeline"
#define LOCK     "SELECT FROM product WHERE id = %d FOR UPDATE"

/* Products 1 to 20 have as many units as their number says, MANY has plenty. */
enum { HOT = 10, OTHER = 20, MANY = 21, NOBODY = 99 };
enum { VALUES = 7, EPOCH = 1, ORDERS = 200, AHEAD = 32, WAIT_MS = 10 };

static struct {
    char *conninfo; /* owned, as all here */
    struct store *store;
    struct pg *pg;
    struct witness *witness;
    struct witness *holder;
} here;

static struct run {
    struct uuid ids[ORDERS];
    struct pg_value values[ORDERS][VALUES];
    struct pg_command commands[ORDERS];
    struct pg_each ends[ORDERS];
} run;

static int64_t soon(void)
{
    return clock_mono_us() + t_patience_us();
}

/* Orders of this product with ids from `first` on. */
static void fill(int product, int first, int count)
{
    for (int i = 0; i < count; i++) {
        int number = first + i;
        run.ids[i] = (struct uuid){{1, (uint8_t)product, (uint8_t)(number >> 8), (uint8_t)number}};
        const struct pg_value values[VALUES] = {
            pg_uuid(&run.ids[i]), pg_int8(product), pg_int8(number + 1), pg_int8(1),
            pg_text("pipelined"), pg_time(0),       pg_int8(EPOCH)};
        for (int v = 0; v < VALUES; v++)
            run.values[i][v] = values[v];
        run.commands[i] = (struct pg_command){SQL_CONDITIONAL_BUY, run.values[i], VALUES};
        run.ends[i] = (struct pg_each){.affected = -1};
    }
}

static int send(int count, int64_t begin_until_us, int64_t until_us)
{
    cost_take(COST_POSTGRESQL);
    return pg_exec_each(here.pg, run.commands, count, run.ends, begin_until_us, until_us);
}

static int send_all(int count)
{
    return send(count, INT64_MAX, soon());
}

static int64_t orders_of(int product)
{
    return witness_number(here.witness, "SELECT count(*) FROM orders WHERE product_id = %d",
                          product);
}

static int set_up(void **state)
{
    struct error error = {ERROR_NONE, ""};

    (void)state;
    here.conninfo = stack_database_create(DATABASE);
    here.store = store_create(here.conninfo, (struct store_limits){60000, 60000, 0},
                              (struct store_schema){.name = "seckill"}, &error);
    assert_non_null(here.store);
    here.pg = pg_create(here.store);
    assert_true(store_prepare(here.store, here.pg, soon(), soon(), &error));
    assert_true(pg_connect(here.pg, soon()));
    here.witness = witness_open(here.conninfo);
    here.holder = witness_open(here.conninfo);
    witness_run(here.witness, "INSERT INTO product (id, initial_stock, stock, epoch, version)"
                              " SELECT id, n, n, 1, 1 FROM (SELECT id, CASE WHEN id = 21 THEN 1000"
                              " ELSE id END AS n FROM generate_series(1, 21) AS id) AS them");
    fill(NOBODY, 0, 1);
    assert_int_equal(send_all(1), 1); /* the first is prepared, and goes alone */
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pg_destroy(here.pg);
    store_destroy(here.store);
    witness_close(here.witness);
    witness_close(here.holder);
    stack_database_drop(DATABASE);
    free(here.conninfo);
    return 0;
}

TEST(each_has_its_own_result)
{
    fill(HOT, 0, 2 * HOT);
    assert_int_equal(send_all(2 * HOT), 2 * HOT);
    for (int i = 0; i < 2 * HOT; i++) {
        assert_int_equal(run.ends[i].status, PG_OK);
        assert_int_equal(run.ends[i].affected, i < HOT);
    }
    struct cost cost = cost_take(COST_POSTGRESQL);
    assert_int_equal(cost.of[COST_STATEMENTS], 2 * HOT);
    assert_int_equal(cost.of[COST_ROUND_TRIPS], 1);
    assert_int_equal(cost.of[COST_FLUSHES], HOT);
    witness_expect_exact(here.witness, HOT);
}

TEST(more_follow_as_answers_come)
{
    fill(MANY, 0, ORDERS);
    assert_int_equal(send_all(ORDERS), ORDERS);
    assert_int_equal(orders_of(MANY), ORDERS);
    struct cost cost = cost_take(COST_POSTGRESQL);
    assert_in_range(cost.of[COST_ROUND_TRIPS], ORDERS / AHEAD, 2 * ORDERS / AHEAD + 1);
    witness_expect_exact(here.witness, MANY);
}

TEST(what_is_not_prepared_goes_first_and_alone)
{
    pg_close(here.pg);
    assert_true(pg_connect(here.pg, soon()));
    fill(MANY, 0, 4);
    assert_int_equal(send_all(4), 4);
    assert_int_equal(cost_take(COST_POSTGRESQL).of[COST_ROUND_TRIPS], 2);
    assert_int_equal(orders_of(MANY), 4);
}

TEST(one_that_fails_leaves_the_others_alone)
{
    enum { COUNT = 5, FAILING = 2 };

    fill(OTHER, FAILING, 1);
    assert_int_equal(send_all(1), 1);
    fill(OTHER, 0, COUNT);
    assert_int_equal(send_all(COUNT), COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(run.ends[i].status, i == FAILING ? PG_UNIQUE : PG_OK);
    assert_int_equal(orders_of(OTHER), COUNT);
    witness_expect_exact(here.witness, OTHER);
    assert_true(pg_connect(here.pg, soon()) && !pg_in_transaction(here.pg));
}

/* The holder keeps the row for longer than all of them may wait. */
TEST(a_wait_in_vain_is_the_last_that_is_sent)
{
    witness_run(here.holder, "BEGIN; " LOCK, MANY);
    pg_lock_until(here.pg, soon(), WAIT_MS);
    fill(MANY, 0, ORDERS);
    assert_int_equal(send_all(ORDERS), AHEAD);
    for (int i = 0; i < AHEAD; i++)
        assert_int_equal(run.ends[i].status, PG_BUSY);
    assert_int_equal(run.ends[AHEAD].affected, -1);
    witness_run(here.holder, "COMMIT");
    assert_int_equal(orders_of(MANY), 0);
    assert_true(pg_connect(here.pg, soon()));
    assert_int_equal(send_all(ORDERS), ORDERS);
    assert_int_equal(orders_of(MANY), ORDERS);
}

TEST(none_is_begun_when_the_time_is_over)
{
    fill(MANY, 0, ORDERS);
    assert_int_equal(send(ORDERS, clock_mono_us(), soon()), AHEAD);
    assert_int_equal(orders_of(MANY), AHEAD);
}

/* Nobody knows what became of those that were under way, and nothing was done about the others. */
TEST(no_answer_in_time_leaves_them_unknown)
{
    enum { SHORT_US = 1000000 };

    witness_run(here.holder, "BEGIN; " LOCK, MANY);
    fill(MANY, 0, ORDERS);
    assert_int_equal(send(ORDERS, INT64_MAX, clock_mono_us() + SHORT_US), AHEAD);
    for (int i = 0; i < AHEAD; i++)
        assert_int_equal(run.ends[i].status, PG_TIMEOUT);
    assert_false(pg_is_open(here.pg));
    witness_run(here.holder, "COMMIT");
    assert_true(pg_connect(here.pg, soon()));
    fill(OTHER, 0, 1);
    assert_int_equal(send_all(1), 1);
    assert_int_equal(run.ends[0].status, PG_OK);
}

TEST(without_a_session_none_is_sent)
{
    pg_close(here.pg);
    fill(MANY, 0, 3);
    assert_int_equal(send_all(3), 0);
}

/* One session releases its commits early, and says so to PostgreSQL once. */
TEST(commits_may_be_released_early)
{
    pg_commit_early(here.pg, true);
    fill(MANY, 0, 10);
    assert_int_equal(send_all(10), 10);
    struct cost cost = cost_take(COST_POSTGRESQL);
    assert_int_equal(cost.of[COST_STATEMENTS], 11);
    assert_int_equal(cost.of[COST_FLUSHES], 0);
    assert_int_equal(pg_exec(here.pg, SQL_SERVER_STATE, PG_NO_ARGS, soon()), PG_OK);
    char text[16];
    pg_get_text(here.pg, 0, 2, text, sizeof text);
    assert_string_equal(text, "off");
    pg_commit_early(here.pg, false);
    assert_int_equal(pg_exec(here.pg, SQL_SERVER_STATE, PG_NO_ARGS, soon()), PG_OK);
    pg_get_text(here.pg, 0, 2, text, sizeof text);
    assert_string_equal(text, "on");
    assert_int_equal(pg_flush_reads(here.pg, soon()), PG_OK);
}

TEST_GROUP(NULL, stack_restore)
TEST_EACH(set_up, tear_down)
