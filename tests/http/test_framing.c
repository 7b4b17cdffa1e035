/*
 * Exact bytes: where requests begin and end, and what a broken one does to its connection.
 *
 * Where libmicrohttpd answers by itself its versions differ, so some cases allow more than one
 * status; each says what must never happen: a request taken that could be read in two ways.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "http/expect.h"
#include "lib/stack.h"
#include "lib/witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BODY   "{\"product_id\":1,\"user_id\":2}"
#define LENGTH "Content-Length: 28\r\n"
#define POST   "POST /orders HTTP/1.1\r\nHost: x\r\n"
#define GET    "GET /healthz HTTP/1.1\r\nHost: x\r\n"

static struct server *server;
static struct witness *witness;
static char *database;

static int64_t patience(void)
{
    return clock_mono_us() + SERVER_PATIENCE_US;
}

static struct http_client *send_new(const void *bytes, size_t length)
{
    struct http_client *client = http_client_open(server_address(server), patience());

    assert_non_null(client);
    /* A server that has refused a request may have closed before it has all of it. */
    http_client_send(client, bytes, length, patience());
    return client;
}

static int read_status(struct http_client *client)
{
    struct http_reply reply;
    int status;

    if (http_client_read(client, false, patience(), &reply) != HTTP_REPLY)
        return 0;
    status = reply.status;
    http_reply_fini(&reply);
    return status;
}

static void expect_alive(void)
{
    expect_status(server, 200, "GET", "/healthz", NULL, NULL);
}

/* `before`, `count` times `filler`, `after`; malloc'ed. */
static char *fill(const char *before, const char *filler, int count, const char *after)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    assert_non_null(to);
    fputs(before, to);
    for (int i = 0; i < count; i++)
        fputs(filler, to);
    fputs(after, to);
    assert_int_equal(fclose(to), 0);
    return text;
}

