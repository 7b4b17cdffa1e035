/*
 * Many connections at once: every one is answered, and afterwards the server is what it was.
 *
 * 128, 256 and 384 are here because libmicrohttpd's own event loop stalls at exactly n * 128.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "http/lib/expect.h"
#include "http/lib/one_server.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1000, STOCK = 300, CAPACITY = 500 };

static struct http_client *clients[MOST];

struct tally {
    int bought;
    int refused; /* 409 */
    int shed;    /* 503 */
};

static int64_t patience(void)
{
    return clock_mono_us() + SERVER_PATIENCE_US;
}

static void open_all(int count)
{
    for (int i = 0; i < count; i++) {
        clients[i] = http_client_open(server_address(server), patience());
        assert_non_null(clients[i]);
    }
}

static void close_all(int count)
{
    for (int i = 0; i < count; i++)
        http_client_close(clients[i]);
}

static void send_all(int count, const char *strategy)
{
    char target[64];

    snprintf(target, sizeof target, "/orders?strategy=%s&wait_ms=60000", strategy);
    for (int i = 0; i < count; i++) {
        char body[64];
        char *text;

        snprintf(body, sizeof body, "{\"product_id\": 1, \"user_id\": %d}", i + 1);
        text = http_request("POST", target, NULL, body);
        assert_true(http_client_send(clients[i], text, strlen(text), patience()));
        free(text);
    }
}

static struct tally read_all(int count)
{
    struct tally tally = {0};

    for (int i = 0; i < count; i++) {
        struct http_reply reply;

        if (http_client_read(clients[i], false, patience(), &reply) != HTTP_REPLY)
            fail_msg("client %d of %d got no answer", i, count);
        tally.bought += reply.status == 201;
        tally.refused += reply.status == 409;
        tally.shed += reply.status == 503;
        http_reply_fini(&reply);
    }
    return tally;
}

/* One order from each client, all sent before the first answer is read. */
static struct tally order_all(int count, const char *strategy)
{
    send_all(count, strategy);
    return read_all(count);
}

TEST(exactly_so_many_at_once_are_answered)
{
    static const int counts[] = {127, 128, 129, 255, 256, 257, 384, 512, MOST};
    server = server_start(NULL, NULL);

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        put_product(server, 1, "{\"stock\": 1000000}");
        open_all(counts[i]);
        for (int round = 0; round < 3; round++)
            assert_int_equal(order_all(counts[i], "batch").bought, counts[i]);
        close_all(counts[i]);
        assert_int_equal(witness_sale(witness, 1).orders, 3 * counts[i]);
    }
    server_stop(server);
}

/* Requests that wait for nothing, so that all of them are ready in one pass of the loop. */
TEST(answers_from_memory_do_not_stall)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    static const int counts[] = {128, 256, 384, 512};
    server = server_start(NULL, NULL);

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        open_all(counts[i]);
        for (int round = 0; round < 20; round++) {
            for (int k = 0; k < counts[i]; k++)
                assert_true(http_client_send(clients[k], request, sizeof request - 1, patience()));
            for (int k = 0; k < counts[i]; k++) {
                struct http_reply reply;

                assert_int_equal(http_client_read(clients[k], false, patience(), &reply),
                                 HTTP_REPLY);
                assert_int_equal(reply.status, 200);
                http_reply_fini(&reply);
            }
        }
        close_all(counts[i]);
    }
    server_stop(server);
}

static void wait_for_no_connections(void)
{

    T_UNTIL(server_metric(server, "seckill_http_connections", "") <= 1);
}

static void burst(void)
{
    struct tally tally;

    put_product(server, 1, "{\"stock\": 300}");
    open_all(MOST);
    tally = order_all(MOST, "redis-queue");
    close_all(MOST);
    assert_int_equal(tally.bought, STOCK);
    assert_int_equal(tally.bought + tally.refused + tally.shed, MOST);
    assert_int_equal(witness_sale(witness, 1).orders, STOCK);
    witness_expect_exact(witness, 1);
    wait_for_no_connections();
}

