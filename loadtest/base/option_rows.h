/*
 * A command line that a table describes: every flag, the commands that take it, its default, its
 * range and its help, once. The table drives parsing and --help; seckill-loadtest and the bench
 * have one each, and share the rows about backends.
 */
#ifndef SECKILL_LOADTEST_BASE_OPTION_ROWS_H
#define SECKILL_LOADTEST_BASE_OPTION_ROWS_H

#include "loadtest/base/options_read.h"

enum option_kind {
    OPTION_TEXT,
    OPTION_COUNT,
    OPTION_SECONDS,
    OPTION_LIST,
    OPTION_NUMBERS, /* into the instances */
    OPTION_SCENARIO,
    OPTION_SWITCH
};

struct option_row {
    const char *flag; /* without the dashes */
    unsigned commands;
    enum option_kind kind;
    size_t offset;        /* in what is filled, which begins with a struct options */
    const char *fallback; /* NULL: nothing unless given */
    int64_t min, max;
    const char *environment; /* NULL: the flag alone */
    const char *value;       /* how --help calls it */
    const char *help;
};

struct option_table {
    const struct option_row *rows;
    size_t count;
    const struct option_table *more; /* NULL: no other rows */
};

/* Backends, what started servers are, where files go: for whatever loads servers. */
extern const struct option_table option_table_backends;

/* What stands behind the command's name, and how it is called in messages. */
struct option_line {
    const char *command;
    int argc;
    char **argv;
    char *(*environment)(const char *); /* looks a variable up */
};

/* What was said, so that a command can refuse what does not belong together. */
struct option_given {
    const char *flags[64];
    size_t count;
};

/* Fills `out` from the defaults and the environment, and then from the line. Rows count that have
 * one of `commands`. False with a text that names the flag. *help: --help was said, and nothing
 * else matters. */
bool option_rows_parse(const struct option_table *table, unsigned commands,
                       const struct option_line *line, struct options *out,
                       struct option_given *given, bool *help, struct error *error);

void option_rows_print(FILE *to, const struct option_table *table, unsigned commands);

#endif
