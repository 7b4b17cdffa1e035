/* The end of a server: everything accepted is answered, and nothing new is taken. */
#include "lib/t.h"

#include "base/clock.h"
#include "base/stop.h"
#include "http/lib/expect.h"
#include "http/lib/one_server.h"
#include "lib/stack.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t patience(void)
{
    return clock_mono_us() + SERVER_PATIENCE_US;
}

static struct http_client *open_client(void)
{
    struct http_client *client = http_client_open(server_address(server), patience());

    assert_non_null(client);
    return client;
}

static void send_text(struct http_client *client, const char *text)
{
    assert_true(http_client_send(client, text, strlen(text), patience()));
}

/* Opens a connection that is kept after its first answer. */
static struct http_client *open_kept(void)
{
    struct http_client *client = open_client();
    struct http_reply reply;

    assert_int_equal(http_client_call(client, "GET", "/healthz", NULL, NULL, patience(), &reply),
                     HTTP_REPLY);
    assert_true(reply.keeps_alive);
    http_reply_fini(&reply);
    return client;
}

static void send_order_by(struct http_client *client, const char *strategy, int user)
{
    char target[80];
    char body[64];
    char *text;

    snprintf(target, sizeof target, "/orders?strategy=%s&wait_ms=60000", strategy);
    snprintf(body, sizeof body, "{\"product_id\": 1, \"user_id\": %d}", user);
    text = http_request("POST", target, NULL, body);
    send_text(client, text);
    free(text);
}

static void send_order(struct http_client *client, int user)
{
    send_order_by(client, "pessimistic", user);
}

/* Reads the answer to the order that was sent there, which is sold or refused like this; its
 * status. */
static int read_answer(struct http_client *client, const char *refusal)
{
    struct http_reply reply;

    assert_int_equal(http_client_read(client, false, patience(), &reply), HTTP_REPLY);
    int status = reply.status;
    if (status != 201)
        assert_problem(&reply, status, refusal, NULL);
    http_reply_fini(&reply);
    return status;
}

static void wait_for_in_flight(int64_t count)
{

    T_UNTIL(server_metric(server, "seckill_http_requests_in_flight", "") >= count);
}

static void wait_until_refused(void)
{
    int64_t until_us = patience();
    struct http_client *client;

    while ((client = http_client_open(server_address(server), until_us))) {
        http_client_close(client);
        assert_true(clock_mono_us() < until_us);
    }
}

TEST(what_was_accepted_is_answered)
{
    enum { ORDERS = 30 };
    server = server_start(NULL, NULL);
    struct http_client *orders[ORDERS];
    struct http_client *kept = open_kept();
    struct http_client *watcher = open_kept();
    struct http_reply reply;

    put_product(server, 1, "{\"stock\": 1000}");
    struct witness *holder = one_server_hold_product();
    for (int i = 0; i < ORDERS; i++) {
        orders[i] = open_client();
        send_order(orders[i], i + 1);
    }
    wait_for_in_flight(ORDERS + 1);
    server_signal(server, SIGTERM);
    wait_until_refused();

    assert_int_equal(http_client_call(watcher, "GET", "/readyz", NULL, NULL, patience(), &reply),
                     HTTP_REPLY);
    assert_int_equal(reply.status, 503);
    assert_true(http_reply_bool(&reply, "draining"));
    assert_false(http_reply_bool(&reply, "ready"));
    assert_false(reply.keeps_alive);
    http_reply_fini(&reply);
    assert_int_equal(http_client_call(kept, "POST", "/orders", NULL,
                                      "{\"product_id\": 1, \"user_id\": 999}", patience(), &reply),
                     HTTP_REPLY);
    assert_problem(&reply, 503, "shutting_down", NULL);
    assert_false(reply.keeps_alive);
    http_reply_fini(&reply);
    assert_true(http_client_ended(kept, patience()));
    witness_release(holder);

    for (int i = 0; i < ORDERS; i++) {
        assert_int_equal(http_client_read(orders[i], false, patience(), &reply), HTTP_REPLY);
        assert_int_equal(reply.status, 201);
        assert_false(reply.keeps_alive);
        http_reply_fini(&reply);
        http_client_close(orders[i]);
    }
    assert_int_equal(server_wait(server, NULL, 0), 0);
    assert_int_equal(witness_sale(witness, 1).orders, ORDERS);
    http_client_close(kept);
    http_client_close(watcher);
}

