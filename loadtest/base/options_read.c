/* See options_read.h. */
#include "loadtest/base/options_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool options_read_count(const struct options_range *range, const char *text, int64_t *out,
                        struct error *error)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < range->min || value > range->max)
        return error_fail(error, "--%s takes a number from %lld to %lld, not '%s'", range->flag,
                          (long long)range->min, (long long)range->max, text);
    *out = value;
    return true;
}

bool options_read_seconds(const struct options_range *range, const char *text, int64_t *out,
                          struct error *error)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    bool number = !errno && end != text && value >= range->min && value <= range->max;
    long long unit = 0;
    if (*end == '\0' || strcmp(end, "s") == 0)
        unit = 1;
    else if (strcmp(end, "m") == 0)
        unit = 60;
    if (!number || unit == 0 || value * unit > range->max)
        return error_fail(error, "--%s takes whole seconds like 10s or 2m, not '%s'", range->flag,
                          text);
    *out = value * unit;
    return true;
}

bool options_read_list(const char *flag, const char *text, struct option_list *out,
                       struct error *error)
{
    out->count = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (length == 0 || length >= sizeof out->items[0])
            return error_fail(error, "--%s has an empty or overlong item in '%s'", flag, text);
        if (out->count == OPTIONS_MAX_LIST)
            return error_fail(error, "--%s takes at most %d items", flag, OPTIONS_MAX_LIST);
        memcpy(out->items[out->count], at, length);
        out->items[out->count][length] = '\0';
        out->count++;
        at += length;
        if (*at == '\0')
            return true;
    }
}

bool options_read_instances(const struct options_range *range, const char *text,
                            struct options *options, struct error *error)
{
    struct option_list list;
    if (!options_read_list(range->flag, text, &list, error))
        return false;
    for (size_t i = 0; i < list.count; i++) {
        int64_t value = 0;
        if (!options_read_count(range, list.items[i], &value, error))
            return false;
        options->instances[i] = (int)value;
    }
    options->instances_count = list.count;
    return true;
}

static const char *const scenarios[] = {"hot", "soldout", "spread", "counter", "bell", "articles"};

const char *scenario_name(enum scenario scenario)
{
    return scenarios[scenario];
}

bool options_read_scenario(const char *flag, const char *text, enum scenario *out,
                           struct error *error)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        if (strcmp(text, scenarios[i]) == 0) {
            *out = (enum scenario)i;
            return true;
        }
    }
    return error_fail(error, "--%s takes hot, soldout, spread, counter, bell or articles, not '%s'",
                      flag, text);
}
