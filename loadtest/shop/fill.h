/*
 * Texts with fields: "/orders/{order}" and "alice" make "/orders/alice".
 *
 * A field is a name in braces: letters, digits and '_', with no digit at its beginning. Any other
 * brace is a brace, so JSON stands as it is: {"user": "{user}"}. "{{" is one brace, for a text that
 * would look like a field. A value is escaped so that it stays one value where it stands.
 *
 * Pure; any thread.
 */
#ifndef SECKILL_LOADTEST_SHOP_FILL_H
#define SECKILL_LOADTEST_SHOP_FILL_H

#include <stdbool.h>
#include <stddef.h>

struct fill_field {
    const char *name, *value; /* borrowed; value NULL: it has none */
};

/* How a value is written. */
enum fill_form {
    FILL_PLAIN,    /* as it is */
    FILL_URL,      /* all but letters, digits, "-._~" and '/' by percent: RFC 3986, section 2 */
    FILL_FORM,     /* the same, '/' too: application/x-www-form-urlencoded */
    FILL_JSON,     /* inside a string of JSON: RFC 8259, section 7 */
    FILL_CONNINFO, /* in a value of libpq's: a backslash before blanks, quotes and itself */
    FILL_SQL,      /* in a literal: each quote twice */
    FILL_HEADER,   /* as it is; a value with a control character is refused */
    FILL_TEMPLATE, /* in a text with fields: each brace twice, so that it begins none */
};

enum { FILL_NAME_MAX = 40 }; /* characters of a field's name */

/* Owned by the caller: free. NULL: the text names a field that is not there or has no value, or a
 * header's value is refused. Of two of the same name the first counts. */
char *fill(const char *text, const struct fill_field *fields, size_t count, enum fill_form form);

/* Whether a text can be the name of a field; and a header's value, which is one line. */
bool fill_is_name(const char *name);
bool fill_fits_header(const char *value);

/* The text's next field, from *at on, which is moved behind it; false: there is none. */
bool fill_next_name(const char **at, char name[FILL_NAME_MAX + 1]);

#endif
