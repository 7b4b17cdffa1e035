/*
 * The witness's SQL and the audit command, on rows that no server would write. The tables stand in
 * a schema of their own, without the constraints that would refuse such rows, and where no
 * search_path looks for them.
 */
#include "lib/t.h"

#include "bench/tools/pgbench.h"
#include "harness/fixtures/has.h"
#include "harness/fixtures/program.h"
#include "lib/pgbouncer.h"
#include "loadtest/judge/witness.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

static struct error error;

#define NAME   "Wit\"nessed"
#define SCHEMA "\"Wit\"\"nessed\""

static const char tables[] =
    "CREATE TABLE product (id bigint, initial_stock bigint, stock bigint, limit_per_user bigint,"
    "  epoch bigint, split boolean DEFAULT false);"
    "CREATE TABLE bucket (product_id bigint, epoch bigint, stock bigint);"
    "CREATE TABLE orders (product_id bigint, epoch bigint, user_id bigint, quantity bigint,"
    "  status smallint, strategy text DEFAULT 'none', idempotency_key text,"
    "  reason text);"
    "CREATE TABLE restock (product_id bigint, epoch bigint, quantity bigint,"
    "  strategy text DEFAULT 'none');";

static char conninfo[512];
static int64_t limit; /* of the product that was audited last */

static void sql(const char *text)
{
    PGconn *connection = PQconnectdb(conninfo);
    PQclear(PQexec(connection, "SET search_path = " SCHEMA));
    PGresult *result = PQexec(connection, text);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail_msg("%s: %s", text, PQerrorMessage(connection));
    PQclear(result);
    PQfinish(connection);
}

static void keep(void *context, const struct witness_product *product)
{
    *(struct witness_product *)context = *product;
}

static struct books audited(int64_t product)
{
    struct witness_product found = {0};
    struct witness *witness = witness_create(conninfo, NAME, &error);
    if (!witness || !witness_audit(witness, product, product, keep, &found, &error))
        fail_msg("%s", error.text);
    witness_destroy(witness);
    assert_int_equal(found.id, product);
    limit = found.limit;
    return found.audit;
}

TEST(only_rows_of_this_sale_count)
{
    sql("INSERT INTO product VALUES (1, 10, 8, NULL, 5);"
        "INSERT INTO orders VALUES (1, 5, 7, 1, 3, 'refused', NULL, 'sold_out'),"
        " (1, 5, 8, 1, 3, 'refused', NULL, NULL), (1, 5, 8, 4, 3, 'refused', NULL, 'lost'),"
        " (1, 4, 9, 1, 3, 'refused', NULL, 'sold_out');"
        "INSERT INTO orders VALUES (1, 5, 1, 2, 1), (1, 5, 2, 3, 0), (1, 5, 3, 4, 2), (2, 5, 6, 7, "
        "1);"
        "INSERT INTO orders VALUES (1, 5, 4, 5, 3, 'tombstone', NULL, "
        "'not_committed'), (1, 4, 5, 6, 1, 'earlier', NULL, NULL);"
        "INSERT INTO restock VALUES (1, 4, 8)");
    struct books audit = audited(1);
    HAS(audit, initial_stock, 10, sold, 2, confirmed_rows, 1, failed_rows, 1, revoked_rows, 2, lost,
        4, queued, 3, restocked, 0, strategies, "none");
    assert_true(books_consistent(&audit));
}

TEST(stock_in_buckets_counts)
{
    struct witness_state seen;
    sql("INSERT INTO product VALUES (1, 10, 2, NULL, 5);"
        "INSERT INTO bucket VALUES (1, 5, 3), (1, 5, 4), (1, 4, 50), (2, 5, 60);"
        "INSERT INTO orders VALUES (1, 5, 1, 1, 1)");
    struct books audit = audited(1);
    assert_int_equal(audit.stock, 9);
    assert_true(books_consistent(&audit));
    struct witness *witness = witness_create(conninfo, NAME, &error);
    assert_true(witness_look(witness, 1, 1, &seen, &error));
    assert_int_equal(seen.stock, 9);
    witness_destroy(witness);
}

TEST(oversold_and_lost)
{
    sql("INSERT INTO product VALUES (3, 1, 0, NULL, 1);"
        "INSERT INTO orders SELECT 3, 1, n, 1, 1 FROM generate_series(1, 20) AS n");
    struct books audit = audited(3);
    HAS(audit, sold, 20, oversold, 19, lost_updates, 19);
    sql("INSERT INTO restock VALUES (3, 1, 19), (3, 1, 0)");
    audit = audited(3);
    HAS(audit, oversold, 0, lost_updates, 0, restock_rows, 1);
}

