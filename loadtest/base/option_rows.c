/* See option_rows.h. */
#include "loadtest/base/option_rows.h"

#include "base/secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool option_read_count(const struct option_range *range, const char *text, int64_t *out,
                       struct error *error)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < range->min || value > range->max)
        return error_fail(error, "--%s takes a number from %lld to %lld, not '%s'", range->flag,
                          (long long)range->min, (long long)range->max, text);
    *out = value;
    return true;
}

static bool read_seconds(const struct option_range *range, const char *text, int64_t *out,
                         struct error *error)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    bool number = !errno && end != text && value >= range->min && value <= range->max;
    long long unit = 0;
    if (*end == '\0' || strcmp(end, "s") == 0)
        unit = 1;
    else if (strcmp(end, "m") == 0)
        unit = 60;
    if (!number || unit == 0 || value * unit > range->max)
        return error_fail(error, "--%s takes whole seconds like 10s or 2m, not '%s'", range->flag,
                          text);
    *out = value * unit;
    return true;
}

bool option_read_list(const char *flag, const char *text, struct option_list *out,
                      struct error *error)
{
    out->count = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (length == 0 || length >= sizeof out->items[0])
            return error_fail(error, "--%s has an empty or overlong item in '%s'", flag, text);
        if (out->count == OPTION_LIST_MAX)
            return error_fail(error, "--%s takes at most %d items", flag, OPTION_LIST_MAX);
        memcpy(out->items[out->count], at, length);
        out->items[out->count][length] = '\0';
        out->count++;
        at += length;
        if (*at == '\0')
            return true;
    }
}

static bool read_numbers(const struct option_range *range, const char *text,
                         struct option_numbers *out, struct error *error)
{
    struct option_list list;
    if (!option_read_list(range->flag, text, &list, error))
        return false;
    for (out->count = 0; out->count < list.count; out->count++) {
        int64_t value = 0;
        if (!option_read_count(range, list.items[out->count], &value, error))
            return false;
        out->items[out->count] = (int)value;
    }
    return true;
}

/* "a|b|c": the number of the word that the text is. */
static bool read_choice(const struct option_row *row, const char *text, int *out,
                        struct error *error)
{
    char words[200] = "";
    const char *at = row->fallback;
    for (*out = 0;; ++*out) {
        size_t length = strcspn(at, "|"), used = strlen(words);
        if (strlen(text) == length && strncmp(at, text, length) == 0)
            return true;
        bool last = at[length] == '\0';
        snprintf(words + used, sizeof words - used, "%s%.*s",
                 *out == 0 ? ""
                 : last    ? " or "
                           : ", ",
                 (int)length, at);
        if (last)
            break;
        at += length + 1;
    }
    return error_fail(error, "--%s takes %s, not '%s'", row->flag, words, text);
}

/* A pointer into the options for a row: the one place where the table's offsets are used. */
static void *field(void *options, const struct option_row *row)
{
    return (char *)options + row->offset;
}

const char *option_text(const struct option_row *row, const void *options)
{
    return *(const char *const *)((const char *)options + row->offset);
}

static bool read_value(void *options, const struct option_row *row, const char *text,
                       struct error *error)
{
    const struct option_range range = {.flag = row->flag, .min = row->min, .max = row->max};
    switch (row->kind) {
    case OPTION_TEXT:
    case OPTION_SECRET:
        *(const char **)field(options, row) = text;
        return true;
    case OPTION_COUNT:
        return option_read_count(&range, text, field(options, row), error);
    case OPTION_SECONDS:
        return read_seconds(&range, text, field(options, row), error);
    case OPTION_LIST:
        return option_read_list(row->flag, text, field(options, row), error);
    case OPTION_NUMBERS:
        return read_numbers(&range, text, field(options, row), error);
    case OPTION_CHOICE:
        return read_choice(row, text, field(options, row), error);
    case OPTION_SWITCH:
        *(bool *)field(options, row) = true;
        return true;
    }
    return error_fail(error, "--%s: a kind without a reader", row->flag);
}

