/* See report_options.h. */
#include "loadtest/commands/line/report_options.h"

#include "loadtest/commands/zoo/zoo_options.h"

enum { REPORT = COMMAND_REPORT };

#define AT(member) offsetof(struct report_options, member)

static const struct option_row rows[] = {
    OPTION_ROW("strategies", REPORT, OPTION_LIST, AT(strategies), NULL, 0, 0, false, "a,b,...",
               "show these alone (all)"),
};

const struct option_table option_table_report = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .more = &option_table_zoo};