/* Its stock is added in the drain, and the product that it answers with is read in the drain. */
TEST(a_restock_that_was_accepted_answers_with_the_product)
{
    server = server_start(NULL, NULL);
    struct http_client *client = open_kept();
    struct http_reply reply;

    put_product(server, 1, "{\"stock\": 10}");
    struct witness *holder = one_server_hold_product();
    char *text =
        http_request("POST", "/products/1/restock?wait_ms=60000", NULL, "{\"quantity\": 3}");
    send_text(client, text);
    free(text);
    wait_for_in_flight(2);
    witness_wait_blocked(witness, 1);
    server_signal(server, SIGTERM);
    wait_until_refused();
    witness_release(holder);
    assert_int_equal(http_client_read(client, false, patience(), &reply), HTTP_REPLY);
    assert_int_equal(reply.status, 200);
    assert_int_equal(http_reply_int(&reply, "stock"), 13);
    http_reply_fini(&reply);
    http_client_close(client);
    assert_int_equal(server_wait(server, NULL, 0), 0);
}

/* The sale opens, and its row is held; unless `at_once`, it opens when that is let go. */
static struct witness *open_sale(bool at_once)
{
    static const char opens[] = "UPDATE product SET opens_at = NULL WHERE id = 1";

    if (at_once)
        witness_run(witness, opens);
    struct witness *bell = witness_hold(one_server_database(), 1);
    if (!at_once)
        witness_run(bell, opens);
    return bell;
}

/* The server is told to stop when the sale has opened and nobody has been sold anything yet; unless
 * `rung`, not even the transaction that opens it is committed, and the bell rings in the drain.
 * A client that stood at the door by then is served as at any other time; one that came after the
 * stop is told so, and one that came too early was told that. */
static void stop_at_the_bell(const char *strategy, bool rung)
{
    enum { STOCK = 20, AT_THE_DOOR = 30, LATE = 5, FIRST_EARLY = 100, FIRST_LATE = 200 };
    struct http_client *at_the_door[AT_THE_DOOR];
    struct http_client *late[LATE];
    int sold = 0;

    server = server_start(NULL, NULL);
    put_product(server, 1, "{\"stock\": 20, \"opens_at\": \"2100-01-01T00:00:00Z\"}");
    for (int i = 0; i < LATE; i++) {
        late[i] = open_kept();
        send_order_by(late[i], strategy, FIRST_EARLY + i);
        assert_int_equal(read_answer(late[i], "sale_not_open"), 409);
    }
    struct witness *bell = open_sale(rung);
    for (int i = 0; i < AT_THE_DOOR; i++) {
        at_the_door[i] = open_client();
        send_order_by(at_the_door[i], strategy, i + 1);
    }
    wait_for_in_flight(AT_THE_DOOR + 1);
    witness_wait_blocked(witness, 1);
    server_signal(server, SIGTERM);
    wait_until_refused();
    for (int i = 0; i < LATE; i++) {
        send_order_by(late[i], strategy, FIRST_LATE + i);
        assert_int_equal(read_answer(late[i], "shutting_down"), 503);
        http_client_close(late[i]);
    }
    witness_run(bell, "COMMIT");
    witness_close(bell);

    for (int i = 0; i < AT_THE_DOOR; i++) {
        int status = read_answer(at_the_door[i], "sold_out");
        assert_true(status == 201 || status == 409);
        sold += status == 201;
        http_client_close(at_the_door[i]);
    }
    assert_int_equal(sold, STOCK);
    assert_int_equal(server_wait(server, NULL, 0), 0);
    server = NULL;
    witness_expect_exact(witness, 1);
    assert_int_equal(witness_sale(witness, 1).orders, STOCK);
    assert_int_equal(witness_sale(witness, 1).stock, 0);
    assert_int_equal(
        witness_number(witness, "SELECT count(*) FROM orders WHERE user_id > %d", AT_THE_DOOR), 0);
}

