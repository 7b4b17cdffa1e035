/* The commands. Each returns the program's exit status: 0, 1 or 2 (--help). */
#ifndef SECKILL_LOADTEST_COMMANDS_COMMANDS_H
#define SECKILL_LOADTEST_COMMANDS_COMMANDS_H

#include "loadtest/commands/line/command_line.h"

int command_run(const struct run_options *options);
/* run --scenario unpaid */
int command_unpaid(const struct run_options *options);
int command_audit(const struct audit_options *options);
int command_sweep(const struct sweep_options *options);
int command_capacity(const struct capacity_options *options);
int command_report(const struct report_options *options);
int command_record(const struct record_options *options);
int command_oasis(const struct oasis_options *options);
int command_faults(const struct faults_options *options);
int command_check(const struct check_options *options);
int command_zoo(const struct zoo_options *options);
int command_shop(const struct shop_options *options);

#endif
