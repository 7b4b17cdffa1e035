/* See audit.h. */
#include "loadtest/shop/audit/audit.h"

#include "base/clock.h"
#include "loadtest/base/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { QUIET_EVERY_MS = 100 };

/* A value stands alone, or is the first of the first row. Borrowed; NULL: there is none. */
static const json_t *value_of(const json_t *answer)
{
    while (json_is_array(answer))
        answer = json_array_get(answer, 0);
    return answer;
}

static bool number_of(const json_t *value, int64_t *out)
{
    char *end = NULL;
    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return true;
    }
    const char *text = json_string_value(value);
    if (!text || !*text)
        return false;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return *end == '\0' && errno == 0;
}

bool audit_reset(const struct shop_asker *asker, struct error *error)
{
    const struct shop_query *reset = &asker->target->reset;
    return !shop_query_is_given(reset) || query_do(asker, "reset", reset, error);
}

/* PostgreSQL's true is "t". */
static bool is_yes(const json_t *value)
{
    int64_t number = 0;
    const char *text = json_string_value(value);
    return json_is_true(value) || (text && (strcmp(text, "t") == 0 || strcmp(text, "true") == 0)) ||
           (number_of(value, &number) && number > 0);
}

bool audit_wait_quiet(const struct shop_asker *asker, struct error *error)
{
    const struct target *target = asker->target;
    int64_t deadline_us = clock_mono_us() + target->quiet.within_us;
    if (!shop_query_is_given(&target->quiet))
        return true;
    for (;;) {
        json_t *answer = query_ask(asker, "quiet", &target->quiet, error);
        if (!answer)
            return false;
        bool quiet = is_yes(value_of(answer));
        json_decref(answer);
        if (quiet)
            return true;
        if (clock_mono_us() > deadline_us)
            return error_fail(error, "quiet: something was still under way after %" PRId64 " ms",
                              target->quiet.within_us / 1000);
        if (!process_sleep_ms(QUIET_EVERY_MS))
            return error_fail(error, "interrupted");
    }
}

static bool read_left(const struct shop_asker *asker, struct shop_books *out, struct error *error)
{
    json_t *answer = query_ask(asker, "stock_left", &asker->target->stock_left, error);
    if (!answer)
        return false;
    out->has_left = number_of(value_of(answer), &out->left) && out->left >= -SHOP_LEFT_MAX &&
                    out->left <= SHOP_LEFT_MAX;
    json_decref(answer);
    return out->has_left ||
           error_fail(error, "stock_left: it must be one whole number from %" PRId64 " to %" PRId64,
                      -SHOP_LEFT_MAX, SHOP_LEFT_MAX);
}

/* Owned; NULL: none. */
static char *name_of(const json_t *value)
{
    if (!value || json_is_null(value))
        return NULL;
    return json_is_string(value) ? strdup(json_string_value(value))
                                 : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
}

static bool add_row(struct shop_books *out, const json_t *values, size_t number,
                    struct error *error)
{
    const json_t *units = json_array_get(values, 2);
    struct shop_row *row = json_is_array(values) ? shop_books_add(out) : NULL;
    if (!row)
        return error_fail(error, "orders: row %zu is no array of id, user and units", number);
    row->id = name_of(json_array_get(values, 0));
    row->user = name_of(json_array_get(values, 1));
    row->units = 1;
    if (units && !json_is_null(units) &&
        (!number_of(units, &row->units) || row->units < 0 || row->units > SHOP_UNITS_MAX))
        return error_fail(error,
                          "orders: the units of row %zu are no whole number from 0 to %" PRId64,
                          number, SHOP_UNITS_MAX);
    return true;
}

static bool read_rows(const struct shop_asker *asker, struct shop_books *out, struct error *error)
{
    json_t *answer = query_ask(asker, "orders", &asker->target->orders, error);
    if (!answer)
        return false;
    bool good = json_is_array(answer) ||
                error_fail(error, "orders: it must be an array of rows: [[id, user, units], …]");
    for (size_t i = 0; good && i < json_array_size(answer); i++)
        good = add_row(out, json_array_get(answer, i), i + 1, error);
    out->has_rows = good;
    json_decref(answer);
    return good;
}

bool audit_read(const struct shop_asker *asker, struct shop_books *out, struct error *error)
{
    const struct target *target = asker->target;
    *out = (struct shop_books){0};
    return (!shop_query_is_given(&target->stock_left) || read_left(asker, out, error)) &&
           (!shop_query_is_given(&target->orders) || read_rows(asker, out, error));
}

bool audit_is_fresh(const struct target *target, const struct shop_books *books,
                    struct error *error)
{
    if (books->count > 0)
        return error_fail(error,
                          "the sale does not begin: there are %zu orders already (reset does not "
                          "take them away, or orders asks for others too)",
                          books->count);
    if (books->has_left && books->left != target->stock)
        return error_fail(error,
                          "the sale does not begin: %" PRId64 " are left, and stock says %" PRId64,
                          books->left, target->stock);
    return true;
}
