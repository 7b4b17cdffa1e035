/* seckill-loadtest: reads the command line, runs the command, leaves nothing behind. */
#include "base/error.h"
#include "loadtest/base/process.h"
#include "loadtest/commands/commands.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static struct options options;
    enum options_action action;
    struct error error;
    if (!options_parse(&options, &action, argc, argv, getenv, &error))
        return process_fail(error.text);
    if (action == OPTIONS_USAGE) {
        options_print_help(stderr, options.command);
        return 2;
    }
    if (action == OPTIONS_HELP) {
        options_print_help(stdout, options.command);
        return 0;
    }
    if (action == OPTIONS_VERSION) {
        puts("seckill-loadtest " SECKILL_VERSION);
        return 0;
    }
    process_catch_signals();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int status = 2;
    switch (options.command) {
    case COMMAND_RUN:
        status =
            options.scenario == SCENARIO_UNPAID ? command_unpaid(&options) : command_run(&options);
        break;
    case COMMAND_AUDIT:
        status = command_audit(&options);
        break;
    case COMMAND_REPORT:
        status = command_report(&options);
        break;
    case COMMAND_SWEEP:
        status = command_sweep(&options);
        break;
    case COMMAND_CAPACITY:
        status = command_capacity(&options);
        break;
    case COMMAND_CHECK:
        status = command_check(&options);
        break;
    case COMMAND_FAULTS:
        status = command_faults(&options);
        break;
    case COMMAND_RECORD:
        status = command_record(&options);
        break;
    case COMMAND_OASIS:
        status = command_oasis(&options);
        break;
    case COMMAND_ZOO:
        status = command_zoo(&options);
        break;
    case COMMAND_SHOP:
        status = command_shop(&options);
        break;
    }
    process_end_all();
    curl_global_cleanup();
    if (process_interrupted() && status == 0)
        status = 2;
    return status;
}
