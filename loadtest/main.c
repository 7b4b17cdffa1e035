/* seckill-loadtest: reads the command line, runs the command, leaves nothing behind. */
#include "base/error.h"
#include "loadtest/base/process.h"
#include "loadtest/commands/line/command_line.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

/* The exit status. */
static int run(union command_options *all)
{
    switch (all->shared.command) {
#define X(name, NAME)                                                                              \
    case COMMAND_##NAME:                                                                           \
        return command_##name(&all->name);
        COMMANDS(X)
#undef X
    }
    return 2;
}

int main(int argc, char **argv)
{
    static union command_options options;
    enum options_action action;
    struct error error;
    if (!command_line_parse(&options, &action, argc, argv, getenv, &error))
        return process_fail(error.text);
    if (action == OPTIONS_USAGE) {
        command_line_print_help(stderr, options.shared.command);
        return 2;
    }
    if (action == OPTIONS_HELP) {
        command_line_print_help(stdout, options.shared.command);
        return 0;
    }
    if (action == OPTIONS_VERSION) {
        puts("seckill-loadtest " SECKILL_VERSION);
        return 0;
    }
    process_catch_signals();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int status = run(&options);
    process_end_all();
    curl_global_cleanup();
    if (process_interrupted() && status == 0)
        status = 2;
    return status;
}
