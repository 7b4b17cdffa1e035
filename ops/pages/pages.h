/*
 * Man pages and completion for shells, made from the tables that the programs read their command
 * lines by. Everything is printed in the tables' order.
 */
#ifndef SECKILL_OPS_PAGES_PAGES_H
#define SECKILL_OPS_PAGES_PAGES_H

#include "base/options/option_program.h"

/* Of a section: 1 for what users run, 8 for what an administrator does. */
void pages_man(FILE *to, const struct option_program *program, int section);

void pages_bash(FILE *to, const struct option_program *program);
void pages_zsh(FILE *to, const struct option_program *program);
void pages_fish(FILE *to, const struct option_program *program);

/* What can stand behind a flag. */
enum pages_value {
    PAGES_NOTHING, /* a switch */
    PAGES_ANY,     /* nobody can guess it */
    PAGES_WORDS,   /* one of those that the text lists, "a|b|c"; a list's text is its form */
    PAGES_FILE,
    PAGES_FOLDER,
    PAGES_STRATEGY,   /* what `seckill-server --strategies` lists */
    PAGES_STRATEGIES, /* the same, several with commas between them */
    PAGES_FAULTS      /* several of what `seckill-loadtest faults --help` lists */
};
enum pages_value pages_value_of(const struct option_row *row, const char **words);

/* Goes through a program's rows. Begins as {program->table, 0}. */
struct pages_rows {
    const struct option_table *table;
    size_t at;
};
/* The next row that one of the commands has; NULL: there is none. */
const struct option_row *pages_next(struct pages_rows *rows, unsigned commands);
/* A flag that two commands have is the first one's. */
bool pages_is_first(const struct option_program *program, const struct option_row *row);

#endif
