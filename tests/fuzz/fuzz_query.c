/*
 * Queries: a parameter's value is within its bounds, and read again the same when each of its bytes
 * is percent-encoded; what is refused names what is wrong.
 */
#include "fuzz/fuzz.h"

#include "http/reader/reader.h"
#include "order/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STRATEGY, WAIT_MS, AFTER, PARAM_COUNT };

static void make_params(struct param params[PARAM_COUNT])
{
    params[STRATEGY] = (struct param){.name = "strategy"};
    params[WAIT_MS] = (struct param){.name = "wait_ms", .integer = true, .min = 0, .max = 60000};
    params[AFTER] = (struct param){.name = "after", .integer = true, .min = 1, .max = ORDER_ID_MAX};
}

static void write_encoded(FILE *to, const char *text)
{
    for (; *text; text++)
        fprintf(to, "%%%02X", (unsigned char)*text);
}

static char *write_again(const struct param params[PARAM_COUNT])
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    FUZZ_HOLDS(to);
    for (int i = 0; i < PARAM_COUNT; i++) {
        if (!params[i].given)
            continue;
        fputs(ftell(to) > 0 ? "&" : "", to);
        write_encoded(to, params[i].name);
        fputc('=', to);
        write_encoded(to, params[i].text);
    }
    fclose(to);
    return text;
}

static void check_read(const struct param first[PARAM_COUNT])
{
    struct problem problem = {0};
    struct param again[PARAM_COUNT];
    char *text = write_again(first);

    make_params(again);
    FUZZ_HOLDS(reader_query(text, again, PARAM_COUNT, &problem));
    for (int i = 0; i < PARAM_COUNT; i++) {
        FUZZ_HOLDS(first[i].given == again[i].given);
        if (!first[i].given)
            continue;
        FUZZ_HOLDS(strcmp(first[i].text, again[i].text) == 0);
        FUZZ_HOLDS(first[i].number == again[i].number);
        if (first[i].integer)
            FUZZ_HOLDS(first[i].number >= first[i].min && first[i].number <= first[i].max);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct problem problem = {0};
    struct param params[PARAM_COUNT];
    char *query = fuzz_copy(data, size);

    make_params(params);
    if (reader_query(query, params, PARAM_COUNT, &problem)) {
        FUZZ_HOLDS(problem.status == 0);
        check_read(params);
    } else {
        FUZZ_HOLDS(problem.status == 400 && *problem.code && *problem.detail);
    }
    free(query);
    return 0;
}
