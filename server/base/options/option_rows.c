/* See option_rows.h. */
#include "base/options/option_rows.h"

#include "base/options/secret.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = OPTION_VARIABLE_LENGTH + 8 };

void option_variable(const struct option_row *row, char out[OPTION_VARIABLE_LENGTH])
{
    snprintf(out, OPTION_VARIABLE_LENGTH, "SECKILL_%s", row->flag);
    for (char *c = out; *c; c++)
        *c = (char)(*c == '-' ? '_' : toupper((unsigned char)*c));
}

/* "a|b|c" → "a, b or c". */
static void say_choice(const char *words, char *out, size_t size)
{
    size_t used = 0;
    for (const char *at = words; used < size; at++) {
        size_t length = strcspn(at, "|");
        bool last = at[length] == '\0';
        used += (size_t)snprintf(out + used, size - used, "%s%.*s",
                                 at == words ? ""
                                 : last      ? " or "
                                             : ", ",
                                 (int)length, at);
        at += length;
        if (last)
            break;
    }
}

void option_takes(const struct option_row *row, char *out, size_t size)
{
    if (row->kind == OPTION_COUNT)
        snprintf(out, size, "a whole number from %" PRId64 " to %" PRId64, row->min, row->max);
    else if (row->kind == OPTION_SECONDS)
        snprintf(out, size, "whole seconds like 10s or 2m, %" PRId64 " to %" PRId64, row->min,
                 row->max);
    else if (row->kind == OPTION_CHOICE)
        say_choice(row->fallback, out, size);
    else
        snprintf(out, size, "%s", row->takes ? row->takes : row->value);
}

/* `text` NULL: there is none. A secret is not repeated. */
static bool refuse(const struct option_row *row, const char *name, const char *text,
                   struct error *error)
{
    char takes[OPTION_TAKES_SIZE];

    option_takes(row, takes, sizeof takes);
    if (!text)
        return error_set(error, ERROR_INVALID, "%s needs a value: %s", name, takes);
    if (row->kind == OPTION_SECRET)
        return error_set(error, ERROR_INVALID, "%s takes %s", name, takes);
    return error_set(error, ERROR_INVALID, "%s takes %s, not \"%.64s\"", name, takes, text);
}

/* The number that the text begins with; *end is what stands behind it. What does not fit into the
 * type is out of every range. */
static bool read_number(const char *text, int64_t *number, const char **end)
{
    const char *digits = *text == '-' ? text + 1 : text;
    size_t length = strspn(digits, "0123456789");

    *number = strtoll(text, NULL, 10);
    *end = digits + length;
    return length > 0;
}

static bool read_count(const char *text, int64_t min, int64_t max, int64_t *out)
{
    const char *end;
    int64_t number;

    if (!read_number(text, &number, &end) || *end || number < min || number > max)
        return false;
    *out = number;
    return true;
}

bool option_read_count(const struct option_range *range, const char *text, int64_t *out,
                       struct error *error)
{
    const struct option_row row = {.kind = OPTION_COUNT, .min = range->min, .max = range->max};
    return read_count(text, range->min, range->max, out) || refuse(&row, range->name, text, error);
}

static bool read_seconds(const struct option_row *row, const char *text, int64_t *out)
{
    const char *end;
    int64_t number, unit = 0;

    if (!read_number(text, &number, &end) || number < row->min || number > row->max)
        return false;
    if (*end == '\0' || strcmp(end, "s") == 0)
        unit = 1;
    else if (strcmp(end, "m") == 0)
        unit = 60;
    *out = number * unit;
    return unit > 0 && *out <= row->max;
}

bool option_read_list(const char *name, const char *text, struct option_list *out,
                      struct error *error)
{
    out->count = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (length == 0 || length >= sizeof out->items[0])
            return error_set(error, ERROR_INVALID, "%s has an empty or overlong item in \"%s\"",
                             name, text);
        if (out->count == OPTION_LIST_MAX)
            return error_set(error, ERROR_INVALID, "%s takes at most %d items", name,
                             OPTION_LIST_MAX);
        memcpy(out->items[out->count], at, length);
        out->items[out->count][length] = '\0';
        out->count++;
        at += length;
        if (*at == '\0')
            return true;
    }
}

