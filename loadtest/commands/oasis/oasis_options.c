/* See oasis_options.h. */
#include "loadtest/commands/oasis/oasis_options.h"

#include "loadtest/commands/capacity/capacity_options.h"
#include "loadtest/commands/line/settle.h"

enum { OASIS = COMMAND_OASIS };

#define AT(member) offsetof(struct oasis_options, member)

static const struct option_row rows[] = {
    OPTION_ROW("strategy", OASIS, OPTION_TEXT, AT(strategy), "batch", 0, 0, false, "NAME",
               "what sells"),
    OPTION_ROW("tickets", OASIS, OPTION_COUNT, AT(tickets), "1400000", 1, 100000000, false, "N",
               "tickets on sale, of all nights together"),
    OPTION_ROW("products", OASIS, OPTION_COUNT, AT(shared.products), "17", 1, 1000, false, "N",
               "nights, a product each"),
    OPTION_ROW("instances", OASIS, OPTION_NUMBERS, AT(shared.instances), NULL, 1,
               OPTIONS_MAX_INSTANCES, false, "N",
               "how many servers share the load (1; with --server: all of them)"),
    OPTION_ROW("connections", OASIS, OPTION_COUNT, AT(shared.connections), "256", 1, 10000, false,
               "N", "buyers at once, with two connections each"),
};

const struct option_table option_table_oasis = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .more = &option_table_capacity};

bool oasis_options_settle(struct oasis_options *options, struct error *error)
{
    return settle_fleet(&options->shared, error) &&
           (options->tickets >= options->shared.products ||
            error_fail(error, "--tickets must be at least one for each of --products"));
}
