/*
 * Loading takes three passes over the table (settings_table.c): flags say which text each row gets,
 * then the environment and the defaults fill what is left, and each text is checked and stored;
 * then the rows that bound each other are compared. The first thing that is wrong ends it.
 */
#include "settings/settings.h"

#include "base/secret.h"
#include "settings/settings_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 64, TAKES_MAX = 160 };

/* Where a row's text comes from, as errors name it: "--listen", "SECKILL_LISTEN" or
 * "SECKILL_REDIS_FILE". */
struct source {
    const char *text;
    char name[SETTINGS_VARIABLE_LENGTH + 8];
};

static bool refuse_value(const struct settings_row *row, const char *name, const char *text,
                         struct error *error)
{
    char takes[TAKES_MAX];

    settings_takes(row, takes, sizeof takes);
    if (text == NULL)
        return error_set(error, ERROR_INVALID, "%s needs a value: %s", name, takes);
    if (row->secret)
        return error_set(error, ERROR_INVALID, "%s takes %s", name, takes);
    return error_set(error, ERROR_INVALID, "%s takes %s, not \"%.64s\"", name, takes, text);
}

static bool parse_number(const char *text, int64_t *number)
{
    const char *digits = *text == '-' ? text + 1 : text;
    if (*digits == '\0' || strspn(digits, "0123456789") != strlen(digits))
        return false;
    *number = strtoll(text, NULL, 10); /* what does not fit ends up out of every row's range */
    return true;
}

static bool store_value(struct settings *out, const struct settings_row *row,
                        const struct source *source, struct error *error)
{
    char *member = (char *)out + row->offset;

    if (row->kind == SETTINGS_TEXT) {
        if (row->accepts != NULL && !row->accepts(source->text))
            return refuse_value(row, source->name, source->text, error);
        memcpy(member, &source->text, sizeof source->text);
        return true;
    }

    int64_t number;
    if (!parse_number(source->text, &number) || number < row->min || number > row->max)
        return refuse_value(row, source->name, source->text, error);
    memcpy(member, &number, sizeof number);
    return true;
}

/* The row whose flag is the first `length` characters of `name`; -1 when there is none. */
static int find_row(const char *name, size_t length)
{
    for (size_t i = 0; i < settings_row_count(); i++) {
        const char *flag = settings_row_at(i)->flag;
        if (strlen(flag) == length && memcmp(flag, name, length) == 0)
            return (int)i;
    }
    return -1;
}

static bool is_action(const char *argument, enum settings_action *action)
{
    static const struct {
        const char *argument;
        enum settings_action action;
    } actions[] = {
        {"--help", SETTINGS_HELP},
        {"--help=markdown", SETTINGS_HELP_MARKDOWN},
        {"--strategies", SETTINGS_STRATEGIES},
        {"--strategies=markdown", SETTINGS_STRATEGIES_MARKDOWN},
        {"--version", SETTINGS_VERSION},
    };

    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(argument, actions[i].argument) == 0) {
            *action = actions[i].action;
            return true;
        }
    }
    return false;
}

/* Each secret among the arguments is overwritten, one that a later flag replaces too. */
static void take_argument(struct source *source, const struct settings_row *row, char *argument)
{
    source->text = row->secret ? secret_take_argument(argument) : argument;
}

/* Takes the flag at argv[*i], and its value where that is an argument of its own. */
static bool take_flag(struct source *sources, int argc, char **argv, int *i, struct error *error)
{
    const char *argument = argv[*i];
    /* It is not repeated: it may be what a space has cut off a secret. */
    if (strncmp(argument, "--", 2) != 0 || argument[2] == '\0')
        return error_set(error, ERROR_INVALID, "argument %d is not a flag (see --help)", *i);

    const char *name = argument + 2;
    size_t length = strcspn(name, "=");
    int index = find_row(name, length);
    if (index < 0)
        return error_set(error, ERROR_INVALID, "unknown flag --%.*s (see --help)",
                         length > 64 ? 64 : (int)length, name);

    struct source *source = &sources[index];
    const struct settings_row *row = settings_row_at((size_t)index);
    snprintf(source->name, sizeof source->name, "--%s", row->flag);
    if (name[length] == '=') {
        take_argument(source, row, argv[*i] + 2 + length + 1);
        return true;
    }
    /* A forgotten value must not swallow the next flag; --name=--value says it when it is meant. */
    if (*i + 1 >= argc || strncmp(argv[*i + 1], "--", 2) == 0)
        return refuse_value(row, source->name, NULL, error);
    take_argument(source, row, argv[++*i]);
    return true;
}

/* What no flag has said comes from the environment, a secret also from the file that
 * SECKILL_…_FILE names; else it is the default. */
static bool fill_source(struct source *source, const struct settings_row *row,
                        char *(*environment)(const char *), struct error *error)
{
    char variable[SETTINGS_VARIABLE_LENGTH];

    if (source->text != NULL)
        return true;
    settings_variable(row, variable);
    snprintf(source->name, sizeof source->name, "%s", variable);
    if (!row->secret)
        source->text = environment(variable);
    else if (!secret_find(variable, environment, &source->text, source->name, sizeof source->name,
                          error))
        return false;
    if (source->text == NULL)
        source->text = row->standard;
    return true;
}

static bool check_order(const char *low, int64_t low_ms, const char *high, int64_t high_ms,
                        struct error *error)
{
    if (low_ms < high_ms)
        return true;
    return error_set(error, ERROR_INVALID, "%s (%" PRId64 ") must be less than %s (%" PRId64 ")",
                     low, low_ms, high, high_ms);
}

bool settings_load(struct settings *out, enum settings_action *action, int argc, char **argv,
                   char *(*environment)(const char *), struct error *error)
{
    struct source sources[ROWS_MAX] = {{.text = NULL}};

    if (settings_row_count() > ROWS_MAX)
        return error_set(error, ERROR_INTERNAL, "more settings than ROWS_MAX");
    *action = SETTINGS_RUN;
    for (int i = 1; i < argc; i++) {
        if (is_action(argv[i], action))
            return true;
        if (!take_flag(sources, argc, argv, &i, error))
            return false;
    }
    for (size_t i = 0; i < settings_row_count(); i++) {
        if (!fill_source(&sources[i], settings_row_at(i), environment, error))
            return false;
        if (!store_value(out, settings_row_at(i), &sources[i], error))
            return false;
    }
    return check_order("--work-timeout-ms", out->work_timeout_ms, "--lock-ttl-ms", out->lock_ttl_ms,
                       error) &&
           check_order("--work-ms", out->work_ms, "--work-timeout-ms", out->work_timeout_ms, error);
}
