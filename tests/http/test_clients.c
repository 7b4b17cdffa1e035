/*
 * Clients as they come: in a hurry, slow, half gone, gone, or with no intention of ever finishing.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "http/lib/expect.h"
#include "http/lib/raw.h"
#include "http/lib/stage.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void pipelined_requests_are_answered_in_order(void **state)
{
    enum { REQUESTS = 100, BAD = 50 };
    static const char good[] = RAW_POST RAW_LENGTH "\r\n" RAW_BODY;
    char *first = raw_fill("", good, BAD, RAW_POST "Content-Length: 2\r\n\r\n[]");
    char *text = raw_fill(first, good, REQUESTS - BAD - 1, "");
    struct http_client *client;

    (void)state;
    put_product(server, 1, "{\"stock\": 1000}");
    client = raw_send(server, text);
    free(first);
    for (int i = 0; i < REQUESTS; i++)
        assert_int_equal(raw_status(client), i == BAD ? 400 : 201);
    http_client_close(client);
    free(text);
    assert_int_equal(witness_sale(witness, 1).orders, REQUESTS - 1);
}

static void a_request_may_come_byte_by_byte(void **state)
{
    static const char request[] = RAW_POST RAW_LENGTH "\r\n" RAW_BODY;
    struct http_client *client = raw_send(server, "");

    (void)state;
    put_product(server, 1, "{\"stock\": 100}");
    for (size_t i = 0; i < sizeof request - 1; i++)
        assert_true(http_client_send(client, request + i, 1, raw_patience()));
    assert_int_equal(raw_status(client), 201);
    http_client_close(client);
}

/* The server sees the request and the end of what the client sends in one go. */
static void a_client_that_has_finished_sending_is_answered(void **state)
{
    enum { CLIENTS = 20 };
    static const char request[] = RAW_POST RAW_LENGTH "\r\n" RAW_BODY;
    struct http_client *clients[CLIENTS];

    (void)state;
    put_product(server, 1, "{\"stock\": 100}");
    server_pause(server);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = raw_send(server, request);
        http_client_finish_sending(clients[i]);
    }
    server_resume(server);
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(raw_status(clients[i]), 201);
        http_client_close(clients[i]);
    }
}

/* --idle-timeout-s, after a reply and before the first request; not sooner. */
static void an_idle_connection_is_closed_in_its_time(void **state)
{
    enum { IDLE_US = 1000000 };
    struct server *impatient = server_start("--idle-timeout-s", "1", NULL);
    int64_t from_us = clock_mono_us();
    struct http_client *clients[] = {raw_send(impatient, RAW_GET "\r\n"), raw_send(impatient, "")};

    (void)state;
    assert_int_equal(raw_status(clients[0]), 200);
    for (size_t i = 0; i < sizeof clients / sizeof *clients; i++) {
        assert_int_equal(raw_status(clients[i]), 0);
        assert_true(clock_mono_us() - from_us >= IDLE_US);
        http_client_close(clients[i]);
    }
    server_stop(impatient);
}

static void wait_until_quiet(void)
{
    int64_t until_us = raw_patience();

    while (server_metric(server, "seckill_http_requests_in_flight", "") > 1 ||
           server_metric(server, "seckill_http_connections", "") > 1)
        assert_true(clock_mono_us() < until_us);
}

static void a_client_that_vanishes_harms_nobody(void **state)
{
    static const char *const requests[] = {RAW_POST RAW_LENGTH "\r\n" RAW_BODY,
                                           RAW_POST RAW_LENGTH "\r\n{", "POST /ord",
                                           RAW_GET "\r\n"};
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};

    (void)state;
    put_product(server, 1, "{\"stock\": 1000}");
    for (int i = 0; i < 100; i++) {
        const char *request = requests[i % 4];
        struct http_client *client = raw_send(server, request);

        setsockopt(http_client_fd(client), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        http_client_close(client);
    }
    wait_until_quiet();
    witness_expect_exact(witness, 1);
}

/* Each of these would stay for long; the third fills libmicrohttpd's buffer so that it cannot go
 * on. */
static void an_unfinished_request_is_dropped_in_time(void **state)
{
    enum { CLIENTS = 3 };
    char *endless = raw_fill(RAW_POST "Transfer-Encoding: chunked\r\n\r\n", "0", 100000, "");
    struct http_client *clients[CLIENTS];
    int64_t began_us = clock_mono_us();

    (void)state;
    clients[0] = raw_send(server, RAW_POST RAW_LENGTH "\r\n{");
    clients[1] = raw_send(server, RAW_POST);
    clients[2] = raw_send(server, endless);
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(raw_status(clients[i]) / 100 % 4, 0); /* none, or a 4xx */
        http_client_close(clients[i]);
    }
    assert_true(clock_mono_us() - began_us < 30 * CLOCK_US_PER_S);
    wait_until_quiet();
    free(endless);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipelined_requests_are_answered_in_order),
        cmocka_unit_test(a_request_may_come_byte_by_byte),
        cmocka_unit_test(a_client_that_has_finished_sending_is_answered),
        cmocka_unit_test(an_idle_connection_is_closed_in_its_time),
        cmocka_unit_test(a_client_that_vanishes_harms_nobody),
        cmocka_unit_test(an_unfinished_request_is_dropped_in_time),
    };

    return stage_run("clients", tests, sizeof tests / sizeof *tests);
}
