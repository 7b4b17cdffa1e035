/*
 * What `run` sends with its orders, on real servers: header fields of the user's, and buyers who
 * come again, or send an order twice. Limits and keys are found broken where a trigger makes
 * PostgreSQL forget what users have, or their keys, and where the rows are not the server's.
 */
#include "lib/t.h"

#include "harness/fixtures/has.h"
#include "harness/fixtures/program.h"
#include "loadtest/phase/phase.h"

#define RUN "run --duration 1s --connections 8 "

/* A server of which no admin token is known takes restocks from its own machine alone, and none
 * that has come through a proxy: the header decides. */
static void a_header_is_sent(const char *load)
{
    program_exits(2, t_text(RUN "--scenario counter --strategies conditional --header X-Shop:1 "
                                "--header X-Forwarded-For:198.51.100.7 %s",
                            load));
    program_expect("conditional", "load", 1, "no run");
    program_file_says("results.json", "instance 1 of 1 got no orders");
    program_file_says("results.json", "\"headers\": \"X-Shop, X-Forwarded-For\"");
}

TEST(a_header_is_sent_by_wrk)
{
    a_header_is_sent("");
}

TEST(a_header_is_sent_at_a_rate)
{
    a_header_is_sent("--rate 50 --max-lag-ms 60000");
}

enum { FIRST = 1000001 };

static int64_t limit_by_rows(int64_t id)
{
    return program_ask(
        t_text("SELECT limit_per_user FROM seckill.product WHERE id = %" PRId64, id));
}

static struct witness_holdings holdings_by_rows(void)
{
    struct error error = {.text = ""};
    struct witness_holdings holdings = {.orders = 0};
    struct witness *witness = witness_create(stack_database(), "seckill", &error);
    if (!witness || !witness_holds(witness, FIRST, FIRST, &holdings, &error))
        fail_msg("%s", error.text);
    witness_destroy(witness);
    return holdings;
}

static int64_t figure(size_t run, const char *name)
{
    return program_integer(t_text("results.json/runs/%zu/%s", run, name));
}

/* 59 units for 30 users, of at most 2 each: all of them buy, and most come once too often. */
static void a_limit_is_kept(const char *load)
{
    program_exits(0, t_text(RUN "--instances 2 --stock 59 --users 30 --limit 2 --wide %s", load));
    struct witness_holdings holdings = holdings_by_rows();
    HAS(holdings, orders, 59, most, 2, buyers, 30);
    program_expect("conditional", "truth", 2, "kept");
    assert_in_range(figure(0, "committed"), 1, 60);
    assert_int_equal(figure(0, "limit_reached"), figure(0, "refused"));
    assert_true(figure(1, "limit_reached") > 0);
    assert_true(figure(1, "limit_reached") < figure(1, "refused"));
    program_says("30 users of at most 2 units each");
    program_says("limited/s");
    program_file_says("results.json", "\"limit_per_user\": 2");
}

TEST(a_limit_is_kept_under_wrk)
{
    a_limit_is_kept("--strategies conditional");
}

TEST(a_limit_is_kept_at_a_rate)
{
    a_limit_is_kept("--strategies conditional --rate 600 --max-lag-ms 60000");
}

TEST(each_product_of_a_spread_has_the_limit)
{
    program_exits(0, RUN "--strategies conditional,batch --scenario spread "
                         "--products 3 --stock 5 --users 4 --limit 2");
    for (int64_t id = FIRST; id < FIRST + 3; id++)
        assert_int_equal(limit_by_rows(id), 2);
}

/* Whatever becomes of it on a busy machine. */
TEST(a_bell_has_the_limit)
{
    program_run(RUN "--strategies conditional --scenario bell --rate 50 --surge 4 --stock 5 "
                    "--users 6 --limit 3 --max-lag-ms 60000");
    assert_int_equal(limit_by_rows(FIRST), 3);
}

static const char *against_the_server(const char *more)
{
    return t_text("run --server %s --reset --duration 1s --connections 8 %s",
                  program->servers[0].url, more);
}

static int forget_no_more(void **state)
{
    program_untrigger("no_limit");
    program_untrigger("forget_units");
    return program_end(state);
}

/* Of 40 units somebody has two. */
TEST_WITH(a_broken_limit_is_found, program_one, forget_no_more)
{
    program_trigger("forget_units", "BEFORE INSERT OR UPDATE ON seckill.purchase FOR EACH ROW",
                    "NEW.units := 0");
    program_exits(1,
                  against_the_server("--strategies conditional --stock 40 --users 41 --limit 1"));
    program_expect("conditional", "truth", 1, "BROKEN");
    program_says("users have more than the limit");
    program_says("Verdicts: 1 BROKEN.");
}

