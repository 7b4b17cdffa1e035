/* The options of `zoo`. */
#ifndef SECKILL_LOADTEST_COMMANDS_ZOO_OPTIONS_H
#define SECKILL_LOADTEST_COMMANDS_ZOO_OPTIONS_H

#include "loadtest/base/options.h"

enum zoo_format { ZOO_FORMAT_TABLE, ZOO_FORMAT_JSON };

struct zoo_options {
    struct options shared; /* of which it takes its words, exhibits, and the backends */
    enum zoo_format format;
    bool step;
};

/* The last command's (command_line.h): leads to the backends. */
extern const struct option_table option_table_zoo;

#endif