/* By the epoch that a PUT has answered, and by those that stood there since. */
TEST(a_sale_that_is_begun_again_is_seen)
{
    struct witness *witness = witness_create(conninfo, NAME, &error);
    sql("INSERT INTO product VALUES (4, 1, 1, NULL, 6), (5, 1, 1, NULL, 7)");
    assert_false(witness_remember(witness, 4, 5, 6, &error));
    assert_true(witness_remember(witness, 4, 5, 7, &error));
    assert_true(witness_same_sales(witness, &error));
    sql("UPDATE product SET epoch = 8 WHERE id = 5");
    assert_false(witness_same_sales(witness, &error));
    assert_string_equal(error.text, "product 5 was put on sale again meanwhile");
    witness_destroy(witness);
}

TEST(duplicates_and_limits)
{
    sql("INSERT INTO product VALUES (4, 100, 91, 2, 1);"
        "INSERT INTO orders VALUES (4, 1, 1, 1, 1, 'none', 'k'), (4, 1, 1, 1, 1, 'none', 'k'),"
        " (4, 1, 2, 1, 1, 'none', 'k');"
        "INSERT INTO orders VALUES (4, 1, 3, 2, 1), (4, 1, 3, 1, 2), (4, 1, 4, 1, 1),"
        " (4, 1, 4, 2, 0), (4, 1, 5, 3, 1)");
    struct books audit = audited(4);
    assert_int_equal(limit, 2);
    assert_int_equal(audit.duplicate_orders, 1);
    /* User 5; the cancelled unit of 3 is back, and what 4 waits for may be refused. */
    HAS(audit, limit_violations, 1, lost_updates, 0);
    assert_false(books_consistent(&audit));
}

TEST(what_it_waits_for)
{
    struct witness *witness = witness_create(conninfo, NAME, &error);
    struct witness_state seen;
    sql("INSERT INTO product VALUES (7, 5, 3, NULL, 2), (8, 5, 4, NULL, 1);"
        "INSERT INTO orders VALUES (7, 2, 1, 2, 1), (8, 1, 1, 1, 0)");
    assert_true(witness_look(witness, 7, 8, &seen, &error));
    HAS(seen, stock, 7, orders, 2, queued, 1, leftovers, 0);
    sql("INSERT INTO orders VALUES (7, 1, 1, 2, 1)");
    assert_true(witness_look(witness, 7, 8, &seen, &error));
    HAS(seen, leftovers, 1, orders, 2);
    witness_destroy(witness);
}

TEST(the_audit_command)
{
    program->options.database = conninfo;
    program_tells(2, "audit --product 1", "--product");
    program_exits(2, "audit");
    sql("INSERT INTO product VALUES (1, 10, 9, NULL, 1);"
        "INSERT INTO orders VALUES (1, 1, 1, 1, 1)");
    program_exits(0, "audit");
    sql("INSERT INTO product VALUES (2, 10, 10, NULL, 1);"
        "INSERT INTO orders VALUES (2, 1, 1, 1, 1)");
    program_tells(1, "audit", "1 of 2 products agree");
    program_exits(0, "audit --product 1");
    program->options.database = "host=/nowhere";
    program_tells(2, "audit", "--database");
}

static bool looks(const char *as, const char *schema)
{
    struct witness_state seen;
    struct witness *witness = witness_create(as, schema, &error);
    bool good = witness && witness_look(witness, 1, 1, &seen, &error);
    witness_destroy(witness);
    return good;
}

static int set_up(void **state)
{
    (void)state;
    program = program_create(0);
    program->options.schema = NAME;
    snprintf(conninfo, sizeof conninfo, "%s", stack_database());
    sql("DROP SCHEMA IF EXISTS " SCHEMA " CASCADE; CREATE SCHEMA " SCHEMA);
    sql(tables);
    return 0;
}

static int set_up_superuser(void **state)
{
    int failed = set_up(state);
    snprintf(conninfo, sizeof conninfo, "%s user=postgres", stack_database());
    return failed;
}

static int tear_down(void **state)
{
    (void)state;
    sql("DROP SCHEMA " SCHEMA " CASCADE");
    program_destroy(program);
    return 0;
}

/* A missing right by the GRANT that gives it, and a missing schema by its name. */
TEST_WITH(what_is_missing_is_named, set_up_superuser, tear_down)
{
    char role[600];
    sql("DROP ROLE IF EXISTS \"only reads\"; CREATE ROLE \"only reads\" LOGIN");
    snprintf(role, sizeof role, "%s user='only reads'", conninfo);
    assert_false(looks(role, NAME));
    char *grants = strstr(error.text, "GRANT ");
    assert_non_null(grants);
    *(strrchr(grants, ';') + 1) = '\0';
    sql(grants);
    assert_true(looks(role, NAME));
    assert_false(looks(role, "no'where"));
    t_says(error.text, "no server has made its tables in the schema \"no'where\" (--schema)");
    sql("DROP OWNED BY \"only reads\"; DROP ROLE \"only reads\"");
}

