/*
 * Completion for bash, zsh and fish: commands, flags, and what can stand behind a flag where that
 * can be known. Strategies are asked of the seckill-server in PATH, exhibits and faults of the
 * seckill-loadtest there, so that the answer is that build's.
 */
#include "pages/pages.h"

#include <ctype.h>
#include <string.h>

static const char ask_strategies[] = "seckill-server --strategies 2>/dev/null | cut -d\" \" -f1";
/* The only lines there that are indented by two and begin with a word. */
static const char ask_faults[] = "seckill-loadtest faults --help 2>/dev/null |"
                                 " grep \"^  [a-z][a-z]* \" | cut -d\" \" -f3";

/* A function's name: letters and underscores. */
static void put_name(FILE *to, const char *name)
{
    for (; *name; name++)
        fputc(isalnum((unsigned char)*name) ? *name : '_', to);
}

/* "a|b|c" → "a b c". */
static void put_words(FILE *to, const char *words)
{
    for (; *words; words++)
        fputc(*words == '|' ? ' ' : *words, to);
}

/* In single quotes; zsh gives a meaning to more than those. */
static void put_quoted(FILE *to, const char *text, const char *meant)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", to);
        else if (strchr(meant, *text))
            fprintf(to, "\\%c", *text);
        else
            fputc(*text, to);
    }
}

static void put_stops(FILE *to, const struct option_stop *stops)
{
    for (; stops && stops->argument; stops++) {
        if (stops->help)
            fprintf(to, " %s", stops->argument);
    }
}

/* ----- bash ----- */

static void put_bash_flags(FILE *to, const struct option_program *program, unsigned commands)
{
    struct pages_rows rows = {program->table, 0};
    const struct option_row *row;
    fputs("flags='", to);
    while ((row = pages_next(&rows, commands)) != NULL)
        fprintf(to, " --%s", row->flag);
    put_stops(to, program->table->stops);
    fputs("'", to);
}

static void put_bash_values(FILE *to, const struct option_program *program)
{
    struct pages_rows rows = {program->table, 0};
    const struct option_row *row;
    const char *words;
    while ((row = pages_next(&rows, ~0U)) != NULL) {
        if (!pages_is_first(program, row) || row->kind == OPTION_SWITCH)
            continue;
        fprintf(to, "    --%s) ", row->flag);
        switch (pages_value_of(row, &words)) {
        case PAGES_WORDS:
            fputs("words='", to);
            put_words(to, words);
            fputs("'", to);
            break;
        case PAGES_FILE:
            fputs("COMPREPLY=($(compgen -f -- \"$cur\")); return", to);
            break;
        case PAGES_FOLDER:
            fputs("COMPREPLY=($(compgen -d -- \"$cur\")); return", to);
            break;
        case PAGES_STRATEGIES:
        case PAGES_STRATEGY:
            fprintf(to, "words=$(%s)", ask_strategies);
            break;
        case PAGES_FAULTS:
            fprintf(to, "words=$(%s)", ask_faults);
            break;
        case PAGES_ANY:
        case PAGES_NOTHING:
            fputs("return", to);
        }
        fputs(" ;;\n", to);
    }
}

static void put_bash_commands(FILE *to, const struct option_program *program)
{
    if (!program->stops) {
        fputs("    ", to);
        put_bash_flags(to, program, program->commands[0].command);
        fputs("\n", to);
        return;
    }
    fputs("    case ${COMP_WORDS[1]} in\n", to);
    for (size_t i = 0; i < program->commands_count; i++) {
        fprintf(to, "    %s) ", program->commands[i].name);
        put_bash_flags(to, program, program->commands[i].command);
        if (program->worded & program->commands[i].command)
            fprintf(to, "; [ \"${cur#-}\" != \"$cur\" ] || flags=$(%s)", program->words);
        fputs(" ;;\n", to);
    }
    fputs("    esac\n    if [ \"$COMP_CWORD\" -eq 1 ]; then flags='", to);
    for (size_t i = 0; i < program->commands_count; i++)
        fprintf(to, " %s", program->commands[i].name);
    put_stops(to, program->stops);
    fputs("'; fi\n", to);
}

void pages_bash(FILE *to, const struct option_program *program)
{
    fprintf(to, "# bash completion for %s; made from its option tables.\n_", program->name);
    put_name(to, program->name);
    /* bash takes --flag=value for three words. */
    fputs("() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD-1]} flags= words= "
          "before=\n"
          "    COMPREPLY=()\n"
          "    if [ \"$cur\" = = ]; then cur=\n"
          "    elif [ \"$flag\" = = ]; then flag=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    fi\n"
          "    case $flag in\n",
          to);
    put_bash_values(to, program);
    fputs("    esac\n"
          "    if [ -n \"$words\" ]; then\n"
          "        case $cur in *,*) before=${cur%,*}, ;; esac\n"
          "        COMPREPLY=($(compgen -W \"$words\" -P \"$before\" -- \"${cur##*,}\"))\n"
          "        return\n"
          "    fi\n",
          to);
    put_bash_commands(to, program);
    fputs("    COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n"
          "    if [ ${#COMPREPLY[@]} -eq 0 ]; then COMPREPLY=($(compgen -f -- \"$cur\")); fi\n"
          "}\n"
          "complete -o filenames -F _",
          to);
    put_name(to, program->name);
    fprintf(to, " %s\n", program->name);
}

/* ----- zsh ----- */

static void put_zsh_stops(FILE *to, const struct option_stop *stops)
{
    for (; stops && stops->argument; stops++) {
        if (!stops->help)
            continue;
        fprintf(to, " \\\n    '%s[", stops->argument);
        put_quoted(to, stops->help, "[]:\\");
        fputs("]'", to);
    }
}

