/* A man page, in the macros of man(7). */
#include "pages/pages.h"

#include <ctype.h>
#include <string.h>

/* What roff would take for its own is written so that it stays text. */
static void put(FILE *to, const char *text)
{
    bool begins = true; /* a line */
    for (; *text; text++) {
        if (begins && (*text == '.' || *text == '\''))
            fputs("\\&", to);
        if (*text == '-')
            fputs("\\-", to);
        else if (*text == '\\')
            fputs("\\e", to);
        else
            fputc(*text, to);
        begins = *text == '\n';
    }
}

static void put_upper(FILE *to, const char *text)
{
    for (; *text; text++) {
        char letter[2] = {(char)toupper((unsigned char)*text), '\0'};
        put(to, letter);
    }
}

static void put_argument(FILE *to, const char *argument)
{
    fputs(".TP\n\\fB", to);
    put(to, argument);
    fputs("\\fR", to);
}

static void print_facts(FILE *to, const struct option_row *row)
{
    char takes[OPTION_TAKES_SIZE], variable[OPTION_VARIABLE_LENGTH];
    const char *fallback = row->fallback ? row->fallback : "";
    /* A count's default outside of its range is "not given". */
    bool tells = *fallback && *fallback != '-' && row->kind != OPTION_CHOICE;
    if (option_is_number(row) || row->kind == OPTION_CHOICE || row->takes) {
        option_takes(row, takes, sizeof takes);
        fputs("\nTakes ", to);
        put(to, takes);
        fputs(".", to);
    }
    if (tells && !(option_is_number(row) && row->min > 0 && strcmp(fallback, "0") == 0)) {
        fputs("\nDefault: ", to);
        put(to, fallback);
        fputs(".", to);
    }
    if (!row->environment)
        return;
    option_variable(row, variable);
    fputs("\nVariable: \\fB\\%", to); /* and no hyphen in it */
    put(to, variable);
    fputs("\\fR", to);
    if (row->kind == OPTION_SECRET || row->kind == OPTION_SECRETS)
        fprintf(to, ", or \\fB\\%%%s_FILE\\fR, which names a file that holds it", variable);
    fputs(".", to);
}

static void print_options(FILE *to, const struct option_program *program,
                          const struct option_command *command)
{
    struct pages_rows rows = {program->table, 0};
    const struct option_row *row;
    char argument[80];
    while ((row = pages_next(&rows, command->command)) != NULL) {
        snprintf(argument, sizeof argument, "--%s", row->flag);
        put_argument(to, argument);
        if (row->value) {
            fputs(" \\fI", to);
            put(to, row->value);
            fputs("\\fR", to);
        }
        fputs("\n", to);
        put(to, row->help);
        fputs(".", to);
        print_facts(to, row);
        fputs("\n", to);
    }
}

static void print_stops(FILE *to, const struct option_stop *stops)
{
    for (; stops && stops->argument; stops++) {
        if (!stops->help)
            continue;
        put_argument(to, stops->argument);
        fputs("\n", to);
        put(to, stops->help);
        fputs(".\n", to);
    }
}

static void print_command(FILE *to, const struct option_program *program,
                          const struct option_command *command)
{
    if (program->stops) {
        fputs(".SS ", to);
        put(to, command->name);
        fputs("\n", to);
        put(to, command->summary);
        fputs(".\n", to);
    }
    print_options(to, program, command);
    print_stops(to, program->table->stops);
    if (!command->text)
        return;
    fputs(".PP\n.nf\n", to);
    for (const char *at = command->text; *at;) { /* .PP makes the empty lines */
        char line[200];
        size_t length = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, at);
        put(to, line);
        fputs(length ? "\n" : ".sp\n", to);
        at += length + (at[length] == '\n');
    }
    fputs(".fi\n", to);
}

static void print_examples(FILE *to, const struct option_program *program)
{
    fputs(".SH EXAMPLES\n.nf\n", to);
    for (size_t i = 0; i < program->commands_count; i++) {
        put(to, program->commands[i].example);
        fputs("\n", to);
    }
    fputs(".fi\n", to);
}

/* Each once: commands share their backends. */
static void print_environment(FILE *to, const struct option_program *program)
{
    struct pages_rows rows = {program->table, 0};
    const struct option_row *row;
    char variable[OPTION_VARIABLE_LENGTH];
    fputs(".SH ENVIRONMENT\n.nf\n", to);
    while ((row = pages_next(&rows, ~0U)) != NULL) {
        if (!row->environment || !pages_is_first(program, row))
            continue;
        option_variable(row, variable);
        put(to, variable);
        put(to, " is --");
        put(to, row->flag);
        fputs("\n", to);
    }
    fputs(".fi\n", to);
}

static void print_ends(FILE *to, const struct option_program *program)
{
    print_examples(to, program);
    fputs(".SH FILES\n", to);
    put(to, program->files);
    print_environment(to, program);
    fputs(".SH EXIT STATUS\n", to);
    put(to, program->status);
}

void pages_man(FILE *to, const struct option_program *program, int section)
{
    fputs(".\\\" Made from the program's option tables.\n.TH ", to);
    put_upper(to, program->name);
    fprintf(to, " %d " SECKILL_RELEASED " \"seckill " SECKILL_VERSION "\"\n.SH NAME\n", section);
    put(to, program->name);
    fputs(" \\- ", to);
    put(to, program->summary);
    fputs("\n.SH SYNOPSIS\n\\fB", to);
    put(to, program->name);
    fprintf(to, "\\fR %s[\\fB\\-\\-FLAG\\fR \\fIVALUE\\fR | \\fB\\-\\-FLAG=\\fIVALUE\\fR]...\n",
            program->stops ? "\\fICOMMAND\\fR " : "");
    fputs(".SH DESCRIPTION\n"
          "A flag wins over its variable in the environment, and that over the default.\n"
          "Where a flag is given twice, the last one counts.\n"
          "A number that is a duration may have its unit: 500ms, 2s, 1m.\n",
          to);
    fprintf(to, ".SH %s\n", program->stops ? "COMMANDS" : "OPTIONS");
    for (size_t i = 0; i < program->commands_count; i++)
        print_command(to, program, &program->commands[i]);
    if (program->stops) {
        fputs(".SH OPTIONS\n", to);
        print_stops(to, program->stops);
    }
    print_ends(to, program);
    fputs(".SH SEE ALSO\n", to);
    fputs(section == 8 ? "\\fBseckill\\-loadtest\\fR(1), " : "\\fBseckill\\-server\\fR(8), ", to);
    fputs("\\fBpsql\\fR(1)\n", to);
}
