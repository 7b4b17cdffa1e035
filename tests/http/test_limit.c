/*
 * The limit on connections and the one on descriptors: connections beyond them wait, and are served
 * as soon as there is room again, however it is made.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "http/lib/expect.h"
#include "http/lib/one_server.h"
#include "http/lib/raw.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A server's descriptors are more; poll() wants a limit that is not below what it is given. */
enum { LIMIT = 16, BEYOND = 4, NONE_LEFT = 5 };

/* The longest that a request may wait once there is room; a busy machine is slow. Where nobody
 * looks again it waits for ever. */
#define AT_ONCE_US (t_patience_us() / 4)

static struct http_client *open_client(void)
{
    struct http_client *client = http_client_open(server_address(server), raw_patience());

    assert_non_null(client);
    return client;
}

static enum http_result get(struct http_client *client, int64_t within_us)
{
    struct http_reply reply;
    enum http_result result = http_client_call(client, "GET", "/healthz", NULL, NULL,
                                               clock_mono_us() + within_us, &reply);

    http_reply_fini(&reply);
    return result;
}

/* A metric without labels, asked for on a connection that is open already. */
static int64_t metric_over(struct http_client *client, const char *name)
{
    struct http_reply reply;
    char line[128];

    assert_int_equal(
        http_client_call(client, "GET", "/metrics", NULL, NULL, raw_patience(), &reply),
        HTTP_REPLY);
    snprintf(line, sizeof line, "\n%s ", name);
    const char *at = strstr(reply.body, line);
    if (!at)
        fail_msg("no %s in /metrics", name);
    int64_t value = at ? strtoll(at + strlen(line), NULL, 10) : -1;
    http_reply_fini(&reply);
    return value;
}

/* Every connection of a round may be gone before the server looks again: then nothing but its own
 * memory of the limit tells it to accept. */
TEST(a_server_that_was_full_serves_the_next_request)
{
    enum { ROUNDS = 1000 };
    struct http_client *clients[LIMIT + BEYOND];

    server = server_start("--max-connections", "16", NULL);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < LIMIT + BEYOND; i++)
            clients[i] = open_client();
        for (int i = 0; i < LIMIT + BEYOND; i++)
            http_client_close(clients[i]);
        struct http_client *next = open_client();
        if (get(next, AT_ONCE_US) != HTTP_REPLY)
            fail_msg("round %d: the next request was not served", round);
        http_client_close(next);
    }
    server_stop(server);
}

/* All are held, and go at once: paused, the server sees their ends together. */
TEST(those_beyond_the_limit_wait_and_are_counted)
{
    struct http_client *clients[LIMIT + BEYOND];

    server = server_start("--max-connections", "16", NULL);
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < LIMIT; i++) {
            clients[i] = open_client();
            assert_int_equal(get(clients[i], SERVER_PATIENCE_US), HTTP_REPLY);
        }
        for (int i = LIMIT; i < LIMIT + BEYOND; i++)
            clients[i] = raw_send(server, RAW_GET "\r\n");
        /* The accepted connections are served while the others wait. */
        struct http_reply reply;
        assert_int_equal(metric_over(clients[0], "seckill_http_connections_waiting"), BEYOND);
        assert_int_equal(metric_over(clients[0], "seckill_http_connections"), LIMIT);
        server_pause(server);
        for (int i = 0; i < LIMIT; i++)
            http_client_close(clients[i]);
        server_resume(server);
        for (int i = LIMIT; i < LIMIT + BEYOND; i++) {
            assert_int_equal(
                http_client_read(clients[i], false, clock_mono_us() + AT_ONCE_US, &reply),
                HTTP_REPLY);
            http_reply_fini(&reply);
            http_client_close(clients[i]);
        }
        assert_int_equal(server_metric(server, "seckill_http_connections_waited_total", ""),
                         round * BEYOND);
    }
    assert_int_equal(server_metric(server, "seckill_http_connections_waiting", ""), 0);
    server_stop(server);
}

/* What the server may open from now on, as a number that its next descriptor must stay below. */
static void allow_descriptors(rlim_t count)
{
    struct rlimit limit;

    assert_int_equal(prlimit(server_pid(server), RLIMIT_NOFILE, NULL, &limit), 0);
    limit.rlim_cur = count;
    assert_int_equal(prlimit(server_pid(server), RLIMIT_NOFILE, &limit, NULL), 0);
}

/* Waits until so many connections could not be accepted, and begins a request that cannot be. */
static struct http_client *begin_without_descriptors(struct http_client *kept)
{
    struct http_client *late = raw_send(server, RAW_GET "\r\n");

    T_UNTIL(metric_over(kept, "seckill_http_accept_failures_total") != 0);
    return late;
}

TEST(a_server_without_descriptors_serves_when_it_has_them)
{
    struct http_reply reply;

    server = server_start(NULL, NULL);
    struct http_client *kept = open_client();
    assert_int_equal(get(kept, SERVER_PATIENCE_US), HTTP_REPLY);
    rlim_t enough = (rlim_t)sysconf(_SC_OPEN_MAX);
    allow_descriptors(NONE_LEFT);
    struct http_client *late = begin_without_descriptors(kept);
    /* Nobody else's connection ends: the descriptors come from elsewhere. */
    allow_descriptors(enough);
    assert_int_equal(http_client_read(late, false, clock_mono_us() + AT_ONCE_US, &reply),
                     HTTP_REPLY);
    http_reply_fini(&reply);
    http_client_close(late);
    http_client_close(kept);
    server_stop(server);
}

/* With no connection open there is nothing that would end and make room: it must look again, but
 * not all the time. How often it has is counted, however much of the time the machine is its. */
TEST(a_server_without_descriptors_does_not_spin)
{
    enum { PAUSE_US = 100000 };
    struct http_reply reply;

    server = server_start(NULL, NULL);
    rlim_t enough = (rlim_t)sysconf(_SC_OPEN_MAX);
    allow_descriptors(NONE_LEFT);
    int64_t begun_us = clock_mono_us();
    struct http_client *late = raw_send(server, RAW_GET "\r\n");
    clock_sleep_until(begun_us + CLOCK_US_PER_S); /* what is measured is this second */
    allow_descriptors(enough);
    assert_int_equal(http_client_read(late, false, clock_mono_us() + AT_ONCE_US, &reply),
                     HTTP_REPLY);
    http_reply_fini(&reply);
    http_client_close(late);
    int64_t looks = server_metric(server, "seckill_http_accept_failures_total", "");
    assert_true(looks <= 1 + (clock_mono_us() - begun_us) / PAUSE_US);
    server_stop(server);
}

TEST(a_full_server_drains)
{
    struct http_client *clients[LIMIT + BEYOND];

    server = server_start("--max-connections", "16", NULL);
    for (int i = 0; i < LIMIT; i++) {
        clients[i] = open_client();
        assert_int_equal(get(clients[i], SERVER_PATIENCE_US), HTTP_REPLY);
    }
    for (int i = LIMIT; i < LIMIT + BEYOND; i++)
        clients[i] = raw_send(server, RAW_GET "\r\n");
    server_signal(server, SIGTERM);
    assert_int_equal(server_wait(server, NULL, 0), 0);
    for (int i = 0; i < LIMIT + BEYOND; i++) {
        assert_true(http_client_ended(clients[i], raw_patience()));
        http_client_close(clients[i]);
    }
}

TEST_EACH(NULL, one_server_clear)

int main(void)
{
    return one_server_run_bare("limit");
}
