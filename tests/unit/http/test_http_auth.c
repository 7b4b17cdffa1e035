/* The callers that may make admin calls. */
#include "http/reader/auth.h"
#include "lib/t.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static struct problem problem;
static struct headers headers;

static void add_header(const char *name, const char *value)
{
    reader_header(&headers, name, strlen(name), value, strlen(value));
}

/* Whether a call with one header field from `address` is admitted; `problem` says why not. */
static bool admit(const char *token, const char *address, const char *name, const char *value)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    bool is_v4 = inet_pton(AF_INET, address, &in.sin_addr) == 1;

    if (!is_v4)
        assert_int_equal(inet_pton(AF_INET6, address, &in6.sin6_addr), 1);
    headers = (struct headers){0};
    if (strcmp(name, "Host") != 0)
        add_header("Host", "localhost");
    add_header(name, value);
    return auth_admin(token, &headers,
                      is_v4 ? (const struct sockaddr *)&in : (const struct sockaddr *)&in6,
                      &problem);
}

TEST(without_a_token_loopback_is_admin)
{
    static const char *const forwarded[] = {"Forwarded",
                                            "X-Forwarded-For",
                                            "x-forwarded-proto",
                                            "X-Forwarded-Anything",
                                            "Origin",
                                            "X-Real-IP",
                                            "Via",
                                            "CF-Connecting-IP",
                                            "cf-ray",
                                            "True-Client-IP",
                                            "X-Envoy-Peer",
                                            "X-Original-URL",
                                            "X-Client-IP",
                                            "X-Amzn-Trace-Id",
                                            "Sec-Fetch-Site"};
    static const char *const plain[] = {"X-Request-Id", "Viable", "X-Real-IP-Not", "Originally",
                                        "CF"};

    assert_true(admit("", "127.0.0.1", "Host", "127.0.0.1:8080"));
    assert_true(admit("", "127.8.9.1", "Host", "LocalHost"));
    assert_true(admit("", "::1", "Host", "[::1]:8080"));
    assert_true(admit("", "::ffff:127.0.0.1", "Host", "localhost:8080"));
    assert_false(admit("", "128.0.0.1", "Host", "localhost"));
    assert_int_equal(problem.status, 403);
    assert_string_equal(problem.code, "forbidden");
    assert_false(admit("", "10.0.0.1", "Authorization", "Bearer "));
    assert_false(admit("", "::", "Host", "localhost"));
    assert_false(admit("", "::ffff:10.0.0.1", "Host", "localhost"));
    assert_false(admit("", "2001:db8::1", "Host", "127.0.0.1"));
    assert_false(auth_admin("", &headers, NULL, &problem));
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++) {
        assert_false(admit("", "127.0.0.1", forwarded[i], ""));
        assert_string_equal(problem.code, "forbidden");
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_true(admit("", "127.0.0.1", plain[i], ""));
    assert_false(admit("", "127.0.0.1", "Sec-Fetch-Site", "cross-site"));
    assert_true(admit("", "127.0.0.1", "Sec-Fetch-Site", "same-origin"));
}

/* What a page reads whose site has its own name resolved to this machine: no Origin, no mark. */
TEST(without_a_token_a_name_that_others_may_have_is_no_admin)
{
    static const char *const names[] = {"evil.example",
                                        "evil.example:8080",
                                        "localhost.evil.example",
                                        "127.0.0.1.evil.example",
                                        "localhost@evil.example",
                                        "127.1",
                                        "localhost:1@evil",
                                        "localhost:8o",
                                        "80",
                                        ":80",
                                        ""};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (admit("", "127.0.0.1", "Host", names[i]))
            fail_msg("admitted at %s", names[i]);
        assert_int_equal(problem.status, 403);
    }
    headers = (struct headers){0};
    assert_false(auth_admin("", &headers,
                            (const struct sockaddr *)&(struct sockaddr_in){
                                .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
                            &problem));
}

/* A page's call from this machine to `host`, with one more field. */
static bool admit_page_with(const char *host, const char *origin, const char *name,
                            const char *value)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    headers = (struct headers){0};
    add_header("Host", host);
    add_header("Origin", origin);
    add_header(name, value);
    return auth_admin("", &headers, (const struct sockaddr *)&in, &problem);
}

static bool admit_page(const char *host, const char *origin)
{
    return admit_page_with(host, origin, "Sec-Fetch-Site", "same-origin");
}

TEST(without_a_token_the_page_beside_it_is_admin)
{
    static const char *const own[] = {"127.0.0.1", "127.0.0.1:8080", "localhost:8080",
                                      "[::1]:8080"};
    static const struct {
        const char *host;
        const char *origin;
    } others[] = {
        {"127.0.0.1:8080", "http://shop.example"},
        {"127.0.0.1:8080", "http://127.0.0.1:3000"},
        {"127.0.0.1:8080", "http://127.0.0.1:80800"},
        {"127.0.0.1:8080", "http://127.0.0.1:808"},
        {"127.0.0.1:8080", "https://127.0.0.1:8080"},
        {"127.0.0.1:8080", "null"},
        {"127.0.0.1:8080", ""},
        {"127.0.0.1:8080", "127.0.0.1:8080"},
        /* Names that somebody has resolved to this machine. */
        {"shop.example", "http://shop.example"},
        {"127.0.0.1.shop.example:8080", "http://127.0.0.1.shop.example:8080"},
        {"localhost.shop.example", "http://localhost.shop.example"},
        {"", "http://"},
    };
    char origin[64];

    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        snprintf(origin, sizeof origin, "http://%s", own[i]);
        assert_true(admit_page(own[i], origin));
    }
    assert_false(admit_page_with("localhost", "http://localhost", "Via", "1.1 proxy"));
    assert_false(admit_page_with("localhost", "http://localhost", "Origin", "http://localhost"));
    assert_false(admit_page_with("localhost", "http://localhost", "Host", "localhost"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (admit_page(others[i].host, others[i].origin))
            fail_msg("a page of %s was admitted at %s", others[i].origin, others[i].host);
    assert_false(admit("", "127.0.0.1", "Origin", "http://127.0.0.1")); /* another name */
    assert_false(admit("", "10.0.0.1", "Host", "localhost"));
}

TEST(a_token_is_compared_whole)
{
    static const char *const wrong[] = {"",
                                        "Bearer",
                                        "Bearer ",
                                        "Bearer secre",
                                        "secret",
                                        "Bearer secrets",
                                        "Bearer Secret",
                                        "Basic secret",
                                        "Bearer  secret",
                                        "Bearer xecret",
                                        "Bearersecret"};

    assert_true(admit("secret", "10.0.0.1", "Authorization", "Bearer secret"));
    assert_true(admit("secret", "10.0.0.1", "authorization", "bearer secret"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (admit("secret", "127.0.0.1", "Authorization", wrong[i]))
            fail_msg("%s was admitted", wrong[i]);
        assert_int_equal(problem.status, 401);
        assert_string_equal(problem.code, "unauthorized");
    }
    assert_false(admit("secret", "127.0.0.1", "Host", "x"));
    headers = (struct headers){0};
    add_header("Authorization", "Bearer secret");
    add_header("Authorization", "Bearer secret");
    assert_false(auth_admin("secret", &headers, NULL, &problem));
}
