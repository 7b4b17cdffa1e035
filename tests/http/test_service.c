/* The service about itself, the routes there are and are not, and starts that must fail. */
#include "lib/t.h"

#include "http/lib/expect.h"
#include "http/lib/one_server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(strategies_say_what_they_promise)
{
    struct http_reply reply = expect(server, 200, "GET", "/strategies", NULL, NULL);
    int count = http_reply_count(&reply, "");
    bool seen_none = false;
    bool seen_queue = false;

    assert_header(&reply, "Content-Type", "application/json");
    for (int i = 0; i < count; i++) {
        char path[64];
        char name[64];

        snprintf(path, sizeof path, "%d.name", i);
        http_reply_text(&reply, path, name, sizeof name);
        snprintf(path, sizeof path, "%d.available", i);
        assert_true(http_reply_bool(&reply, path));
        snprintf(path, sizeof path, "%d.unavailable_reason", i);
        assert_true(http_reply_is_null(&reply, path));
        snprintf(path, sizeof path, "%d.asynchronous", i);
        bool queues = strcmp(name, "redis-stock") == 0 || strcmp(name, "partitioned-queue") == 0;
        assert_int_equal(http_reply_bool(&reply, path), queues);
        snprintf(path, sizeof path, "%d.needs.0", i);
        assert_text(&reply, path, "postgresql");
        snprintf(path, sizeof path, "%d.guarantees.one_instance", i);
        assert_int_equal(http_reply_bool(&reply, path), strcmp(name, "none") != 0);
        snprintf(path, sizeof path, "%d.guarantees.many_instances", i);
        if (strcmp(name, "local-lock") == 0) {
            assert_false(http_reply_bool(&reply, path));
            snprintf(path, sizeof path, "%d.bodies.1", i);
            assert_text(&reply, path, "guarded");
        }
        seen_none |= strcmp(name, "none") == 0;
        if (strcmp(name, "redis-queue") == 0) {
            seen_queue = true;
            snprintf(path, sizeof path, "%d.guarantees.paused_holder", i);
            assert_true(http_reply_bool(&reply, path));
            snprintf(path, sizeof path, "%d.guarantees.redis_failover", i);
            assert_true(http_reply_bool(&reply, path));
            snprintf(path, sizeof path, "%d.needs.1", i);
            assert_text(&reply, path, "redis");
            snprintf(path, sizeof path, "%d.mixes", i);
            assert_true(http_reply_bool(&reply, path));
        }
    }
    assert_true(seen_none && seen_queue);
    http_reply_fini(&reply);
}

TEST(health_and_readiness_are_told)
{
    struct http_reply reply = expect(server, 200, "GET", "/readyz", NULL, NULL);

    assert_true(http_reply_bool(&reply, "ready"));
    assert_false(http_reply_bool(&reply, "draining"));
    assert_text(&reply, "backends.0.name", "postgresql");
    assert_true(http_reply_bool(&reply, "backends.0.up"));
    assert_text(&reply, "backends.1.name", "redis");
    http_reply_bool(&reply, "durable");
    http_reply_fini(&reply);
    reply = expect(server, 200, "GET", "/healthz", NULL, NULL);
    assert_string_equal(reply.body, "{\"status\": \"ok\"}\n");
    http_reply_fini(&reply);
}

TEST(without_postgresql_it_is_healthy_and_not_ready)
{
    struct server *lost = server_start("--database", "host=/nowhere", "--log-level", "error", NULL);
    struct http_reply reply = expect(lost, 503, "GET", "/readyz", NULL, NULL);

    assert_header(&reply, "Retry-After", "1");
    assert_false(http_reply_bool(&reply, "ready"));
    assert_false(http_reply_bool(&reply, "backends.0.up"));
    http_reply_fini(&reply);
    expect_status(lost, 200, "GET", "/healthz", NULL, NULL);
    server_stop(lost);
}

