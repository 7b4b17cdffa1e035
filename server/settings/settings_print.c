#include "settings/settings.h"

#include <inttypes.h>
#include <string.h>

void settings_print_help(FILE *to, const char *program)
{
    fprintf(to,
            "Usage: %s [--FLAG VALUE | --FLAG=VALUE]...\n\n"
            "Sells over HTTP what must not be oversold, and lets each order choose how.\n\n",
            program);
    option_rows_print(to, &settings_table, SETTINGS_OF_SERVER);
    fputs("Each flag is also a variable, [SECKILL_…], over which the flag wins.\n", to);
}

static void print_markdown_row(FILE *to, const struct option_row *row)
{
    char variable[OPTION_VARIABLE_LENGTH];
    char takes[OPTION_TAKES_SIZE];

    option_variable(row, variable);
    option_takes(row, takes, sizeof takes);
    fprintf(to, "\n## `--%s`\n\n| | |\n| --- | --- |\n", row->flag);
    fprintf(to, "| takes | %s |\n", takes);
    if (row->kind == OPTION_COUNT)
        fprintf(to, "| unit | %s |\n", row->unit);
    if (*row->fallback == '\0')
        fputs("| default | empty |\n", to);
    else
        fprintf(to, "| default | `%s` |\n", row->fallback);
    fprintf(to, "| environment | `%s` |\n", variable);
}

void settings_print_markdown(FILE *to)
{
    fputs("| flag | default | what it is |\n| --- | --- | --- |\n", to);
    for (size_t i = 0; i < settings_table.count; i++) {
        const struct option_row *row = &settings_table.rows[i];
        const char *quote = *row->fallback == '\0' ? "" : "`";
        fprintf(to, "| [`--%s`](#--%s) | %s%s%s | %s |\n", row->flag, row->flag, quote,
                row->fallback, quote, row->help);
    }
    for (size_t i = 0; i < settings_table.count; i++)
        print_markdown_row(to, &settings_table.rows[i]);
}
