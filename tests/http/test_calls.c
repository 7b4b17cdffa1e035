/* Look-ups and admin calls: what one of them waits for holds up no other kind, and a wait ends at
 * its deadline and is called by its name. */
#include "lib/t.h"

#include "base/clock.h"
#include "http/lib/expect.h"
#include "http/lib/one_server.h"
#include "lib/fixtures/crowd.h"

#include <stdio.h>

enum { PATIENCE_US = 60000000, WAIT_US = 5000000, PUTS = 6 };

/* How late a busy machine may be; what has no deadline is answered never. */
#define LATE_US (t_patience_us() / 3)

/* More PUTs than there are sessions for admin calls stand before one product's row. */
TEST(puts_that_wait_hold_up_nothing_else)
{
    char id[37];
    char target[80];
    struct crowd *puts = crowd_create();

    server = server_start(NULL, NULL);
    put_product(server, 1, "{\"stock\": 5}");
    put_product(server, 2, "{\"stock\": 5}");
    buy(server, 2, 1, id);
    struct witness *holder = one_server_hold_product();
    for (int i = 0; i < PUTS; i++)
        crowd_add(puts, server, "PUT", "/products/1", NULL, "{\"stock\": 5}");
    crowd_send(puts);
    witness_wait_blocked(witness, 1);

    expect_status(server, 200, "GET", "/products/1", NULL, NULL);
    expect_status(server, 200, "GET", "/products", NULL, NULL);
    snprintf(target, sizeof target, "/orders/%s", id);
    expect_status(server, 200, "GET", target, NULL, NULL);
    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    expect_status(server, 200, "POST", target, NULL, NULL);
    buy(server, 2, 2, id);
    expect_status(server, 200, "GET", "/products/2/audit", NULL, NULL);
    expect_status(server, 200, "PATCH", "/products/2", NULL, "{\"name\": \"two\"}");
    expect_status(server, 200, "PUT", "/products/2", NULL, "{\"stock\": 5}");
    assert_false(crowd_wait(puts, 1, clock_mono_us()));

    crowd_answers(puts, PATIENCE_US);
    if (crowd_count(puts, 503, "wait_timeout") != PUTS)
        fail_msg("%s", crowd_summary(puts));
    for (int i = 0; i < PUTS; i++)
        assert_in_range(crowd_at(puts, i)->took_us, WAIT_US, WAIT_US + LATE_US);
    crowd_destroy(puts);
    witness_release(holder);
    expect_status(server, 200, "PUT", "/products/1", NULL, "{\"stock\": 5}");
    server_stop(server);
}

/* The one session for each kind of call stands before a locked table, and does so for longer than
 * what has queued behind it may wait. */
TEST(a_queued_call_ends_at_its_deadline)
{
    struct crowd *ahead = crowd_create();
    struct crowd *behind = crowd_create();

    server = server_start("--pg-sessions", "7", "--amqp", "");
    put_product(server, 1, "{\"stock\": 5}");
    witness_run(witness, "BEGIN");
    witness_run(witness, "LOCK TABLE orders IN ACCESS EXCLUSIVE MODE");
    crowd_add(ahead, server, "GET", "/products/1/audit", NULL, NULL);
    crowd_send(ahead);
    witness_wait_blocked(witness, 1);
    crowd_add(behind, server, "PUT", "/products/2", NULL, "{\"stock\": 5}");
    crowd_answers(behind, PATIENCE_US);
    const struct crowd_call *call = crowd_at(behind, 0);
    assert_problem(&call->reply, 503, "wait_timeout", NULL);
    assert_text(&call->reply, "phase", "queue");
    assert_true(call->took_us >= WAIT_US && call->took_us < WAIT_US + LATE_US);

    witness_run(witness, "ROLLBACK");
    crowd_answers(ahead, PATIENCE_US);
    assert_int_equal(crowd_count(ahead, 200, ""), 1);
    crowd_destroy(ahead);
    crowd_destroy(behind);
    server_stop(server);
}

TEST_EACH(NULL, one_server_clear)

int main(void)
{
    return one_server_run_bare("calls");
}