TEST(a_stop_in_the_opening_bell_loses_nothing)
{
    stop_at_the_bell("pessimistic", false);
    stop_at_the_bell("pessimistic", true);
    stop_at_the_bell("batch", true);
    /* It does not wait for a row that says that the sale is closed. */
    stop_at_the_bell("conditional", true);
}

TEST(idle_and_unfinished_requests_do_not_hold_it_up)
{
    server = server_start(NULL, NULL);
    struct http_client *idle = open_kept();
    struct http_client *unfinished = open_client();
    int64_t began_us;

    send_text(unfinished, "POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{");
    wait_for_in_flight(2);
    server_expect_sound(server);
    began_us = clock_mono_us();
    server_signal(server, SIGTERM);
    assert_true(http_client_ended(unfinished, patience()));
    assert_true(clock_mono_us() - began_us < 9 * CLOCK_US_PER_S);
    assert_int_equal(server_wait(server, NULL, 0), 0);
    http_client_close(idle);
    http_client_close(unfinished);
}

/* From its second stop to its end a server takes STOP_GRACE_US at most, and what a busy machine
 * adds to that. What it must not wait for takes as long as the test waits for anything. */
#define AT_ONCE_US (t_patience_us() / 3)
_Static_assert(STOP_GRACE_US < CLOCK_US_PER_S, "a second stop ends a server within a second");

/* An order that a worker works on, and its row is held; another one behind it. */
struct stuck {
    struct witness *holder;
    struct http_client *begun;
    struct http_client *queued;
};

static struct stuck start_stuck(void)
{
    struct stuck stuck;

    server = server_start("--in-flight-per-product", "1", "--work-timeout-ms", "60000",
                          "--lock-ttl-ms", "90000", NULL);
    put_product(server, 1, "{\"stock\": 1000}");
    stuck.holder = one_server_hold_product();
    stuck.begun = open_client();
    send_order(stuck.begun, 1);
    witness_wait_blocked(witness, 1);
    stuck.queued = open_client();
    send_order(stuck.queued, 2);
    wait_for_in_flight(3);
    return stuck;
}

/* Waits for the end, which the test sees without its row. */
static void expect_end(int64_t from_us)
{
    char log[4096];
    int status = server_wait(server, log, sizeof log);
    int64_t took_us = clock_mono_us() - from_us;

    server = NULL;
    assert_int_equal(status, 1);
    assert_null(strstr(log, "Sanitizer"));
    assert_in_range(took_us, 0, AT_ONCE_US);
}

static void stop_twice(void)
{
    server_signal(server, SIGTERM);
    wait_until_refused();
    server_signal(server, SIGTERM);
}

/* Whether it is, by a server that ends: nothing was done. */
static bool is_refused(struct http_client *client)
{
    struct http_reply reply;
    enum http_result result = http_client_read(client, false, patience(), &reply);

    if (result == HTTP_REPLY) {
        assert_problem(&reply, 503, "shutting_down", NULL);
        http_reply_fini(&reply);
    } else
        assert_int_equal(result, HTTP_CLOSED);
    return result == HTTP_REPLY;
}

/* Whether the order that no worker had begun was answered: a server that gets no processor in its
 * grace ends without. The other one's outcome is unknown, but where it stood between two waits for
 * the row, of half a second each. */
