/* See line_fields.h. */
#include "loadtest/ledger/line_fields.h"

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

json_t *line_load(const char *text, size_t length, size_t number)
{
    json_error_t fault;
    size_t mark = number == 1 && length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    return json_loadb(text + mark, length - mark, JSON_REJECT_DUPLICATES, &fault);
}

bool line_is_blank(const char *text, size_t length)
{
    return strspn(text, " \t\r\n") >= length;
}
