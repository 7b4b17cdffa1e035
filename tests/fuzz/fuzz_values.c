/*
 * Small values: ids, times, whole numbers, durations, lists. A value that is read is within its
 * bounds, and reads the same when it is written.
 */
#include "fuzz/fuzz.h"

#include "base/clock.h"
#include "base/options/option_rows.h"
#include "base/random/uuid.h"
#include "http/reader/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 5, NUMBER_SIZE = 24 };

static void read_uuid(const char *text)
{
    char again[UUID_TEXT_LENGTH + 1];
    struct uuid id, same;

    if (!uuid_parse(text, &id))
        return;
    uuid_format(&id, again);
    FUZZ_HOLDS(strcasecmp(text, again) == 0);
    FUZZ_HOLDS(uuid_parse(again, &same) && uuid_equal(&id, &same));
}

static void read_time(const char *text)
{
    char again[CLOCK_RFC3339_LENGTH + 1];
    int64_t us, same;

    if (!clock_parse_rfc3339(text, &us))
        return;
    clock_format_rfc3339(us, again);
    FUZZ_HOLDS(clock_parse_rfc3339(again, &same) && us == same);
}

static void read_integer(const char *text)
{
    char again[NUMBER_SIZE];
    int64_t number;

    if (!reader_integer(text, 1, INT64_MAX, &number))
        return;
    snprintf(again, sizeof again, "%" PRId64, number);
    FUZZ_HOLDS(number >= 1 && strcmp(text, again) == 0);
}

static void read_duration(const char *text)
{
    static const enum option_kind kinds[] = {OPTION_COUNT, OPTION_US, OPTION_MS, OPTION_SECONDS};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct option_range range = {"--it", -1, INT64_C(1) << 40, kinds[i]};
        struct error error = {.code = ERROR_NONE};
        char again[NUMBER_SIZE];
        int64_t number, same;

        if (!option_read_number(&range, text, &number, &error)) {
            FUZZ_HOLDS(error.code == ERROR_INVALID && *error.text);
            continue;
        }
        FUZZ_HOLDS(error.code == ERROR_NONE);
        FUZZ_HOLDS(number >= range.min && number <= range.max);
        snprintf(again, sizeof again, "%" PRId64, number);
        FUZZ_HOLDS(option_read_number(&range, again, &same, &error) && number == same);
    }
}

static void read_list(const char *text)
{
    static struct option_list list;
    struct error error = {.code = ERROR_NONE};
    size_t at = 0;

    if (!option_read_list("--it", text, &list, &error)) {
        FUZZ_HOLDS(error.code == ERROR_INVALID && *error.text);
        return;
    }
    FUZZ_HOLDS(list.count >= 1 && list.count <= OPTION_LIST_MAX);
    for (size_t i = 0; i < list.count; i++) {
        size_t length = strlen(list.items[i]);
        FUZZ_HOLDS(length > 0 && strncmp(text + at, list.items[i], length) == 0);
        at += length;
        FUZZ_HOLDS(text[at] == (i + 1 < list.count ? ',' : '\0'));
        at++;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const kinds[KINDS])(const char *) = {read_uuid, read_time, read_integer,
                                                       read_duration, read_list};
    unsigned kind = fuzz_kind(&data, &size, KINDS);
    char *text = fuzz_copy(data, size);

    kinds[kind](text);
    free(text);
    return 0;
}
