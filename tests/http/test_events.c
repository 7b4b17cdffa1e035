/*
 * GET /events: who listens is told what is for sale and what changes, all by one look; there are
 * only so many, none is waited for, and nothing is kept for those who do not read.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "http/lib/expect.h"
#include "http/lib/one_server.h"
#include "http/lib/raw.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTEN  "GET /events HTTP/1.1\r\nHost: x\r\n\r\n"

#define TICK_US (250 * CLOCK_US_PER_MS)

enum { HEARD_MAX = 1 << 20 };

/* What came so far of a stream, and what of it is a head and whole chunks' content. */
struct listener {
    struct http_client *client;
    char *raw, *heard;
    size_t raw_length, length;
    bool has_head;
    bool finished; /* by its last chunk */
    bool ended;
};

static void listen_to(struct listener *listener)
{
    *listener = (struct listener){.client = raw_send(server, LISTEN),
                                  .raw = malloc(HEARD_MAX),
                                  .heard = malloc((size_t)2 * HEARD_MAX)};
    assert_non_null(listener->raw);
    assert_non_null(listener->heard);
    listener->heard[0] = listener->raw[0] = '\0';
}

static void stop_listening(struct listener *listener)
{
    http_client_close(listener->client);
    free(listener->raw);
    free(listener->heard);
}

/* `length` bytes behind the first `skip` of what came are heard, and `all` bytes are done with. */
static void take(struct listener *listener, size_t skip, size_t length, size_t all)
{
    assert_true(listener->length + length < (size_t)2 * HEARD_MAX);
    memcpy(listener->heard + listener->length, listener->raw + skip, length);
    listener->length += length;
    listener->heard[listener->length] = '\0';
    listener->raw_length -= all;
    memmove(listener->raw, listener->raw + all, listener->raw_length + 1);
}

/* The head, or a chunk; false: it is not whole yet. */
static bool take_one(struct listener *listener)
{
    char *end = strstr(listener->raw, listener->has_head ? "\r\n" : "\r\n\r\n");
    if (!end)
        return false;
    size_t first = (size_t)(end - listener->raw);
    if (!listener->has_head) {
        listener->has_head = true;
        take(listener, 0, first + 2, first + 4);
        return true;
    }
    size_t size = strtoul(listener->raw, NULL, 16);
    if (listener->raw_length < first + 2 + size + 2)
        return false;
    listener->finished = size == 0;
    take(listener, first + 2, size, first + 2 + size + 2);
    return true;
}

/* Reads what comes until the deadline; false: nothing did. */
static bool hear_more(struct listener *listener, int64_t until_us)
{
    struct pollfd ready = {.fd = http_client_fd(listener->client), .events = POLLIN};
    int64_t left_us = until_us - clock_mono_us();

    if (listener->ended || poll(&ready, 1, left_us > 0 ? (int)(left_us / 1000) + 1 : 0) != 1)
        return false;
    assert_true(listener->raw_length < HEARD_MAX - 1);
    ssize_t got = recv(ready.fd, listener->raw + listener->raw_length,
                       HEARD_MAX - 1 - listener->raw_length, 0);
    listener->ended = got <= 0;
    listener->raw_length += got > 0 ? (size_t)got : 0;
    listener->raw[listener->raw_length] = '\0';
    while (take_one(listener))
        ;
    return true;
}

/* Waits for the text, and forgets everything up to its end. */
static void hear(struct listener *listener, const char *text)
{
    int64_t until_us = raw_patience();
    char *at;

    while (!(at = strstr(listener->heard, text)))
        if (!hear_more(listener, until_us))
            fail_msg("it does not hear '%s', but: %s", text, listener->heard);
    at += strlen(text);
    listener->length -= (size_t)(at - listener->heard);
    memmove(listener->heard, at, listener->length + 1);
}

/* The stream comes to its end, and the connection with it. */
static void hear_the_end(struct listener *listener)
{
    while (!listener->ended)
        assert_true(hear_more(listener, raw_patience()));
    assert_true(listener->finished);
}

static void wait_for_listeners(int64_t count)
{

    T_UNTIL(server_metric(server, "seckill_http_listeners", "") == count);
}