static void expect_schema(const char *as, const char *name, const char *schema)
{
    struct witness *witness = witness_create(as, name, &error);
    assert_non_null(witness);
    assert_string_equal(witness_schema(witness), schema);
    witness_destroy(witness);
}

/* It would put the value of a variable there. */
TEST(pgbench_gets_no_colon)
{
    double per_s = 0;
    struct witness *witness = witness_create(conninfo, "Wit:nessed", &error);
    assert_non_null(witness);
    const struct pgbench_load load = {
        .program = "pgbench", .strategy = "conditional", .folder = program->folder};
    assert_false(pgbench_run(&load, witness, &per_s, &error));
    t_says(error.text, "colon");
    witness_destroy(witness);
}

/* As a server finds them, also one that is to make them. */
TEST_WITH(tables_of_an_older_server_are_found, NULL, NULL)
{
    snprintf(conninfo, sizeof conninfo, "%s user=postgres", stack_database());
    sql("DROP DATABASE IF EXISTS seckill_witness WITH (FORCE)");
    sql("CREATE DATABASE seckill_witness OWNER seckill");
    snprintf(conninfo, sizeof conninfo, "%s dbname=seckill_witness", stack_database());
    expect_schema(conninfo, "seckill", "seckill");
    sql("CREATE TABLE public.seckill_schema (version integer)");
    expect_schema(conninfo, "seckill", "public");
    expect_schema(conninfo, "other", "other");
    sql("CREATE SCHEMA seckill; CREATE TABLE seckill.seckill_schema (version integer)");
    expect_schema(conninfo, "seckill", "seckill");
    snprintf(conninfo, sizeof conninfo, "%s user=postgres", stack_database());
    sql("DROP DATABASE seckill_witness WITH (FORCE)");
}

/* Whether the program at this path has the text in it. */
static bool holds(const char *path, const char *text)
{
    FILE *file = t_open(path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    char *bytes = malloc(size);
    assert_non_null(bytes);
    assert_int_equal(fseek(file, 0, SEEK_SET), 0);
    assert_int_equal(fread(bytes, 1, size, file), size);
    fclose(file);
    bool found = memmem(bytes, size, text, strlen(text)) != NULL;
    free(bytes);
    return found;
}

/* The bench empties tables and switches log files. It is not installed, and what is cannot. What
 * the zoo writes it writes to tables of its own (loadtest/zoo), with the server's statements. */
TEST_WITH(only_the_bench_changes_a_database, NULL, NULL)
{
    static const char *const statements[] = {"TRUNCATE", "pg_switch_wal"};
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        assert_true(holds(BENCH, statements[i]));
        assert_false(holds(LOADTEST, statements[i]));
    }
}

/* PgBouncer lends its one session to the next client. */
TEST_WITH(a_pooler_gets_its_session_back_as_it_was, NULL, NULL)
{
    char folder[128];
    char through[512];

    if (!pgbouncer_is_there())
        skip();
    assert_int_equal(sscanf(stack_database(), "host=%127s", folder), 1);
    struct pgbouncer *bouncer = pgbouncer_start(folder, 1, false);
    snprintf(through, sizeof through, "%s host=%s", stack_database(), pgbouncer_folder(bouncer));
    struct witness *witness = witness_create(through, "seckill", &error);
    assert_non_null(witness);
    PGconn *next = PQconnectdb(through);
    PGresult *result =
        PQexec(next, "SELECT count(*) FROM pg_settings WHERE source = 'session' AND "
                     "name IN ('statement_timeout', 'default_transaction_read_only')");
    assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
    assert_string_equal(PQgetvalue(result, 0, 0), "0");
    PQclear(result);
    PQfinish(next);
    witness_destroy(witness);
    pgbouncer_stop(bouncer);
}

/* Orders that are to be paid, or were not: what is held is taken, of the stock and of the limit. */
TEST(what_is_held_is_taken)
{
    sql("INSERT INTO product VALUES (41, 10, 3, 4, 5);"
        "INSERT INTO orders VALUES (41, 5, 1, 2, 1), (41, 5, 2, 5, 4), (41, 5, 3, 9, 5)");
    struct books audit = audited(41);
    HAS(audit, sold, 2, held, 5, lost_updates, 0, oversold, 0, limit_violations, 1, confirmed_rows,
        3);
    sql("UPDATE orders SET quantity = 9 WHERE product_id = 41 AND status = 4");
    audit = audited(41);
    HAS(audit, oversold, 1, lost_updates, 4);
}

TEST_EACH(set_up, tear_down)
