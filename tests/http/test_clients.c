/*
 * Clients as they come: in a hurry, slow, half gone, gone, or with no intention of ever finishing.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "http/lib/expect.h"
#include "http/lib/one_server.h"
#include "http/lib/raw.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

TEST(pipelined_requests_are_answered_in_order)
{
    enum { REQUESTS = 100, BAD = 50 };
    static const char good[] = RAW_POST RAW_LENGTH "\r\n" RAW_BODY;
    char *first = raw_fill("", good, BAD, RAW_POST "Content-Length: 2\r\n\r\n[]");
    char *text = raw_fill(first, good, REQUESTS - BAD - 1, "");
    struct http_client *client;

    put_product(server, 1, "{\"stock\": 1000}");
    client = raw_send(server, text);
    free(first);
    for (int i = 0; i < REQUESTS; i++)
        assert_int_equal(raw_status(client), i == BAD ? 400 : 201);
    http_client_close(client);
    free(text);
    assert_int_equal(witness_sale(witness, 1).orders, REQUESTS - 1);
}

TEST(a_request_may_come_byte_by_byte)
{
    static const char request[] = RAW_POST RAW_LENGTH "\r\n" RAW_BODY;
    struct http_client *client = raw_send(server, "");

    put_product(server, 1, "{\"stock\": 100}");
    for (size_t i = 0; i < sizeof request - 1; i++)
        assert_true(http_client_send(client, request + i, 1, raw_patience()));
    assert_int_equal(raw_status(client), 201);
    http_client_close(client);
}

/* The server sees the request and the end of what the client sends in one go. */
TEST(a_client_that_has_finished_sending_is_answered)
{
    enum { CLIENTS = 20 };
    static const char request[] = RAW_POST RAW_LENGTH "\r\n" RAW_BODY;
    struct http_client *clients[CLIENTS];

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
TEST(an_idle_connection_is_closed_in_its_time)
{
    enum { IDLE_US = 1000000 };
    struct server *impatient = server_start("--idle-timeout-s", "1", NULL);
    int64_t from_us = clock_mono_us();
    struct http_client *clients[] = {raw_send(impatient, RAW_GET "\r\n"), raw_send(impatient, "")};

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
    T_UNTIL(server_metric(server, "seckill_http_requests_in_flight", "") <= 1 &&
            server_metric(server, "seckill_http_connections", "") <= 1);
}

TEST(a_client_that_vanishes_harms_nobody)
{
    static const char *const requests[] = {RAW_POST RAW_LENGTH "\r\n" RAW_BODY,
                                           RAW_POST RAW_LENGTH "\r\n{", "POST /ord",
                                           RAW_GET "\r\n"};
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};

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

/* They may stand before a request and behind one (RFC 9112, 2.2), and begin no other. */
static const char *const with_empty_lines[] = {
    "\r\n" RAW_GET "\r\n", "POST /nope HTTP/1.1\r\nHost: x\r\n" RAW_LENGTH "\r\n" RAW_BODY "\r\n"};
enum { EMPTY_LINES = sizeof with_empty_lines / sizeof *with_empty_lines };

static void expect_kept(struct http_client *client)
{
    assert_true(
        http_client_send(client, RAW_GET "\r\n", sizeof(RAW_GET "\r\n") - 1, raw_patience()));
    assert_int_equal(raw_status(client), 200);
    http_client_close(client);
}

/* Each of these would stay for as long as an idle connection may, and the last does while nothing
 * comes from it, as do those that are idle. The byte that ends its silence comes after the first of
 * them is closed. */
TEST(an_unfinished_request_is_dropped_in_time)
{
    static const char *const texts[] = {
        RAW_POST RAW_LENGTH "\r\n{", RAW_POST, "GET /hea", "\x16\x03\x01", RAW_GET "\r\nGET", ""};
    enum { CLIENTS = sizeof texts / sizeof *texts, SILENT = CLIENTS - 1 };
    struct http_client *clients[CLIENTS];
    struct http_client *idle[EMPTY_LINES];
    int64_t began_us = clock_mono_us();

    for (int i = 0; i < EMPTY_LINES; i++) {
        idle[i] = raw_send(server, with_empty_lines[i]);
        assert_true(raw_status(idle[i]) > 0);
    }
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = raw_send(server, texts[i]);
    for (int i = 0; i < CLIENTS; i++) {
        if (i == SILENT) {
            began_us = clock_mono_us();
            assert_true(http_client_send(clients[i], "G", 1, raw_patience()));
        }
        if (strstr(texts[i], "\r\nGET"))
            assert_int_equal(raw_status(clients[i]), 200);
        assert_int_equal(raw_status(clients[i]), 0);
        http_client_close(clients[i]);
        assert_true(clock_mono_us() - began_us < 30 * CLOCK_US_PER_S);
    }
    for (int i = 0; i < EMPTY_LINES; i++)
        expect_kept(idle[i]);
    wait_until_quiet();
}

/* Its last bytes and its end come together, before, in and after a request. It does not close the
 * connection, so that its slot is the server's to give up. */
TEST(a_client_that_is_gone_gives_up_its_connection)
{
    static const struct {
        const char *text;
        int replies;
    } cases[] = {
        {"", 0},
        {"GET /hea", 0},
        {"\x16\x03\x01\x02\x01\x01\xfc\x03\x03", 0},
        {RAW_GET, 0},
        {RAW_POST RAW_LENGTH "\r\n{", 0},
        {"POST /nope HTTP/1.1\r\nHost: x\r\n" RAW_LENGTH "\r\n{", 0},
        {RAW_GET "\r\n", 1},
        {RAW_GET "\r\nGET", 1},
        {RAW_GET "\r\n" RAW_GET "\r\n" RAW_POST RAW_LENGTH "\r\n" RAW_BODY, 3},
        {RAW_POST RAW_LENGTH "\r\n" RAW_BODY RAW_GET "\r\n" RAW_POST RAW_LENGTH "\r\n{", 2},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    struct http_client *clients[CASES];

    put_product(server, 1, "{\"stock\": 100}");
    server_pause(server);
    for (int i = 0; i < CASES; i++) {
        clients[i] = raw_send(server, cases[i].text);
        http_client_finish_sending(clients[i]);
    }
    int64_t until_us = clock_mono_us() + 5 * CLOCK_US_PER_S; /* half of what a request may take */
    server_resume(server);
    for (int i = 0; i < CASES; i++) {
        for (int k = 0; k < cases[i].replies; k++)
            assert_int_equal(raw_status(clients[i]) / 100, 2);
        if (!http_client_ended(clients[i], until_us))
            fail_msg("the connection of %s is open", cases[i].text);
        http_client_close(clients[i]);
    }
    wait_until_quiet();
}

/* More than libmicrohttpd reads at once, then the end. */
TEST(a_long_row_of_requests_is_served_after_its_client_has_finished)
{
    enum { REQUESTS = 2000 };
    char *text = raw_fill("", RAW_GET "\r\n", REQUESTS, "");
    struct http_client *client = raw_send(server, text);

    http_client_finish_sending(client);
    for (int i = 0; i < REQUESTS; i++)
        assert_int_equal(raw_status(client), 200);
    assert_int_equal(raw_status(client), 0);
    http_client_close(client);
    free(text);
}

int main(void)
{
    return one_server_run("clients");
}