/* Nobody can break a limit that is not there. */
TEST_WITH(a_limit_that_is_lost_is_no_run, program_one, forget_no_more)
{
    program_trigger("no_limit", "BEFORE INSERT OR UPDATE ON seckill.product FOR EACH ROW",
                    "NEW.limit_per_user := NULL");
    program_exits(2,
                  against_the_server("--strategies conditional --stock 40 --users 41 --limit 1"));
    program_expect("conditional", "truth", 1, "no run");
    program_says("has a limit of 0 a user, and was put on sale with one of 1");
}

/* Half of the orders come twice, with a limit and without stock for all: each has one order. */
static void repeats_are_no_sales(const char *load)
{
    program_exits(0,
                  t_text(RUN "--instances 2 --keys 50%% --users 60 --limit 1 --stock 50 %s", load));
    struct witness_holdings holdings = holdings_by_rows();
    HAS(holdings, orders, 50, buyers, 50);
    size_t count = json_array_size(program_json("results.json/runs"));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(figure(i, "audit/duplicate_orders"), 0);
        assert_int_equal(figure(i, "audit/unrepeatable"), 0);
        assert_int_equal(figure(i, "audit/missing"), 0);
        assert_int_equal(figure(i, "audit/sold"), figure(i, "committed"));
        assert_true(figure(i, "repeats") > 0);
    }
    program_file_says("results.json", "\"keys\": \"50%\"");
}

TEST(repeats_are_no_sales_under_wrk)
{
    repeats_are_no_sales("--strategies conditional,batch,redis-stock");
}

TEST(repeats_are_no_sales_at_a_rate)
{
    repeats_are_no_sales("--strategies redis-stock --rate 600 --max-lag-ms 60000");
}

static int lose_no_more(void **state)
{
    program_untrigger("lose_key");
    program_sql("seckill", "DROP SCHEMA IF EXISTS altered CASCADE");
    return program_end(state);
}

/* Each repeat is a sale of its own then, and no row says that it is a repeat. */
TEST_WITH(lost_keys_are_found, program_one, lose_no_more)
{
    program_trigger("lose_key", "BEFORE INSERT ON seckill.orders FOR EACH ROW",
                    "NEW.idempotency_key := NULL");
    program_exits(1, against_the_server("--strategies conditional --keys 50% --stock 40"));
    program_expect("conditional", "truth", 1, "BROKEN");
    assert_int_equal(figure(1, "audit/unrepeatable"), 40);
    program_says("orders have no key in their row, or their key repeated was not answered");
}

static int64_t unrepeatable(const char *schema, const char *path, struct error *error)
{
    const struct phase_plan plan = {.load = {.first_product = FIRST, .products = 1}};
    struct books audit = {.products = 1};
    struct fleet fleet;
    program_open_fleet(program, &fleet);
    witness_destroy(fleet.witness);
    fleet.witness = witness_create(stack_database(), schema, error);
    assert_non_null(fleet.witness);
    bool asked = repeats_check(&fleet, &plan, path, &audit, error);
    program_close_fleet(&fleet);
    return asked ? audit.unrepeatable : -1;
}

/* The witness's rows are altered, so that each of the server's answers is another order than
 * theirs: 7 have another id, and two no key. */
TEST_WITH(another_order_is_no_answer, program_one, lose_no_more)
{
    static const char by_conditional[] = "/orders?strategy=conditional";
    struct error error = {.text = ""};
    program_exits(0, against_the_server("--strategies conditional --keys 0% --stock 9"));
    assert_int_equal(unrepeatable("seckill", by_conditional, &error), 0);
    program_sql("seckill",
                "CREATE SCHEMA altered; CREATE TABLE altered.product AS TABLE seckill.product;"
                "CREATE TABLE altered.orders AS TABLE seckill.orders");
    assert_int_equal(unrepeatable("altered", by_conditional, &error), 0);
    program_sql("seckill",
                "UPDATE altered.orders SET idempotency_key = NULL WHERE id IN"
                "  (SELECT o.id FROM altered.orders o JOIN altered.product p"
                "   ON p.id = o.product_id AND p.epoch = o.epoch WHERE p.id = 1000001 LIMIT 2);"
                "UPDATE altered.orders SET id = gen_random_uuid()");
    assert_int_equal(unrepeatable("altered", by_conditional, &error), 9);
    assert_int_equal(unrepeatable("seckill", "/orders?strategy=redlock", &error), -1);
    t_says(error.text, "503 strategy_unavailable, though nothing is under way");
}

TEST_EACH(program_alone, program_end)