TEST(after_a_burst_everything_is_back)
{
    server = server_start(NULL, NULL);
    int descriptors;
    int64_t kib;

    burst();
    descriptors = server_descriptors(server);
    kib = server_resident_kib(server);
    for (int i = 0; i < 3; i++)
        burst();
    /* Its workers may have come or gone; a thousand connections may not be left. */
    assert_in_range(server_descriptors(server), 1, descriptors + 30);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    /* Three thousand connections with 6 KiB each; how much of its memory each has touched, and what
     * the allocator keeps of it, differs from burst to burst by some. */
    assert_in_range(server_resident_kib(server), 1, kib + 18000);
#endif
    (void)kib;
    server_stop(server);
}

TEST(twice_the_queue_is_answered)
{
    server = server_start("--queue-capacity", "500", "--work-ms", "20", NULL);
    struct tally tally;

    put_product(server, 1, "{\"stock\": 10}");
    open_all(2 * CAPACITY);
    struct witness *holder = one_server_hold_product();
    send_all(2 * CAPACITY, "pessimistic");
    T_UNTIL(server_accepted(server) >= INT64_C(2) * CAPACITY);
    witness_release(holder);
    tally = read_all(2 * CAPACITY);
    close_all(2 * CAPACITY);
    assert_int_equal(tally.bought, 10);
    assert_int_equal(tally.bought + tally.refused + tally.shed, 2 * CAPACITY);
    assert_true(tally.shed > 0);
    witness_expect_exact(witness, 1);
    server_stop(server);
}

static bool any_answered(int count)
{
    struct pollfd fds[MOST];

    for (int i = 0; i < count; i++)
        fds[i] = (struct pollfd){.fd = http_client_fd(clients[i]), .events = POLLIN};
    return poll(fds, (nfds_t)count, 0) > 0;
}

/* The loop is kept busy for 30 ms when it refuses the first order, so the reply is held back for
 * 0.21 s after that. A machine that is as slow as that gets several attempts. */
TEST(health_is_answered_while_refusals_are_held_back)
{
    enum { BUYERS = 12, ATTEMPTS = 20 };
    bool before = false;

    for (int i = 0; i < ATTEMPTS && !before; i++) {
        server_use_failpoints("http.refused=pause:30");
        server = server_start("--queue-capacity", "4", NULL);
        server_use_failpoints(NULL);
        put_product(server, 1, "{\"stock\": 1000000}");
        open_all(BUYERS + 1);
        struct witness *holder = one_server_hold_product();
        send_all(BUYERS, "pessimistic");
        for (int k = 0; k < 2; k++) {
            struct http_reply reply;
            assert_int_equal(http_client_call(clients[BUYERS], "GET", k ? "/readyz" : "/healthz",
                                              NULL, NULL, patience(), &reply),
                             HTTP_REPLY);
            assert_int_equal(reply.status, 200);
            http_reply_fini(&reply);
        }
        before = !any_answered(BUYERS);
        witness_release(holder);
        assert_true(read_all(BUYERS).shed > 0);
        close_all(BUYERS + 1);
        server_stop(server);
    }
    assert_true(before);
}

/* More than --max-connections wait to be accepted, and are served when others leave. */
TEST(connections_beyond_the_limit_wait)
{
    enum { LIMIT = 16, BEYOND = 24 };
    server = server_start("--max-connections", "16", NULL);
    struct http_reply reply;

    open_all(LIMIT + BEYOND);
    for (int i = 0; i < LIMIT + BEYOND; i++) {
        assert_int_equal(
            http_client_call(clients[i], "GET", "/healthz", NULL, NULL, patience(), &reply),
            HTTP_REPLY);
        assert_int_equal(reply.status, 200);
        http_reply_fini(&reply);
        http_client_close(clients[i]);
    }
    server_stop(server);
}

TEST_EACH(NULL, one_server_clear)

int main(void)
{
    t_raise_files();
    return one_server_run_bare("crowd");
}
