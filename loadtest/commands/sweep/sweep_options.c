/* See sweep_options.h. */
#include "loadtest/commands/sweep/sweep_options.h"

#include "loadtest/commands/line/record_options.h"
#include "loadtest/commands/line/settle.h"

enum { SWEEP = COMMAND_SWEEP };

#define AT(member) offsetof(struct sweep_options, member)

static const struct option_row rows[] = {
    OPTION_ROW("strategies", SWEEP, OPTION_LIST, AT(strategies), "conditional", 0, 0, false,
               "a,b,...", "what to measure"),
    OPTION_ROW("over", SWEEP, OPTION_TEXT, AT(over), "", 0, 0, false, "NAME=1,2,4",
               "what to vary, and its values (below)"),
    OPTION_ROW("set", SWEEP, OPTION_LIST, AT(set), NULL, 0, 0, false, "NAME=1,...",
               "other settings, the same throughout"),
};

const struct option_table option_table_sweep = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .more = &option_table_record};

bool sweep_options_settle(struct sweep_options *options, struct error *error)
{
    return settle_body(&options->shared, error) && settle_keys(&options->shared, error) &&
           options_settle(&options->shared, error);
}
