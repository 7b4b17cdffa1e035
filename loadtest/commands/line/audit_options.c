/* See audit_options.h. */
#include "loadtest/commands/line/audit_options.h"

#include "loadtest/commands/line/run_options.h"

enum { AUDIT = COMMAND_AUDIT };

#define AT(member) offsetof(struct audit_options, member)

static const struct option_row rows[] = {
    OPTION_ROW("product", AUDIT, OPTION_COUNT, AT(product), "0", 1, INT64_C(9007199254740991),
               false, "ID", "audit this product alone"),
};

const struct option_table option_table_audit = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .more = &option_table_run};
