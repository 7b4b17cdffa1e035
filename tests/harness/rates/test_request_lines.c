/*
 * What the harness's own generator sends, byte by byte: the user's header lines stand in every
 * request, once, and the longest that are allowed fit beside everything else; users are drawn by
 * the seed; repeats are the same bytes once more.
 */
#include "harness/shop/wire/listener.h"
#include "lib/t.h"
#include "loadtest/base/headers.h"
#include "loadtest/load/load.h"

#include <string.h>

static char heard[262144];

/* Over one connection; how many requests came. */
static size_t send_load(struct load load, struct load_result *result)
{
    static const char answer[] = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}";
    struct error error = {.text = ""};
    struct listener *listener = listener_start(LISTENER_ANSWERS, answer);
    const char *const targets[] = {t_text("http://127.0.0.1:%d", listener_port(listener))};
    load.targets = targets;
    load.targets_count = 1;
    load.token = "";
    load.connections = 1;
    bool made = open_loop_run(&load, result, &error);
    size_t count = listener_stop(listener, heard, sizeof heard);
    t_done(made, error);
    return count;
}

/* Three orders, one after the other. */
static void send_with(const char *headers, const char *path)
{
    struct counted_call calls[3] = {{7, 41, 1, 0, 0, 0}, {7, 42, 1, 0, 0, 0}, {7, 43, 1, 0, 0, 0}};
    struct counted counted = {.calls = calls, .count = 3};
    struct load_result result;
    const struct load load = {.path = path, .headers = headers, .counted = &counted};
    assert_int_equal(send_load(load, &result), 3);
    assert_int_equal(t_count(heard, "{\"product_id\":7,\"user_id\":42,\"quantity\":1}"), 1);
}

TEST(every_order_has_the_lines)
{
    send_with("X-Shop: one two\r\nX-More: 3\r\n", "/orders?strategy=none");
    assert_int_equal(t_count(heard, "\r\nX-Shop: one two\r\nX-More: 3\r\nContent-Length: "), 3);
}

TEST(without_them_nothing_is_added)
{
    send_with(NULL, "/orders?strategy=none");
    assert_int_equal(t_count(heard, "\r\nContent-Type: application/json\r\nContent-Length: "), 3);
}

TEST(the_longest_lines_fit)
{
    static char lines[HEADERS_SIZE], path[300];
    static char filling[HEADERS_SIZE];
    memset(filling, 'x', sizeof filling - 1);
    snprintf(lines, sizeof lines, "X: %.*s\r\n", HEADERS_SIZE - 1 - 5, filling);
    snprintf(path, sizeof path, "/orders?%.290s", filling);
    assert_int_equal(strlen(lines), HEADERS_SIZE - 1);
    send_with(lines, path);
    assert_int_equal(t_count(heard, lines), 3);
}

/* A tenth of a second of a schedule; how many requests came. */
static size_t send_schedule(int64_t seed, double repeats, struct load_result *result)
{
    const struct load load = {.path = "/orders",
                              .first_user = 1000000000000,
                              .users = 1000000,
                              .user_from = 5000000000000,
                              .first_product = 7,
                              .products = 1,
                              .keyed = true,
                              .repeats = repeats,
                              .seed = seed,
                              .lag_limit_us = 60000000,
                              .arrivals = {.kind = ARRIVALS_CONSTANT,
                                           .parts = {{"steady", 500, 100000}},
                                           .parts_count = 1}};
    size_t count = send_load(load, result);
    assert_true(count > 0);
    return count;
}

/* Requests have one length each, so many bytes. */
static size_t one_request(size_t count)
{
    assert_int_equal(strlen(heard) % count, 0);
    return strlen(heard) / count;
}

TEST(a_repeat_is_the_same_request)
{
    struct load_result result;
    size_t count = send_schedule(1, 1, &result);
    size_t length = one_request(count);
    assert_int_equal(count % 2, 0);
    for (size_t i = 0; i < count; i += 2)
        assert_memory_equal(heard + i * length, heard + (i + 1) * length, length);
    assert_int_equal(t_count(heard, "\r\nIdempotency-Key: 1000000000000\r\n"), 2);
    assert_int_equal(result.requests, count);
    assert_int_equal(result.repeats, count / 2);
    assert_int_equal(result.parts[0].classes[LOAD_COMMITTED].count, count / 2);
    assert_true(result.committed_in_time <= (int64_t)count / 2);
}

/* The users of the first `count` requests; "" behind them. */
static void users_of(char users[50][14], size_t count)
{
    const char *at = heard;
    for (size_t i = 0; i < 50; i++) {
        users[i][0] = '\0';
        if (i >= count)
            continue;
        at = strstr(at, "\"user_id\":");
        assert_non_null(at);
        at += strlen("\"user_id\":");
        snprintf(users[i], 14, "%.13s", at);
        assert_int_equal(users[i][0], '5');
    }
}

TEST(the_seed_decides_who_buys)
{
    static char first[50][14], second[50][14];
    struct load_result result;
    size_t count = send_schedule(3, 0, &result);
    assert_int_equal(result.repeats, 0);
    users_of(first, count);
    size_t again = send_schedule(3, 0, &result);
    users_of(second, again);
    for (size_t i = 0; i < count && i < again; i++)
        assert_string_equal(first[i], second[i]);
    users_of(second, send_schedule(4, 0, &result));
    assert_string_not_equal(first[0], second[0]);
}