static bool is_answered_at_the_end(void)
{
    struct stuck stuck = start_stuck();

    stop_twice();
    expect_end(clock_mono_us());
    bool answered = is_refused(stuck.queued);
    is_refused(stuck.begun);
    witness_release(stuck.holder);
    http_client_close(stuck.begun);
    http_client_close(stuck.queued);
    return answered;
}

TEST(a_second_stop_ends_it_at_once)
{
    for (int tries = 1; !is_answered_at_the_end(); tries++)
        assert_true(tries < 5);
}

/* Stops one after the other until it ends; the longest time without one. */
static int64_t stop_often(void)
{
    int64_t from_us = clock_mono_us();
    int64_t last_us = from_us;
    int64_t pause_us = 0;
    bool ended = false;

    while (!ended && clock_mono_us() - from_us < 2 * AT_ONCE_US) {
        server_signal(server, SIGTERM);
        clock_sleep_until(clock_mono_us() + CLOCK_US_PER_MS);
        ended = server_has_ended(server);
        int64_t now_us = clock_mono_us();
        pause_us = now_us - last_us > pause_us ? now_us - last_us : pause_us;
        last_us = now_us;
    }
    expect_end(from_us);
    return pause_us;
}

/* On a busy machine the stops may pause for as long as the end could be put off; then they prove
 * nothing, and come again. */
TEST(more_stops_do_not_put_the_end_off)
{
    int64_t until_us = clock_mono_us() + t_patience_us();
    int64_t pause_us = STOP_GRACE_US;

    while (pause_us >= STOP_GRACE_US / 2) {
        if (clock_mono_us() >= until_us)
            fail_msg("there is a pause of %lld us between stops", (long long)pause_us);
        struct stuck stuck = start_stuck();
        pause_us = stop_often();
        witness_release(stuck.holder);
        http_client_close(stuck.begun);
        http_client_close(stuck.queued);
    }
}

/* Neither a worker gets an answer then, nor whoever wants to cancel its statement. */
TEST(a_second_stop_does_not_wait_for_postgresql)
{
    struct stuck stuck = start_stuck();
    pid_t backend = 0;

    T_UNTIL((backend = (pid_t)witness_number(
                 witness, "SELECT coalesce(max(pid), 0) FROM pg_stat_activity"
                          " WHERE datname = current_database() AND wait_event_type = 'Lock'")) > 0);
    assert_int_equal(kill(backend, SIGSTOP), 0);
    stack_kill("postgres", SIGSTOP);
    stop_twice();
    int64_t from_us = clock_mono_us();
    while (!server_has_ended(server) && clock_mono_us() - from_us < 2 * AT_ONCE_US)
        clock_sleep_until(clock_mono_us() + CLOCK_US_PER_MS);
    int64_t took_us = clock_mono_us() - from_us;
    stack_kill("postgres", SIGCONT);
    kill(backend, SIGCONT);
    assert_in_range(took_us, 0, AT_ONCE_US);
    expect_end(clock_mono_us());
    witness_release(stuck.holder);
    http_client_close(stuck.begun);
    http_client_close(stuck.queued);
}

/* The handler must not touch what is gone by then; AddressSanitizer looks. */
TEST(a_stop_may_come_while_everything_is_taken_down)
{
    char log[4096];

    server_use_failpoints("app.http-gone=stop");
    server = server_start(NULL, NULL);
    server_use_failpoints(NULL);
    server_signal(server, SIGTERM);
    server_wait_stopped(server);
    for (int i = 0; i < 3; i++)
        server_signal(server, SIGTERM);
    server_resume(server);
    int status = server_wait(server, log, sizeof log);
    server = NULL;
    assert_null(strstr(log, "Sanitizer"));
    assert_int_equal(status, 0); /* everything was answered before */
}

TEST_EACH(NULL, one_server_clear)

int main(void)
{
    return one_server_run_bare("drain");
}
