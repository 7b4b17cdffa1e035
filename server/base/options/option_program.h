/* A program as its help describes it: what its man page and the shells' completion are made from
 * (ops/pages), so that no option is listed twice. */
#ifndef SECKILL_BASE_OPTIONS_OPTION_PROGRAM_H
#define SECKILL_BASE_OPTIONS_OPTION_PROGRAM_H

#include "base/options/option_rows.h"

struct option_command {
    const char *name;
    unsigned command; /* of the rows' */
    const char *summary;
    const char *text;    /* below the options, in lines; NULL: nothing */
    const char *example; /* a line to type, with the flags that most need */
    size_t words;        /* that may stand between its name and its flags */
    const char *missing; /* the message when none does; NULL: that is allowed */
};

struct option_program {
    const char *name;
    const char *summary;              /* in a line, as a man page's name has it */
    const struct option_table *table; /* its stops are each command's */
    const struct option_command *commands;
    size_t commands_count;
    const struct option_stop *stops; /* in a command's place; NULL: there is one command, which has
                                        no name */
    unsigned worded;                 /* commands behind which a word stands, not a file */
    const char *words;               /* what a shell runs to have these words, a line each */
    const char *files, *status;      /* what it writes, and how it ends, in lines */
};

#endif
