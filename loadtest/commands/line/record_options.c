/* See record_options.h. */
#include "loadtest/commands/line/record_options.h"

#include "loadtest/commands/line/settle.h"
#include "loadtest/commands/oasis/oasis_options.h"

enum { RECORD = COMMAND_RECORD };

#define AT(member) offsetof(struct record_options, member)

static const struct option_row rows[] = {
    OPTION_ROW("strategy", RECORD, OPTION_TEXT, AT(strategy), "conditional", 0, 0, false, "NAME",
               "what sells"),
    OPTION_ROW("instances", RECORD, OPTION_NUMBERS, AT(shared.instances), NULL, 1,
               OPTIONS_MAX_INSTANCES, false, "N",
               "how many servers share the load (1; with --server: all of them)"),
    OPTION_ROW("connections", RECORD, OPTION_COUNT, AT(shared.connections), "16", 1, 20000, false,
               "N", "buyers at once, who each wait for their answer"),
    OPTION_ROW("operations", RECORD, OPTION_COUNT, AT(operations), "0", 0, 1000000000, false, "N",
               "end after so many, if that is before --duration; 0: any number"),
    OPTION_ROW("users", RECORD, OPTION_COUNT, AT(shared.users), "200", 1, 1000000000, false, "N",
               "how many users they buy for"),
    OPTION_ROW("limit", RECORD, OPTION_COUNT, AT(shared.limit), "0", 0, 1000000000, false, "N",
               "units that a user may have of a product; 0: any number"),
    OPTION_ROW("holds", RECORD, OPTION_COUNT, AT(holds), "0", 0, 100, false, "PERCENT",
               "so many of a hundred buys are to be paid within --hold-s"),
    OPTION_ROW("hold-s", RECORD, OPTION_SECONDS, AT(hold_s), "1s", 1, 86400, false, "1s",
               "how long those orders may wait to be paid"),
    OPTION_ROW("paid", RECORD, OPTION_COUNT, AT(paid), "40", 0, 100, false, "PERCENT",
               "so many of a hundred of them are paid at once"),
    OPTION_ROW("paid-late", RECORD, OPTION_COUNT, AT(paid_late), "30", 0, 100, false, "PERCENT",
               "and so many when their hold ends, a moment before or after; the rest never"),
    OPTION_ROW("duration", RECORD, OPTION_SECONDS, AT(shared.duration_s), "5s", 1, 86400, false,
               "5s", "how long the buyers go on"),
    OPTION_ROW("stock", RECORD, OPTION_COUNT, AT(shared.stock), "100", 0, 1000000000, false, "N",
               "units on sale, of each product"),
    OPTION_ROW("products", RECORD, OPTION_COUNT, AT(shared.products), "4", 1, 100000, false, "N",
               "how many products are sold"),
};

const struct option_table option_table_record = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .more = &option_table_oasis};

bool record_options_settle(struct record_options *options, struct error *error)
{
    if (options->paid + options->paid_late > 100)
        return error_fail(error, "--paid and --paid-late are more than 100 of a hundred orders");
    return settle_fleet(&options->shared, error);
}
