/* See headers.h. */
#include "loadtest/base/headers.h"

#include <string.h>
#include <strings.h>

enum { NAME_MAX_BYTES = 64 };

/* What a name may have in it. */
static const char token[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                            "!#$%&'*+-.^_`|~";

static bool is_in_value(char c)
{
    return (c >= ' ' && c <= '~') || c == '\t';
}

/* Why a field cannot be the user's; NULL: it can. */
static const char *why_not(const char *name, size_t length)
{
    static const char *const own[][2] = {
        {"Host", "the harness sets it"},
        {"Content-Type", "the harness sets it"},
        {"Content-Length", "the harness sets it"},
        {"Idempotency-Key", "each order would have the same key"},
        {"Accept-Encoding", "answers are read as they come"},
        {"Connection", "connections are kept"},
        {"Expect", "orders are sent whole"},
        {"Transfer-Encoding", "orders are sent with their length"},
        {"Upgrade", "orders are HTTP/1.1"},
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (strlen(own[i][0]) == length && strncasecmp(own[i][0], name, length) == 0)
            return own[i][1];
    }
    return NULL;
}

static bool has(const char *lines, const char *name, size_t length)
{
    for (const char *line = lines; *line; line = strchr(line, '\n') + 1) {
        if (strncasecmp(line, name, length) == 0 && line[length] == ':')
            return true;
    }
    return false;
}

/* False, with the reason, when the text is no field, or one that is not the user's. */
static bool check(const char *text, size_t name, const char *value, const char *before,
                  struct error *error)
{
    size_t good = 0;
    if (name == 0 || name > NAME_MAX_BYTES || text[name] != ':')
        return error_fail(error,
                          "--header takes 'Name: value', with a name of at most %d letters, digits "
                          "and hyphens",
                          NAME_MAX_BYTES);
    const char *refused = why_not(text, name);
    if (refused)
        return error_fail(error, "--header: %.*s cannot be set: %s", (int)name, text, refused);
    while (is_in_value(value[good]))
        good++;
    if (!*value || value[good])
        return error_fail(error, "--header: the value of %.*s is %s", (int)name, text,
                          *value ? "not of visible ASCII characters and blanks alone" : "missing");
    return !has(before, text, name) ||
           error_fail(error, "--header: %.*s is given twice", (int)name, text);
}

/* Adds a line at out[*used]. */
static bool add(const char *text, char out[HEADERS_SIZE], size_t *used, struct error *error)
{
    size_t name = strspn(text, token);
    const char *value = text + name + (text[name] == ':');
    value += strspn(value, " \t");
    if (!check(text, name, value, out, error))
        return false;
    size_t length = strlen(value);
    while (length > 0 && strchr(" \t", value[length - 1]))
        length--;
    int written = snprintf(out + *used, HEADERS_SIZE - *used, "%.*s: %.*s\r\n", (int)name, text,
                           (int)length, value);
    *used += (size_t)written;
    return *used < HEADERS_SIZE ||
           error_fail(error, "--header: all of them together are more than %d bytes",
                      HEADERS_SIZE - 1);
}

bool headers_read(const struct option_texts *texts, char out[HEADERS_SIZE], struct error *error)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < texts->count; i++) {
        if (!add(texts->items[i], out, &used, error))
            return false;
    }
    return true;
}

bool headers_have(const char *lines, const char *name)
{
    return has(lines, name, strlen(name));
}

void headers_names(const char *lines, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (const char *line = lines; *line && used < size; line = strchr(line, '\n') + 1)
        used += (size_t)snprintf(out + used, size - used, "%s%.*s", line == lines ? "" : ", ",
                                 (int)strcspn(line, ":"), line);
}