static bool read_numbers(const struct option_row *row, const char *name, const char *text,
                         struct option_numbers *out, struct error *error)
{
    const struct option_range range = {name, row->min, row->max};
    struct option_list list;

    if (!option_read_list(name, text, &list, error))
        return false;
    for (out->count = 0; out->count < list.count; out->count++) {
        int64_t value = 0;
        if (!option_read_count(&range, list.items[out->count], &value, error))
            return false;
        out->items[out->count] = (int)value;
    }
    return true;
}

/* "a|b|c": the number of the word that the text is. */
static bool read_choice(const char *words, const char *text, int *out)
{
    for (*out = 0;; ++*out) {
        size_t length = strcspn(words, "|");
        if (strlen(text) == length && strncmp(words, text, length) == 0)
            return true;
        if (words[length] == '\0')
            return false;
        words += length + 1;
    }
}

const char *option_text(const struct option_row *row, const void *options)
{
    return *(const char *const *)((const char *)options + row->offset);
}

/* `name` is where the text comes from, as messages say it: "--listen", "SECKILL_LISTEN". */
static bool read_value(void *options, const struct option_row *row, const char *name,
                       const char *text, struct error *error)
{
    void *field = (char *)options + row->offset; /* where the table's offsets are used */

    switch (row->kind) {
    case OPTION_TEXT:
    case OPTION_SECRET:
        if (row->accepts && !row->accepts(text))
            break;
        *(const char **)field = text;
        return true;
    case OPTION_COUNT:
        if (!read_count(text, row->min, row->max, field))
            break;
        return true;
    case OPTION_SECONDS:
        if (!read_seconds(row, text, field))
            break;
        return true;
    case OPTION_LIST:
        return option_read_list(name, text, field, error);
    case OPTION_NUMBERS:
        return read_numbers(row, name, text, field, error);
    case OPTION_CHOICE:
        if (!read_choice(row->fallback, text, field))
            break;
        return true;
    case OPTION_SWITCH:
        *(bool *)field = true;
        return true;
    }
    return refuse(row, name, text, error);
}

/* What no flag has said comes from the environment, else it is the default. */
static bool fill(void *out, const struct option_row *row, char *(*environment)(const char *),
                 struct error *error)
{
    char variable[OPTION_VARIABLE_LENGTH], name[NAME_SIZE];
    const char *text = NULL;

    option_variable(row, variable);
    snprintf(name, sizeof name, "%s", variable);
    if (row->kind == OPTION_SECRET) {
        if (!secret_find(variable, environment, &text, name, sizeof name, error))
            return false;
    } else if (row->environment) {
        text = environment(variable);
    }
    if (text)
        return read_value(out, row, name, text, error);
    if (!row->fallback)
        return true;
    if (row->kind == OPTION_COUNT)
        *(int64_t *)((char *)out + row->offset) = strtoll(row->fallback, NULL, 10);
    else if (row->kind == OPTION_CHOICE)
        *(int *)((char *)out + row->offset) = 0;
    else
        return read_value(out, row, name, row->fallback, error);
    return true;
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

/* Where the flag's text stands in `given`, or shall stand. */
static size_t find_given(const struct option_given *given, const char *flag)
{
    size_t i = 0;
    while (i < given->count && strcmp(given->flags[i], flag) != 0)
        i++;
    return i;
}

static bool fill_all(const struct option_table *table, unsigned commands, void *out,
                     const struct option_given *given, char *(*environment)(const char *),
                     struct error *error)
{
    for (; table; table = table->more) {
        for (size_t i = 0; i < table->count; i++) {
            const struct option_row *row = &table->rows[i];
            size_t said = find_given(given, row->flag);
            char name[NAME_SIZE];
            if (!(row->commands & commands))
                continue;
            snprintf(name, sizeof name, "--%s", row->flag);
            if (said < given->count ? !read_value(out, row, name, given->texts[said], error)
                                    : !fill(out, row, environment, error))
                return false;
        }
    }
    return true;
}

/* "--flag=value", or "--flag" and what stands behind it: *at is its number in argv. */
static bool take_flag(const struct option_row *row, const struct option_line *line, int *at,
                      struct option_given *given, struct error *error)
{
    char name[NAME_SIZE];
    size_t said = find_given(given, row->flag);
    char *value = strchr(line->argv[*at], '=');