TEST(metrics_count_the_replies)
{
    int64_t before = server_metric(server, "seckill_http_responses_total", "status=\"404\"");
    struct http_reply reply;

    expect_status(server, 404, "GET", "/nope", NULL, NULL);
    assert_int_equal(server_metric(server, "seckill_http_responses_total", "status=\"404\""),
                     before + 1);
    assert_int_equal(server_metric(server, "seckill_http_requests_in_flight", ""), 1);
    assert_true(server_metric(server, "seckill_http_connections", "") >= 1);
    reply = expect(server, 200, "GET", "/metrics", NULL, NULL);
    assert_header(&reply, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    assert_non_null(strstr(reply.body, "# TYPE seckill_http_responses_total counter"));
    http_reply_fini(&reply);
}

TEST(unknown_paths_are_404)
{
    static const char *const targets[] = {"/nope",
                                          "/orders/",
                                          "/orders/1",
                                          "/orders/x/cancel",
                                          "/products/",
                                          "/products/01",
                                          "/products/1/",
                                          "/products/1/nope",
                                          "//",
                                          "/../etc/passwd",
                                          "/%2e%2e/",
                                          "/%6frders",
                                          "/orders%00",
                                          "/orders;x=y",
                                          "/strategies/none",
                                          "/healthz/x",
                                          "/HEALTHZ",
                                          "*"};

    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        expect_problem(server, 404, "not_found", NULL, "GET", targets[i], NULL, NULL);
    expect_problem(server, 404, "not_found", NULL, "POST", "/nope", NULL, "{}");
}

TEST(wrong_methods_are_405_with_allow)
{
    static const struct {
        const char *target;
        const char *allow;
        const char *methods[7];
    } cases[] = {
        {"/orders", "POST, GET, HEAD", {"PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get"}},
        {"/orders/00000000-0000-7000-8000-000000000000", "GET, HEAD", {"POST", "PUT", "DELETE"}},
        {"/orders/00000000-0000-7000-8000-000000000000/cancel", "POST", {"GET", "HEAD", "PUT"}},
        {"/products", "GET, HEAD, PUT", {"POST", "DELETE"}},
        {"/products/1", "GET, HEAD, PUT, PATCH", {"POST", "DELETE"}},
        {"/products/1/restock", "POST", {"GET", "PUT"}},
        {"/products/1/audit", "GET, HEAD", {"POST"}},
        {"/strategies", "GET, HEAD", {"POST", "PUT"}},
        {"/healthz", "GET, HEAD", {"POST"}},
        {"/readyz", "GET, HEAD", {"POST"}},
        {"/metrics", "GET, HEAD", {"POST"}},
        {"/", "GET, HEAD", {"POST"}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (const char *const *method = cases[i].methods; *method; method++) {
            struct http_reply reply = expect(server, 405, *method, cases[i].target, NULL, NULL);

            assert_header(&reply, "Allow", cases[i].allow);
            if (strcmp(*method, "HEAD") != 0)
                assert_problem(&reply, 405, "method_not_allowed", NULL);
            http_reply_fini(&reply);
        }
    }
}

TEST(head_is_get_without_its_body)
{
    static const char *const targets[] = {"/",        "/healthz",    "/readyz",  "/orders",
                                          "/metrics", "/strategies", "/products"};

    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct http_reply head = expect(server, 200, "HEAD", targets[i], NULL, NULL);
        char length[32];

        assert_true(http_reply_header(&head, "Content-Length", length, sizeof length));
        assert_true(strtol(length, NULL, 10) > 0);
        assert_int_equal(head.body_length, 0);
        http_reply_fini(&head);
    }
    expect_status(server, 404, "HEAD", "/products/404", NULL, NULL);
}

/* Starts a server that cannot start; its last words must hold `says`. */
static void expect_bad_start(const char *flag, const char *value, const char *says)
{
    const char *const flags[] = {flag, value, NULL};
    struct server *bad = server_launch(flags);
    char log[4096];

    assert_int_equal(server_wait(bad, log, sizeof log), 2);
    if (!strstr(log, flag) || !strstr(log, says))
        fail_msg("%s %s: %s", flag, value, log);
}

TEST(an_address_that_cannot_be_had_ends_the_start)
{
    expect_bad_start("--listen", server_address(server) + strlen("http://"), "listens there");
    expect_bad_start("--listen", "no-such-host.invalid:0", "no-such-host.invalid");
    expect_bad_start("--listen", "192.0.2.1:0", "192.0.2.1:0");
    expect_bad_start("--listen", "127.0.0.1", "HOST:PORT");
}

TEST(it_listens_on_ipv6)
{
    struct server *six = server_start("--listen", "[::1]:0", NULL);

    assert_int_equal(strncmp(server_address(six), "http://[::1]:", 13), 0);
    expect_status(six, 200, "GET", "/healthz", NULL, NULL);
    put_product(six, 1, "{\"stock\": 1}");
    server_stop(six);
}

int main(void)
{
    return one_server_run("service");
}