/* Requests that can be read in two ways, or in none: 400 (or what `other` says), and the end. */
static void broken_framing_is_refused_and_closes(void **state)
{
    static const struct {
        const char *request;
        int other;
    } cases[] = {
        {POST LENGTH "Transfer-Encoding: chunked\r\n\r\n1c\r\n" BODY "\r\n0\r\n\r\n", 0},
        {GET "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" GET "\r\n", 0},
        {POST LENGTH "Content-Length: 5\r\n\r\n" BODY, 0},
        {POST LENGTH LENGTH "\r\n" BODY, 0},
        {POST "Content-Length: 28, 28\r\n\r\n" BODY, 0},
        {POST "Content-Length: -1\r\n\r\n" BODY, 0},
        {POST "Content-Length: +28\r\n\r\n" BODY, 0},
        {POST "Content-Length: 0x1c\r\n\r\n" BODY, 0},
        {POST "Content-Length:  28x\r\n\r\n" BODY, 0},
        {POST "Content-Length: 18446744073709551644\r\n\r\n" BODY, 413},
        {POST "Transfer-Encoding: xchunked\r\n\r\n1c\r\n" BODY "\r\n0\r\n\r\n", 501},
        {POST "Transfer-Encoding: gzip, chunked\r\n\r\n1c\r\n" BODY "\r\n0\r\n\r\n", 501},
        {POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501},
        {POST "Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n", 0},
        {POST "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx\r\n0\r\n\r\n", 413},
        {POST "Transfer-Encoding: chunked\r\n\r\n\r\nx\r\n0\r\n\r\n", 0},
        {"GET /healthz HTTP/1.1\r\n\r\n", 0},
        {"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 0},
        {"GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n", 0},
        {"GET /healthz HTTP/1.1\r\nHost: x\r\nno-colon\r\n\r\n", 0},
        {"GET /healthz HTTP/1.9\r\nHost: x\r\n\r\n", 505},
        {"GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n", 505},
        {"GET /healthz HTTP/1.1x\r\nHost: x\r\n\r\n", 0},
        {"GET /healthz FOO/1.1\r\nHost: x\r\n\r\n", 0},
    };

    (void)state;
    put_product(server, 1, "{\"stock\": 100}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_client *client = send_new(cases[i].request, strlen(cases[i].request));
        int status = read_status(client);

        if (status != 400 && status != cases[i].other)
            fail_msg("%d for %s", status, cases[i].request);
        /* Nothing that follows may be taken for a request. libmicrohttpd 0.9.75 sends the head of
         * its own refusals twice, which is no reply either. */
        while ((status = read_status(client)) != 0)
            if (status < 400)
                fail_msg("%d after %s", status, cases[i].request);
        http_client_close(client);
        expect_alive();
    }
    assert_int_equal(witness_sale(witness, 1).orders, 0);
}

static void a_chunked_body_is_read(void **state)
{
    static const char request[] =
        POST "Transfer-Encoding: chunked\r\n\r\n5;a=b\r\n{\"pro\r\n17\r\nduct_id\":1,\"user_id\":2}"
             "\r\n0\r\n\r\n" GET "\r\n";
    struct http_client *client = send_new(request, sizeof request - 1);

    (void)state;
    put_product(server, 1, "{\"stock\": 100}");
    assert_int_equal(read_status(client), 201);
    assert_int_equal(read_status(client), 200);
    http_client_close(client);
}

/* Sends `count` chunks of 1 KiB, and the end. */
static struct http_client *send_chunks(int count)
{
    char *spaces = fill("", " ", 1024, "");
    char *chunk = fill("400\r\n", spaces, 1, "\r\n");
    char *request = fill(POST "Transfer-Encoding: chunked\r\n\r\n", chunk, count, "0\r\n\r\n");
    struct http_client *client = send_new(request, strlen(request));

    free(spaces);
    free(chunk);
    free(request);
    return client;
}

static void a_chunked_body_is_counted(void **state)
{
    struct http_client *client = send_chunks(17);
    struct http_reply reply;

    (void)state;
    assert_int_equal(http_client_read(client, false, patience(), &reply), HTTP_REPLY);
    assert_problem(&reply, 413, "body_too_large", NULL);
    assert_true(reply.keeps_alive);
    http_reply_fini(&reply);
    http_client_close(client);
    client = send_chunks(1100);
    assert_int_equal(read_status(client), 0);
    http_client_close(client);
    expect_alive();
}

static void a_long_body_is_refused_before_it_comes(void **state)
{
    static const char *const requests[] = {
        POST "Content-Length: 16385\r\n\r\n",
        POST "Content-Length: 16385\r\nExpect: 100-continue\r\n\r\n",
        POST "Content-Length: 999999999999999999\r\n\r\n",
        GET "Content-Length: 16385\r\n\r\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct http_client *client = send_new(requests[i], strlen(requests[i]));

        assert_int_equal(read_status(client), 413);
        assert_true(http_client_ended(client, patience()));
        http_client_close(client);
    }
}

static void expect_continue_is_answered(void **state)
{
    static const char head[] = POST LENGTH "Expect: 100-continue\r\n\r\n";
    struct http_client *client = send_new(head, sizeof head - 1);

    (void)state;
    put_product(server, 1, "{\"stock\": 100}");
    assert_int_equal(read_status(client), 100);
    assert_true(http_client_send(client, BODY, sizeof BODY - 1, patience()));
    assert_int_equal(read_status(client), 201);
    http_client_close(client);
}

/* Of a request with so many bytes more; 0: the connection ended unanswered. */
static int status_of_long(const char *before, int count, const char *after)
{
    char *request = fill(before, "a", count, after);
    struct http_client *client = send_new(request, strlen(request));
    int status = read_status(client);

    http_client_close(client);
    free(request);
    return status;
}

static void long_targets_and_headers_are_414_and_431(void **state)
{
    (void)state;
    assert_int_equal(status_of_long("GET /healthz HTTP/1.1\r\nHost: x\r\nA: ", 6000, "\r\n\r\n"),
                     200);
    assert_int_equal(status_of_long("GET /healthz HTTP/1.1\r\nHost: x\r\nA: ", 9000, "\r\n\r\n"),
                     431);
    assert_int_equal(status_of_long("GET /healthz HTTP/1.1\r\nHost: x\r\nA: ", 100000, "\r\n\r\n"),
                     431);
    assert_int_equal(status_of_long("GET /", 4000, " HTTP/1.1\r\nHost: x\r\n\r\n"), 404);
    assert_int_equal(status_of_long("GET /", 9000, " HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
    assert_int_equal(status_of_long("GET /", 100000, " HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
    expect_alive();
}

static void a_refused_request_leaves_its_connection_usable(void **state)
{
    static const char requests[] = "POST /nope HTTP/1.1\r\nHost: x\r\n" LENGTH "\r\n" BODY
                                   "PUT /orders HTTP/1.1\r\nHost: x\r\n" LENGTH "\r\n" BODY GET
                                   "Content-Length: 5\r\n\r\nhello" GET "\r\n";
    static const int statuses[] = {404, 405, 200, 200};
    struct http_client *client = send_new(requests, sizeof requests - 1);

    (void)state;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        assert_int_equal(read_status(client), statuses[i]);
    http_client_close(client);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    enum { REQUESTS = 100, BAD = 50 };
    static const char good[] = POST LENGTH "\r\n" BODY;
    char *first = fill("", good, BAD, POST "Content-Length: 2\r\n\r\n[]");
    char *text = fill(first, good, REQUESTS - BAD - 1, "");
    struct http_client *client;

    (void)state;
    put_product(server, 1, "{\"stock\": 1000}");
    client = send_new(text, strlen(text));
    free(first);
    for (int i = 0; i < REQUESTS; i++)
        assert_int_equal(read_status(client), i == BAD ? 400 : 201);
    http_client_close(client);
    free(text);
    assert_int_equal(witness_sale(witness, 1).orders, REQUESTS - 1);
}

static void a_request_may_come_byte_by_byte(void **state)
{
    static const char request[] = POST LENGTH "\r\n" BODY;
    struct http_client *client = send_new("", 0);

    (void)state;
    put_product(server, 1, "{\"stock\": 100}");
    for (size_t i = 0; i < sizeof request - 1; i++)
        assert_true(http_client_send(client, request + i, 1, patience()));
    assert_int_equal(read_status(client), 201);
    http_client_close(client);
}

static void a_client_that_has_finished_sending_is_answered(void **state)
{
    static const char request[] = POST LENGTH "\r\n" BODY;

    (void)state;
    put_product(server, 1, "{\"stock\": 100}");
    for (int i = 0; i < 20; i++) {
        struct http_client *client = send_new(request, sizeof request - 1);

        http_client_finish_sending(client);
        assert_int_equal(read_status(client), 201);
        http_client_close(client);
    }
}

static void a_client_that_vanishes_harms_nobody(void **state)
{
    static const char *const requests[] = {POST LENGTH "\r\n" BODY, POST LENGTH "\r\n{",
                                           "POST /ord", GET "\r\n"};
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};
    int64_t until_us = patience();

    (void)state;
    put_product(server, 1, "{\"stock\": 1000}");
    for (int i = 0; i < 100; i++) {
        const char *request = requests[i % 4];
        struct http_client *client = send_new(request, strlen(request));

        setsockopt(http_client_fd(client), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        http_client_close(client);
    }
    while (server_metric(server, "seckill_http_requests_in_flight", "") > 1 ||
           server_metric(server, "seckill_http_connections", "") > 1)
        assert_true(clock_mono_us() < until_us);
    witness_expect_exact(witness, 1);
}

/* Each of these would stay for long. The third fills libmicrohttpd's buffer so that it cannot go
 * on; the fourth it refuses itself, for too many parameters, and may never report as completed. */
static void an_unfinished_request_is_dropped_in_time(void **state)
{
    enum { CLIENTS = 4 };
    char *endless = fill(POST "Transfer-Encoding: chunked\r\n\r\n", "0", 100000, "");
    char *crowded = fill("GET /healthz?", "a&", 1500, " HTTP/1.1\r\nHost: x\r\n\r\n");
    struct http_client *clients[CLIENTS];
    int64_t began_us = clock_mono_us();
    int64_t until_us = patience();

    (void)state;
    clients[0] = send_new(POST LENGTH "\r\n{", strlen(POST LENGTH "\r\n{"));
    clients[1] = send_new(POST, strlen(POST));
    clients[2] = send_new(endless, strlen(endless));
    clients[3] = send_new(crowded, strlen(crowded));
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(read_status(clients[i]) / 100 % 4, 0); /* none, or a 4xx */
        http_client_close(clients[i]);
    }
    assert_true(clock_mono_us() - began_us < 30 * CLOCK_US_PER_S);
    while (server_metric(server, "seckill_http_requests_in_flight", "") > 1)
        assert_true(clock_mono_us() < until_us);
    free(endless);
    free(crowded);
}

static int setup(void **state)
{
    (void)state;
    database = stack_database_create("seckill_http_framing");
    server_use_database(database);
    server = server_start(NULL, NULL);
    witness = witness_open(database);
    return 0;
}

static int teardown(void **state)
{
    witness_close(witness);
    server_stop(server);
    server_teardown(state);
    stack_database_drop("seckill_http_framing");
    free(database);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_framing_is_refused_and_closes),
        cmocka_unit_test(a_chunked_body_is_read),
        cmocka_unit_test(a_chunked_body_is_counted),
        cmocka_unit_test(a_long_body_is_refused_before_it_comes),
        cmocka_unit_test(expect_continue_is_answered),
        cmocka_unit_test(long_targets_and_headers_are_414_and_431),
        cmocka_unit_test(a_refused_request_leaves_its_connection_usable),
        cmocka_unit_test(pipelined_requests_are_answered_in_order),
        cmocka_unit_test(a_request_may_come_byte_by_byte),
        cmocka_unit_test(a_client_that_has_finished_sending_is_answered),
        cmocka_unit_test(a_client_that_vanishes_harms_nobody),
        cmocka_unit_test(an_unfinished_request_is_dropped_in_time),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
