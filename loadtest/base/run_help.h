/* What `run --help` says below its flags (scenarios, verdicts, exit statuses), and `sweep --help`.
 */
#ifndef SECKILL_LOADTEST_BASE_RUN_HELP_H
#define SECKILL_LOADTEST_BASE_RUN_HELP_H

extern const char run_help[];
extern const char sweep_help[];

#endif
