/* The options of `faults`. */
#ifndef SECKILL_LOADTEST_COMMANDS_FAULTS_OPTIONS_H
#define SECKILL_LOADTEST_COMMANDS_FAULTS_OPTIONS_H

#include "loadtest/base/options.h"

struct faults_options {
    struct options shared; /* of its servers */
    struct option_list strategies, faults, expect, join;
    int64_t runs;
    bool short_form, promised;
    const char *reproduce;       /* "": everything */
    const char *control_binary;  /* "": the servers' own */
    const char *stack;           /* the words that kill and start a private backend; "": none */
    const char *fail_if, *junit; /* "": none */
};

/* Leads to the next command's (command_line.h). */
extern const struct option_table option_table_faults;

/* Fills in defaults, and refuses flags that do not go together. */
bool faults_options_settle(struct faults_options *options, const struct option_given *given,
                           struct error *error);

#endif
