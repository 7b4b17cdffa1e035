/*
 * The texts of `seckill-loadtest COMMAND --help` below the command's flags: words, verdicts, exit
 * statuses. The man page has them too.
 */
#ifndef SECKILL_LOADTEST_COMMANDS_OPTIONS_TEXTS_H
#define SECKILL_LOADTEST_COMMANDS_OPTIONS_TEXTS_H

extern const char options_run_text[];
extern const char options_sweep_text[];
extern const char options_record_text[];
extern const char options_oasis_text[];
extern const char options_capacity_text[];
extern const char options_check_text[];
extern const char options_faults_text[];
extern const char options_report_text[];
extern const char options_shop_text[];
extern const char options_zoo_text[];

#endif
