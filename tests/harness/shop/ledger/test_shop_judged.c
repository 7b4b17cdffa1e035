/*
 * `shop --judge` as a user calls it: a sale is made and judged, its shop is stopped and has sold
 * since, and its ledger has the same verdict, the same figures and the same exit status as before,
 * kept, BROKEN and INVALID. A file that is no such ledger is refused, and nothing is written then.
 */
#include "harness/shop/own_shop.h"
#include "lib/t.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Twice what was bought, so that a shop that keeps its stock looks as one that does not. */
#define BROKEN_AUDIT                                                                               \
    "  orders:\n"                                                                                  \
    "    sql: SELECT o.id, user_id, 2 * quantity FROM seckill.orders o JOIN seckill.product p\n"   \
    "      ON p.id = product_id AND p.epoch = o.epoch WHERE p.id = {product} AND status = 1\n"

static char *read_file(const char *name)
{
    return t_read_all(program_path(name));
}

static bool is_there(const char *name)
{
    return access(program_path(name), F_OK) == 0;
}

static void take_away(const char *name)
{
    assert_int_equal(unlink(program_path(name)), 0);
}

static void judge(int status, const char *ledger, const char *arguments)
{
    own_shop_exits(status, t_text("--judge %s/%s %s", program->folder, ledger, arguments));
}

/* A file that a run has left is taken away, and is then the same again. */
static void expect_same(const char *name, char *before)
{
    char *after = read_file(name);
    assert_string_equal(after, before);
    free(after);
    free(before);
}

static void close_shop(void)
{
    struct error error = {.text = ""};
    t_done(instance_stop_all(program->servers, program->count, &error), error);
    program->count = 0;
    program_sql(NULL,
                t_text("UPDATE seckill.product SET stock = 5 WHERE id = %d", OWN_SHOP_PRODUCT));
}

/* Judged when it is made and, when its shop is gone, once more. */
static void is_judged_twice(const char *arguments, int status, const char *verdict)
{
    own_shop_exits(status, t_text(OWN_SHOP_BUYERS "%s", arguments));
    program_says(verdict);
    char *results = read_file("results.json"), *page = read_file("report.html");
    char *ledger = read_file("ledger.jsonl");
    take_away("results.json");
    take_away("report.html");
    if (program->count)
        close_shop();
    judge(status, "ledger.jsonl", arguments);
    program_says("/ledger.jsonl; nothing was sent.\n");
    program_says(verdict);
    expect_same("results.json", results);
    expect_same("report.html", page);
    expect_same("ledger.jsonl", ledger);
}

TEST_WITH(what_was_kept_is_kept, program_one, program_end)
{
    own_shop_write(OWN_SHOP_AUDIT);
    is_judged_twice("--fail-if orders<80,committed<20,p99>1000s,orders>1000000/s", 0, "\nkept: ");
}

TEST_WITH(what_was_broken_is_broken, program_one, program_end)
{
    own_shop_write(BROKEN_AUDIT);
    is_judged_twice("", 1, "\nBROKEN: ");
    program_says("40 units in 20 orders, 20 were on sale: 20 too many");
}

/* Nobody answers: nothing was sold, and that is no pass the second time either. */
TEST_WITH(what_proved_nothing_proves_nothing, program_alone, program_end)
{
    own_shop_write("");
    is_judged_twice("", 2, "\nINVALID: ");
    program_says("80 requests went wrong, the first: http://127.0.0.1:1/orders");
}

TEST_WITH(a_pipeline_has_its_files, program_one, program_end)
{
    own_shop_write(OWN_SHOP_AUDIT);
    own_shop_exits(0, OWN_SHOP_BUYERS);
    judge(1, "ledger.jsonl",
          t_text("--fail-if committed<21 --junit %s/junit.xml", program->folder));
    program_says("Thresholds (--fail-if)\n  committed<21: 20 orders, 1 orders less\n");
    program_file_says("junit.xml", "<testcase classname=\"our shop\" name=\"never_oversold\"");
    program_file_says("junit.xml", "failures=\"1\" errors=\"0\"");
}

static void is_refused(const char *ledger, const char *why)
{
    judge(2, ledger, "");
    program_says(why);
    assert_false(is_there("results.json"));
    assert_false(is_there("report.html"));
}

static bool sells(void)
{
    char line[4096];
    bool found = false;
    FILE *from = fopen(program_path("ledger.jsonl"), "re");
    while (from && fgets(line, sizeof line, from))
        found = found || strstr(line, "\"is\":");
    if (from)
        fclose(from);
    return found;
}

/* The run is ended while it sells; what it has left says so. */
TEST_WITH(a_run_that_was_ended_has_no_verdict, program_alone, program_end)
{
    struct process shop;
    own_shop_write("");
    program_start(t_text("shop %s/shop.yaml --rate 50 --duration 3600s", program->folder), &shop);
    T_UNTIL(sells());
    kill(shop.pid, SIGINT);
    assert_int_equal(program_finish(&shop), 2);
    program_says("interrupted");
    is_refused("ledger.jsonl", "/ledger.jsonl: it was cut off: the run did not come to its end");
}

/* All that makes a ledger no ledger: harness.ledger; or another sale's: harness.shop_again. */
TEST_WITH(what_is_no_ledger_of_this_sale_is_refused, program_alone, program_end)
{
    own_shop_write("");
    own_shop_exits(2, OWN_SHOP_BUYERS);
    take_away("results.json");
    take_away("report.html");
    is_refused("shop.yaml", "/shop.yaml: line 1: no JSON object");
    own_shop_write("  stock: {sql: 'SELECT 1'}\n");
    is_refused("ledger.jsonl",
               "it has no audit.stock, which is asked for there; a ledger is judged "
               "with the target file that it was made with");
}

TEST_WITH(check_says_what_to_use, program_alone, program_end)
{
    own_shop_write("");
    own_shop_exits(2, OWN_SHOP_BUYERS);
    program_exits(2, t_text("check %s/ledger.jsonl", program->folder));
    program_says("line 1: a shop's ledger: seckill-loadtest shop TARGET.yaml --judge judges it");
}