static void put_zsh_value(FILE *to, const struct option_row *row)
{
    const char *words;
    enum pages_value value = pages_value_of(row, &words);
    if (value == PAGES_NOTHING)
        return;
    fputs(":", to);
    put_quoted(to, row->value, "[]:\\");
    fputs(":", to);
    if (value == PAGES_WORDS) {
        fputs("(", to);
        put_words(to, words);
        fputs(")", to);
    } else if (value == PAGES_FILE) {
        fputs("_files", to);
    } else if (value == PAGES_FOLDER) {
        fputs("_files -/", to);
    } else if (value != PAGES_ANY) {
        fprintf(to, "%scompadd - ${(f)\"$(%s)\"}", value == PAGES_STRATEGY ? "" : "_sequence ",
                value == PAGES_FAULTS ? ask_faults : ask_strategies);
    }
}

static void put_zsh_arguments(FILE *to, const struct option_program *program,
                              const struct option_command *command)
{
    struct pages_rows rows = {program->table, 0};
    const struct option_row *row;
    fputs("_arguments", to);
    while ((row = pages_next(&rows, command->command)) != NULL) {
        fprintf(to, " \\\n    '%s--%s%s[", row->kind == OPTION_SECRETS ? "*" : "", row->flag,
                row->kind == OPTION_SWITCH ? "" : "=");
        put_quoted(to, row->help, "[]:\\");
        fputs("]", to);
        put_zsh_value(to, row);
        fputs("'", to);
    }
    put_zsh_stops(to, program->table->stops);
    if (program->worded & command->command)
        fprintf(to, " \\\n    '*:word:compadd - ${(f)\"$(%s)\"}'\n", program->words);
    else
        fputs(" \\\n    '*:file:_files'\n", to);
}

void pages_zsh(FILE *to, const struct option_program *program)
{
    fprintf(to, "#compdef %s\n# Made from its option tables.\n", program->name);
    if (!program->stops) {
        put_zsh_arguments(to, program, &program->commands[0]);
        return;
    }
    fputs("if (( CURRENT == 2 )); then\n  local -a commands=(", to);
    for (size_t i = 0; i < program->commands_count; i++) {
        fprintf(to, "\n    '%s:", program->commands[i].name);
        put_quoted(to, program->commands[i].summary, ":\\");
        fputs("'", to);
    }
    fputs(")\n  _describe command commands\n  _arguments", to);
    put_zsh_stops(to, program->stops);
    fputs(
        "\n  return\nfi\nlocal command=$words[2]\nshift words\n(( CURRENT-- ))\ncase $command in\n",
        to);
    for (size_t i = 0; i < program->commands_count; i++) {
        fprintf(to, "%s) ", program->commands[i].name);
        put_zsh_arguments(to, program, &program->commands[i]);
        fputs("  ;;\n", to);
    }
    fputs("esac\n", to);
}

/* ----- fish ----- */

static void put_fish(FILE *to, const struct option_program *program, const char *when,
                     const char *flag, const char *value, const char *help)
{
    fprintf(to, "complete -c %s%s -l %s%s -d '", program->name, when, flag, value);
    put_quoted(to, help, "");
    fputs("'\n", to);
}

static void put_fish_value(char *out, size_t size, const struct option_row *row)
{
    const char *words;
    switch (pages_value_of(row, &words)) {
    case PAGES_NOTHING:
        out[0] = '\0';
        return;
    case PAGES_ANY:
        snprintf(out, size, " -x");
        return;
    case PAGES_FILE:
    case PAGES_FOLDER:
        snprintf(out, size, " -r -F");
        return;
    case PAGES_STRATEGY:
        snprintf(out, size, " -x -a '(%s)'", ask_strategies);
        return;
    case PAGES_STRATEGIES:
        snprintf(out, size, " -x -a '(__fish_append , (%s))'", ask_strategies);
        return;
    case PAGES_FAULTS:
        snprintf(out, size, " -x -a '(__fish_append , (%s))'", ask_faults);
        return;
    case PAGES_WORDS:
        break;
    }
    snprintf(out, size, " -x -a '%s'", words);
    for (char *at = out; *at; at++) {
        if (*at == '|')
            *at = ' ';
    }
}

void pages_fish(FILE *to, const struct option_program *program)
{
    const struct option_row *row;
    char when[120] = "", value[200];
    fprintf(to, "# fish completion for %s; made from its option tables.\n", program->name);
    for (size_t i = 0; i < program->commands_count; i++) {
        const struct option_command *command = &program->commands[i];
        struct pages_rows rows = {program->table, 0};
        if (program->stops) {
            fprintf(to, "complete -c %s -f -n __fish_use_subcommand -a %s -d '", program->name,
                    command->name);
            put_quoted(to, command->summary, "");
            fputs("'\n", to);
            snprintf(when, sizeof when, " -n '__fish_seen_subcommand_from %s'", command->name);
        }
        if (program->worded & command->command)
            fprintf(to, "complete -c %s -f%s -a '(%s)'\n", program->name, when, program->words);
        while ((row = pages_next(&rows, command->command)) != NULL) {
            put_fish_value(value, sizeof value, row);
            put_fish(to, program, when, row->flag, value, row->help);
        }
        for (const struct option_stop *stop = program->table->stops; stop->argument; stop++) {
            if (stop->help)
                put_fish(to, program, when, stop->argument + 2, "", stop->help);
        }
    }
    for (const struct option_stop *stop = program->stops; stop && stop->argument; stop++) {
        if (stop->help)
            put_fish(to, program, " -n __fish_use_subcommand", stop->argument + 2, "", stop->help);
    }
}
