/*
 * A command line that a table describes: every flag, the commands that take it, its default, its
 * range and its help, once. The table drives parsing and --help; seckill-loadtest and the bench
 * have one each.
 */
#ifndef SECKILL_LOADTEST_BASE_OPTION_ROWS_H
#define SECKILL_LOADTEST_BASE_OPTION_ROWS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { OPTION_LIST_MAX = 64 };

/* A list as it was typed: "a,b,c". The items are copies. */
struct option_list {
    size_t count;
    char items[OPTION_LIST_MAX][256];
};

struct option_numbers {
    size_t count;
    int items[OPTION_LIST_MAX];
};

/* The type of what is filled is the kind's. */
enum option_kind {
    OPTION_TEXT,
    OPTION_SECRET, /* a text that is, or may hold, a password: overwritten in argv once it is read,
                      and its variable may have _FILE behind it (base/secret.h) */
    OPTION_COUNT,
    OPTION_SECONDS,
    OPTION_LIST,
    OPTION_NUMBERS,
    OPTION_CHOICE, /* an enum's value: one of the fallback's words, "a|b|c" of which a is for
                      nothing */
    OPTION_SWITCH
};

struct option_row {
    const char *flag; /* without the dashes */
    unsigned commands;
    enum option_kind kind;
    size_t offset;        /* in what is filled */
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

/* The text of a row that is a text or a secret, in what is filled. */
const char *option_text(const struct option_row *row, const void *options);

/* Fills `out` from the line, and what that does not say from the environment and the defaults. Rows
 * count that have one of `commands`. False with a text that names the flag. *help: --help was said,
 * and nothing else matters. */
bool option_rows_parse(const struct option_table *table, unsigned commands,
                       const struct option_line *line, void *out, struct option_given *given,
                       bool *help, struct error *error);

struct option_range {
    const char *flag; /* without the dashes */
    int64_t min, max;
};
/* False with a text that names the flag and what it takes. */
bool option_read_count(const struct option_range *range, const char *text, int64_t *out,
                       struct error *error);
bool option_read_list(const char *flag, const char *text, struct option_list *out,
                      struct error *error);

void option_rows_print(FILE *to, const struct option_table *table, unsigned commands);

#endif
