/*
 * How PostgreSQL executes the statements. A session keeps its plans; it makes them when a sale
 * begins and the tables are empty, and uses them when they hold millions of rows.
 */
#include "lib/server.h"
#include "lib/stack.h"
#include "lib/t.h"
#include "lib/witness.h"

#include "base/clock.h"
#include "postgres/pg.h"

#include <stdlib.h>
#include <string.h>

#define DATABASE "seckill_plans"
#define READ                                                                                       \
    "SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0) FROM pg_stat_user_tables"               \
    " WHERE relname IN ('orders', 'purchase')"

enum { PRODUCT = 1, ENDED = 2, EPOCH = 1, ROWS = 60000 };

static struct {
    char *conninfo; /* owned, as all here */
    struct store *store;
    struct pg *prober;
    struct pg *pg;
    struct witness *witness;
} here;

static int64_t soon(void)
{
    return clock_mono_us() + t_patience_us();
}

static void probe(void)
{
    struct error error = {ERROR_NONE, ""};

    if (!store_prepare(here.store, here.prober, soon(), soon(), &error))
        fail_msg("%s", error.text);
}

static void expect_rows(enum sql statement, const struct pg_value *values, int count, int rows)
{
    assert_int_equal(pg_exec(here.pg, statement, values, count, soon()), PG_OK);
    assert_int_equal(pg_rows(here.pg), rows);
}

/* What buyers with a key, and a limit, look up. */
static void look_up(int rows)
{
    const int64_t product[] = {PRODUCT};
    const int64_t epoch[] = {EPOCH};
    const int64_t user[] = {1};
    const char *const key[] = {"k1"};

    expect_rows(SQL_ORDER_BY_KEY, PG_ARGS(pg_int8(1), pg_text("k1")), rows);
    expect_rows(SQL_BATCH_KEYS, PG_ARGS(pg_int8s(user, 1), pg_texts(key, 1)), rows);
    expect_rows(SQL_BATCH_UNITS,
                PG_ARGS(pg_int8s(product, 1), pg_int8s(epoch, 1), pg_int8s(user, 1)), rows);
}

static void grow(int product)
{
    witness_run(here.witness,
                "INSERT INTO orders SELECT gen_random_uuid(), %d, %d, n, 1, 'conditional', 1, NULL,"
                " 'k' || n, now() FROM generate_series(1, %d) AS n",
                product, EPOCH, ROWS);
    witness_run(here.witness,
                "INSERT INTO purchase SELECT %d, n, %d, 1 FROM generate_series(1, %d)"
                " AS n",
                product, EPOCH, ROWS);
    witness_run(here.witness, "SELECT pg_stat_force_next_flush()");
}

/* Of all sessions, which tell it at their end. */
static void expect_few_read(int64_t before, int64_t most)
{
    pg_close(here.pg);
    pg_close(here.prober);
    T_UNTIL(witness_number(here.witness,
                           "SELECT count(*) FROM pg_stat_activity WHERE"
                           " application_name = 'seckill' AND datname = '" DATABASE "'") == 0);
    assert_in_range(witness_number(here.witness, READ) - before, 1, most);
}

TEST(plans_follow_the_tables)
{
    probe();
    assert_true(pg_connect(here.pg, soon()));
    look_up(0);
    grow(PRODUCT);
    int64_t before = witness_number(here.witness, READ);
    probe();
    assert_true(pg_connect(here.pg, soon()));
    look_up(1);
    expect_few_read(before, 100);
}

/* While others shrink, between the same two looks. */
TEST(plans_follow_one_table_of_all)
{
    witness_run(
        here.witness,
        "INSERT INTO restock SELECT gen_random_uuid(), %d, %d, 1, 'conditional', NULL, now()"
        " FROM generate_series(1, %d)",
        ENDED, EPOCH, ROWS);
    witness_run(here.witness, "INSERT INTO retired SELECT n, %d FROM generate_series(1, %d) AS n",
                EPOCH, ROWS);
    witness_run(here.witness, "SELECT pg_stat_force_next_flush()");
    probe();
    assert_true(pg_connect(here.pg, soon()));
    look_up(0);
    witness_run(here.witness, "TRUNCATE restock, retired");
    grow(PRODUCT);
    int64_t before = witness_number(here.witness, READ);
    probe();
    assert_true(pg_connect(here.pg, soon()));
    look_up(1);
    expect_few_read(before, 100);
}

