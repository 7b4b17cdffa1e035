/*
 * `record` and `check` on real servers: what keeps its promise is found clean, what does not is
 * found out, and so is what somebody did to the database behind the servers' backs.
 */
#include "lib/t.h"

#include "harness/fixtures/program.h"
#include "lib/redis/redis_probe.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void sql(const char *text)
{
    if (program_ask(text) != 1)
        fail_msg("it is not one row: %s", text);
}

static void record(const char *arguments)
{
    program_exits(0, t_text("record --duration 60s %s", arguments));
}

static int check(const char *more)
{
    return program_run(t_text("check %s %s", program_path("ledger.jsonl"), more));
}

static int check_stock(const char *more)
{
    return check(t_text("--stock-redis %s %s", stack_redis(), more));
}

static void is_found(const char *text)
{
    assert_int_equal(check(""), 1);
    program_says(text);
    program_says("VIOLATED");
}

/* The lowest order of this sale with that status: each confirmed one was acknowledged, since nobody
 * failed. Rows of an earlier sale may still be there. */
#define ONE(status)                                                                                \
    "(SELECT o.id FROM orders o JOIN product p ON p.id = o.product_id AND p.epoch = o.epoch"       \
    " WHERE p.id = 1000001 AND o.status = " status " ORDER BY o.id LIMIT 1)"

TEST(conditional_is_clean_until_somebody_meddles)
{
    record("--strategy conditional --instances 2 --connections 8 --operations 400 --products 4 "
           "--stock 8 --limit 3 --users 40 --seed 11");
    assert_int_equal(check(""), 0);
    program_says("400 operations on 4 products, seed 11");
    program_says("4 products linearizable");
    program_says("no violation found");

    sql("UPDATE product SET stock = stock + 1 WHERE id = 1000001");
    is_found("1 unit: sold that the stock never lost (A1 conservation: 1)");
    sql("UPDATE product SET stock = stock - 1 WHERE id = 1000001");
    sql("UPDATE orders SET status = 0 WHERE id = " ONE("1"));
    is_found("A14 unfinished");
    sql("UPDATE orders SET status = 4 WHERE id = " ONE("0"));
    is_found("H4 hold not ended: 1)"); /* pending, and without an end */
    sql("UPDATE orders SET status = 1 WHERE id = " ONE("4"));
    assert_int_equal(check(""), 0);
    sql("INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status, "
        "created_at)"
        " SELECT '00000000-0000-7000-8000-000000000000', product_id, epoch, 9000001, 1, strategy, "
        "1,"
        " now() FROM orders WHERE id = " ONE("1"));
    is_found("1 unit: in the database, and nobody asked for it (A5 invented: 1)");
    program_says("A1 conservation");
    sql("DELETE FROM orders WHERE user_id = 9000001");
    assert_int_equal(check(""), 0);
    sql("INSERT INTO order_change SELECT id, product_id, epoch, 1, entered FROM orders WHERE id ="
        " " ONE("2"));
    assert_int_equal(check(""), 0); /* it became cancelled after that */
    sql("UPDATE order_change SET entered = '9000000000000' FROM orders WHERE orders.id = "
        "order_change.id"
        " AND orders.entered = order_change.entered AND order_change.status = 1 AND orders.id ="
        " " ONE("2"));
    is_found("1 time: the feed's last word of an order is not its state (A16 feed differs: 1)");
    sql("DELETE FROM order_change WHERE entered = '9000000000000'");
    assert_int_equal(check(""), 0);
    sql("DELETE FROM orders WHERE id = " ONE("1"));
    is_found("A4 acknowledged but absent");

    sql("UPDATE product SET epoch = epoch + 1 WHERE id = 1000001");
    assert_int_equal(check(""), 2);
    program_says("put on sale again");
}

TEST(none_is_found_to_oversell)
{
    record("--strategy none --instances 2 --connections 8 --operations 300 --products 2 "
           "--stock 5 --work-ms 5");
    is_found("A3 oversold: 2");
    program_says("A1 conservation: 2");
    program_says("WG not linearizable");
}

/* An order that is accepted first and decided later is read until it is decided; beside a shop,
 * under a name of its own. */
TEST(accepted_orders_are_seen_to_their_end)
{
    record("--strategy redis-stock --instances 2 --connections 8 --operations 400 --products 2 "
           "--stock 20 --limit 4 --users 40 --system-name rehearsal");
    program_says(" 0 accepted and not known to be decided");
    assert_int_equal(check_stock("--system-name rehearsal"), 0);
    program_says("no violation found");
    redis_probe(NULL, 0, "HINCRBY {rehearsal}:stock:mirror:1000002 stock 3");
    assert_int_equal(check_stock("--system-name rehearsal"), 1);
    program_says("3 units: Redis's stock is not the database's (A15 cache differs: 1)");
    assert_int_equal(check(""), 0);
    redis_probe(NULL, 0, "HINCRBY {rehearsal}:stock:mirror:1000002 stock -3");
}

/* As when the reconciler comes by: once it has been seen to differ, it is mended. */
TEST(a_mirror_has_a_moment_to_be_mended)
{
    struct process checker;
    record("--strategy redis-stock --connections 8 --operations 60 --products 1 --stock 20");
    redis_probe(NULL, 0, "HINCRBY {seckill}:stock:mirror:1000001 stock -2");
    int64_t before = redis_probe_calls("hmget");
    program_start(t_text("check %s --stock-redis %s", program_path("ledger.jsonl"), stack_redis()),
                  &checker);
    T_UNTIL(redis_probe_calls("hmget") != before);
    redis_probe(NULL, 0, "HINCRBY {seckill}:stock:mirror:1000001 stock 2");
    assert_int_equal(program_finish(&checker), 0);
    program_says("no violation found");
}

