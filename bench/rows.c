/* See rows.h. */
#include "bench/rows.h"

#include <stdlib.h>

const int bench_client_counts[2][BENCH_CLIENT_COUNTS] = {{1, 2, 4, 8, 16}, {4, 8, 16, 32, 64}};

const struct bench_measure bench_measures[BENCH_MEASURES] = {
#define MEASURE(id, its_name, how, ...)                                                            \
    [MEASURE_##id] = {.name = (its_name), .kind = BENCH_##how, __VA_ARGS__},
#include "bench/measures.def"
#undef MEASURE
};

enum { MOST = 1, BRIEF = 2, APART = 4 };
#define RATE(measure)       MEASURE_##measure, FIGURE_RATE
#define FIGURE(measure, of) MEASURE_##measure, FIGURE_##of
#define ALONE               MEASURE_NONE, FIGURE_RATE

const struct bench_row bench_rows[] = {
#define ROW(number, what, figure, against, bound, aim, flags)                                      \
    {number,                                                                                       \
     what,                                                                                         \
     {figure},                                                                                     \
     {against},                                                                                    \
     bound,                                                                                        \
     aim,                                                                                          \
     (MOST & (flags)) != 0,                                                                        \
     (BRIEF & (flags)) != 0,                                                                       \
     (APART & (flags)) != 0},
#include "bench/rows.def"
#undef ROW
};

const size_t bench_rows_count = sizeof bench_rows / sizeof bench_rows[0];

const char *bench_figure_name(enum bench_figure figure)
{
    static const char *const names[] = {"per_s",  "committed_per_s", "p50_ms",
                                        "p99_ms", "cpu_us",          "kib",
                                        "share",  "overloaded_per_s"};
    return names[figure];
}

static bool is_named(const struct bench_row *row, const char *item)
{
    char *end = NULL;
    return strtol(item, &end, 10) == row->number && end != item && *end == '\0';
}

bool bench_rows_exist(const struct bench_options *options, struct error *error)
{
    for (size_t i = 0; i < options->rows.count; i++) {
        bool found = false;
        for (size_t k = 0; k < bench_rows_count; k++)
            found = found || is_named(&bench_rows[k], options->rows.items[i]);
        if (!found)
            return error_fail(error, "--rows: there is no row '%s'", options->rows.items[i]);
    }
    return true;
}

bool bench_row_wanted(const struct bench_row *row, const struct bench_options *options)
{
    for (size_t i = 0; i < options->rows.count; i++) {
        if (is_named(row, options->rows.items[i]))
            return true;
    }
    return options->rows.count == 0 && !row->apart && (options->full || row->brief);
}
