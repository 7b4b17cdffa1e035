/*
 * Formatting goes through a buffer of its own before it reaches `error`, because callers may pass
 * the error's own text as an argument (to rephrase it), and printf must not read what it writes.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool error_set(struct error *error, enum error_code code, const char *format, ...)
{
    char text[sizeof error->text];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);

    error->code = code;
    memcpy(error->text, text, sizeof text);
    return false;
}

bool error_prefix(struct error *error, const char *format, ...)
{
    char text[sizeof error->text];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);

    char joined[sizeof text + 2 + sizeof error->text];
    snprintf(joined, sizeof joined, "%s: %s", text, error->text);
    memcpy(error->text, joined, sizeof error->text - 1);
    error->text[sizeof error->text - 1] = '\0';
    return false;
}

static bool is_harmless(const char *quoted, size_t length, const char *source)
{
    char name[32];

    if (length <= 1)
        return true;
    if (length + 2 > sizeof name || strspn(quoted, "abcdefghijklmnopqrstuvwxyz_") != length)
        return false;
    snprintf(name, sizeof name, "%.*s=", (int)length, quoted);
    return strstr(source, name) != NULL;
}

/* To the last quote, because what is quoted may have some in it; a text that was cut may have lost
 * it. */
void error_hide_quoted(struct error *error, const char *source)
{
    size_t end = strlen(error->text);
    char *last = end + 1 < sizeof error->text ? strrchr(error->text, '"') : error->text + end;
    char *open = strchr(error->text, '"');

    while (open && open < last) {
        size_t length = strcspn(open + 1, "\"");
        if (!is_harmless(open + 1, length, source)) {
            error_set(error, error->code, "%.*s\"…%s", (int)(open - error->text), error->text,
                      last);
            return;
        }
        open = strchr(open + 1 + length + 1, '"');
    }
}
