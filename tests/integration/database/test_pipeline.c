/*
 * Pipelined transactions (postgres/pipeline.c), straight against PostgreSQL.
 *
 * Queueing a statement changes nothing but when it is sent, which the costs tell: each has its own
 * result or failure, and what is thrown away leaves neither a lock nor a transaction behind.
 */
#include "lib/stack.h"
#include "lib/t.h"
#include "lib/witness.h"

#include "base/clock.h"
#include "metrics/cost.h"
#include "postgres/pg.h"

#include <stdlib.h>

#define DATABASE "seckill_pipeline"
#define SESSION  "pg_stat_activity WHERE application_name = 'seckill' AND datname = '" DATABASE "'"
#define LOCK     "SELECT FROM product WHERE id = %d FOR UPDATE"

/* Products 1 to 20 have as many units as their number says. */
enum { HOT = 10, OTHER = 20, NOBODY = 99 };
enum { VALUES = 7, EPOCH = 1, REPEATED = 0, ORDERS = 200, SHORT_US = 100000 };

static struct {
    char *conninfo; /* owned, as all here */
    struct store *store;
    struct pg *pg;
    struct witness *witness;
    struct witness *holder;
} here;

static int64_t soon(void)
{
    return clock_mono_us() + t_patience_us();
}

/* Statements since the last time. */
static void expect_sent(int statements)
{
    assert_int_equal(cost_take(COST_POSTGRESQL).of[COST_STATEMENTS], statements);
}

static enum pg_status lock_until(int product, int64_t until_us)
{
    return pg_exec(here.pg, SQL_PRODUCT_LOCK, PG_ARGS(pg_int8(product)), until_us);
}

static void expect_lock(int product, int stock)
{
    assert_int_equal(lock_until(product, soon()), PG_OK);
    assert_int_equal(pg_get_int8(here.pg, 0, 0), stock);
}

static void hot_pipelined(enum sql statement, bool begins)
{
    struct pg_value value = pg_int8(HOT);

    pg_pipeline(here.pg, &(struct pg_command){statement, &value, 1}, begins);
}

static enum pg_status set_and_commit(int product, int stock)
{
    const struct pg_value values[] = {pg_int8(product), pg_int8(1), pg_int8(stock)};

    cost_take(COST_POSTGRESQL);
    return pg_exec_commit(here.pg, &(struct pg_command){SQL_STOCK_SET, values, 3}, 1, soon());
}

struct buy {
    struct uuid id;
    struct pg_value values[VALUES];
};

static struct pg_command buy_fill(struct buy *buy, int product, int number)
{
    *buy = (struct buy){{{1, (uint8_t)number}},
                        {pg_uuid(&buy->id), pg_int8(product), pg_int8(number), pg_int8(1),
                         pg_text("conditional"), pg_time(0), pg_int8(EPOCH)}};
    return (struct pg_command){SQL_CONDITIONAL_BUY, buy->values, VALUES};
}

static void buy_pipelined(int product, int number)
{
    static struct buy buys[ORDERS];
    struct pg_command command = buy_fill(&buys[number], product, number);

    pg_pipeline(here.pg, &command, false);
}

/* Made anew: it is the values that are compared, not where they are. */
static enum pg_status buy_until(int product, int number, int64_t until_us)
{
    struct buy buy;
    struct pg_command command = buy_fill(&buy, product, number);

    return pg_exec(here.pg, command.statement, command.values, command.count, until_us);
}

static void expect_buy(int product, int number, int affected)
{
    assert_int_equal(buy_until(product, number, soon()), PG_OK);
    assert_int_equal(pg_affected(here.pg), affected);
}

static int64_t stock_of(int product)
{
    return witness_number(here.witness, "SELECT stock FROM product WHERE id = %d", product);
}

static bool is_locked(int product)
{
    return !witness_number(here.witness, "SELECT count(*) FROM (" LOCK " SKIP LOCKED) x", product);
}

