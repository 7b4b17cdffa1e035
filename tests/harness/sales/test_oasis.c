/*
 * `oasis` on real servers, in small: what protects the stock sells out to the last ticket and is
 * found clean, what does not is found out, and a sale that ends early says how far it came and
 * leaves nothing running.
 */
#include "lib/t.h"

#include "harness/fixtures/program.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the database itself says, beside what the command says of it. */
static int64_t ask(const char *what)
{
    return program_ask(
        t_text("SELECT %s FROM seckill.orders o JOIN seckill.product p ON p.id = o.product_id AND "
               "p.epoch = o.epoch WHERE p.id BETWEEN 1000001 AND 1000017 AND o.status = 1",
               what));
}

/* The port that its first line names. */
static int read_port(const struct process *sale)
{
    const char *url = strstr(program_read_until(sale, "\n"), "http://127.0.0.1:");
    assert_non_null(url);
    return (int)strtol(url + strlen("http://127.0.0.1:"), NULL, 10);
}

static bool listens(int port)
{
    int fd = t_connect(port);
    return fd >= 0 && close(fd) == 0;
}

static void is_sold_out(int64_t tickets)
{
    program_says("The audit is clean.");
    assert_int_equal(program_integer("oasis.json/rows/sold"), tickets);
    assert_int_equal(ask("sum(o.quantity)"), tickets);
    assert_int_equal(ask("count(DISTINCT p.id)"), 17);
    assert_int_equal(program_integer("oasis.json/rows/orders"), ask("count(*)"));
    assert_int_equal(program_integer("oasis.json/rows/buyers"), ask("count(DISTINCT o.user_id)"));
    assert_int_equal(program_integer("oasis.json/rows/most_of_one_buyer"), 4);
    assert_int_equal(program_integer("oasis.json/rows/oversold"), 0);
    assert_int_equal(program_integer("oasis.json/answers/tickets"), tickets);
    assert_int_equal(program_integer("oasis.json/answers/late"), tickets / 20);
    /* All that a buyer may do was done. */
    assert_true(program_integer("oasis.json/answers/pages") > 0);
    assert_true(program_integer("oasis.json/answers/repeated") > 0);
    assert_true(program_integer("oasis.json/answers/came_back") > 0);
    assert_true(program_integer("oasis.json/answers/sold_out") > 0);
}

TEST(the_hall_empties_and_the_books_agree)
{
    program_tells(
        0, "oasis --tickets 6000 --instances 2 --connections 32",
        "6,000 tickets for 17 nights, at most 4 a buyer. The hall empties on the page at http://");
    program_says("] 0 left, 6,000 sold");
    program_says("about six hours");
    is_sold_out(6000);
}

/* Accepted first, and decided later. */
TEST(what_is_reserved_is_waited_for)
{
    program_exits(0, "oasis --tickets 3000 --strategy redis-stock --connections 32");
    is_sold_out(3000);
}

/* Of two calls with one key it may sell to one and tell the other that all is sold: what it has
 * read is old. */
TEST(none_is_found_to_oversell)
{
    program_tells(1, "oasis --tickets 60 --products 2 --strategy none --work-ms 5",
                  "! OVERSOLD, tickets more than there were: ");
    assert_true(program_integer("oasis.json/rows/oversold") > 0);
    assert_true(ask("sum(o.quantity)") > 60);
    assert_int_equal(program_integer("oasis.json/rows/limit_violations"), 0);
}

TEST(what_cannot_be_sold_is_refused)
{
    program_tells(2, "oasis --tickets 16", "--tickets must be at least one for each of --products");
    program_tells(2, "oasis --instances 1,3", "--instances takes one figure here");
    program_tells(2, "oasis --strategy bach", "--strategy: the servers have no 'bach'");
    program_says("batch");
    program_exits(2, "oasis --strategies batch");
    program_exits(2, "oasis --server http://127.0.0.1:1");
}

/* More than can be sold while it is looked at. */
#define ENDLESS "--tickets 50000000 --connections 32 "

TEST(an_interrupt_says_how_far_it_came)
{
    struct process sale;
    program_start("oasis " ENDLESS, &sale);
    int port = read_port(&sale);
    assert_true(listens(port));
    T_UNTIL(ask("count(*)") >= 50);
    kill(sale.pid, SIGINT);
    assert_int_equal(program_finish(&sale), 2);
    program_says("interrupted");
    program_says("Ended early: ");
    program_says("The books agree so far.");
    assert_true(program_integer("oasis.json/rows/sold") >= 50);
    assert_int_equal(program_integer("oasis.json/rows/sold"), ask("sum(o.quantity)"));
    assert_false(listens(port));
}

/* One of two servers is killed: what its buyers were not told they ask the other one, with the same
 * key. */
TEST_WITH(a_killed_server_costs_no_ticket, program_two, program_end)
{
    struct process sale;
    int status = 0;
    program_start(t_text("oasis --server %s,%s --reset --tickets 20000 --connections 32",
                         program->servers[0].url, program->servers[1].url),
                  &sale);
    read_port(&sale); /* until then the orders are those of the sale before */
    T_UNTIL(ask("count(*)") >= 50);
    process_stop(&program->servers[1].process, SIGKILL, 1000, &status);
    program->count = 1;
    assert_int_equal(program_finish(&sale), 0);
    assert_true(program_integer("oasis.json/answers/sent_again") > 0);
    is_sold_out(20000);
}

TEST_EACH(program_alone, program_end)
