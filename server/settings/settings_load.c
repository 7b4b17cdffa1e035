#include "settings/settings.h"

#include "settings/settings_accept.h"

#include <inttypes.h>

static bool check_order(const char *low, int64_t low_ms, const char *high, int64_t high_ms,
                        struct error *error)
{
    if (low_ms < high_ms)
        return true;
    return error_set(error, ERROR_INVALID, "%s (%" PRId64 ") must be less than %s (%" PRId64 ")",
                     low, low_ms, high, high_ms);
}

bool settings_load(struct settings *out, enum settings_action *action, int argc, char **argv,
                   char *(*environment)(const char *), struct error *error)
{
    const struct option_line line = {"--help", argc - 1, argv + 1, environment};
    struct option_given given;

    *out = (struct settings){.print_schema = false}; /* a switch that is not given says nothing */
    if (!option_rows_parse(&settings_table, SETTINGS_OF_SERVER, &line, out, &given, error))
        return false;
    *action = (enum settings_action)given.stop;
    if (*action != SETTINGS_RUN)
        return true;
    settings_read_cell(out->cell, &out->cell_number, &out->cells);
    return check_order("--work-timeout-ms", out->work_timeout_ms, "--lock-ttl-ms", out->lock_ttl_ms,
                       error) &&
           check_order("--work-ms", out->work_ms, "--work-timeout-ms", out->work_timeout_ms,
                       error) &&
           check_order("twice --stall-ms", 2 * out->stall_ms, "--work-timeout-ms",
                       out->work_timeout_ms, error);
}
