/* The commands. Each returns the program's exit status: 0, 1 or 2 (--help). */
#ifndef SECKILL_LOADTEST_COMMANDS_COMMANDS_H
#define SECKILL_LOADTEST_COMMANDS_COMMANDS_H

#include "loadtest/commands/line/command_line.h"

#define X(name, NAME) int command_##name(const struct name##_options *options);
COMMANDS(X)
#undef X

#endif
