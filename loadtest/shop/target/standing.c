/* See standing.h. */
#include "loadtest/shop/target/standing.h"

#include <stdbool.h>
#include <string.h>

enum fill_form standing_text(const char *text, const char *at)
{
    (void)text, (void)at;
    return FILL_PLAIN;
}

/* What behind "://" is a name and a port has none of the characters that matter. NULL: no URL. */
static const char *authority_of(const char *text)
{
    const char *found = strstr(text, "://");
    return found && strcspn(text, "/?= ${") == (size_t)(found + 1 - text) ? found + 3 : NULL;
}

static enum fill_form in_url(const char *authority, const char *at, enum fill_form form)
{
    const char *end = authority + strcspn(authority, "/?");
    const char *user_end = memchr(authority, '@', (size_t)(end - authority));
    bool in_host = at < end && (!user_end || at > user_end);
    return at < authority || in_host ? FILL_PLAIN : form;
}

/* By libpq's rules: a value begins behind '=', and ends with a blank, or its closing quote. */
static enum fill_form in_conninfo(const char *text, const char *at)
{
    enum { KEY, BEFORE, VALUE, QUOTED } where = KEY;
    for (; text < at; text++) {
        bool is_blank = *text == ' ' || *text == '\t' || *text == '\n';
        if (*text == '\\' && where != KEY)
            text++;
        else if (where == KEY)
            where = *text == '=' ? BEFORE : KEY;
        else if (where == BEFORE)
            where = is_blank ? BEFORE : *text == '\'' ? QUOTED : VALUE;
        else if (where == QUOTED ? *text == '\'' : is_blank)
            where = KEY;
    }
    return where == KEY ? FILL_PLAIN : FILL_CONNINFO;
}

enum fill_form standing_database(const char *text, const char *at)
{
    const char *authority = authority_of(text);
    return authority ? in_url(authority, at, FILL_FORM) : in_conninfo(text, at);
}

enum fill_form standing_path(const char *text, const char *at)
{
    const char *authority = authority_of(text);
    if (authority)
        return in_url(authority, at, FILL_URL);
    return at == text ? FILL_PLAIN : FILL_URL;
}

/* Whether a quote is open; `escape`: what takes the next character its meaning, or 0. */
static bool is_quoted(const char *text, const char *at, char quote, char escape)
{
    bool is_open = false;
    for (; text < at; text++) {
        if (is_open && *text == escape)
            text++;
        else if (*text == quote)
            is_open = !is_open;
    }
    return is_open;
}

enum fill_form standing_json(const char *text, const char *at)
{
    return is_quoted(text, at, '"', '\\') ? FILL_JSON : FILL_PLAIN;
}

enum fill_form standing_sql(const char *text, const char *at)
{
    return is_quoted(text, at, '\'', '\0') ? FILL_SQL : FILL_PLAIN;
}

enum fill_form standing_form(const char *text, const char *at)
{
    return at == text ? FILL_PLAIN : FILL_FORM;
}