/* A lock whose holder died between taking it and giving it a lease. */
TEST(a_lock_without_a_lease_is_found)
{
    record("--strategy conditional --connections 4 --operations 20 --products 1");
    const char *judged = t_text("--system-name judged --redis %s", stack_redis());
    redis_probe(NULL, 0, "SET judged:lock:product:1 me PX 600000");
    assert_int_equal(check(judged), 0);
    redis_probe(NULL, 0, "PERSIST judged:lock:product:1");
    assert_int_equal(check(judged), 1);
    program_says("A17 residue: 1");
    redis_probe(NULL, 0, "DEL judged:lock:product:1");
    assert_int_equal(check("--redis rediss://secret@there"), 2);
    assert_null(strstr(program->output, "secret"));
    assert_int_equal(check("--redis unix:///nowhere/redis"), 2);
}

TEST(nothing_sold_is_no_pass)
{
    record("--strategy conditional --connections 4 --operations 3 --products 1 --stock 0");
    assert_int_equal(check(""), 2);
    program_says("proved nothing: nothing was sold");
}

/* --- payments and holds that end: a database that loses a payment, ends no hold, or gives too much
 * or too little back when one ends --- */

#define HOLDS                                                                                      \
    "record --connections 8 --holds 60 --hold-s 2s --products 2 "                                  \
    "--users 40 --limit 3 "
#define SHORT HOLDS "--operations 300 --duration 60s --stock 40 "

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
    program_exits(0, t_text(SHORT "--instances 2 --strategy %s", strategy));
    if ((strcmp(strategy, "redis-stock") == 0 ? check_stock("") : check("")) != 0)
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

TEST(none_is_found_to_oversell_what_is_held)
{
    program_exits(0, SHORT "--strategy none --work-ms 5 --instances 2 --stock 5");
    is_found("A3 oversold: ");
    program_says("A1 conservation: ");
}

/* The lowest order of this sale that was held and has this status now. */
#define HELD(status)                                                                               \
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
                "(SELECT " HELD("1") " AS id) AS one;" BECOMES("5", KEPT));
    is_found("H1 paid but not sold: 1)");
    program_sql(NULL, BECOMES("4", KEPT));
    is_found("H1 paid but not sold: 1)");
    program_sql(NULL, "DELETE FROM seckill.orders WHERE id = " KEPT);
    is_found("H1 paid but not sold: 1"); /* and absent, as its buyer was told */
    program_says("A4 acknowledged but absent: ");
    program_sql(NULL, "DROP TABLE IF EXISTS seckill.kept;"
                      "CREATE TABLE seckill.kept AS SELECT id FROM (SELECT " HELD(
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
    int status = program_run(HOLDS "--strategy conditional --duration 7s --stock 1000 --limit 1");
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

/* Until the ledger has so many bytes. */
static void wait_for_ledger(off_t bytes)
{
    struct stat ledger = {.st_size = 0};
    T_UNTIL(stat(program_path("ledger.jsonl"), &ledger) == 0 && ledger.st_size >= bytes);
}

/* Told to stop, it stops asking, and its ledger has an end. */
TEST(ends_early_when_asked)
{
    struct process recorder;
    program_start("record --strategy redis-stock --duration 600s --connections 8 --products 2",
                  &recorder);
    wait_for_ledger(100000);
    kill(recorder.pid, SIGINT);
    assert_int_equal(program_finish(&recorder), 0);
    program_says(" 0 accepted and not known to be decided");
    assert_int_equal(check(""), 0);
    assert_null(strstr(program->output, "did not come to its end"));
}

static int let_go(void **state)
{
    program_untrigger("withhold");
    return program_end(state);
}

/* No order can be written: the one buyer asks again a moment later, not at once. */
TEST_WITH(after_a_503_a_connection_rests, program_one, let_go)
{
    program_trigger("withhold", "BEFORE INSERT ON seckill.orders FOR EACH ROW", "RETURN NULL");
    record(t_text("--server %s --reset --connections 1 --operations 40 --products 1",
                  program->servers[0].url));
    char *ledger = t_read_all(program_path("ledger.jsonl")), *rest = NULL;
    json_int_t ended_us = 0;
    int rests = 0;
    for (char *line = strtok_r(ledger, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        json_t *said = json_loads(line, 0, NULL);
        json_int_t begun_us = json_integer_value(json_object_get(said, "at_us"));
        if (json_object_get(said, "do") && ended_us) {
            assert_true(begun_us >= ended_us + 50000);
            rests++;
        }
        bool refused = json_integer_value(json_object_get(said, "status")) == 503;
        ended_us = refused ? json_integer_value(json_object_get(said, "end_us")) : 0;
        json_decref(said);
    }
    free(ledger);
    assert_true(rests > 10);
}

/* A server is killed, and later the recorder itself: nothing that somebody was told may be lost. */
TEST_WITH(killed_in_the_middle, program_two, program_end)
{
    struct process recorder;
    int status = 0;
    program_start(t_text("record --server %s,%s --reset --duration 60s --connections 8 "
                         "--stock 1000 --products 2",
                         program->servers[0].url, program->servers[1].url),
                  &recorder);
    wait_for_ledger(100000);
    process_stop(&program->servers[1].process, SIGKILL, 1000, &status);
    program->count = 1;
    wait_for_ledger(300000);
    process_stop(&recorder, SIGKILL, 1000, &status);
    assert_int_equal(check(""), 0);
    program_says("the recording did not come to its end");
}

TEST_EACH(program_alone, program_end)
