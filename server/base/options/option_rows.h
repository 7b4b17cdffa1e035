/*
 * A command line that a table describes: every flag, the commands that take it, its default, its
 * range and its help, once. The table drives parsing and --help; the server, seckill-loadtest and
 * the bench have one each.
 *
 * Precedence: flag, then environment, then default. A flag may be written `--name value` or
 * `--name=value`. Where one is given twice, the last one counts, but for a kind that takes all of
 * them. Where one is mistyped, the message says which one may have been meant (nearest.h).
 */
#ifndef SECKILL_BASE_OPTIONS_OPTION_ROWS_H
#define SECKILL_BASE_OPTIONS_OPTION_ROWS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { OPTION_LIST_MAX = 64, OPTION_TEXTS_MAX = 16 };

/* A list as it was typed: "a,b,c". The items are copies. */
struct option_list {
    size_t count;
    char items[OPTION_LIST_MAX][256];
};

struct option_numbers {
    size_t count;
    int items[OPTION_LIST_MAX];
};

/* A flag's texts, in the order in which they were said: borrowed. */
struct option_texts {
    size_t count;
    const char *items[OPTION_TEXTS_MAX];
};

/* The type of what is filled is the kind's. */
enum option_kind {
    OPTION_TEXT,    /* const char * */
    OPTION_SECRET,  /* a text that is, or may hold, a password: overwritten in argv once it is read,
                       never printed, and its variable may have _FILE behind it (secret.h) */
    OPTION_SECRETS, /* struct option_texts of such: each time it is given it adds one, and its
                       variable or default is one; begins as {0} */
    OPTION_COUNT,   /* int64_t */
    /* int64_t: a number of these, or a duration that is a whole number of them: 500ms, 2s, 1m */
    OPTION_US,
    OPTION_MS,
    OPTION_SECONDS,
    OPTION_LIST,    /* struct option_list */
    OPTION_NUMBERS, /* struct option_numbers */
    OPTION_CHOICE,  /* an enum: one of the fallback's words, "a|b|c" of which a is for nothing */
    OPTION_SWITCH   /* bool */
};

struct option_row {
    const char *flag; /* without the dashes */
    unsigned commands;
    enum option_kind kind;
    size_t offset;        /* in what is filled */
    const char *fallback; /* NULL: nothing unless given. A count's may lie outside its range: "not
                             given" */
    int64_t min, max;
    const char *unit;              /* of a count; NULL: --help does not say its range */
    bool environment;              /* also a variable: option_variable */
    const char *value;             /* how --help calls it */
    const char *takes;             /* texts alone: what it takes, in words; NULL: anything */
    bool (*accepts)(const char *); /* texts alone; NULL: anything */
    const char *help;
};

/* A row, in one or two lines. `variable`: it may also stand in the environment. */
/* Versions of clang-format do not agree about these lines. */
/* clang-format off */
#define OPTION_ROW(name, of, type, at, standard, low, high, variable, called, text)                \
    {                                                                                              \
        .flag = (name), .commands = (of), .kind = (type), .offset = (at), .fallback = (standard),  \
        .min = (low), .max = (high), .environment = (variable), .value = (called), .help = (text)  \
    }
/* clang-format on */

/* An argument behind which nothing matters: --help. */
struct option_stop {
    const char *argument; /* NULL: behind the last one */
    int number;           /* not 0; the same for two that ask for the same */
    const char *help;     /* NULL: not in --help */
};

struct option_table {
    const struct option_row *rows;
    size_t count;
    const struct option_table *more; /* NULL: no other rows */
    const struct option_stop *stops; /* of the first table alone */
};

/* What stands behind the program's or the command's name. */
struct option_line {
    const char *help; /* where messages send the reader: "--help", "run --help" */
    int argc;
    char **argv;
    char *(*environment)(const char *); /* looks a variable up */
};

/* The given options, so that a command can refuse those that do not belong together. */
struct option_given {
    const char *flags[64]; /* each once; one that takes all of its texts, for each of them */
    const char *texts[64]; /* the last that was said */
    size_t count;
    int stop; /* the number of the stop that was met; 0: none, and everything is filled */
};

enum { OPTION_VARIABLE_LENGTH = 64, OPTION_TAKES_SIZE = 200, OPTION_HELP_WIDTH = 80 };

/* "lock-ttl-ms" → "SECKILL_LOCK_TTL_MS". */
void option_variable(const struct option_row *row, char out[OPTION_VARIABLE_LENGTH]);
/* Whether what it fills is a number with a range. */
bool option_is_number(const struct option_row *row);
/* What the row takes: "a whole number from 1 to 500". */
void option_takes(const struct option_row *row, char *out, size_t size);
/* The text of a row that is a text or a secret, in what is filled. */
const char *option_text(const struct option_row *row, const void *options);

/* Fills `out` from the line, and what that does not say from the environment and the defaults. Rows
 * count that have one of `commands`. Values are read when the whole line has been seen. False with
 * a text that names the flag, or the variable, and what it takes. Texts point into argv, the
 * environment or the table, or are kept until the process ends: borrowed. */
bool option_rows_parse(const struct option_table *table, unsigned commands,
                       const struct option_line *line, void *out, struct option_given *given,
                       struct error *error);

/* " --flag value" of each that was given, as a shell reads it, for passing on: without secrets,
 * what may come from the environment, and texts with a path. */
void option_rows_said(const struct option_table *table, unsigned commands,
                      const struct option_given *given, char *out, size_t size);

struct option_range {
    const char *name; /* as messages say it */
    int64_t min, max;
    enum option_kind kind; /* a number's */
};
/* False with a text that names it and what it takes. */
bool option_read_number(const struct option_range *range, const char *text, int64_t *out,
                        struct error *error);
bool option_read_list(const char *name, const char *text, struct option_list *out,
                      struct error *error);

/* The stop that the argument is; NULL: it is none. `stops` may be NULL. */
const struct option_stop *option_find_stop(const struct option_stop *stops, const char *argument,
                                           size_t length);

/* A line of help: what it is about, and its text in a column behind `width` characters, in as many
 * lines as it takes. A word that is longer than a line stays whole. */
void option_print_item(FILE *to, int width, const char *left, const char *text);

/* Rows, stops, and how durations are written if there is one. */
void option_rows_print(FILE *to, const struct option_table *table, unsigned commands);

#endif