TEST(a_head_is_no_listener)
{
    struct http_reply reply;

    server = server_start(NULL, NULL);
    struct http_client *client = raw_send(server, "HEAD /events HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(http_client_read(client, true, raw_patience(), &reply), HTTP_REPLY);
    assert_int_equal(reply.status, 200);
    assert_header(&reply, "Content-Type", "text/event-stream");
    assert_header(&reply, "Content-Length", "");
    http_reply_fini(&reply);
    assert_int_equal(server_metric(server, "seckill_http_listeners", ""), 0);
    assert_true(http_client_ended(client, raw_patience()));
    http_client_close(client);
    server_stop(server);
}

static int64_t queries(void)
{
    return server_metric(server, "seckill_http_listeners_queries_total", "");
}

static void buy_one(int64_t product, int64_t user)
{
    char id[37];

    buy(server, product, user, id);
}

TEST(what_is_for_sale_is_told_and_then_what_changes)
{
    struct listener one, two;

    server = server_start(NULL);
    put_product(server, 1, "{\"stock\": 10, \"name\": \"a\\nb\"}");
    put_product(server, 2, "{\"stock\": 20}");
    listen_to(&one);
    hear(&one, "HTTP/1.1 200 OK\r\n");
    hear(&one, "Content-Type: text/event-stream\r\n");
    hear(&one, "Cache-Control: no-store\r\n");
    hear(&one, "event: products\ndata: {\"products\": [{\"id\": 1, \"name\": \"a\\nb\", ");
    hear(&one, "{\"id\": 2, ");
    hear(&one, "], \"next\": null}\n\n");
    buy_one(2, 7);
    hear(&one, "event: changed\ndata: {\"products\": [{\"id\": 2, \"name\": null, "
               "\"initial_stock\": 20, \"stock\": 19, ");
    hear(&one, "], \"next\": null}\n\n");

    listen_to(&two); /* everything, as it is by now */
    hear(&two, "event: products\ndata: {\"products\": [{\"id\": 1, ");
    hear(&two, "\"initial_stock\": 20, \"stock\": 19, ");
    expect_status(server, 200, "PATCH", "/products/1", NULL, "{\"name\": \"c\"}");
    hear(&one, "event: changed\ndata: {\"products\": [{\"id\": 1, \"name\": \"c\", ");
    hear(&two, "event: changed\ndata: {\"products\": [{\"id\": 1, \"name\": \"c\", ");
    put_product(server, 3, "{\"stock\": 5}"); /* a new one */
    hear(&one, "event: changed\ndata: {\"products\": [{\"id\": 3, ");
    put_product(server, 2, "{\"stock\": 19}"); /* another sale of as many */
    hear(&one, "event: changed\ndata: {\"products\": [{\"id\": 2, ");
    assert_null(strstr(one.heard, "event: products"));

    witness_run(witness, "DELETE FROM product WHERE id = 3"); /* one that is gone */
    hear(&one, "event: products\ndata: {\"products\": [{\"id\": 1, ");
    hear(&two, "event: products\ndata: {\"products\": [{\"id\": 1, ");
    stop_listening(&one);
    stop_listening(&two);
    server_stop(server);
}

TEST(all_cost_one_look_and_nobody_none)
{
    enum { LISTENERS = 12 };
    struct listener listeners[LISTENERS];

    server = server_start(NULL);
    put_product(server, 1, "{\"stock\": 10}");
    for (int i = 0; i < LISTENERS; i++) {
        listen_to(&listeners[i]);
        hear(&listeners[i], "event: products");
    }
    wait_for_listeners(LISTENERS);
    int64_t from_us = clock_mono_us();
    int64_t before = queries();
    for (int stock = 1; stock < 6; stock++) {
        char body[32], heard[32];
        snprintf(body, sizeof body, "{\"stock\": %d}", stock);
        snprintf(heard, sizeof heard, "\"stock\": %d,", stock);
        put_product(server, 1, body);
        for (int i = 0; i < LISTENERS; i++)
            hear(&listeners[i], heard);
    }
    int64_t looks = queries() - before;
    /* Two may be nearer to each other where the machine has held the first one up. */
    assert_in_range(looks, 1, (clock_mono_us() - from_us) / TICK_US + 2);

    for (int i = 0; i < LISTENERS; i++)
        stop_listening(&listeners[i]);
    wait_for_listeners(0);
    before = queries();
    clock_sleep_until(clock_mono_us() + 4 * TICK_US);
    assert_int_equal(queries(), before);
    assert_int_equal(server_metric(server, "seckill_http_listeners_dropped_total", ""), 0);
    server_stop(server);
}

/* A quarter of the connections; the rest stay free for buyers. */
TEST(there_are_only_so_many)
{
    enum { MOST = 4 };
    struct listener listeners[MOST], late;
    struct http_reply reply;

    server = server_start("--max-connections", "16", NULL);
    put_product(server, 1, "{\"stock\": 10}");
    for (int i = 0; i < MOST; i++) {
        listen_to(&listeners[i]);
        hear(&listeners[i], "event: products");
    }
    reply = expect(server, 503, "GET", "/events", NULL, NULL);
    assert_problem(&reply, 503, "too_many_listeners", NULL);
    assert_header(&reply, "Retry-After", "1");
    http_reply_fini(&reply);
    buy_one(1, 1);
    stop_listening(&listeners[0]);
    wait_for_listeners(MOST - 1);
    listen_to(&late);
    hear(&late, "event: products");
    stop_listening(&late);
    for (int i = 1; i < MOST; i++)
        stop_listening(&listeners[i]);
    server_stop(server);
}

TEST(what_it_does_not_take_is_refused)
{
    server = server_start(NULL);
    expect_problem(server, 400, "invalid_field", "after", "GET", "/events?after=1", NULL, NULL);
    expect_status(server, 405, "POST", "/events", NULL, "{}");
    wait_for_listeners(0);
    server_stop(server);
}

/* Products enough that no socket holds what is told of them. */
static void fill(void)
{
    expect_status(server, 200, "PUT", "/products", NULL,
                  "{\"first_id\": 1, \"count\": 1000, \"stock\": 1000}");
}

TEST(a_drain_ends_them_and_waits_for_none)
{
    struct listener good, deaf;
    int64_t began_us;

    server = server_start(NULL);
    fill();
    listen_to(&deaf); /* never reads */
    listen_to(&good);
    hear(&good, "event: products");
    hear(&good, "\"next\": 1000}\n\n");
    wait_for_listeners(2);
    began_us = clock_mono_us();
    server_signal(server, SIGTERM);
    assert_int_equal(server_wait(server, NULL, 0), 0);
    /* A reply that is written has a minute. */
    assert_true(clock_mono_us() - began_us < 30 * CLOCK_US_PER_S);
    hear_the_end(&good);
    stop_listening(&good);
    stop_listening(&deaf);
}

/* It is dropped, and meanwhile nobody misses anything for its sake. */
TEST(who_does_not_read_is_dropped)
{
    struct listener good, deaf;
    int64_t until_us = raw_patience(), round = 0;

    server = server_start(NULL);
    fill();
    listen_to(&deaf);
    listen_to(&good);
    hear(&good, "event: products");
    wait_for_listeners(2);
    while (server_metric(server, "seckill_http_listeners_dropped_total", "") == 0) {
        assert_true(clock_mono_us() < until_us);
        fill();
        hear(&good, "{\"id\": 1000, "); /* in what changed, or in everything */
        round++;
    }
    wait_for_listeners(1);
    assert_true(round > 0);
    buy_one(1000, 1);
    hear(&good, "{\"id\": 1000, \"name\": null, \"initial_stock\": 1000, \"stock\": 999, ");
    stop_listening(&good);
    stop_listening(&deaf);
    server_stop(server);
}

/* The streams end; who asks again is told again, once it can be. */
TEST(without_postgresql_they_end)
{
    struct listener listener;

    server = server_start(NULL);
    put_product(server, 1, "{\"stock\": 10}");
    listen_to(&listener);
    hear(&listener, "event: products");
    witness_run(witness, "BEGIN");
    witness_run(witness, "LOCK TABLE product IN ACCESS EXCLUSIVE MODE");
    hear_the_end(&listener);
    witness_run(witness, "ROLLBACK");
    stop_listening(&listener);
    listen_to(&listener);
    hear(&listener, "event: products");
    stop_listening(&listener);
    server_stop(server);
}

TEST(silence_is_broken_by_a_comment)
{
    struct listener listener;

    server = server_start(NULL);
    put_product(server, 1, "{\"stock\": 10}");
    listen_to(&listener);
    hear(&listener, "event: products");
    hear(&listener, "\n\n");
    hear(&listener, ":\n\n");
    stop_listening(&listener);
    server_stop(server);
}

TEST_EACH(NULL, one_server_clear)

int main(void)
{
    return one_server_run_bare("events");
}