/* Half of the orders are cancelled, of products that were PUT different numbers of times. To the
 * planner, to which a product and its epoch have nothing to do with each other, next to none of
 * them is of a present sale. */
TEST(a_page_of_the_feed_begins_at_its_position)
{
    enum { PRODUCTS = 30, PAGE = 100 };
    static const struct uuid none = {{0}};

    witness_run(here.witness,
                "INSERT INTO product (id, initial_stock, stock, epoch, version)"
                " SELECT n, 10, 10, n, 1 FROM generate_series(2, %d) AS n",
                PRODUCTS);
    witness_run(here.witness,
                "INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status,"
                " created_at, entered) SELECT gen_random_uuid(), 1 + n %% %d, 1 + n %% %d, n, 1,"
                " 'conditional', 1 + n %% 2, now(), '1' FROM generate_series(1, %d) AS n",
                PRODUCTS, PRODUCTS, ROWS);
    witness_run(here.witness, "INSERT INTO order_change SELECT id, product_id, epoch, 2, '2'"
                              " FROM orders WHERE status = 2");
    witness_run(here.witness, "SELECT pg_stat_force_next_flush()");
    int64_t before = witness_number(here.witness, READ);
    probe();
    assert_true(pg_connect(here.pg, soon()));
    expect_rows(SQL_FEED_PAGE, PG_ARGS(pg_int8(0), pg_uuid(&none), pg_int8(0), pg_int8(PAGE)),
                PAGE);
    expect_few_read(before, INT64_C(4) * PAGE);
}

/* Rows that are locked for a change must be chosen once. A subquery behind IN may become the inner
 * side of a nested loop, and then chooses, and locks, anew for each row of the table. */
TEST_WITH(what_is_locked_is_chosen_once, NULL, NULL)
{
    for (int i = 0; i < SQL_COUNT; i++) {
        const char *in = strstr(sql_texts[i], " IN (\n");
        if (in && strstr(in, "FOR UPDATE"))
            fail_msg("%s locks in a subquery behind IN", sql_names[i]);
    }
}

static void wait_cleared(void)
{
    T_UNTIL(witness_number(here.witness, "SELECT count(*) FROM retired") == 0);
}

/* Nobody else is to make the plans anew. Known to be empty, as after a sale that was cleared away;
 * nothing is known of tables that are new. */
static int empty_tables(void **state)
{
    static const char *const tables[] = {"product", "orders", "order_change", "purchase",
                                         "retired"};

    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        witness_run(here.witness, "ALTER TABLE %s SET (autovacuum_enabled = off)", tables[i]);
        witness_run(here.witness, "TRUNCATE %s", tables[i]);
        witness_run(here.witness, "VACUUM ANALYZE %s", tables[i]);
    }
    witness_run(here.witness,
                "INSERT INTO product (id, initial_stock, stock, epoch, version)"
                " VALUES (%d, 10, 10, %d, 1)",
                PRODUCT, EPOCH);
    return 0;
}

/* The purge's session has planned its statements for empty tables before a large sale ends. A piece
 * that is begun before the background has seen the tables grow is given up, and made again. */
TEST_WITH(a_large_sale_is_cleared, empty_tables, server_teardown)
{
    struct server *server = server_start(NULL);

    witness_run(here.witness, "INSERT INTO retired VALUES (%d, %d)", ENDED, EPOCH);
    wait_cleared();
    witness_run(here.witness, "BEGIN");
    witness_run(here.witness, "INSERT INTO retired VALUES (%d, %d)", ENDED, EPOCH);
    grow(ENDED);
    witness_run(here.witness, "COMMIT");
    wait_cleared();
    assert_int_equal(witness_number(here.witness, "SELECT count(*) FROM orders"), 0);
    server_stop(server);
}

static int set_up(void **state)
{
    struct error error = {ERROR_NONE, ""};

    (void)state;
    here.conninfo = stack_database_create(DATABASE);
    server_use_database(here.conninfo);
    here.store = store_create(here.conninfo, (struct store_limits){60000, 60000, 0},
                              (struct store_schema){.name = "seckill"}, &error);
    assert_non_null(here.store);
    here.prober = pg_create(here.store);
    here.pg = pg_create(here.store);
    here.witness = witness_open(here.conninfo);
    probe();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    witness_close(here.witness);
    pg_destroy(here.pg);
    pg_destroy(here.prober);
    store_destroy(here.store);
    stack_database_drop(DATABASE);
    free(here.conninfo);
    return 0;
}

TEST_GROUP(set_up, tear_down)
TEST_EACH(empty_tables, NULL)
