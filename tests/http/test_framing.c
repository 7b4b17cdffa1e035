/*
 * Exact bytes: where requests begin and end, and what a broken one does to its connection.
 *
 * Where libmicrohttpd answers by itself its versions differ, so some cases allow more than one
 * status; each says what must never happen: a request taken that could be read in two ways.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "http/lib/expect.h"
#include "http/lib/one_server.h"
#include "http/lib/raw.h"

#include <stdlib.h>
#include <string.h>

static void expect_alive(void)
{
    expect_status(server, 200, "GET", "/healthz", NULL, NULL);
}

/* Requests that can be read in two ways, or in none: 400 (or what `other` says), and the end. */
TEST(broken_framing_is_refused_and_closes)
{
    static const struct {
        const char *request;
        int other;
    } cases[] = {
        {RAW_POST RAW_LENGTH "Transfer-Encoding: chunked\r\n\r\n1c\r\n" RAW_BODY "\r\n0\r\n\r\n",
         0},
        {RAW_GET "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" RAW_GET "\r\n",
         0},
        {RAW_POST RAW_LENGTH "Content-Length: 5\r\n\r\n" RAW_BODY, 0},
        {RAW_POST RAW_LENGTH RAW_LENGTH "\r\n" RAW_BODY, 0},
        {RAW_POST "Content-Length: 28, 28\r\n\r\n" RAW_BODY, 0},
        {RAW_POST "Content-Length: -1\r\n\r\n" RAW_BODY, 0},
        {RAW_POST "Content-Length: +28\r\n\r\n" RAW_BODY, 0},
        {RAW_POST "Content-Length: 0x1c\r\n\r\n" RAW_BODY, 0},
        {RAW_POST "Content-Length:  28x\r\n\r\n" RAW_BODY, 0},
        {RAW_POST "Content-Length: 18446744073709551644\r\n\r\n" RAW_BODY, 413},
        {"GET /healthz HTTP/1.1\r\n\r\n", 0},
        {"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 0},
        {"GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n", 0},
        {"GET /healthz HTTP/1.1\r\nHost: x\r\nno-colon\r\n\r\n", 0},
        {"GET /healthz HTTP/1.9\r\nHost: x\r\n\r\n", 505},
        {"GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n", 505},
        {"GET /healthz HTTP/1.1x\r\nHost: x\r\n\r\n", 0},
        {"GET /healthz FOO/1.1\r\nHost: x\r\n\r\n", 0},
    };

    put_product(server, 1, "{\"stock\": 100}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_client *client = raw_send(server, cases[i].request);
        int status = raw_status(client);

        if (status != 400 && status != cases[i].other)
            fail_msg("%d for %s", status, cases[i].request);
        /* Nothing that follows may be taken for a request. libmicrohttpd 0.9.75 sends the head of
         * its own refusals twice, which is no reply either. */
        while ((status = raw_status(client)) != 0)
            if (status < 400)
                fail_msg("%d after %s", status, cases[i].request);
        http_client_close(client);
        expect_alive();
    }
    assert_int_equal(witness_sale(witness, 1).orders, 0);
}

/* Where libmicrohttpd would answer by itself: 0.9.75 with two heads. */
TEST(a_refusal_is_one_answer_of_the_server)
{
    static const struct {
        const char *request;
        const char *field;
    } cases[] = {
        {"GET /healthz HTTP/1.1\r\n\r\n", "Host"},
        {"POST /orders HTTP/1.1\r\n" RAW_LENGTH "\r\n" RAW_BODY, "Host"},
        {RAW_POST "Content-Length: +28\r\n\r\n" RAW_BODY, "Content-Length"},
        {RAW_POST "Content-Length: 28 1\r\n\r\n" RAW_BODY, "Content-Length"},
        {RAW_POST "Content-Length:\r\n\r\n" RAW_BODY, "Content-Length"},
        {RAW_POST "Content-Length: 18446744073709551644\r\n\r\n" RAW_BODY, "Content-Length"},
        {RAW_POST "Content-Length: 28 \r\nContent-Length: 5\r\n\r\n" RAW_BODY, "Content-Length"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_client *client = raw_send(server, cases[i].request);
        struct http_reply reply;

        assert_int_equal(http_client_read(client, false, raw_patience(), &reply), HTTP_REPLY);
        assert_problem(&reply, 400, "invalid_header", cases[i].field);
        assert_false(reply.keeps_alive);
        http_reply_fini(&reply);
        assert_true(http_client_ended(client, raw_patience()));
        http_client_close(client);
    }
}

TEST(blanks_around_a_value_are_no_part_of_it)
{
    static const char *const requests[] = {
        RAW_POST "Content-Length:28\r\n\r\n" RAW_BODY,
        RAW_POST "content-length: \t 28 \t \r\n\r\n" RAW_BODY,
        RAW_POST "A: Content-Length: 5\r\nContent-Length: 28\t\r\n\r\n" RAW_BODY,
        ("POST /orders HTTP/1.1\r\nContent-Length: 28 \r\nHost: \t x \r\n\r\n" RAW_BODY),
    };

    put_product(server, 1, "{\"stock\": 100}");
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        char *text = raw_fill(requests[i], RAW_GET "\r\n", 1, "");
        struct http_client *client = raw_send(server, text);

        assert_int_equal(raw_status(client), 201);
        assert_int_equal(raw_status(client), 200);
        http_client_close(client);
        free(text);
    }
}

TEST(a_target_may_be_absolute_or_a_star)
{
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        {"POST http://x/orders HTTP/1.1\r\nHost: x\r\n" RAW_LENGTH "\r\n" RAW_BODY, 201},
        {"GET http://x:8080/products?limit=1 HTTP/1.1\r\nHost: x\r\n\r\n", 200},
        {"GET http://x HTTP/1.1\r\nHost: x\r\n\r\n", 200},
        {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 204},
        {"GET * HTTP/1.1\r\nHost: x\r\n\r\n", 404},
        {"GET http://localhost/products/1/audit HTTP/1.1\r\nHost: x\r\n\r\n", 200},
        {"GET http://x/products/1/audit HTTP/1.1\r\nHost: localhost\r\n\r\n", 403},
    };

    put_product(server, 1, "{\"stock\": 100}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_client *client = raw_send(server, cases[i].request);
        struct http_reply reply;

        assert_int_equal(http_client_read(client, false, raw_patience(), &reply), HTTP_REPLY);
        if (reply.status != cases[i].status)
            fail_msg("%d for %s", reply.status, cases[i].request);
        if (reply.status == 204)
            assert_header(&reply, "Allow", "GET, HEAD, POST, PUT, PATCH");
        http_reply_fini(&reply);
        http_client_close(client);
    }
}