static void wait_until_hot_is_locked(void)
{
    for (int64_t until_us = soon(); !is_locked(HOT); clock_sleep_until(clock_mono_us() + 2000))
        assert_true(clock_mono_us() < until_us);
}

/* The newest: an older one may take a while to end. */
static int64_t backend(void)
{
    return witness_number(here.witness,
                          "SELECT pid FROM " SESSION " ORDER BY backend_start DESC LIMIT 1");
}

/* A transaction whose COMMIT takes the next one's BEGIN and product_lock along. */
static void end_with_lock_pipelined(int product, int stock, enum pg_status status)
{
    pg_begin(here.pg);
    expect_lock(product, product);
    hot_pipelined(SQL_PRODUCT_LOCK, true);
    expect_lock(product, product); /* not the end yet */
    assert_int_equal(set_and_commit(product, stock), status);
    expect_sent(4);
    if (status == PG_OK)
        wait_until_hot_is_locked();
}

/* The session is as good as any. */
static void expect_works(int product, int stock)
{
    assert_false(pg_in_transaction(here.pg) || is_locked(product));
    pg_begin(here.pg);
    expect_lock(product, stock);
    assert_int_equal(set_and_commit(product, stock - 1), PG_OK);
    assert_int_equal(stock_of(product), stock - 1);
    expect_sent(2);
}

