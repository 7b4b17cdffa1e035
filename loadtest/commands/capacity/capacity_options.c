/* See capacity_options.h. */
#include "loadtest/commands/capacity/capacity_options.h"

#include "loadtest/commands/line/check_options.h"
#include "loadtest/commands/line/settle.h"

enum { CAPACITY = COMMAND_CAPACITY };

#define AT(member) offsetof(struct capacity_options, member)

static const struct option_row rows[] = {
    OPTION_ROW("strategy", CAPACITY, OPTION_TEXT, AT(strategy), "conditional", 0, 0, false, "NAME",
               "what sells"),
    OPTION_ROW("slo", CAPACITY, OPTION_TEXT, AT(slo), "p99<50ms,failed<0.1%", 0, 0, false,
               "CONDITION,...", "what must hold, as in run's --fail-if"),
    OPTION_ROW("rate", CAPACITY, OPTION_COUNT, AT(shared.rate_per_s), "200", 1, 1000000, false, "N",
               "orders a second to begin with"),
    OPTION_ROW("within", CAPACITY, OPTION_SECONDS, AT(within_s), "3m", 1, 86400, false, "3m",
               "end after so long, found or not"),
    OPTION_ROW("duration", CAPACITY, OPTION_SECONDS, AT(shared.duration_s), "3s", 1, 86400, false,
               "3s", "how long each rate is offered"),
    OPTION_ROW("connections", CAPACITY, OPTION_COUNT, AT(shared.connections), "1024", 1, 20000,
               false, "N", "connections at the most"),
};

const struct option_table option_table_capacity = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .more = &option_table_check};

bool capacity_options_settle(struct capacity_options *options, struct error *error)
{
    return settle_keys(&options->shared, error) && settle_fleet(&options->shared, error);
}
