/* A value filled into a request is one value where it stands, and nothing else in the text moves.
 */
#include "lib/t.h"
#include "loadtest/shop/fill.h"

#include <stdlib.h>

static const struct fill_field fields[] = {
    {"user", "7"}, {"token", "a/b \"c\"\\\n&d="}, {"none", NULL}, {"user", "8"}};

static void is_filled(const char *text, enum fill_form form, const char *expected)
{
    char *filled = fill(text, fields, sizeof fields / sizeof *fields, form);
    if (expected)
        assert_string_equal(filled, expected);
    else
        assert_null(filled);
    free(filled);
}

TEST(a_field_becomes_its_value)
{
    is_filled("", FILL_PLAIN, "");
    is_filled("/users/{user}/x{user}", FILL_PLAIN, "/users/7/x7");
}

TEST(a_brace_that_begins_no_field_stays)
{
    is_filled("{\"a\": {\"b\": [{user}]}}", FILL_JSON, "{\"a\": {\"b\": [7]}}");
    is_filled("{} {1} { user} {user {", FILL_PLAIN, "{} {1} { user} {user {");
    is_filled("{{user} {{{user}}", FILL_PLAIN, "{user} {7}");
    is_filled("{a234567890123456789012345678901234567890_}", FILL_PLAIN,
              "{a234567890123456789012345678901234567890_}");
}

TEST(each_place_has_its_own_way_to_write_a_value)
{
    is_filled("{token}", FILL_PLAIN, "a/b \"c\"\\\n&d=");
    is_filled("{token}", FILL_URL, "a/b%20%22c%22%5C%0A%26d%3D");
    is_filled("{token}", FILL_FORM, "a%2Fb%20%22c%22%5C%0A%26d%3D");
    is_filled("\"{token}\"", FILL_JSON, "\"a/b \\\"c\\\"\\\\\\u000a&d=\"");
    is_filled("{token}", FILL_HEADER, NULL);
    is_filled("Bearer {user}", FILL_HEADER, "Bearer 7");
}

TEST(what_has_no_value_cannot_be_filled)
{
    is_filled("x{none}", FILL_PLAIN, NULL);
    is_filled("x{other}", FILL_PLAIN, NULL);
}

TEST(the_names_of_a_text_are_told_in_order)
{
    const char *at = "{{no} {\"a\": {user}, {b1}";
    char name[FILL_NAME_MAX + 1];

    assert_true(fill_next_name(&at, name));
    assert_string_equal(name, "user");
    assert_true(fill_next_name(&at, name));
    assert_string_equal(name, "b1");
    assert_false(fill_next_name(&at, name));
    assert_true(fill_is_name("b_1"));
    assert_false(fill_is_name("1b") || fill_is_name("") || fill_is_name("a-b"));
}
