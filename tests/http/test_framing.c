/*
 * Exact bytes: where requests begin and end, and what a broken one does to its connection.
 *
 * Where libmicrohttpd answers by itself its versions differ, so some cases allow more than one
 * status; each says what must never happen: a request taken that could be read in two ways.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "http/lib/expect.h"
#include "http/lib/raw.h"
#include "http/lib/stage.h"

#include <stdlib.h>
#include <string.h>

static void expect_alive(void)
{
    expect_status(server, 200, "GET", "/healthz", NULL, NULL);
}

/* Requests that can be read in two ways, or in none: 400 (or what `other` says), and the end. */
static void broken_framing_is_refused_and_closes(void **state)
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

    (void)state;
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

/* Whose chunks end where is told differently by different readers: nobody's are read. */
static void chunks_are_refused_and_nothing_behind_them_is_read(void **state)
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

    (void)state;
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
static void other_transfer_codings_are_refused(void **state)
{
    static const char *const values[] = {"xchunked", "gzip, chunked", "identity",
                                         "chunked\r\nTransfer-Encoding: chunked"};

    (void)state;
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

static void a_long_body_is_refused_before_it_comes(void **state)
{
    static const char *const requests[] = {
        RAW_POST "Content-Length: 16385\r\n\r\n",
        RAW_POST "Content-Length: 16385\r\nExpect: 100-continue\r\n\r\n",
        RAW_POST "Content-Length: 999999999999999999\r\n\r\n",
        RAW_GET "Content-Length: 16385\r\n\r\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct http_client *client = raw_send(server, requests[i]);

        assert_int_equal(raw_status(client), 413);
        assert_true(http_client_ended(client, raw_patience()));
        http_client_close(client);
    }
}

static void expect_continue_is_answered(void **state)
{
    static const char head[] = RAW_POST RAW_LENGTH "Expect: 100-continue\r\n\r\n";
    struct http_client *client;

    (void)state;
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

static void long_targets_and_headers_are_414_and_431(void **state)
{
    (void)state;
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

static void a_refused_request_leaves_its_connection_usable(void **state)
{
    static const char requests[] =
        "POST /nope HTTP/1.1\r\nHost: x\r\n" RAW_LENGTH "\r\n" RAW_BODY
        "PUT /orders HTTP/1.1\r\nHost: x\r\n" RAW_LENGTH "\r\n" RAW_BODY RAW_GET
        "Content-Length: 5\r\n\r\nhello" RAW_GET "\r\n";
    static const int statuses[] = {404, 405, 200, 200};
    struct http_client *client = raw_send(server, requests);

    (void)state;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        assert_int_equal(raw_status(client), statuses[i]);
    http_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_framing_is_refused_and_closes),
        cmocka_unit_test(chunks_are_refused_and_nothing_behind_them_is_read),
        cmocka_unit_test(other_transfer_codings_are_refused),
        cmocka_unit_test(a_long_body_is_refused_before_it_comes),
        cmocka_unit_test(expect_continue_is_answered),
        cmocka_unit_test(long_targets_and_headers_are_414_and_431),
        cmocka_unit_test(a_refused_request_leaves_its_connection_usable),
    };

    return stage_run("framing", tests, sizeof tests / sizeof *tests);
}
