/* Man pages and completion against the option tables: every option is there, and no other. */
#include "lib/t.h"

#include "loadtest/commands/line/command_line.h"
#include "pages/pages.h"
#include "settings/settings.h"

#include <string.h>

static const struct option_program *const programs[] = {&settings_program, &options_program};

static char *printed(void (*print)(FILE *, const struct option_program *),
                     const struct option_program *program)
{
    print(t_print(), program);
    return t_printed();
}

static void print_man(FILE *to, const struct option_program *program)
{
    pages_man(to, program, 1);
}

/* "--lock-ttl-ms" as roff has it. */
static const char *in_roff(const char *argument)
{
    static char out[200];
    size_t length = 0;
    for (; *argument; argument++) {
        if (*argument == '-')
            out[length++] = '\\';
        out[length++] = *argument;
    }
    out[length] = '\0';
    return out;
}

static size_t shown(const struct option_stop *stops)
{
    size_t count = 0;
    for (; stops && stops->argument; stops++)
        count += stops->help != NULL;
    return count;
}

/* The table's rows of a command, by their number; not as the pages count them. */
static const struct option_row *row_at(const struct option_program *program, unsigned command,
                                       size_t number)
{
    for (const struct option_table *table = program->table; table; table = table->more) {
        for (size_t i = 0; i < table->count; i++) {
            if ((table->rows[i].commands & command) && number-- == 0)
                return &table->rows[i];
        }
    }
    return NULL;
}

TEST(the_man_page_has_every_option)
{
    for (size_t i = 0; i < 2; i++) {
        const struct option_program *program = programs[i];
        char *text = printed(print_man, program), part[300], variable[OPTION_VARIABLE_LENGTH];
        size_t expected = shown(program->stops);
        for (size_t k = 0; k < program->commands_count; k++) {
            const struct option_command *command = &program->commands[k];
            const struct option_row *row;
            snprintf(part, sizeof part, "\n.SS %s\n", command->name ? command->name : "");
            const char *at = program->stops ? strstr(text, part) : text;
            assert_non_null(at);
            expected += shown(program->table->stops);
            for (size_t n = 0; (row = row_at(program, command->command, n)) != NULL; n++) {
                expected++;
                snprintf(part, sizeof part, ".TP\n\\fB\\-\\-%s\\fR%s", in_roff(row->flag),
                         row->kind == OPTION_SWITCH ? "\n" : " \\fI");
                t_says(at, part);
                option_variable(row, variable);
                snprintf(part, sizeof part, "\\fB\\%%%s\\fR", variable);
                if (row->environment)
                    t_says(at, part);
            }
        }
        assert_int_equal(t_count(text, "\n.TP\n"), expected);
    }
}

/* `before`, every flag of the command in the table's order, the stops, `behind`. */
static void assert_listed(const char *text, const char *before,
                          const struct option_program *program, unsigned command,
                          const char *behind)
{
    const struct option_row *row;
    char line[2000];
    snprintf(line, sizeof line, "%s", before);
    for (size_t n = 0; (row = row_at(program, command, n)) != NULL; n++)
        snprintf(line + strlen(line), sizeof line - strlen(line), " --%s", row->flag);
    for (const struct option_stop *stop = program->table->stops; stop->argument; stop++) {
        if (stop->help)
            snprintf(line + strlen(line), sizeof line - strlen(line), " %s", stop->argument);
    }
    snprintf(line + strlen(line), sizeof line - strlen(line), "%s", behind);
    t_says(text, line);
}

TEST(bash_completes_every_option)
{
    for (size_t i = 0; i < 2; i++) {
        const struct option_program *program = programs[i];
        char *text = printed(pages_bash, program), before[100];
        for (size_t k = 0; k < program->commands_count; k++) {
            snprintf(before, sizeof before, program->stops ? "    %s) flags='" : "    flags='",
                     program->commands[k].name);
            assert_listed(text, before, program, program->commands[k].command, "'");
        }
        assert_int_equal(t_count(text, "flags='"),
                         program->commands_count + (program->stops ? 1 : 0));
    }
}

TEST(the_other_shells_do_too)
{
    for (size_t i = 0; i < 2; i++) {
        const struct option_program *program = programs[i];
        char *zsh = printed(pages_zsh, program), *fish = printed(pages_fish, program), part[300];
        size_t flags = 0, stops = shown(program->stops);
        for (size_t k = 0; k < program->commands_count; k++) {
            const struct option_row *row;
            stops += shown(program->table->stops);
            for (size_t n = 0; (row = row_at(program, program->commands[k].command, n)) != NULL;
                 n++) {
                flags++;
                snprintf(part, sizeof part, "\n    '%s--%s%s[",
                         row->kind == OPTION_SECRETS ? "*" : "", row->flag,
                         row->kind == OPTION_SWITCH ? "" : "=");
                t_says(zsh, part);
                snprintf(part, sizeof part, " -l %s -", row->flag);
                t_says(fish, part);
            }
        }
        assert_int_equal(t_count(zsh, "\n    '--") + t_count(zsh, "\n    '*--"), flags + stops);
        assert_int_equal(t_count(fish, " -l "), flags + stops);
    }
}

/* What stands behind a flag is known of the row. */
TEST(values_are_of_the_row)
{
    static const struct {
        const char *flag;
        enum pages_value value;
        const char *words;
    } cases[] = {
        {"scenario", PAGES_WORDS, "hot|soldout|spread|counter|bell|articles|unpaid"},
        {"format", PAGES_WORDS, "table|wide|md|json|csv"},
        {"body", PAGES_WORDS, "plain|guarded"},
        {"strategies", PAGES_STRATEGIES, NULL},
        {"out", PAGES_FOLDER, NULL},
        {"server-binary", PAGES_FILE, NULL},
        {"rate", PAGES_ANY, NULL},
        {"reset", PAGES_NOTHING, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct option_row *row;
        const char *words;
        size_t number = 0;
        do {
            row = row_at(&options_program, COMMAND_RUN, number++);
            assert_non_null(row);
        } while (strcmp(row->flag, cases[i].flag) != 0);
        assert_int_equal(pages_value_of(row, &words), cases[i].value);
        if (cases[i].words)
            assert_string_equal(words, cases[i].words);
    }
}
