/*
 * `record --holds` and `check` on real servers: sales with payments and holds that end are found
 * clean where the strategy keeps its promise, found out where it does not, and so is a database
 * that loses a payment, ends no hold, or gives too much or too little back when one ends.
 */
#include "lib/t.h"

#include "harness/fixtures/program.h"

#include <stdlib.h>
#include <string.h>

#define RECORD                                                                                     \
    "record --connections 8 --holds 60 --hold-s 2s --products 2 "                                  \
    "--users 40 --limit 3 "
#define SHORT RECORD "--operations 300 --duration 60s --stock 40 "

static int check(const char *more)
{
    return program_run(t_text("check %s %s", program_path("ledger.jsonl"), more));
}

static void is_found(const char *text)
{
    assert_int_equal(check(""), 1);
    program_says(text);
}

/* Payments were done, others came too late, and holds ended: else nothing was shown. */
static void holds_were_seen(void)
{
    const char *line = strstr(program->output, "payments: ");
    assert_non_null(line);
    const char *late = strstr(line, "done, "), *ended = strstr(line, "holds: ");
    assert_true(late && ended);
    assert_in_range(strtol(line + strlen("payments: "), NULL, 10), 1, 300);
    assert_in_range(strtol(late + strlen("done, "), NULL, 10), 1, 300);
    assert_in_range(strtol(ended + strlen("holds: "), NULL, 10), 1, 300);
}

static void is_kept(const char *strategy)
{
    bool reserves = strcmp(strategy, "redis-stock") == 0;
    program_exits(0, t_text(SHORT "--instances 2 --strategy %s", strategy));
    if (check(reserves ? t_text("--stock-redis %s", program->options.redis) : "") != 0)
        fail_msg("%s: %s", strategy, program->output);
    holds_were_seen();
}

TEST(holds_are_kept)
{
    is_kept("conditional");
    program_says("2 products linearizable");
    is_kept("pipelined");
    is_kept("batch");
    is_kept("redis-stock");
}

TEST(none_is_found_to_oversell)
{
    program_exits(0, SHORT "--strategy none --work-ms 5 --instances 2 --stock 5");
    is_found("A3 oversold: ");
    program_says("A1 conservation: ");
}

/* The lowest order of this sale that was held and has this status now. */
#define ONE(status)                                                                                \
    "(SELECT o.id FROM seckill.orders o JOIN seckill.product p ON p.id = o.product_id"             \
    " AND p.epoch = o.epoch WHERE p.id = 1000001 AND o.status = " status                           \
    " AND o.hold_until IS NOT NULL ORDER BY o.id LIMIT 1)"
#define BECOMES(status, id) "UPDATE seckill.orders SET status = " status " WHERE id = " id
#define KEPT                "(SELECT id FROM seckill.kept)"

TEST(what_was_told_of_an_order_is_held_against_its_row)
{
    program_exits(0, SHORT "--strategy conditional");
    assert_int_equal(check(""), 0);
    program_sql(NULL,
                "DROP TABLE IF EXISTS seckill.kept; CREATE TABLE seckill.kept AS SELECT id FROM "
                "(SELECT " ONE("1") " AS id) AS one;" BECOMES("5", KEPT));
    is_found("H1 paid but not sold: 1)");
    program_sql(NULL, BECOMES("4", KEPT));
    is_found("H1 paid but not sold: 1)");
    program_sql(NULL, "DELETE FROM seckill.orders WHERE id = " KEPT);
    is_found("H1 paid but not sold: 1"); /* and absent, as its buyer was told */
    program_says("A4 acknowledged but absent: ");
    program_sql(NULL, "DROP TABLE IF EXISTS seckill.kept;"
                      "CREATE TABLE seckill.kept AS SELECT id FROM (SELECT " ONE(
                          "5") " AS id) AS one;" BECOMES("1", KEPT));
    is_found("H2 paid and expired: 1)");
    program_sql(
        NULL,
        BECOMES("4", KEPT) ";"
                           "UPDATE seckill.orders SET hold_until = now() - interval '1 minute' "
                           "WHERE id = " KEPT);
    is_found("H4 hold not ended: 1)");
    program_sql(NULL, "DROP TABLE seckill.kept");
}

/* Whatever is to go wrong when a hold ends, in the same transaction. */
static void sell_with(const char *wrong)
{
    program_exits(0, SHORT "--strategy conditional --operations 1"); /* makes the tables */
    program_trigger("wrong",
                    "AFTER UPDATE ON seckill.orders FOR EACH ROW"
                    " WHEN (OLD.status = 4 AND NEW.status = 5)",
                    wrong);
    int status = program_run(RECORD "--strategy conditional --duration 7s --stock 1000 --limit 1");
    program_untrigger("wrong");
    assert_int_equal(status, 0);
}

TEST(a_unit_that_comes_back_twice_is_found)
{
    sell_with("UPDATE seckill.product SET stock = stock + 1 WHERE id = NEW.product_id");
    is_found("A1 conservation: ");
}

TEST(a_user_who_may_not_buy_again_is_found)
{
    sell_with("UPDATE seckill.purchase SET units = units + NEW.quantity"
              " WHERE product_id = NEW.product_id AND user_id = NEW.user_id");
    is_found("A9 false limit: ");
}

TEST(percents_are_of_a_hundred)
{
    program_tells(2, SHORT "--paid 60 --paid-late 50", "--paid and --paid-late");
}

TEST_EACH(program_alone, program_end)
