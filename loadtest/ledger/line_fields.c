/* See line_fields.h. */
#include "loadtest/ledger/line_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool line_take_number(const json_t *line, const char *name, int64_t otherwise, int64_t *out,
                      struct error *error)
{
    const json_t *value = json_object_get(line, name);
    *out = value ? json_integer_value(value) : otherwise;
    return !value || json_is_integer(value) || error_fail(error, "\"%s\" is no integer", name);
}

bool line_take_count(const json_t *line, const char *name, int64_t most, int64_t *out,
                     struct error *error)
{
    return line_take_number(line, name, 0, out, error) &&
           ((*out >= 0 && *out <= most) ||
            error_fail(error, "\"%s\" is not from 0 to %lld", name, (long long)most));
}

bool line_need_number(const json_t *line, const char *name, int64_t least, int64_t *out,
                      struct error *error)
{
    return line_take_number(line, name, INT64_MIN, out, error) &&
           (*out >= least || error_fail(error, "\"%s\" is missing or too small", name));
}

bool line_take_text(const json_t *line, const char *name, char *out, size_t size,
                    struct error *error)
{
    const json_t *value = json_object_get(line, name);
    const char *text = value ? json_string_value(value) : "";
    if (!text || strlen(text) >= size)
        return error_fail(error, "\"%s\" is no text of at most %zu bytes", name, size - 1);
    memcpy(out, text, strlen(text) + 1);
    return true;
}

bool line_copy_text(const json_t *line, const char *name, size_t most, char **out,
                    struct error *error)
{
    const json_t *value = json_object_get(line, name);
    const char *text = value ? json_string_value(value) : "";
    if (!text)
        return error_fail(error, "\"%s\" is no text", name);
    if (strlen(text) > most)
        return error_fail(error, "\"%s\" is no text of at most %zu bytes", name, most);
    *out = *text ? strdup(text) : NULL;
    return !*text || *out || error_fail(error, "out of memory");
}

static json_t *load(const char *text, size_t length, size_t number)
{
    json_error_t fault;
    size_t mark = number == 1 && length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    return json_loadb(text + mark, length - mark, JSON_REJECT_DUPLICATES, &fault);
}

/* What a getline gave. */
static bool take(struct lines *lines, const char *text, size_t length, size_t number,
                 struct error *error)
{
    if (length > lines->most)
        return error_fail(error, "longer than %zu bytes", lines->most);
    if (number > 1 && strspn(text, " \t\r\n") >= length)
        return true;
    json_t *line = load(text, length, number);
    bool good = json_is_object(line);
    if (good)
        good = (number == 1 ? lines->head : lines->line)(lines->context, line, error);
    else if (number > 1 && text[length - 1] != '\n')
        lines->cut = good = true;
    else
        error_fail(error, "no JSON object");
    json_decref(line);
    return good;
}

bool lines_read(struct lines *lines, FILE *from, struct error *error)
{
    char *text = NULL;
    size_t size = 0, number = 0;
    ssize_t length;
    bool good = true;
    while (good && (length = getline(&text, &size, from)) > 0) {
        good = take(lines, text, (size_t)length, ++number, error);
        if (!good)
            error_prefix(error, "line %zu", number);
    }
    free(text);
    if (good && !feof(from))
        return error_fail(error, "%s", strerror(errno));
    if (good && number == 0)
        return error_fail(error, "it is empty");
    return good;
}

FILE *lines_open(const char *path, struct error *error)
{
    FILE *from = fopen(path, "re");
    if (!from)
        error_fail(error, "%s: %s", path, strerror(errno));
    return from;
}
