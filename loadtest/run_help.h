/* What `run --help` says below its flags: scenarios, verdicts, exit statuses. */
#ifndef SECKILL_LOADTEST_RUN_HELP_H
#define SECKILL_LOADTEST_RUN_HELP_H

extern const char run_help[];

#endif
