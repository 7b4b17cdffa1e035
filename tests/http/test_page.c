/* The live page: under which policy it comes, and what is not in it. tests/page sees it work. */
#include "lib/t.h"

#include "http/lib/expect.h"
#include "http/lib/one_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES_MAX = 64 * 1024, HEAD_BYTES_MAX = 768 };

static const char SECRET[] = "a-token-of-the-admins";

static int count(const char *text, const char *part)
{
    int found = 0;

    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        found++;
    return found;
}

TEST(it_comes_under_a_strict_policy)
{
    static const char *const wanted[] = {
        "default-src 'none';",    "script-src 'sha256-", "style-src 'sha256-",
        "connect-src 'self';",    "base-uri 'none';",    "form-action 'none';",
        "frame-ancestors 'none'",
    };
    struct http_reply page = expect(server, 200, "GET", "/", NULL, NULL);
    char policy[512];

    assert_header(&page, "Content-Type", "text/html; charset=utf-8");
    assert_header(&page, "X-Content-Type-Options", "nosniff");
    assert_header(&page, "Referrer-Policy", "no-referrer");
    assert_header(&page, "Cache-Control", "no-cache");
    assert_true(http_reply_header(&page, "Content-Security-Policy", policy, sizeof policy));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_non_null(strstr(policy, wanted[i]));
    assert_null(strstr(policy, "unsafe"));
    assert_null(strchr(policy, '*'));
    http_reply_fini(&page);
}

/* What the policy would refuse, and what would make a page of others' text. */
TEST(nothing_in_it_needs_more_than_its_policy)
{
    static const char *const absent[] = {
        " onclick=",      " onload=",       "javascript:", "innerHTML", "outerHTML", "eval(",
        "insertAdjacent", "document.write", " style=\"",   "https://",  "@STYLE@",   "@SCRIPT@"};
    struct http_reply page = expect(server, 200, "GET", "/", NULL, NULL);

    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (strstr(page.body, absent[i]))
            fail_msg("the page holds %s", absent[i]);
    assert_int_equal(count(page.body, "<script"), 1);
    assert_int_equal(count(page.body, "<style"), 1);
    assert_in_range(page.body_length, 1, PAGE_BYTES_MAX);
    assert_string_equal(page.body + page.body_length - strlen("</html>\n"), "</html>\n");
    http_reply_fini(&page);
}

/* For every caller, and whatever is for sale. */
TEST(it_is_the_same_for_all_and_holds_no_secret)
{
    struct server *guarded = server_start("--admin-token", SECRET, NULL);
    struct http_reply ours = expect(server, 200, "GET", "/", NULL, NULL);
    struct http_reply theirs;
    char headers[96];

    put_product(server, 1, "{\"stock\": 1, \"name\": \"a name of our own\"}");
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", SECRET);
    theirs = expect(guarded, 200, "GET", "/", headers, NULL);
    assert_string_equal(ours.body, theirs.body);
    assert_null(strstr(theirs.body, SECRET));
    assert_null(strstr(theirs.head, SECRET));
    http_reply_fini(&ours);
    http_reply_fini(&theirs);
    server_stop(guarded);
}

TEST(head_has_the_same_headers)
{
    struct http_reply page = expect(server, 200, "GET", "/", NULL, NULL);
    struct http_reply head = expect(server, 200, "HEAD", "/", NULL, NULL);
    static const char *const names[] = {"Content-Type", "Content-Length",
                                        "Content-Security-Policy"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char value[512];

        assert_true(http_reply_header(&page, names[i], value, sizeof value));
        assert_header(&head, names[i], value);
    }
    assert_int_equal(head.body_length, 0);
    expect_status(server, 200, "GET", "/?utm_source=mail&fbclid=%00x&&", NULL, NULL);
    http_reply_fini(&page);
    http_reply_fini(&head);
}

/* What http/head.c keeps free for a reply's head is enough for ours, the longest there is. */
TEST(its_head_fits_where_heads_are_built)
{
    struct http_reply page = expect(server, 200, "GET", "/", "Connection: close\r\n", NULL);

    assert_in_range(strlen(page.head), 1, HEAD_BYTES_MAX - 64);
    http_reply_fini(&page);
}

TEST(it_links_to_the_rest)
{
    static const char *const links[] = {"/strategies", "/products", "/metrics", "/readyz",
                                        "/openapi.yaml"};
    struct http_reply page = expect(server, 200, "GET", "/", NULL, NULL);

    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        char link[64];

        snprintf(link, sizeof link, "href=\"%s\"", links[i] + 1); /* below any path */
        assert_non_null(strstr(page.body, link));
        expect_status(server, 200, "GET", links[i], NULL, NULL);
    }
    http_reply_fini(&page);
}

int main(void)
{
    return one_server_run("page");
}
