/*
 * `oasis`: a sale as great as that of Oasis' seventeen nights, to its end, and then the rows.
 *
 * Happy path: the nights are put on sale, a crowd buys them out while a line shows the hall
 * emptying, what was accepted is decided, the servers stop, and the witness counts. Ctrl-C, a
 * server that dies, and one that does not answer end the sale; what the rows say so far is said
 * then too, once the servers have ended what they had accepted.
 */
#include "loadtest/commands/commands.h"

#include "loadtest/base/terminal.h"
#include "loadtest/commands/harness.h"
#include "loadtest/commands/oasis/sale_books.h"
#include "loadtest/report/files.h"
#include "loadtest/report/results.h"

#include <inttypes.h>
#include <stdlib.h>

/* So many of the tickets' number of buyers come when all is gone. */
enum { LATE_SHARE = 20, TENTHS = 10 };

struct oasis {
    const struct oasis_options *options; /* borrowed */
    struct harness harness;
    struct hall hall;
    struct crowd_tally tally;
    int64_t looked_us, looked_orders; /* when the line was last drawn, and the orders then */
    double per_s;
    int64_t tenths; /* of the tickets whose sale was said, where there is no terminal */
};

static bool put_on_sale(struct oasis *oasis, struct error *error)
{
    const struct hall *hall = &oasis->hall;
    const struct fleet *fleet = &oasis->harness.fleet;
    int64_t first = hall->nights[0].product, last = hall->nights[hall->count - 1].product;
    int64_t epoch = 0;
    for (size_t i = 0; i < hall->count; i++) {
        char name[64];
        const struct night *night = &hall->nights[i];
        struct api_sale sale = {.first = night->product,
                                .count = 1,
                                .stock = night->tickets,
                                .limit = BUYER_LIMIT,
                                .name = name,
                                .epoch = &epoch};
        hall_name(hall, night, name, sizeof name);
        if (!api_put_products(oasis->harness.api, fleet->urls[0], &sale, error))
            return false;
    }
    return witness_remember(fleet->witness, first, last, epoch, error) &&
           phase_wait_clean(fleet, first, last, error);
}

/* Rewritten on a terminal; else a line when a tenth more is sold. */
static void show(struct oasis *oasis, const struct crowd_tally *tally, int64_t now_us)
{
    char text[200];
    const struct hall *hall = &oasis->hall;
    bool terminal = oasis->harness.fleet.progress != NULL;
    int64_t tenths = hall->sold * TENTHS / hall->tickets;
    hall_line(hall, oasis->per_s, (now_us - tally->began_us) / CLOCK_US_PER_S, text, sizeof text);
    if (terminal)
        fprintf(stderr, "\r\033[K%.*s", terminal_columns(stderr) - 1, text);
    else if (tenths > oasis->tenths)
        fprintf(stderr, "%s\n", text);
    fflush(stderr);
    oasis->tenths = tenths;
}

static bool tick(void *context, const struct crowd_tally *tally, struct error *error)
{
    struct oasis *oasis = context;
    const struct fleet *fleet = &oasis->harness.fleet;
    int64_t now_us = clock_mono_us();
    bool second = now_us - oasis->looked_us >= CLOCK_US_PER_S;
    if (second || oasis->looked_orders == 0) /* the first one is shown while it goes on */
        oasis->per_s = (double)(tally->bought - oasis->looked_orders) * CLOCK_US_PER_S /
                       (double)(now_us - oasis->looked_us);
    if (second) {
        oasis->looked_us = now_us;
        oasis->looked_orders = tally->bought;
    }
    show(oasis, tally, now_us);
    return !fleet->instances || instance_all_alive(fleet->instances, fleet->count, error);
}

static bool sell(struct oasis *oasis, struct error *error)
{
    const struct options *options = &oasis->options->shared;
    const struct fleet *fleet = &oasis->harness.fleet;
    char query[REQUEST_QUERY_SIZE];
    http_request_query(query, options->wait_ms, options->body, NULL);
    const struct crowd_plan plan = {.targets = fleet->urls,
                                    .targets_count = fleet->count,
                                    .buyers = options->connections,
                                    .late = oasis->hall.tickets / LATE_SHARE,
                                    .seed = options->seed,
                                    .strategy = oasis->options->strategy,
                                    .query = query,
                                    .tick = tick,
                                    .context = oasis};
    char tickets[HALL_FIGURE_SIZE];
    printf("%s tickets for %zu nights, at most %d a buyer. The hall empties on the page at %s/\n",
           hall_figure(oasis->hall.tickets, tickets), oasis->hall.count, BUYER_LIMIT,
           fleet->urls[0]);
    fflush(stdout);
    oasis->looked_us = clock_mono_us();
    bool made = crowd_run(&plan, &oasis->hall, &oasis->tally, error);
    harness_clear_progress(&oasis->harness);
    return made && phase_wait_settled(fleet, oasis->hall.nights[0].product,
                                      oasis->hall.nights[oasis->hall.count - 1].product, error);
}

/* The exit status. */
static int judge(struct oasis *oasis, size_t instances, bool ended_early, struct error *error)
{
    struct sale_books books = {.hall = &oasis->hall,
                               .tally = &oasis->tally,
                               .strategy = oasis->options->strategy,
                               .instances = instances,
                               .ended_early = ended_early};
    if (!sale_books_audit(&books, oasis->harness.witness, error) ||
        !witness_same_sales(oasis->harness.witness, error))
        return process_fail(error->text);
    char machine[600];
    sale_books_print(&books, stdout);
    machine_line(&oasis->harness.machine, machine, sizeof machine);
    puts(machine);
    size_t faults = sale_books_faults(&books, stdout);
    if (faults == 0)
        puts(ended_early ? "The books agree so far." : "The audit is clean.");
    if (!files_write_json(oasis->harness.folder, "oasis.json", sale_books_json(&books), error))
        return process_fail(error->text);
    printf("Files: %s/oasis.json\n", oasis->harness.folder);
    return faults > 0 ? 1 : ended_early ? 2 : 0;
}

static bool open_sale(struct oasis *oasis, struct error *error)
{
    const struct options *options = &oasis->options->shared;
    struct harness *harness = &oasis->harness;
    hall_init(&oasis->hall, options->first_product, (size_t)options->products,
              oasis->options->tickets);
    return harness_init(harness, options, error) &&
           harness_open_fleet(harness, options->instances.items[0], error) &&
           harness_choose(harness, oasis->options->strategy, error) &&
           harness_may_reset(harness, options->products, error) && put_on_sale(oasis, error);
}

int command_oasis(const struct oasis_options *options)
{
    struct error error = {.text = ""}, ending = {.text = ""};
    struct oasis *oasis = calloc(1, sizeof *oasis);
    if (!oasis)
        return process_fail("out of memory");
    oasis->options = options;
    bool opened = open_sale(oasis, &error);
    bool made = opened && sell(oasis, &error);
    size_t instances = oasis->harness.fleet.count;
    if (opened && !made)
        process_fail(error.text);
    /* What they had accepted is in the rows when they have ended. */
    bool ended = harness_close_fleet(&oasis->harness, &ending);
    int status = opened ? judge(oasis, instances, !made, &error) : process_fail(error.text);
    if (opened && made && !ended)
        status = process_fail(ending.text);
    harness_fini(&oasis->harness);
    free(oasis);
    return status;
}
