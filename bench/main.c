/* seckill-bench: reads the command line, measures, leaves nothing behind. */
#include "bench/bench.h"
#include "loadtest/base/process.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static struct bench_options options;
    enum options_action action;
    struct error error;
    if (!bench_options_parse(&options, &action, argc, argv, getenv, &error))
        return process_fail(error.text);
    if (action == OPTIONS_HELP) {
        bench_options_print_help(stdout);
        return 0;
    }
    if (action == OPTIONS_VERSION) {
        puts("seckill-bench " SECKILL_VERSION);
        return 0;
    }
    process_catch_signals();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int status = bench_command(&options);
    process_end_all();
    curl_global_cleanup();
    return process_interrupted() && status == 0 ? 2 : status;
}
