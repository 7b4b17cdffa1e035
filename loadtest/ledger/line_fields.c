/* See reading.h. */
#include "loadtest/ledger/reading.h"

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
