#include "settings/settings.h"
#include "settings/settings_table.h"

#include <inttypes.h>
#include <string.h>

static void print_flag(FILE *to, const char *name, const char *value, const char *help)
{
    char left[64];
    snprintf(left, sizeof left, "--%s %s", name, value);
    fprintf(to, "  %-28s %s", left, help);
}

void settings_print_help(FILE *to, const char *program)
{
    fprintf(to,
            "Usage: %s [--FLAG VALUE | --FLAG=VALUE]...\n\n"
            "Sells over HTTP what must not be oversold, and lets each order choose how.\n\n",
            program);
    for (size_t i = 0; i < settings_row_count(); i++) {
        const struct settings_row *row = settings_row_at(i);
        print_flag(to, row->flag, row->value, row->help);
        if (row->kind == SETTINGS_NUMBER)
            fprintf(to, " (%s, %" PRId64 "..%" PRId64 ", default %s)\n", row->unit, row->min,
                    row->max, row->standard);
        else if (*row->standard != '\0')
            fprintf(to, " (default %s)\n", row->standard);
        else
            fputs("\n", to);
    }
    print_flag(to, "strategies", "", "list them and exit; --strategies=markdown: as a table\n");
    print_flag(to, "version", "", "print the version and exit\n");
    print_flag(to, "help", "", "print this and exit; --help=markdown: as a table\n");
    fputs("\nEach flag is also a variable in the environment, SECKILL_ and its name in capitals\n"
          "(--lock-ttl-ms is SECKILL_LOCK_TTL_MS); a flag wins over its variable.\n",
          to);
}

static void print_markdown_row(FILE *to, const struct settings_row *row)
{
    char variable[SETTINGS_VARIABLE_LENGTH];
    char takes[160];

    settings_variable(row, variable);
    settings_takes(row, takes, sizeof takes);
    fprintf(to, "\n## `--%s`\n\n| | |\n| --- | --- |\n", row->flag);
    fprintf(to, "| takes | %s |\n", takes);
    if (row->kind == SETTINGS_NUMBER)
        fprintf(to, "| unit | %s |\n", strcmp(row->unit, "ms") == 0 ? "milliseconds" : row->unit);
    if (*row->standard == '\0')
        fputs("| default | empty |\n", to);
    else
        fprintf(to, "| default | `%s` |\n", row->standard);
    fprintf(to, "| environment | `%s` |\n", variable);
}

void settings_print_markdown(FILE *to)
{
    fputs("| flag | default | what it is |\n| --- | --- | --- |\n", to);
    for (size_t i = 0; i < settings_row_count(); i++) {
        const struct settings_row *row = settings_row_at(i);
        const char *quote = *row->standard == '\0' ? "" : "`";
        fprintf(to, "| [`--%s`](#--%s) | %s%s%s | %s |\n", row->flag, row->flag, quote,
                row->standard, quote, row->help);
    }
    for (size_t i = 0; i < settings_row_count(); i++)
        print_markdown_row(to, settings_row_at(i));
}