TEST(a_compressed_body_is_415)
{
    static const char gzip[] = "Content-Encoding: gzip\r\n";
    struct http_reply reply;

    put_product(server, 1, "{\"stock\": 100}");
    reply = expect(server, 415, "POST", "/orders", gzip, "\x1f\x8b\x08");
    assert_problem(&reply, 415, "encoded_body", "Content-Encoding");
    assert_header(&reply, "Accept-Encoding", "identity");
    assert_true(reply.keeps_alive);
    http_reply_fini(&reply);
    expect_status(server, 201, "POST", "/orders", "Content-Encoding: identity\r\n", RAW_BODY);
    expect_status(server, 200, "GET", "/products", gzip, NULL);
}

/* Whose chunks end where is told differently by different readers: nobody's are read. */
TEST(chunks_are_refused_and_nothing_behind_them_is_read)
{
    static const char *const heads[] = {
        RAW_POST "Transfer-Encoding: chunked\r\n\r\n",
        "POST /orders HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /orders HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: Chunked\r\n\r\n",
        RAW_GET "Transfer-Encoding: chunked\r\n\r\n",
        RAW_POST "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n",
    };
    static const char *const bodies[] = {
        "1c\r\n" RAW_BODY "\r\n0\r\n\r\n",
        "1c;a\n" RAW_BODY "\r\n0\r\n\r\n",
        "1c\r\n" RAW_BODY "\r\n0\r\nA: b\x01\r\n\r\n",
        "",
    };

    put_product(server, 1, "{\"stock\": 100}");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
            char *start = raw_fill(heads[i], bodies[k], 1, "");
            char *text = raw_fill(start, RAW_POST RAW_LENGTH "\r\n" RAW_BODY, 1, "");
            struct http_client *client = raw_send(server, text);
            struct http_reply reply;

            assert_int_equal(http_client_read(client, false, raw_patience(), &reply), HTTP_REPLY);
            assert_problem(&reply, 411, "length_required", "Transfer-Encoding");
            http_reply_fini(&reply);
            assert_int_equal(raw_status(client), 0);
            http_client_close(client);
            free(text);
            free(start);
        }
    assert_int_equal(witness_sale(witness, 1).orders, 0);
}

