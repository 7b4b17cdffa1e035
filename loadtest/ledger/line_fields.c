/* See line_fields.h. */
#include "loadtest/ledger/line_fields.h"

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
