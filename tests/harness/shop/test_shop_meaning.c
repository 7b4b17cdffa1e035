/* What an answer means: the first rule that matches, by status, by JSON pointer, by text. */
#include "loadtest/shop/load/meaning.h"

#include "lib/t.h"

#include <stdlib.h>
#include <string.h>

static struct shop_answer answer_of(int status, const char *body)
{
    return (struct shop_answer){status, body, strlen(body)};
}

/* The text at `at`, or "-". */
static void expect_take(const char *body, const char *at, const char *expected)
{
    const struct shop_answer answer = answer_of(200, body);
    char *text = meaning_take(&answer, at);
    assert_string_equal(text ? text : "-", expected);
    free(text);
}

TEST(test_pointers_as_rfc_6901_has_them)
{
    const char *body = "{\"foo\": [\"bar\", \"baz\"], \"\": 0, \"a/b\": 1, \"m~n\": 8, \"~1\": 9, "
                       "\"c%d\": 2, \"o\": {\"p\": [{\"q\": true}]}, \"n\": null, \"e\": \"\"}";
    expect_take(body, "/foo/0", "bar");
    expect_take(body, "/foo", "[\"bar\",\"baz\"]");
    expect_take(body, "/", "0");
    expect_take(body, "/a~1b", "1");
    expect_take(body, "/m~0n", "8");
    expect_take(body, "/~01", "9");
    expect_take(body, "/c%d", "2");
    expect_take(body, "/o/p/0/q", "true");
    expect_take(body, "/foo/2", "-");
    expect_take(body, "/foo/-", "-");
    expect_take(body, "/foo/00", "-");
    expect_take(body, "/foo/0x", "-");
    expect_take(body, "/foo/0/0", "-");
    expect_take(body, "/n", "-");
    expect_take(body, "/e", "-");
    expect_take(body, "foo", "-");
    expect_take("no JSON", "/foo", "-");
    expect_take("\"whole\"", "", "whole");
}

/* One rule with everything, of which each part is taken away in turn. */
static void expect_rule(struct shop_rule rule, int status, const char *body, bool matches)
{
    const struct shop_answer answer = answer_of(status, body);
    char *id = NULL;
    const struct shop_request request = {.rules = &rule, .rule_count = 1};
    rule.meaning = SHOP_SOLD;
    enum shop_meaning meaning = meaning_of(&request, &answer, &id);
    free(id);
    assert_int_equal(meaning, matches ? SHOP_SOLD : SHOP_UNKNOWN);
}

TEST(test_everything_that_is_given_must_hold)
{
    const struct shop_rule all = {.status_from = 200,
                                  .status_to = 299,
                                  .pointer = "/code",
                                  .equals = "0",
                                  .contains = "fine"};
    expect_rule(all, 200, "{\"code\": 0, \"is\": \"fine\"}", true);
    expect_rule(all, 299, "{\"code\": 0.0, \"is\": \"fine\"}", true);
    expect_rule(all, 300, "{\"code\": 0, \"is\": \"fine\"}", false);
    expect_rule(all, 199, "{\"code\": 0, \"is\": \"fine\"}", false);
    expect_rule(all, 200, "{\"code\": 5001, \"is\": \"fine\"}", false);
    expect_rule(all, 200, "{\"code\": \"0\", \"is\": \"fine\"}", false);
    expect_rule(all, 200, "{\"code\": 0}", false);
    expect_rule(all, 200, "{\"is\": \"fine\"}", false);
    expect_rule(all, 200, "fine, and no JSON", false);
    expect_rule((struct shop_rule){.pointer = "/code"}, 500, "{\"code\": 5001}", true);
    expect_rule((struct shop_rule){.contains = "fine"}, 200, "<p>fine</p>", true);
    expect_rule((struct shop_rule){.status_from = 409, .status_to = 409}, 409, "", true);
}

TEST(test_the_first_that_matches_is_taken)
{
    struct shop_rule rules[] = {
        {.meaning = SHOP_SOLD_OUT, .contains = "sold out"},
        {.meaning = SHOP_SOLD, .status_from = 200, .status_to = 200, .order = "/data/id"},
        {.meaning = SHOP_REFUSED, .status_from = 200, .status_to = 200},
    };
    const struct shop_request request = {.rules = rules, .rule_count = 3};
    char *id = NULL;
    struct shop_answer answer = answer_of(200, "{\"data\": {\"id\": 17}, \"why\": \"sold out\"}");
    assert_int_equal(meaning_of(&request, &answer, &id), SHOP_SOLD_OUT);
    assert_null(id);
    answer = answer_of(200, "{\"data\": {\"id\": 17}}");
    assert_int_equal(meaning_of(&request, &answer, &id), SHOP_SOLD);
    assert_string_equal(id, "17");
    free(id);
    answer = answer_of(200, "{\"data\": {}}");
    assert_int_equal(meaning_of(&request, &answer, &id), SHOP_SOLD);
    assert_null(id);
    answer = answer_of(500, "{}");
    assert_int_equal(meaning_of(&request, &answer, &id), SHOP_UNKNOWN);
    assert_null(id);
}