/* By the server or, 1.0, by libmicrohttpd. */
TEST(other_transfer_codings_are_refused)
{
    static const char *const values[] = {"xchunked", "gzip, chunked", "identity",
                                         "chunked\r\nTransfer-Encoding: chunked"};

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char *head = raw_fill(RAW_POST "Transfer-Encoding: ", values[i], 1, "\r\n\r\n");
        char *text = raw_fill(head, "0\r\n\r\n" RAW_GET "\r\n", 1, "");
        struct http_client *client = raw_send(server, text);
        int status = raw_status(client);

        assert_true(status == 411 || status == 400);
        assert_int_equal(raw_status(client), 0);
        http_client_close(client);
        free(text);
        free(head);
    }
}

TEST(a_long_body_is_refused_before_it_comes)
{
    static const char *const requests[] = {
        RAW_POST "Content-Length: 16385\r\n\r\n",
        RAW_POST "Content-Length: 16385\r\nExpect: 100-continue\r\n\r\n",
        RAW_POST "Content-Length: 999999999999999999\r\n\r\n",
        RAW_GET "Content-Length: 16385\r\n\r\n",
    };

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct http_client *client = raw_send(server, requests[i]);

        assert_int_equal(raw_status(client), 413);
        assert_true(http_client_ended(client, raw_patience()));
        http_client_close(client);
    }
}

TEST(expect_continue_is_answered)
{
    static const char head[] = RAW_POST RAW_LENGTH "Expect: 100-continue\r\n\r\n";
    struct http_client *client;

    put_product(server, 1, "{\"stock\": 100}");
    client = raw_send(server, head);
    assert_int_equal(raw_status(client), 100);
    assert_true(http_client_send(client, RAW_BODY, sizeof RAW_BODY - 1, raw_patience()));
    assert_int_equal(raw_status(client), 201);
    http_client_close(client);
}

/* Of a request with so many bytes more; 0: the connection ended unanswered. */
static int status_of_long(const char *before, int count, const char *after)
{
    char *request = raw_fill(before, "a", count, after);
    struct http_client *client = raw_send(server, request);
    int status = raw_status(client);

    http_client_close(client);
    free(request);
    return status;
}

TEST(long_targets_and_headers_are_414_and_431)
{
    assert_int_equal(status_of_long("GET /healthz HTTP/1.1\r\nHost: x\r\nA: ", 9000, "\r\n\r\n"),
                     200);
    assert_int_equal(status_of_long("GET /healthz HTTP/1.1\r\nHost: x\r\nA: ", 16000, "\r\n\r\n"),
                     431);
    assert_int_equal(status_of_long("GET /healthz HTTP/1.1\r\nHost: x\r\nA: ", 100000, "\r\n\r\n"),
                     431);
    assert_int_equal(status_of_long("GET /", 4000, " HTTP/1.1\r\nHost: x\r\n\r\n"), 404);
    assert_int_equal(status_of_long("GET /", 9000, " HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
    assert_int_equal(status_of_long("GET /", 100000, " HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
    expect_alive();
}

TEST(a_refused_request_leaves_its_connection_usable)
{
    static const char requests[] =
        "POST /nope HTTP/1.1\r\nHost: x\r\n" RAW_LENGTH "\r\n" RAW_BODY
        "PUT /orders HTTP/1.1\r\nHost: x\r\n" RAW_LENGTH "\r\n" RAW_BODY RAW_GET
        "Content-Length: 5\r\n\r\nhello" RAW_GET "\r\n";
    static const int statuses[] = {404, 405, 200, 200};
    struct http_client *client = raw_send(server, requests);

    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        assert_int_equal(raw_status(client), statuses[i]);
    http_client_close(client);
}

int main(void)
{
    return one_server_run("framing");
}
