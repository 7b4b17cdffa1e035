#include "lib/t.h"

#include "base/error.h"

#include <stdbool.h>
#include <string.h>

TEST(set_keeps_code_and_text)
{
    struct error error = {.code = ERROR_NONE};

    assert_false(error_set(&error, ERROR_TIMEOUT, "no answer after %d ms", 250));
    assert_int_equal(error.code, ERROR_TIMEOUT);
    assert_string_equal(error.text, "no answer after 250 ms");
}

TEST(prefix_reads_from_the_outside_in)
{
    struct error error;

    error_set(&error, ERROR_UNAVAILABLE, "connection refused");
    assert_false(error_prefix(&error, "host %s", "db1"));
    error_prefix(&error, "schema");
    assert_int_equal(error.code, ERROR_UNAVAILABLE);
    assert_string_equal(error.text, "schema: host db1: connection refused");
}

static void expect_hidden(const char *source, const char *text, const char *hidden)
{
    struct error error;

    error_set(&error, ERROR_INVALID, "%s", text);
    error_hide_quoted(&error, source);
    assert_string_equal(error.text, hidden);
    assert_int_equal(error.code, ERROR_INVALID);
}

/* As libpq says it. */
TEST(what_may_be_a_password_is_not_quoted)
{
    expect_hidden("host=h password=a sesame", "missing \"=\" after \"sesame\" in the string",
                  "missing \"=\" after \"…\" in the string");
    expect_hidden("passwrd=sesame", "invalid connection option \"passwrd\"",
                  "invalid connection option \"passwrd\"");
    expect_hidden("postgresql://u:ses\"ame@[::1/db",
                  "no matching \"]\" in URI: \"postgresql://u:ses\"ame@[::1/db\"",
                  "no matching \"]\" in URI: \"…\"");
    /* A text that is cut may end within what is quoted. */
    char uri[900], text[1000], hidden[] = "no matching \"]\" in URI: \"…";
    memset(uri, 's', sizeof uri - 1);
    memcpy(uri, "postgresql://ses\"ame@[", 22);
    uri[sizeof uri - 1] = '\0';
    snprintf(text, sizeof text, "no matching \"]\" in URI: \"%s\"", uri);
    expect_hidden(uri, text, hidden);
    expect_hidden("password='sesame", "unterminated quoted string", "unterminated quoted string");
}

TEST(long_texts_are_cut)
{
    char wide[1000];
    memset(wide, 'x', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    struct {
        struct error error;
        char behind[8];
    } guarded = {.behind = "behind"};

    error_set(&guarded.error, ERROR_INTERNAL, "%s", wide);
    assert_int_equal(strlen(guarded.error.text), sizeof guarded.error.text - 1);

    /* The prefix stays; the end of the cause goes. */
    error_prefix(&guarded.error, "outer");
    assert_int_equal(strlen(guarded.error.text), sizeof guarded.error.text - 1);
    assert_memory_equal(guarded.error.text, "outer: xxx", 10);

    error_prefix(&guarded.error, "%s", wide);
    assert_int_equal(strlen(guarded.error.text), sizeof guarded.error.text - 1);
    assert_string_equal(guarded.behind, "behind");
}

TEST(an_errors_own_text_may_be_an_argument)
{
    struct error error;

    error_set(&error, ERROR_INVALID, "bad port");
    error_set(&error, ERROR_INVALID, "--listen: %s", error.text);
    assert_string_equal(error.text, "--listen: bad port");
    error_prefix(&error, "<%s>", error.text);
    assert_string_equal(error.text, "<--listen: bad port>: --listen: bad port");
}
