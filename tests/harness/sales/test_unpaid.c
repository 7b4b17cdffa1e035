/*
 * `run --scenario unpaid` on real servers: what keeps its promise is found to, what protects
 * nothing is not said to, and a database that gives a unit back twice is found out.
 */
#include "lib/t.h"

#include "harness/bed/own_bed.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#define UNPAID "run --scenario unpaid --server-binary " SERVER " --connections 24 --stock 200 "

static void sql(const char *text)
{
    PGconn *connection = PQconnectdb(bed_database());
    PGresult *result = PQexec(connection, text);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%.200s: %s", text, PQerrorMessage(connection));
    PQclear(result);
    PQfinish(connection);
}

static void says(const char *text)
{
    if (!strstr(bed->output, text))
        fail_msg("it does not say '%s'", text);
}

static void the_books_agree_at_every_moment(void **state)
{
    (void)state;
    assert_int_equal(
        bed_run(bed, UNPAID "--instances 2 --duration 6s --strategies conditional,redis-stock"), 0);
    says("conditional            2");
    says("redis-stock            2");
    says("  kept\n");
    assert_null(strstr(bed->output, "  ! "));
    assert_null(strstr(bed->output, "proved nothing"));
}

static void none_is_seen_through(void **state)
{
    (void)state;
    assert_int_equal(
        bed_run(bed, UNPAID "--instances 2 --duration 4s --work-ms 5 --strategies none"), 0);
    says("  unsafe, as stated\n");
}

/* Whoever ends a hold gets one unit more back: what a shop without a guard does. */
static void a_unit_that_comes_back_twice_is_found(void **state)
{
    (void)state;
    assert_true(bed_run(bed, UNPAID "--duration 1s --strategies conditional") != 1);
    sql("CREATE FUNCTION twice() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        "  UPDATE seckill.product SET stock = stock + 1 WHERE id = NEW.product_id; RETURN NEW;"
        " END $$;"
        "CREATE TRIGGER twice AFTER UPDATE ON seckill.orders FOR EACH ROW"
        " WHEN (OLD.status = 4 AND NEW.status = 5) EXECUTE FUNCTION twice()");
    int status = bed_run(bed, UNPAID "--duration 4s --strategies conditional");
    sql("DROP TRIGGER twice ON seckill.orders; DROP FUNCTION twice()");
    assert_int_equal(status, 1);
    says("  BROKEN\n");
    says("lost updates ");
}

static void what_it_cannot_show_is_refused(void **state)
{
    (void)state;
    assert_int_equal(bed_run(bed, UNPAID "--strategies conditionl"), 2);
    says("the servers have no 'conditionl'");
    assert_int_equal(bed_run(bed, "run --scenario unpaid --format json"), 2);
    says("--scenario unpaid");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_books_agree_at_every_moment, own_bed_alone,
                                        own_bed_end),
        cmocka_unit_test_setup_teardown(none_is_seen_through, own_bed_alone, own_bed_end),
        cmocka_unit_test_setup_teardown(a_unit_that_comes_back_twice_is_found, own_bed_alone,
                                        own_bed_end),
        cmocka_unit_test_setup_teardown(what_it_cannot_show_is_refused, own_bed_alone, own_bed_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
