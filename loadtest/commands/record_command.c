/*
 * `record`: puts products on sale, lets a crowd buy, and leaves a ledger behind. The first SIGINT
 * or SIGTERM ends the crowd early, with a whole ledger. Exit status 0 when it came to its end,
 * else 2. Whether what it recorded is right is `check`'s to say.
 */
#include "loadtest/commands/line/command_line.h"

#include "loadtest/commands/harness.h"
#include "loadtest/engine/http_request.h"
#include "loadtest/ledger/record/recorder.h"

#include <inttypes.h>
#include <stdio.h>

/* How long accepted orders are waited for when the buyers have gone, and held ones when their hold
 * is over. */
#define SETTLE_US (30 * CLOCK_US_PER_S)

/* Starts the sales, and writes down what each began with. */
static bool begin_sale(const struct harness *harness, struct json_lines *writer,
                       struct error *error)
{
    const struct options *options = harness->options;
    const struct fleet *fleet = &harness->fleet;
    struct ledger_product product = {.stock = options->stock, .limit = options->limit};
    struct api_sale sale = {.first = options->first_product,
                            .epoch = &product.epoch,
                            .count = 1,
                            .stock = options->stock,
                            .limit = options->limit};
    for (; sale.first < options->first_product + options->products; sale.first++) {
        product.id = sale.first;
        if (!api_put_products(harness->api, fleet->urls[0], &sale, error))
            return false;
        ledger_write_product(writer, &product);
    }
    return true;
}

/* So that the ledger says by itself how it was made. */
static void note_settings(const struct harness *harness, const struct record_options *own,
                          struct json_lines *writer)
{
    const struct options *options = &own->shared;
    char text[200];
    snprintf(text, sizeof text, "%s, %zu servers, %" PRId64 " connections, %" PRId64 " users%s%s",
             own->strategy, harness->fleet.count, options->connections, options->users,
             *options->body ? ", body " : "", options->body);
    ledger_write_note(writer, clock_mono_us(), text);
}

static bool record(const struct harness *harness, const struct record_options *own,
                   const char *path, struct recorder_result *result, struct error *error)
{
    const struct options *options = &own->shared;
    struct error ignored;
    char query[REQUEST_QUERY_SIZE];
    struct json_lines *writer =
        ledger_create(path, &(struct ledger){.seed = options->seed}, NULL, error);
    if (!writer)
        return false;
    http_request_query(query, options->wait_ms, options->body, NULL);
    const struct recorder_plan plan = {
        .targets = harness->fleet.urls,
        .targets_count = harness->fleet.count,
        .connections = options->connections,
        .duration_us = options->duration_s * CLOCK_US_PER_S,
        .operations = own->operations,
        .settle_us = SETTLE_US + (own->holds ? own->hold_s * CLOCK_US_PER_S : 0),
        .query = query,
        .token = options->admin_token,
        .mix = {.seed = options->seed,
                .first_product = options->first_product,
                .products = options->products,
                .users = options->users,
                .strategy = own->strategy,
                .holds = own->holds,
                .hold_s = own->hold_s,
                .paid = own->paid,
                .paid_late = own->paid_late},
    };
    note_settings(harness, own, writer);
    bool made = begin_sale(harness, writer, error) && recorder_run(&plan, writer, result, error);
    return json_lines_close(writer, made ? error : &ignored) && made;
}

int command_record(const struct record_options *own)
{
    const struct options *options = &own->shared;
    struct harness harness = {.options = options};
    struct recorder_result result = {0};
    struct error error = {.text = ""};
    char path[sizeof harness.folder + 16];
    process_take_requests();
    bool made = harness_init(&harness, options, &error) &&
                harness_open_fleet(&harness, options->instances.items[0], &error) &&
                harness_choose(&harness, own->strategy, &error) &&
                harness_may_reset(&harness, options->products, &error);
    snprintf(path, sizeof path, "%s/ledger.jsonl", harness.folder);
    made = made && record(&harness, own, path, &result, &error) &&
           harness_close_fleet(&harness, &error);
    int status = made ? 0 : process_fail(error.text);
    if (result.operations > 0)
        printf("%" PRId64 " operations, %" PRId64 " answered, %zu accepted and not known to be "
               "decided; seed %" PRId64 "\nLedger: %s\n",
               result.operations, result.answered, result.undecided, options->seed, path);
    harness_fini(&harness);
    return status;
}
