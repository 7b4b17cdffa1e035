/*
 * What the harness's own generator sends, byte by byte: the user's header lines stand in every
 * request, once, and the longest that are allowed fit beside everything else.
 */
#include "harness/shop/listener.h"
#include "lib/t.h"
#include "loadtest/base/headers.h"
#include "loadtest/load/open_loop.h"

#include <stdio.h>
#include <string.h>

static char heard[262144];

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

/* Three orders, one after the other. */
static void send_with(const char *headers, const char *path)
{
    static const char answer[] = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}";
    struct counted_call calls[3] = {{7, 41, 1, 0, 0, 0}, {7, 42, 1, 0, 0, 0}, {7, 43, 1, 0, 0, 0}};
    struct counted counted = {.calls = calls, .count = 3};
    struct error error = {.text = ""};
    struct load_result result = {0};
    char url[64];
    struct listener *listener = listener_start(LISTENER_ANSWERS, answer);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", listener_port(listener));
    const char *const targets[] = {url};
    const struct load load = {.targets = targets,
                              .targets_count = 1,
                              .path = path,
                              .token = "",
                              .headers = headers,
                              .connections = 1,
                              .counted = &counted};
    bool made = generator_open_loop.run(&load, &result, &error);
    size_t count = listener_stop(listener, heard, sizeof heard);
    if (!made)
        fail_msg("%s", error.text);
    assert_int_equal(count, 3);
    assert_int_equal(count_of(heard, "{\"product_id\":7,\"user_id\":42,\"quantity\":1}"), 1);
}

static void every_order_has_the_lines(void **state)
{
    (void)state;
    send_with("X-Shop: one two\r\nX-More: 3\r\n", "/orders?strategy=none");
    assert_int_equal(count_of(heard, "\r\nX-Shop: one two\r\nX-More: 3\r\nContent-Length: "), 3);
}

static void without_them_nothing_is_added(void **state)
{
    (void)state;
    send_with(NULL, "/orders?strategy=none");
    assert_int_equal(count_of(heard, "\r\nContent-Type: application/json\r\nContent-Length: "), 3);
}

static void the_longest_lines_fit(void **state)
{
    (void)state;
    static char lines[HEADERS_SIZE], path[300];
    static char filling[HEADERS_SIZE];
    memset(filling, 'x', sizeof filling - 1);
    snprintf(lines, sizeof lines, "X: %.*s\r\n", HEADERS_SIZE - 1 - 5, filling);
    snprintf(path, sizeof path, "/orders?%.290s", filling);
    assert_int_equal(strlen(lines), HEADERS_SIZE - 1);
    send_with(lines, path);
    assert_int_equal(count_of(heard, lines), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_has_the_lines),
        cmocka_unit_test(without_them_nothing_is_added),
        cmocka_unit_test(the_longest_lines_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
