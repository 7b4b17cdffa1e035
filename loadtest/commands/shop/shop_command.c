/*
 * `shop`: loads somebody's shop as its target file says, and judges it by its own books; or with
 * --judge a sale that is over, by its ledger, without the shop. Exit status 0 when every claim that
 * was checked holds, 1 when one is broken or a threshold failed, 2 when nothing can be said.
 * Mistakes on the command line or in the target are reported before anything is sent.
 */
#include "loadtest/commands/line/command_line.h"

#include "loadtest/base/process.h"
#include "loadtest/base/terminal.h"
#include "loadtest/engine/client.h"
#include "loadtest/report/files.h"
#include "loadtest/report/pipeline/gate.h"
#include "loadtest/shop/draft/draft.h"
#include "loadtest/shop/sale/told.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void show(void *context, size_t answered)
{
    const struct target *target = context;
    fprintf(stderr, "\r\033[K%.*s: %zu answered", terminal_columns(stderr) - 30, target->name,
            answered);
    fflush(stderr);
}

struct shop_run {
    const struct shop_options *options; /* borrowed */
    struct target target;
    struct gate gate;
};

/* A sale that is judged: its files, the output, and the cases. Sets the exit status. */
static bool tell(struct shop_run *run, const char *folder, const struct sale *sale, int *status,
                 struct error *error)
{
    if (sale->ledger.load.late_us > 0)
        run->gate.fail_if.count = 0; /* it would be the generator that is judged */
    told_print(stdout, sale);
    gate_judge(&run->gate, run->target.name, "", &sale->measured);
    gate_print(stdout, &run->gate);
    told_add_cases(&run->gate.junit, sale);
    if (!told_write(folder, &run->target, sale, &run->gate.fail_if, error))
        return false;
    printf("Files: %s/report.html, results.json%s\n", folder,
           *run->options->judge ? "" : ", ledger.jsonl");
    *status = gate_exit_status(&run->gate, (int)sale->judgement.verdict);
    return true;
}

static bool hold(struct shop_run *run, const struct sale_plan *plan, int *status,
                 struct error *error)
{
    struct sale sale;
    bool made = sale_hold(plan, &sale, error);
    if (plan->tick)
        fputs("\r\033[K", stderr);
    if (!made && sale.ledger.load.failures > 0)
        fprintf(stderr, "%zu requests went wrong, the first: %s\n", sale.ledger.load.failures,
                sale.ledger.load.first_failure);
    made = made && tell(run, plan->folder, &sale, status, error);
    sale_fini(&sale);
    return made;
}

static bool sell(struct shop_run *run, int *status, struct error *error)
{
    const struct shop_options *options = run->options;
    char folder[1024];
    bool made = false;
    if (!client_allow(options->shared.connections, error) ||
        !files_make_folder(options->shared.out, folder, sizeof folder, &made, error))
        return false;
    const struct sale_plan plan = {
        .target = &run->target,
        .folder = folder,
        .timeout_ms = options->timeout_s * 1000,
        .ca_file = options->ca_file,
        .connections = options->shared.connections,
        .buyers = options->buyers,
        .rate_per_s = options->shared.rate_per_s,
        .duration_us = options->shared.duration_s * CLOCK_US_PER_S,
        .arrivals = options->shared.arrivals,
        .max_lag_ms = options->shared.max_lag_ms,
        .seed = options->shared.seed,
        .tick = terminal_rewrites(stderr) ? show : NULL,
        .context = &run->target,
    };
    return hold(run, &plan, status, error);
}

/* No folder is made for a ledger that is refused. */
static bool judge_again(struct shop_run *run, int *status, struct error *error)
{
    const struct shop_options *options = run->options;
    struct sale sale;
    char folder[1024];
    bool made = false;
    bool good = sale_judge_again(options->judge, &run->target, &sale, error) &&
                files_make_folder(options->shared.out, folder, sizeof folder, &made, error);
    if (good) {
        printf("Judged again by %s; nothing was sent.\n\n", options->judge);
        good = tell(run, folder, &sale, status, error);
    }
    sale_fini(&sale);
    return good;
}

/* What can be seen of --ca-file without TLS; curl would say it of each purchase. */
static bool check_ca_file(const char *path, struct error *error)
{
    static const char begins[] = "-----BEGIN ";
    char line[256];
    bool found = false;
    FILE *from = fopen(path, "re");
    if (!from)
        return error_fail(error, "--ca-file: %.300s: %s", path, strerror(errno));
    while (!found && fgets(line, sizeof line, from))
        found = strncmp(line, begins, sizeof begins - 1) == 0 && strstr(line, "CERTIFICATE-----");
    fclose(from);
    return found || error_fail(error,
                               "--ca-file: %.300s has no certificate in it: PEM is wanted, with a "
                               "line -----BEGIN CERTIFICATE-----",
                               path);
}

static bool begin(struct shop_run *run, struct error *error)
{
    const struct shop_options *options = run->options;
    const char *missing[THRESHOLD_MEASURES];
    if (*options->ca_file && !check_ca_file(options->ca_file, error))
        return false;
    if (!target_read(options->shared.words.items[0], &run->target, error))
        return false;
    told_missing(&run->target, missing);
    return thresholds_are_measured("fail-if", &run->gate.fail_if, missing, error);
}

/* --init: the file is made, and nothing is sent. */
static int make_target(const struct shop_options *options)
{
    const char *path = options->shared.words.items[0];
    const struct draft_sources from = {options->init, options->curl, options->bought,
                                       options->sold_out};
    struct error error;
    if (!draft_make(&from, path, &error))
        return process_fail(error.text);
    printf("%s is made. Read it, then judge the shop: seckill-loadtest shop %s\n", path, path);
    return 0;
}

int command_shop(const struct shop_options *options)
{
    if (*options->init)
        return make_target(options);
    struct shop_run run = {.options = options};
    struct error error;
    int status = 2;
    if (!gate_open(&run.gate, &options->shared, &error))
        return process_fail(error.text);
    bool made = begin(&run, &error) && (*options->judge ? judge_again(&run, &status, &error)
                                                        : sell(&run, &status, &error));
    if (!made)
        status = process_fail(error.text);
    if (!gate_close(&run.gate, "shop", made ? NULL : error.text, &error))
        status = process_fail(error.text);
    target_fini(&run.target);
    return status;
}
