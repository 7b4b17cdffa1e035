/*
 * `run --scenario unpaid` on real servers: what keeps its promise is found to, what protects
 * nothing is not said to, and a database that gives a unit back twice is found out.
 */
#include "lib/t.h"

#include "harness/fixtures/program.h"

#include <string.h>

#define UNPAID "run --scenario unpaid --connections 24 --stock 200 "

/* What the terminal said is in the files, and the page is made of them. */
static void the_files_say_it(const char *strategy, const char *verdict)
{
    const json_t *run = program_run_of(strategy, NULL, 0);
    json_t *figures = json_object_get(run, "unpaid");
    const char *name;
    json_t *value;
    assert_string_equal(json_string_value(json_object_get(run, "verdict")), verdict);
    json_object_foreach(figures, name, value)
    {
        if (strcmp(name, "wrong") != 0 && json_integer_value(value) < 0)
            fail_msg("%s is below 0", name);
    }
    assert_true(json_integer_value(json_object_get(figures, "bought")) > 0);
    assert_true(json_integer_value(json_object_get(figures, "looks")) > 0);
    program_file_says("results.csv",
                      t_text("%s,,%d,unpaid,truth,1,24,", strategy,
                             (int)json_integer_value(json_object_get(run, "instances"))));
    program_file_says("report.html", "Orders that have yet to be paid");
    program_file_says("report.html", strategy);
    program_file_says("report.html", verdict);
}

TEST(the_books_agree_at_every_moment)
{
    program_tells(0, UNPAID "--instances 2 --duration 6s --strategies conditional,redis-stock",
                  "conditional            2");
    program_says("redis-stock            2");
    program_says("  kept\n");
    assert_null(strstr(program->output, "  ! "));
    assert_null(strstr(program->output, "proved nothing"));
    program_says("/report.html\n");
    the_files_say_it("conditional", "kept");
    the_files_say_it("redis-stock", "kept");
}

TEST(none_is_seen_through)
{
    program_tells(0, UNPAID "--instances 2 --duration 4s --work-ms 5 --strategies none",
                  "  unsafe, as stated\n");
}

/* Each hold that ends gives back one unit too many, as in a shop without a guard. */
TEST(a_unit_that_comes_back_twice_is_found)
{
    assert_true(program_run(UNPAID "--duration 1s --strategies conditional") != 1);
    program_trigger("twice",
                    "AFTER UPDATE ON seckill.orders FOR EACH ROW"
                    " WHEN (OLD.status = 4 AND NEW.status = 5)",
                    "UPDATE seckill.product SET stock = stock + 1 WHERE id = NEW.product_id");
    int status = program_run(UNPAID "--duration 4s --strategies conditional");
    program_untrigger("twice");
    assert_int_equal(status, 1);
    program_says("  BROKEN\n");
    program_says("lost updates ");
    the_files_say_it("conditional", "BROKEN");
    program_file_says("report.html", "lost updates ");
}

TEST_EACH(program_alone, program_end)
