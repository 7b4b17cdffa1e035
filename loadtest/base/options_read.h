/* What the command line's values are made of: numbers, seconds, lists. Each is false with a text
 * that names the flag and what it takes. */
#ifndef SECKILL_LOADTEST_BASE_OPTIONS_READ_H
#define SECKILL_LOADTEST_BASE_OPTIONS_READ_H

#include "loadtest/base/options.h"

struct options_range {
    const char *flag; /* without the dashes */
    int64_t min, max;
};

bool options_read_count(const struct options_range *range, const char *text, int64_t *out,
                        struct error *error);
bool options_read_seconds(const struct options_range *range, const char *text, int64_t *out,
                          struct error *error);
bool options_read_list(const char *flag, const char *text, struct option_list *out,
                       struct error *error);
/* A list of numbers, into `instances`. */
bool options_read_instances(const struct options_range *range, const char *text,
                            struct options *options, struct error *error);
bool options_read_scenario(const char *flag, const char *text, enum scenario *out,
                           struct error *error);

#endif