static int set_up(void **state)
{
    struct error error = {ERROR_NONE, ""};

    (void)state;
    here.conninfo = stack_database_create(DATABASE);
    here.store = store_create(here.conninfo, (struct store_limits){60000, 60000},
                              (struct store_schema){.name = "seckill"}, &error);
    assert_non_null(here.store);
    here.pg = pg_create(here.store);
    assert_true(store_prepare(here.store, here.pg, soon(), soon(), &error));
    assert_true(pg_connect(here.pg, soon()));
    here.witness = witness_open(here.conninfo);
    here.holder = witness_open(here.conninfo);
    witness_run(here.witness, "INSERT INTO product (id, initial_stock, stock, epoch, version)"
                              " SELECT id, id, id, 1, 1 FROM generate_series(1, 20) AS id");
    expect_buy(NOBODY, 1, 0); /* what is to travel must be prepared */
    expect_works(9, 9);
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

static void a_lock_travels_with_the_commit_before_it(void **state)
{
    (void)state;
    end_with_lock_pipelined(HOT, 7, PG_OK);
    pg_begin(here.pg);
    expect_lock(HOT, 7);
    expect_sent(0);
    assert_true(pg_in_transaction(here.pg));
    assert_int_equal(set_and_commit(HOT, 6), PG_OK);
    expect_works(HOT, 6);
}

static void another_statement_throws_it_away(void **state)
{
    (void)state;
    end_with_lock_pipelined(OTHER, OTHER, PG_OK);
    pg_begin(here.pg);
    assert_int_equal(pg_exec(here.pg, SQL_PRODUCT_READ, PG_ARGS(pg_int8(HOT)), soon()), PG_OK);
    assert_int_equal(pg_get_int8(here.pg, 0, 0), HOT);
    assert_false(is_locked(HOT));
    assert_int_equal(pg_commit(here.pg, soon()), PG_OK);
    end_with_lock_pipelined(OTHER, OTHER, PG_OK);
    pg_begin(here.pg);
    expect_lock(2, 2); /* the same one with other values */
    assert_true(is_locked(2) && !is_locked(HOT));
    assert_int_equal(set_and_commit(2, 7), PG_OK);
    expect_works(2, 7);
}

static void another_kind_of_transaction_throws_it_away(void **state)
{
    (void)state;
    end_with_lock_pipelined(OTHER, OTHER, PG_OK);
    expect_lock(HOT, HOT); /* in none */
    assert_false(is_locked(HOT));
    end_with_lock_pipelined(OTHER, OTHER, PG_OK);
    pg_begin_serializable(here.pg);
    expect_lock(HOT, HOT);
    witness_number(here.witness, "SELECT 1 FROM pg_locks WHERE mode = 'SIReadLock'");
    assert_int_equal(pg_commit(here.pg, soon()), PG_OK);
    expect_works(HOT, HOT);
}

/* What threw it away is a transaction like any. */
static void a_transaction_that_threw_it_away_is_rolled_back(void **state)
{
    const struct pg_value values[] = {pg_int8(2), pg_int8(1), pg_int8(7)};

    (void)state;
    end_with_lock_pipelined(OTHER, OTHER, PG_OK);
    pg_begin(here.pg);
    assert_int_equal(pg_exec(here.pg, SQL_STOCK_SET, values, 3, soon()), PG_OK);
    pg_rollback(here.pg, soon());
    expect_works(HOT, HOT);
    assert_int_equal(stock_of(2), 2); /* nor did the next COMMIT take it along */
}

static void it_is_dropped_on_demand(void **state)
{
    (void)state;
    end_with_lock_pipelined(OTHER, OTHER, PG_OK);
    pg_pipeline_drain(here.pg, soon());
    assert_false(is_locked(HOT));
    hot_pipelined(SQL_PRODUCT_LOCK, true);
    pg_pipeline_drain(here.pg, soon()); /* not even sent */
    expect_works(OTHER, OTHER);
}

static void an_error_before_it_stays_there(void **state)
{
    (void)state;
    end_with_lock_pipelined(HOT, -1, PG_BUG);
    pg_rollback(here.pg, soon());
    assert_int_equal(stock_of(HOT), HOT);
    expect_works(HOT, HOT);
}

/* Orders in a row with up to `ahead` of them in the pipeline; the failing one has been made before.
 */
static void run(int product, int count, int ahead, int failing, unsigned round_trips)
{
    int first = 10 * product;

    cost_take(COST_POSTGRESQL);
    for (int i = 0, asked = 1; i < count; i++) {
        for (; asked < count && asked <= i + ahead; asked++)
            buy_pipelined(product, asked == failing ? REPEATED : first + asked);
        if (i == failing)
            assert_int_equal(buy_until(product, REPEATED, soon()), PG_UNIQUE);
        else
            expect_buy(product, first + i, i < product);
        pg_rollback(here.pg, soon()); /* of nothing: those in the pipeline may have */
    }
    struct cost cost = cost_take(COST_POSTGRESQL);
    assert_int_equal(cost.of[COST_STATEMENTS], count);
    assert_int_equal(cost.of[COST_ROUND_TRIPS], round_trips);
    assert_int_equal(witness_sale(here.witness, product).orders, failing < 0 ? product : count - 1);
    witness_expect_exact(here.witness, product);
}

static void each_of_a_run_has_its_own_result(void **state)
{
    (void)state;
    run(2, 3, 1, -1, 1);
    run(1, 3, 2, -1, 1);
    run(3, 7, 6, -1, 3); /* the pipeline has no room for the last two: they go alone */
}

static void one_of_a_run_that_fails_leaves_the_others_alone(void **state)
{
    (void)state;
    expect_buy(OTHER, REPEATED, 1);
    for (int failing = 0; failing < 3; failing++)
        run(HOT + failing, 3, 2, failing, 1);
}

static void who_is_patient_cancels_one_and_keeps_the_next(void **state)
{
    int64_t pid = backend();

    (void)state;
    witness_run(here.holder, "BEGIN; " LOCK, HOT);
    pg_cancel_late(here.pg, true);
    buy_pipelined(HOT, 2);
    assert_int_equal(buy_until(HOT, 1, clock_mono_us() + SHORT_US), PG_CANCELLED);
    assert_true(pg_connect(here.pg, soon()));
    assert_int_equal(backend(), pid);
    witness_run(here.holder, "COMMIT");
    enum pg_status status = buy_until(HOT, 2, soon());
    if (status == PG_CONFLICT) /* PostgreSQL signals a cancel twice: both may be hit */
        status = buy_until(HOT, 2, soon());
    assert_int_equal(status, PG_OK);
    assert_int_equal(stock_of(HOT), HOT - 1);
    assert_int_equal(witness_number(here.witness, "SELECT sum(user_id) FROM orders"), 2);
    /* Nothing is lost by it now, and the cancel request might come late. */
    assert_true(pg_connect(here.pg, soon()));
    assert_int_not_equal(backend(), pid);
}

static void a_cancelled_transaction_of_the_pipeline_is_left(void **state)
{
    (void)state;
    witness_run(here.holder, "BEGIN; " LOCK, HOT);
    pg_cancel_late(here.pg, true);
    end_with_lock_pipelined(OTHER, OTHER, PG_OK);
    pg_begin(here.pg);
    assert_int_equal(lock_until(HOT, clock_mono_us() + SHORT_US), PG_CANCELLED);
    pg_rollback(here.pg, soon());
    witness_run(here.holder, "COMMIT");
    assert_false(is_locked(HOT));
    assert_true(pg_connect(here.pg, soon()));
    expect_lock(HOT, HOT);
}

static void who_is_not_patient_loses_the_next(void **state)
{
    (void)state;
    witness_run(here.holder, "BEGIN; " LOCK, HOT);
    buy_pipelined(HOT, 2);
    assert_int_equal(buy_until(HOT, 1, clock_mono_us() + SHORT_US), PG_TIMEOUT);
    assert_int_equal(buy_until(HOT, 2, soon()), PG_LOST);
    witness_run(here.holder, "COMMIT");
    assert_true(pg_connect(here.pg, soon()));
    expect_lock(OTHER, OTHER);
}

/* There is something to be read, as when the server ends a session. */
static void connecting_keeps_the_pipeline(void **state)
{
    int64_t pid = backend();

    (void)state;
    end_with_lock_pipelined(OTHER, OTHER, PG_OK);
    assert_true(pg_connect(here.pg, soon()));
    assert_int_equal(backend(), pid);
    pg_begin(here.pg);
    expect_lock(HOT, HOT);
    expect_sent(0);
}

static void what_is_not_prepared_is_sent_in_its_turn(void **state)
{
    (void)state;
    hot_pipelined(SQL_PRODUCT_READ, false);
    buy_pipelined(HOT, 2); /* does not overtake it */
    cost_take(COST_POSTGRESQL);
    expect_buy(HOT, 1, 1);
    expect_sent(1);
    assert_int_equal(pg_exec(here.pg, SQL_PRODUCT_READ, PG_ARGS(pg_int8(HOT)), soon()), PG_OK);
    assert_int_equal(pg_get_int8(here.pg, 0, 0), HOT - 1);
    expect_sent(2);
    expect_buy(HOT, 2, 1);
    expect_sent(0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_lock_travels_with_the_commit_before_it),
        CASE(another_statement_throws_it_away),
        CASE(another_kind_of_transaction_throws_it_away),
        CASE(a_transaction_that_threw_it_away_is_rolled_back),
        CASE(it_is_dropped_on_demand),
        CASE(an_error_before_it_stays_there),
        CASE(each_of_a_run_has_its_own_result),
        CASE(one_of_a_run_that_fails_leaves_the_others_alone),
        CASE(who_is_patient_cancels_one_and_keeps_the_next),
        CASE(a_cancelled_transaction_of_the_pipeline_is_left),
        CASE(who_is_not_patient_loses_the_next),
        CASE(connecting_keeps_the_pipeline),
        CASE(what_is_not_prepared_is_sent_in_its_turn),
    };

    return cmocka_run_group_tests(tests, NULL, stack_restore) != 0;
}