    snprintf(name, sizeof name, "--%s", row->flag);
    if (said == sizeof given->flags / sizeof given->flags[0])
        return error_set(error, ERROR_INVALID, "%s is one flag too many", name);
    if (row->kind == OPTION_SWITCH && value)
        return error_set(error, ERROR_INVALID, "%s takes no value", name);
    /* A forgotten value must not swallow the next flag; --name=--value says it when it is meant. */
    if (value)
        value++;
    else if (row->kind == OPTION_SWITCH)
        value = line->argv[*at];
    else if (*at + 1 < line->argc && strncmp(line->argv[*at + 1], "--", 2) != 0)
        value = line->argv[++*at];
    else
        return refuse(row, name, NULL, error);
    given->flags[said] = row->flag;
    given->texts[said] = row->kind == OPTION_SECRET ? secret_take_argument(value) : value;
    if (said == given->count)
        given->count++;
    return true;
}

/* The number of the stop that the argument is, from 1; 0: it is none. */
static int find_stop(const char *const *stops, const char *argument)
{
    for (int i = 0; stops[i]; i++) {
        if (strcmp(stops[i], argument) == 0)
            return i + 1;
    }
    return 0;
}

bool option_rows_parse(const struct option_table *table, unsigned commands,
                       const struct option_line *line, void *out, struct option_given *given,
                       struct error *error)
{
    *given = (struct option_given){.count = 0};
    for (int i = 0; i < line->argc; i++) {
        given->stop = find_stop(line->stops, line->argv[i]);
        if (given->stop)
            return true;
        /* It is not repeated: it may be what a space has cut off a secret. */
        if (strncmp(line->argv[i], "--", 2) != 0 || line->argv[i][2] == '\0')
            return error_set(error, ERROR_INVALID, "argument %d is not a flag (see %s)", i + 1,
                             line->help);
        const char *flag = line->argv[i] + 2;
        size_t length = strcspn(flag, "=");
        const struct option_row *row = find_row(table, commands, flag, length);
        if (!row)
            return error_set(error, ERROR_INVALID, "unknown flag --%.*s (see %s)",
                             length > 64 ? 64 : (int)length, flag, line->help);
        if (!take_flag(row, line, &i, given, error))
            return false;
    }
    return fill_all(table, commands, out, given, line->environment, error);
}

void option_rows_print(FILE *to, const struct option_table *table, unsigned commands)
{
    for (; table; table = table->more) {
        for (size_t i = 0; i < table->count; i++) {
            const struct option_row *row = &table->rows[i];
            const char *fallback = row->fallback && row->kind != OPTION_SWITCH ? row->fallback : "";
            char left[64], variable[OPTION_VARIABLE_LENGTH];
            if (!(row->commands & commands))
                continue;
            snprintf(left, sizeof left, "--%s %s", row->flag, row->value ? row->value : "");
            fprintf(to, "  %-28s %s", left, row->help);
            if (row->unit)
                fprintf(to, " (%s, %" PRId64 "..%" PRId64 ", default %s)", row->unit, row->min,
                        row->max, fallback);
            else if (*fallback && *fallback != '-' && strcmp(fallback, "0") != 0)
                fprintf(to, " (default %.*s)", (int)strcspn(fallback, "|"), fallback);
            option_variable(row, variable);
            if (row->environment)
                fprintf(to, " [%s]", variable);
            fputc('\n', to);
        }
    }
}
