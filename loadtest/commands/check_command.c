/*
 * `check`: a ledger against what the database holds. Exit status 0 when nothing is wrong and
 * something was sold, 1 when an invariant is broken, 2 when nothing can be said.
 */
#include "loadtest/commands/line/command_line.h"

#include "loadtest/base/process.h"
#include "loadtest/judge/claims/claims.h"
#include "loadtest/judge/evidence/rows_read.h"
#include "loadtest/ledger/ledger_read.h"

/* Seconds, at the most, for a product that cannot be decided. */
enum { EXACT_BUDGET = 200000 };

static int judge(const struct ledger *ledger, const struct rows *rows,
                 const struct check_options *options)
{
    const struct exact_limits limits = {(size_t)options->exact, EXACT_BUDGET};
    struct check_result result;
    struct error error;
    bool made = check_run(&result, ledger, rows, &limits, &error);
    int status = made ? (int)result.verdict : process_fail(error.text);
    if (made)
        check_print(stdout, &result, ledger, (size_t)options->show);
    findings_fini(&result.findings);
    return status;
}

int command_check(const struct check_options *options)
{
    struct ledger ledger;
    struct rows rows = {0};
    struct error error;
    if (!ledger_read_file(&ledger, options->shared.words.items[0], LEDGER_OF_SERVERS, &error))
        return process_fail(error.text);
    const struct option_texts *databases = &options->shared.databases;
    const struct rows_place place = {.databases = databases->items,
                                     .count = databases->count,
                                     .schema = options->shared.schema,
                                     .locks = options->redis,
                                     .stock = options->stock_redis,
                                     .system_name = options->system_name};
    int status = redis_look_and_read(&rows, &ledger, &place, &error)
                     ? judge(&ledger, &rows, options)
                     : process_fail(error.text);
    rows_fini(&rows);
    ledger_fini(&ledger);
    return status;
}
