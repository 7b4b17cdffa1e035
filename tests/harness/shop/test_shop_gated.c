/* `shop` as a pipeline calls it: a threshold that cannot hold is exit status 1 and is named, in the
 * output, in results.json and in the JUnit file, though every claim is kept; what a shop's books do
 * not say is no measure there, and that is said before the shop is asked for anything. */
#include "lib/t.h"
#include "own_shop.h"

#include <string.h>
#include <unistd.h>

static void gated(int status, const char *fail_if)
{
    own_shop_exits(status, t_text(OWN_SHOP_BUYERS "--fail-if %s --junit %s/junit.xml", fail_if,
                                  program->folder));
}

TEST_WITH(one_that_holds_is_0, program_one, program_end)
{
    own_shop_write(OWN_SHOP_AUDIT);
    gated(0, "orders<80,committed<20,committed>20,max>1000s");
    program_says("Thresholds (--fail-if)\n  no threshold failed\n");
    program_file_says("junit.xml", "<testcase classname=\"our shop\" name=\"never_oversold\"");
    program_file_says("junit.xml", "<testcase classname=\"our shop\" name=\"verdict\"");
    program_file_says("junit.xml", "<system-out>committed&lt;20: 20 orders</system-out>");
    program_file_says("junit.xml", "failures=\"0\" errors=\"0\"");
}

TEST_WITH(one_that_cannot_hold_is_1_and_is_named, program_one, program_end)
{
    own_shop_write(OWN_SHOP_AUDIT);
    gated(1, "committed<21,orders<80");
    program_says("kept: ");
    program_says("Thresholds (--fail-if)\n  committed<21: 20 orders, 1 orders less\n");
    program_file_says("results.json", "\"threshold\": \"committed<21\"");
    program_file_says(
        "junit.xml",
        "name=\"committed&lt;21\" time=\"0.000\"><failure message=\"committed&lt;21: 20 "
        "orders, 1 orders less\" type=\"threshold\">");
    program_file_says("junit.xml", "failures=\"1\" errors=\"0\"");
}

/* The shop is not asked: no ledger was begun. The other measures are there without these books. */
TEST_WITH(what_the_books_do_not_say_is_no_measure, program_one, program_end)
{
    own_shop_write("  stock: {sql: 'SELECT stock FROM seckill.product WHERE id = {product}'}\n");
    gated(2, "p99>1s,committed<1");
    program_says("--fail-if: committed is not measured here: the target's audit names no orders; "
                 "there are p50, p90, p99, max, orders, accepted, refused and failed");
    program_file_says("junit.xml", "<error message=\"--fail-if: committed is not measured here");
    assert_int_equal(access(program_path("ledger.jsonl"), F_OK), -1);
    gated(0, "p99>1000s,orders<80");
}

TEST_WITH(what_is_wrong_is_said_before_the_load, program_alone, program_end)
{
    own_shop_write("");
    own_shop_exits(2, OWN_SHOP_BUYERS "--fail-if p99>250");
    program_says("--fail-if: character 8: p99 is a time");
    own_shop_exits(2, OWN_SHOP_BUYERS "--junit /nowhere/junit.xml");
    program_says("--junit: cannot write /nowhere/junit.xml");
}

/* Nobody is never late: what is sold is judged, and no time and no threshold is. */
TEST_WITH(a_late_load_is_judged_by_no_threshold, program_one, program_end)
{
    own_shop_write(OWN_SHOP_AUDIT);
    own_shop_exits(2, "--rate 200 --duration 1s --max-lag-ms 0 --fail-if p99>0ms");
    program_says("INVALID: the generator could not keep up");
    program_says(" a second; so the times are its own");
    if (strstr(program->output, "p99>0ms:"))
        fail_msg("%s", program->output);
}

/* Nothing was sold: no threshold makes that a pass, and one that failed is said all the same. */
TEST_WITH(a_shop_that_is_not_there_passes_nothing, program_alone, program_end)
{
    own_shop_write("");
    gated(2, "orders<1");
    program_says("INVALID: ");
    program_file_says("junit.xml", "name=\"verdict\"");
    program_file_says("junit.xml", "type=\"INVALID\"");
    program_file_says("junit.xml", "failures=\"0\" errors=\"1\"");
    gated(1, "failed>99%");
    program_says("failed>99%: 100.0 %, 1.000 % more");
}
