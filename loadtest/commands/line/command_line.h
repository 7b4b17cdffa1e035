/*
 * seckill-loadtest's command line: which command it is, and that command's options. A command that
 * has options of its own has a struct for them, which begins with those that it shares, and a
 * table; the tables stand one behind the other, so that man page, completion and --help meet every
 * flag.
 */
#ifndef SECKILL_LOADTEST_COMMANDS_COMMAND_LINE_H
#define SECKILL_LOADTEST_COMMANDS_COMMAND_LINE_H

#include "base/options/option_program.h"
#include "loadtest/commands/capacity/capacity_options.h"
#include "loadtest/commands/faults/faults_options.h"
#include "loadtest/commands/line/audit_options.h"
#include "loadtest/commands/line/check_options.h"
#include "loadtest/commands/line/record_options.h"
#include "loadtest/commands/line/report_options.h"
#include "loadtest/commands/line/run_options.h"
#include "loadtest/commands/oasis/oasis_options.h"
#include "loadtest/commands/shop/shop_options.h"
#include "loadtest/commands/sweep/sweep_options.h"
#include "loadtest/commands/zoo/zoo_options.h"

/* The one that shared.command says. */
union command_options {
    struct options shared;
    struct audit_options audit;
    struct capacity_options capacity;
    struct check_options check;
    struct faults_options faults;
    struct oasis_options oasis;
    struct record_options record;
    struct report_options report;
    struct run_options run;
    struct shop_options shop;
    struct sweep_options sweep;
    struct zoo_options zoo;
};

/* False with a text that names the flag and what it takes. `environment` looks a variable up. */
bool command_line_parse(union command_options *out, enum options_action *action, int argc,
                        char **argv, char *(*environment)(const char *), struct error *error);

extern const struct option_program options_program;

void command_line_print_help(FILE *to, enum command command); /* 0: the commands alone */

#endif
