/* See option_rows.h. */
#include "base/options/option_rows.h"

#include "base/options/nearest.h"
#include "base/options/secret.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = OPTION_VARIABLE_LENGTH + 8, HELP_LEFT = 28 };

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

/* What one of a number's is, in microseconds; 0: it is no duration. */
static int64_t unit_us(enum option_kind kind)
{
    switch (kind) {
    case OPTION_US:
        return 1;
    case OPTION_MS:
        return 1000;
    case OPTION_SECONDS:
        return 1000000;
    default:
        return 0;
    }
}

static const char *duration_words(enum option_kind kind)
{
    switch (kind) {
    case OPTION_US:
        return " (microseconds) or a duration like 200us or 2ms";
    case OPTION_MS:
        return " (milliseconds) or a duration like 500ms or 2s";
    case OPTION_SECONDS:
        return " (seconds) or a duration of whole seconds like 10s or 2m";
    default:
        return "";
    }
}

static bool is_number(enum option_kind kind)
{
    return kind == OPTION_COUNT || unit_us(kind) > 0;
}

bool option_is_number(const struct option_row *row)
{
    return is_number(row->kind);
}

void option_takes(const struct option_row *row, char *out, size_t size)
{
    if (is_number(row->kind))
        snprintf(out, size, "a whole number from %" PRId64 " to %" PRId64 "%s", row->min, row->max,
                 duration_words(row->kind));
    else if (row->kind == OPTION_CHOICE)
        say_choice(row->fallback, out, size);
    else
        snprintf(out, size, "%s", row->takes ? row->takes : row->value);
}

static bool is_secret(const struct option_row *row)
{
    return row->kind == OPTION_SECRET || row->kind == OPTION_SECRETS;
}

/* `text` NULL: there is none. A secret is not repeated. */
static bool refuse(const struct option_row *row, const char *name, const char *text,
                   struct error *error)
{
    char takes[OPTION_TAKES_SIZE];

    option_takes(row, takes, sizeof takes);
    if (!text)
        return error_set(error, ERROR_INVALID, "%s needs a value: %s", name, takes);
    if (is_secret(row))
        return error_set(error, ERROR_INVALID, "%s takes %s", name, takes);
    return error_set(error, ERROR_INVALID, "%s takes %s, not \"%.64s\"", name, takes, text);
}

/* The number that the text begins with; *end is what stands behind it. None is what does not fit
 * into the type. */
static bool read_digits(const char *text, int64_t *number, const char **end)
{
    const char *digits = *text == '-' ? text + 1 : text;
    size_t length = strspn(digits, "0123456789");

    errno = 0;
    *number = strtoll(text, NULL, 10);
    *end = digits + length;
    return length > 0 && errno == 0;
}

/* "500ms" as a number of the kind's own unit. */
static bool read_number(enum option_kind kind, const char *text, int64_t *out)
{
    static const struct {
        const char *name;
        int64_t us;
    } units[] = {{"us", 1}, {"ms", 1000}, {"s", 1000000}, {"m", 60000000}};
    const char *end;
    int64_t number, us = 0;

    if (!read_digits(text, &number, &end))
        return false;
    *out = number;
    if (*end == '\0')
        return true;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].name) == 0)
            us = units[i].us;
    }
    if (us == 0 || unit_us(kind) == 0 || number < 0 || number > INT64_MAX / us ||
        number * us % unit_us(kind) != 0)
        return false;
    *out = number * us / unit_us(kind);
    return true;
}

bool option_read_number(const struct option_range *range, const char *text, int64_t *out,
                        struct error *error)
{
    const struct option_row row = {.kind = range->kind, .min = range->min, .max = range->max};
    int64_t number = 0;

    if (!read_number(row.kind, text, &number) || number < row.min || number > row.max)
        return refuse(&row, range->name, text, error);
    *out = number;
    return true;
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
    const struct option_range range = {name, row->min, row->max, OPTION_COUNT};
    struct option_list list;

