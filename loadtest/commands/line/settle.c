/* See settle.h. */
#include "loadtest/commands/line/settle.h"

#include "loadtest/base/share.h"

#include <string.h>

bool settle_body(const struct options *options, struct error *error)
{
    return !*options->body || strcmp(options->body, "plain") == 0 ||
           strcmp(options->body, "guarded") == 0 ||
           error_fail(error, "--body takes plain or guarded, not '%s'", options->body);
}

bool settle_keys(struct options *options, struct error *error)
{
    options->keyed = *options->keys != '\0';
    return !options->keyed || share_read(options->keys, &options->repeats) ||
           error_fail(error,
                      "--keys takes a share of the orders from 0%% to 100%%, as 5%%, not '%s'",
                      options->keys);
}

bool settle_fleet(struct options *options, struct error *error)
{
    return settle_body(options, error) && options_settle(options, error) &&
           (options->instances.count == 1 ||
            error_fail(error, "--instances takes one figure here"));
}
