/*
 * What `run` sends with its orders, on real servers: header fields of the user's, and buyers who
 * come again. A limit is put on sale with each product, and found broken where a trigger makes
 * PostgreSQL forget what users have.
 */
#include "lib/t.h"

#include "harness/bed/own_bed.h"

#include <stdio.h>
#include <string.h>

#define RUN "run --server-binary " SERVER " --duration 1s --connections 8 "

/* A server of which no admin token is known takes restocks from its own machine alone, and none
 * that has come through a proxy: the header decides. */
static void a_header_is_sent(const char *load)
{
    char line[256];
    snprintf(line, sizeof line,
             RUN "--scenario counter --strategies conditional --header X-Shop:1 "
                 "--header X-Forwarded-For:198.51.100.7 %s",
             load);
    assert_int_equal(bed_run(bed, line), 2);
    json_t *results = bed_results(bed);
    assert_string_equal(bed_verdict(results, "conditional", "load", 1), "no run");
    json_decref(results);
    own_bed_file_says("results.json", "instance 1 of 1 got no orders");
    own_bed_file_says("results.json", "\"headers\": \"X-Shop, X-Forwarded-For\"");
}

static void a_header_is_sent_by_wrk(void **state)
{
    (void)state;
    a_header_is_sent("");
}

static void a_header_is_sent_at_a_rate(void **state)
{
    (void)state;
    a_header_is_sent("--rate 50 --max-lag-ms 60000");
}

enum { FIRST = 1000001 };

static void keep(void *context, const struct witness_product *product)
{
    *(struct witness_product *)context = *product;
}

static struct witness_product product_by_rows(int64_t id)
{
    struct error error = {.text = ""};
    struct witness_product found = {.id = 0};
    struct witness *witness = witness_create(bed_database(), "seckill", &error);
    if (!witness || !witness_audit(witness, id, id, keep, &found, &error))
        fail_msg("%s", error.text);
    witness_destroy(witness);
    assert_int_equal(found.id, id);
    return found;
}

static struct witness_holdings holdings_by_rows(void)
{
    struct error error = {.text = ""};
    struct witness_holdings holdings;
    struct witness *witness = witness_create(bed_database(), "seckill", &error);
    if (!witness || !witness_hold(witness, FIRST, FIRST, &holdings, &error))
        fail_msg("%s", error.text);
    witness_destroy(witness);
    return holdings;
}

static int64_t figure(const json_t *results, size_t run, const char *name)
{
    const json_t *runs = json_object_get(results, "runs");
    return json_integer_value(json_object_get(json_array_get(runs, run), name));
}

/* 59 units for 30 users, of at most 2 each: all of them buy, and most come once too often. */
static void a_limit_is_kept(const char *load)
{
    char line[256];
    snprintf(line, sizeof line, RUN "--instances 2 --stock 59 --users 30 --limit 2 --wide %s",
             load);
    assert_int_equal(bed_run(bed, line), 0);
    struct witness_holdings holdings = holdings_by_rows();
    assert_int_equal(holdings.orders, 59);
    assert_int_equal(holdings.most, 2);
    assert_int_equal(holdings.buyers, 30);
    json_t *results = bed_results(bed);
    assert_string_equal(bed_verdict(results, "conditional", "truth", 2), "kept");
    assert_in_range(figure(results, 0, "committed"), 1, 60);
    assert_int_equal(figure(results, 0, "limit_reached"), figure(results, 0, "refused"));
    assert_true(figure(results, 1, "limit_reached") > 0);
    assert_true(figure(results, 1, "limit_reached") < figure(results, 1, "refused"));
    json_decref(results);
    own_bed_says("30 users of at most 2 units each");
    own_bed_says("limited/s");
    own_bed_file_says("results.json", "\"limit_per_user\": 2");
}

static void a_limit_is_kept_under_wrk(void **state)
{
    (void)state;
    a_limit_is_kept("--strategies conditional");
}

static void a_limit_is_kept_at_a_rate(void **state)
{
    (void)state;
    a_limit_is_kept("--strategies conditional --rate 600 --max-lag-ms 60000");
}

static void each_product_of_a_spread_has_the_limit(void **state)
{
    (void)state;
    assert_int_equal(bed_run(bed, RUN "--strategies conditional,batch --scenario spread "
                                      "--products 3 --stock 5 --users 4 --limit 2"),
                     0);
    for (int64_t id = FIRST; id < FIRST + 3; id++)
        assert_int_equal(product_by_rows(id).limit, 2);
}

/* Whatever becomes of it on a busy machine. */
static void a_bell_has_the_limit(void **state)
{
    (void)state;
    bed_run(bed, RUN "--strategies conditional --scenario bell --rate 50 --surge 4 --stock 5 "
                     "--users 6 --limit 3 --max-lag-ms 60000");
    assert_int_equal(product_by_rows(FIRST).limit, 3);
}

static const char forgetting[] =
    "CREATE FUNCTION seckill.forget_units() RETURNS trigger LANGUAGE plpgsql AS"
    " 'BEGIN NEW.units := 0; RETURN NEW; END';"
    "CREATE TRIGGER forget_units BEFORE INSERT OR UPDATE ON seckill.purchase"
    " FOR EACH ROW EXECUTE FUNCTION seckill.forget_units()";

static void against_the_server(const char *more, char out[900])
{
    snprintf(out, 900, "run --server %s --reset --duration 1s --connections 8 %s",
             bed->servers[0].url, more);
}

/* Of 40 units somebody has two. */
static void a_broken_limit_is_found(void **state)
{
    (void)state;
    char line[900];
    own_bed_sql("seckill", forgetting);
    against_the_server("--strategies conditional --stock 40 --users 41 --limit 1", line);
    assert_int_equal(bed_run(bed, line), 1);
    json_t *results = bed_results(bed);
    assert_string_equal(bed_verdict(results, "conditional", "truth", 1), "BROKEN");
    json_decref(results);
    own_bed_says("users have more than the limit");
    own_bed_says("Verdicts: 1 BROKEN.");
}

static int forget_no_more(void **state)
{
    own_bed_sql("seckill", "DROP TRIGGER IF EXISTS forget_units ON seckill.purchase;"
                           "DROP FUNCTION IF EXISTS seckill.forget_units()");
    return own_bed_end(state);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, own_bed_alone, own_bed_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_header_is_sent_by_wrk),
        CASE(a_header_is_sent_at_a_rate),
        CASE(a_limit_is_kept_under_wrk),
        CASE(a_limit_is_kept_at_a_rate),
        CASE(each_product_of_a_spread_has_the_limit),
        CASE(a_bell_has_the_limit),
        cmocka_unit_test_setup_teardown(a_broken_limit_is_found, own_bed_one, forget_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