    if (!option_read_list(name, text, &list, error))
        return false;
    for (out->count = 0; out->count < list.count; out->count++) {
        int64_t value = 0;
        if (!option_read_number(&range, list.items[out->count], &value, error))
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

static bool add_text(const char *name, const char *text, struct option_texts *out,
                     struct error *error)
{
    if (out->count == OPTION_TEXTS_MAX)
        return error_set(error, ERROR_INVALID, "%s may be given %d times at most", name,
                         OPTION_TEXTS_MAX);
    out->items[out->count++] = text;
    return true;
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
    case OPTION_SECRETS:
        return add_text(name, text, field, error);
    case OPTION_COUNT:
    case OPTION_US:
    case OPTION_MS:
    case OPTION_SECONDS:
        return option_read_number(&(struct option_range){name, row->min, row->max, row->kind}, text,
                                  field, error);
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
    if (is_secret(row) && row->environment) {
        if (!secret_find(variable, environment, &text, name, sizeof name, error))
            return false;
    } else if (row->environment) {
        text = environment(variable);
    }
    if (text)
        return read_value(out, row, name, text, error);
    if (!row->fallback)
        return true;
    if (option_is_number(row)) /* it may lie outside its range */
        return read_number(row->kind, row->fallback, (int64_t *)((char *)out + row->offset));
    if (row->kind == OPTION_CHOICE)
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

/* Where a text of the flag stands in `given` from number `i` on; none: at its end. */
static size_t find_given(const struct option_given *given, size_t i, const char *flag)
{
    while (i < given->count && strcmp(given->flags[i], flag) != 0)
        i++;
    return i;
}

/* What the flag has said, each of its texts; *any: there is one. */
static bool fill_given(void *out, const struct option_row *row, const struct option_given *given,
                       bool *any, struct error *error)
{
    char name[NAME_SIZE];

    snprintf(name, sizeof name, "--%s", row->flag);
    *any = false;
    for (size_t i = 0; (i = find_given(given, i, row->flag)) < given->count; i++) {
        *any = true;
        if (!read_value(out, row, name, given->texts[i], error))
            return false;
    }
    return true;
}

static bool fill_all(const struct option_table *table, unsigned commands, void *out,
                     const struct option_given *given, char *(*environment)(const char *),
                     struct error *error)
{
    for (; table; table = table->more) {
        for (size_t i = 0; i < table->count; i++) {
            const struct option_row *row = &table->rows[i];
            bool said = false;
            if (!(row->commands & commands))
                continue;
            if (!fill_given(out, row, given, &said, error) ||
                (!said && !fill(out, row, environment, error)))
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
    bool adds = row->kind == OPTION_SECRETS;
    size_t said = adds ? given->count : find_given(given, 0, row->flag);
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
    given->texts[said] = is_secret(row) ? secret_take_argument(value) : value;
    if (said == given->count)
        given->count++;
    return true;
}

void option_rows_said(const struct option_table *table, unsigned commands,
                      const struct option_given *given, char *out, size_t size)
{
    size_t used = 0;

    *out = '\0';
    for (size_t i = 0; i < given->count && used < size; i++) {
        const char *flag = given->flags[i], *text = given->texts[i];
        const struct option_row *row = find_row(table, commands, flag, strlen(flag));
        bool is_switch = row->kind == OPTION_SWITCH;
        bool plain = text[strcspn(text, " <>|&;*?$'\"()")] == '\0';
        if (is_secret(row) || row->environment || (!is_switch && strchr(text, '/')))
            continue;
        used += (size_t)snprintf(out + used, size - used,
                                 is_switch ? " --%s"
                                 : plain   ? " --%s %s"
                                           : " --%s '%s'",
                                 flag, text);
    }
}

const struct option_stop *option_find_stop(const struct option_stop *stops, const char *argument,
                                           size_t length)
{
    for (; stops && stops->argument; stops++) {
        if (strlen(stops->argument) == length && strncmp(stops->argument, argument, length) == 0)
            return stops;
    }
    return NULL;
}

static bool refuse_flag(const struct option_table *table, unsigned commands,
                        const struct option_line *line, const char *argument, struct error *error)
{
    const char *flag = argument + 2;
    size_t length = strcspn(flag, "=");
    /* What other servers call it. */
    bool port = length == 4 && strncmp(flag, "port", 4) == 0;
    struct nearest nearest = port ? nearest_to("listen", 6) : nearest_to(flag, length);
    char meant[NEAREST_TEXT_SIZE];

    if (option_find_stop(table->stops, argument, length + 2))
        return error_set(error, ERROR_INVALID, "--%.*s does not take that value (see %s)",
                         (int)length, flag, line->help);
    for (const struct option_stop *stop = table->stops; stop && stop->argument; stop++) {
        if (stop->help)
            nearest_offer(&nearest, stop->argument + 2);
    }
    for (; table; table = table->more) {
        for (size_t i = 0; i < table->count; i++) {
            if (table->rows[i].commands & commands)
                nearest_offer(&nearest, table->rows[i].flag);
        }
    }
    return error_set(error, ERROR_INVALID, "unknown flag --%.*s (see %s)%s",
                     length > 64 ? 64 : (int)length, flag, line->help,
                     nearest_text(&nearest, "--", meant));
}

bool option_rows_parse(const struct option_table *table, unsigned commands,
                       const struct option_line *line, void *out, struct option_given *given,
                       struct error *error)
{
    *given = (struct option_given){.count = 0};
    for (int i = 0; i < line->argc; i++) {
        const char *argument = line->argv[i];
        const struct option_stop *stop = option_find_stop(table->stops, argument, strlen(argument));
        if (stop) {
            given->stop = stop->number;
            return true;
        }
        /* It is not repeated: it may be what a space has cut off a secret. */
        if (strncmp(argument, "--", 2) != 0 || argument[2] == '\0')
            return error_set(error, ERROR_INVALID, "argument %d is not a flag (see %s)", i + 1,
                             line->help);
        const struct option_row *row =
            find_row(table, commands, argument + 2, strcspn(argument + 2, "="));
        if (!row)
            return refuse_flag(table, commands, line, argument, error);
        if (!take_flag(row, line, &i, given, error))
            return false;
    }
    return fill_all(table, commands, out, given, line->environment, error);
}

/* Of UTF-8, whose characters are one column wide here. */
static int columns_of(const char *text, size_t length)
{
    int columns = 0;

    for (size_t i = 0; i < length; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

void option_print_item(FILE *to, int width, const char *left, const char *text)
{
    const int indent = width + 3;
    int column = fprintf(to, "  %-*s", width, left);

    if (column >= indent) {
        fputc('\n', to);
        column = 0;
    }
    while (*text) {
        size_t length = strcspn(text, " ");
        int wide = columns_of(text, length);
        if (column > indent && column + 1 + wide > OPTION_HELP_WIDTH) {
            fputc('\n', to);
            column = 0;
        }
        column += fprintf(to, "%*s", column < indent ? indent - column : 1, "") + wide;
        fwrite(text, 1, length, to);
        text += length + strspn(text + length, " ");
    }
    fputc('\n', to);
}

static void print_row(FILE *to, const struct option_row *row)
{
    const char *fallback = row->fallback && row->kind != OPTION_SWITCH ? row->fallback : "";
    char left[64], range[120] = "", variable[OPTION_VARIABLE_LENGTH], text[600];

    snprintf(left, sizeof left, "--%s %s", row->flag, row->value ? row->value : "");
    if (row->unit)
        snprintf(range, sizeof range, " (%s, %" PRId64 "..%" PRId64 ", default %s)", row->unit,
                 row->min, row->max, fallback);
    else if (*fallback && *fallback != '-' && strcmp(fallback, "0") != 0)
        snprintf(range, sizeof range, " (default %.*s)", (int)strcspn(fallback, "|"), fallback);
    option_variable(row, variable);
    snprintf(text, sizeof text, "%s%s%s%s%s", row->help, range, row->environment ? " [" : "",
             row->environment ? variable : "", row->environment ? "]" : "");
    option_print_item(to, HELP_LEFT, left, text);
}

void option_rows_print(FILE *to, const struct option_table *table, unsigned commands)
{
    const struct option_stop *stops = table->stops;
    bool durations = false;

    for (; table; table = table->more) {
        for (size_t i = 0; i < table->count; i++) {
            if (!(table->rows[i].commands & commands))
                continue;
            print_row(to, &table->rows[i]);
            durations = durations || unit_us(table->rows[i].kind) > 0;
        }
    }
    for (; stops && stops->argument; stops++) {
        if (stops->help)
            option_print_item(to, HELP_LEFT, stops->argument, stops->help);
    }
    if (durations)
        fputs("\nA duration may be written with its unit: 500ms, 2s, 1m.\n", to);
}
