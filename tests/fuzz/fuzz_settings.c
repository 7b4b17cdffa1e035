/*
 * Settings: an argument a line; a line SECKILL_NAME=VALUE is a variable of the environment.
 *
 * A loaded setting is within its bounds and in the form that its row asks for; a refusal says why,
 * and never repeats a secret: "pa55w0rd" where it stands in no argument or variable but secret
 * ones.
 */
#include "fuzz/fuzz.h"

#include "settings/settings.h"

#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS_MAX = 24, VARIABLES_MAX = 8 };

#define SECRET "pa55w0rd"

static char *variables[VARIABLES_MAX + 1];

/* None that names a file: which files there are is not the target's. */
static char *look_up(const char *name)
{
    size_t length = strlen(name);

    for (int i = 0; variables[i]; i++)
        if (strncmp(variables[i], name, length) == 0 && variables[i][length] == '=' &&
            strcmp(name + length - strlen("_FILE"), "_FILE") != 0)
            return variables[i] + length + 1;
    return NULL;
}

/* argv of the lines; the variables go to their own list. */
static int split(char *text, char *argv[ARGUMENTS_MAX + 1])
{
    static char program[] = "seckill-server";
    int variables_count = 0;
    int argc = 0;

    argv[argc++] = program;
    for (char *line; (line = strsep(&text, "\n"));) {
        bool variable = strncmp(line, "SECKILL_", 8) == 0;
        if (variable && variables_count < VARIABLES_MAX)
            variables[variables_count++] = line;
        else if (!variable && argc < ARGUMENTS_MAX)
            argv[argc++] = line;
    }
    argv[argc] = NULL;
    variables[variables_count] = NULL;
    return argc;
}

static bool is_secret_variable(const char *line)
{
    char name[OPTION_VARIABLE_LENGTH];

    for (size_t i = 0; i < settings_table.count; i++) {
        option_variable(&settings_table.rows[i], name);
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == '=')
            return settings_table.rows[i].kind == OPTION_SECRET;
    }
    return false;
}

/* A secret argument that was taken is overwritten where it stood, so one that shows was none, or
 * was not come to. */
static bool is_no_secret(char *const *argv)
{
    for (int i = 0; argv[i]; i++)
        if (strstr(argv[i], SECRET))
            return true;
    for (int i = 0; variables[i]; i++)
        if (strstr(variables[i], SECRET) && !is_secret_variable(variables[i]))
            return true;
    return false;
}

static void check_row(const struct option_row *row, const struct settings *settings)
{
    const char *field = (const char *)settings + row->offset;
    int64_t number;

    if (option_is_number(row)) {
        memcpy(&number, field, sizeof number);
        FUZZ_HOLDS(number >= row->min && number <= row->max);
    } else if (row->kind == OPTION_TEXT || row->kind == OPTION_SECRET) {
        const char *text = option_text(row, settings);
        FUZZ_HOLDS(text && (!row->accepts || row->accepts(text)));
    }
}

static void check_loaded(const struct settings *settings)
{
    for (size_t i = 0; i < settings_table.count; i++)
        check_row(&settings_table.rows[i], settings);
    FUZZ_HOLDS(settings->work_timeout_ms < settings->lock_ttl_ms);
    FUZZ_HOLDS(settings->work_ms < settings->work_timeout_ms);
}

static void check_refused(char *const *argv, const struct error *error)
{
    FUZZ_HOLDS(error->code == ERROR_INVALID && *error->text);
    FUZZ_HOLDS(is_no_secret(argv) || !strstr(error->text, SECRET));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = {.code = ERROR_NONE};
    enum settings_action action = SETTINGS_RUN;
    char *argv[ARGUMENTS_MAX + 1];
    struct settings settings;
    char *text = fuzz_copy(data, size);
    int argc = split(text, argv);

    if (!settings_load(&settings, &action, argc, argv, look_up, &error)) {
        check_refused(argv, &error);
    } else {
        FUZZ_HOLDS(error.code == ERROR_NONE);
        if (action == SETTINGS_RUN)
            check_loaded(&settings);
    }
    free(text);
    return 0;
}