/* Defaults may lie outside the range: they stand for "not given". */
static bool set_fallback(void *options, const struct option_row *row,
                         char *(*environment)(const char *), struct error *error)
{
    const char *value = row->environment ? environment(row->environment) : NULL;
    char name[64];
    if (row->kind == OPTION_SECRET &&
        !secret_find(row->environment, environment, &value, name, sizeof name, error))
        return false;
    if (value)
        return read_value(options, row, value, error);
    if (!row->fallback)
        return true;
    if (row->kind == OPTION_COUNT) {
        *(int64_t *)field(options, row) = strtoll(row->fallback, NULL, 10);
        return true;
    }
    if (row->kind == OPTION_CHOICE) {
        *(int *)field(options, row) = 0;
        return true;
    }
    return read_value(options, row, row->fallback, error);
}

static const struct option_row *find_row(const struct option_table *table, unsigned commands,
                                         const char *flag, size_t length)
{
    for (; table; table = table->more) {
        for (size_t i = 0; i < table->count; i++) {
            const struct option_row *row = &table->rows[i];
            if ((row->commands & commands) && strlen(row->flag) == length &&
                strncmp(row->flag, flag, length) == 0)
                return row;
        }
    }
    return NULL;
}

static bool is_given(const struct option_given *given, const char *flag)
{
    for (size_t i = 0; i < given->count; i++) {
        if (strcmp(given->flags[i], flag) == 0)
            return true;
    }
    return false;
}

/* Of what the line has not said. */
static bool set_fallbacks(const struct option_table *table, unsigned commands, void *out,
                          const struct option_given *given, char *(*environment)(const char *),
                          struct error *error)
{
    for (; table; table = table->more) {
        for (size_t i = 0; i < table->count; i++) {
            const struct option_row *row = &table->rows[i];
            if ((row->commands & commands) && !is_given(given, row->flag) &&
                !set_fallback(out, row, environment, error))
                return false;
        }
    }
    return true;
}

/* What a flag's value is, once no one else can see it. */
static bool read_argument(const struct option_row *row, char *argument, void *out,
                          struct error *error)
{
    const char *text = row->kind == OPTION_SECRET ? secret_take_argument(argument) : argument;
    return read_value(out, row, text, error);
}

/* "--flag=value", or "--flag" and what stands behind it: *at is its number in argv. */
static bool read_flag(const struct option_row *row, const struct option_line *line, void *out,
                      int *at, struct error *error)
{
    char *equals = strchr(line->argv[*at], '=');
    if (row->kind == OPTION_SWITCH)
        return equals ? error_fail(error, "--%s takes no value", row->flag)
                      : read_value(out, row, "", error);
    if (equals)
        return read_argument(row, equals + 1, out, error);
    if (++*at == line->argc)
        return error_fail(error, "--%s needs a value", row->flag);
    return read_argument(row, line->argv[*at], out, error);
}

bool option_rows_parse(const struct option_table *table, unsigned commands,
                       const struct option_line *line, void *out, struct option_given *given,
                       bool *help, struct error *error)
{
    *help = false;
    given->count = 0;
    for (int i = 0; i < line->argc; i++) {
        if (strcmp(line->argv[i], "--help") == 0) {
            *help = true;
            return true;
        }
        if (strncmp(line->argv[i], "--", 2) != 0)
            return error_fail(error, "argument %d of %s is no flag", i + 1, line->command);
        const char *flag = line->argv[i] + 2;
        size_t length = strcspn(flag, "=");
        const struct option_row *row = find_row(table, commands, flag, length);
        if (!row)
            return error_fail(error, "--%.*s is unknown to %s", (int)length, flag, line->command);
        if (!read_flag(row, line, out, &i, error))
            return false;
        if (!is_given(given, row->flag) &&
            given->count < sizeof given->flags / sizeof given->flags[0])
            given->flags[given->count++] = row->flag;
    }
    return set_fallbacks(table, commands, out, given, line->environment, error);
}

void option_rows_print(FILE *to, const struct option_table *table, unsigned commands)
{
    for (; table; table = table->more) {
        for (size_t i = 0; i < table->count; i++) {
            const struct option_row *row = &table->rows[i];
            if (!(row->commands & commands))
                continue;
            char left[64];
            snprintf(left, sizeof left, "--%s %s", row->flag, row->value ? row->value : "");
            fprintf(to, "  %-26s %s", left, row->help);
            if (row->fallback && *row->fallback && *row->fallback != '-' &&
                row->kind != OPTION_SWITCH && strcmp(row->fallback, "0") != 0)
                fprintf(to, " (%.*s)", (int)strcspn(row->fallback, "|"), row->fallback);
            if (row->environment)
                fprintf(to, " [%s]", row->environment);
            fputc('\n', to);
        }
    }
}
