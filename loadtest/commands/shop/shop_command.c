/*
 * `shop`: loads somebody's shop as its target file says, and judges it by its own books. Exit
 * status 0 when every claim that was checked holds, 1 when one is broken, 2 when nothing can be
 * said.
 */
#include "loadtest/commands/commands.h"

#include "loadtest/base/process.h"
#include "loadtest/base/terminal.h"
#include "loadtest/load/client.h"
#include "loadtest/report/files.h"
#include "loadtest/shop/sale/told.h"

#include <stdio.h>

static void show(void *context, size_t answered)
{
    const struct target *target = context;
    fprintf(stderr, "\r\033[K%.*s: %zu answered", terminal_columns(stderr) - 30, target->name,
            answered);
    fflush(stderr);
}

static bool tell(const struct told *told, struct error *error)
{
    told_print(stdout, told);
    if (!told_write(told, error) || !told_page(told, error))
        return false;
    printf("Files: %s/report.html, results.json, ledger.jsonl\n", told->plan->folder);
    return true;
}

static int judge(const struct sale_plan *plan)
{
    struct sale_answers answers[SHOP_MEANINGS];
    struct sale sale;
    struct error error;
    bool made = sale_hold(plan, &sale, &error);
    if (plan->tick)
        fputs("\r\033[K", stderr);
    if (!made && sale.sent.failures > 0)
        fprintf(stderr, "%zu requests went wrong, the first: %s\n", sale.sent.failures,
                sale.sent.first_failure);
    const struct told told = {plan, &sale, answers};
    made = made && (sale_count(&sale, answers) || error_fail(&error, "out of memory")) &&
           tell(&told, &error);
    int status = made ? shop_verdict_exit_status(sale.judgement.verdict) : process_fail(error.text);
    sale_fini(&sale);
    return status;
}

static int sell(const struct options *options, struct target *target)
{
    char folder[1024];
    bool made = false;
    struct error error;
    if (!client_allow(options->connections, &error) ||
        !files_make_folder(options->out, folder, sizeof folder, &made, &error))
        return process_fail(error.text);
    const struct sale_plan plan = {
        .target = target,
        .folder = folder,
        .call = {options->timeout_s * 1000, options->ca_file},
        .connections = options->connections,
        .buyers = options->buyers,
        .rate_per_s = options->rate_per_s,
        .duration_us = options->duration_s * CLOCK_US_PER_S,
        .arrivals = options->arrivals,
        .seed = options->seed,
        .tick = terminal_rewrites(stderr) ? show : NULL,
        .context = target,
    };
    return judge(&plan);
}

int command_shop(const struct options *options)
{
    struct target target;
    struct error error;
    if (!target_read(options->folders.items[0], &target, &error))
        return process_fail(error.text);
    int status = sell(options, &target);
    target_fini(&target);
    return status;
}
