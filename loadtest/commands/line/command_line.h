/*
 * seckill-loadtest's command line: which command it is, and that command's options: a struct that
 * begins with those that commands share (base/options.h). tables.c has the flags of all of them, so
 * that man page, completion and --help meet every one; checks.c says which go together.
 */
#ifndef SECKILL_LOADTEST_COMMANDS_COMMAND_LINE_H
#define SECKILL_LOADTEST_COMMANDS_COMMAND_LINE_H

#include "base/options/option_program.h"
#include "loadtest/base/options.h"

struct audit_options {
    struct options shared; /* of which it takes database and schema */
    int64_t product;       /* 0: all */
};

struct capacity_options {
    struct options shared;
    const char *strategy, *slo;
    int64_t within_s;
};

struct check_options {
    struct options shared; /* of which it takes its word, the ledger, and database and schema */
    const char *redis;     /* "": not looked at */
    const char *stock_redis;
    const char *system_name;
    int64_t show, exact;
};

struct faults_options {
    struct options shared; /* of its servers */
    struct option_list strategies, faults, expect, join;
    int64_t runs;
    bool short_form, promised;
    const char *reproduce;      /* "": everything */
    const char *control_binary; /* "": the servers' own */
    const char *stack;          /* the words that kill and start a private backend; "": none */
};

struct oasis_options {
    struct options shared;
    const char *strategy;
    int64_t tickets; /* of all products together */
};

struct record_options {
    struct options shared;
    const char *strategy;                   /* what sells, and how it is bought */
    int64_t operations;                     /* 0: any number */
    int64_t holds, hold_s, paid, paid_late; /* percents, and seconds */
};

struct report_options {
    struct options shared; /* of which it takes its words, folders of runs, and out */
    struct option_list strategies;
};

struct run_options {
    struct options shared;
    struct option_list strategies; /* one item "all": every available one */
    int64_t surge;
    struct option_texts header;
    enum options_format format; /* what goes to stdout */
    bool wide;
};

struct shop_options {
    struct options shared; /* its word is the target; without a rate a closed loop */
    int64_t buyers;        /* 0: by the stock */
    int64_t timeout_s;
    const char *ca_file; /* "": the system's */
    const char *judge;   /* a ledger; "": none, it loads */
    /* The target file is made, not read; "": it is not. */
    const char *init, *curl, *bought, *sold_out;
};

struct sweep_options {
    struct options shared;
    struct option_list strategies;
    const char *over;       /* NAME=1,2,4 */
    struct option_list set; /* NAME=1 */
    int64_t redis_delay_us; /* no flag: a dimension (sweep.h); 0: none */
};

enum zoo_format { ZOO_FORMAT_TABLE, ZOO_FORMAT_JSON };
struct zoo_options {
    struct options shared; /* of which it takes its words, exhibits, and the backends */
    enum zoo_format format;
};

/* The commands. Each returns the program's exit status: 0, 1 or 2 (--help). */
#define X(name, NAME) int command_##name(const struct name##_options *options);
COMMANDS(X)
#undef X

/* The one that shared.command says. */
union command_options {
    struct options shared;
#define X(name, NAME) struct name##_options name;
    COMMANDS(X)
#undef X
};

/* False with a text that names the flag and what it takes. `environment` looks a variable up. */
bool command_line_parse(union command_options *out, enum options_action *action, int argc,
                        char **argv, char *(*environment)(const char *), struct error *error);

extern const struct option_program options_program;
extern const struct option_table command_line_table;

/* options_texts.c has one for each command but audit. */
#define X(name, NAME) extern const char options_##name##_text[];
COMMANDS(X)
#undef X

/* Fills in what follows from the options, and refuses those that do not go together. */
bool command_line_check(union command_options *options, const struct option_given *given,
                        struct error *error);

void command_line_print_help(FILE *to, enum command command); /* 0: the commands alone */

#endif
