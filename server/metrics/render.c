/*
 * Writes all series that are shown, family by family, in the text format.
 *
 * Everything is read once, before anything is written: which groups are shown follows from the
 * figures. A page without memory for them is empty.
 */
#include "metrics/metrics_internal.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct page {
    FILE *to;
    bool shown[METRICS_MAX_GROUPS];
    int64_t counters[METRICS_MAX_COUNTERS];
    int64_t readings[METRICS_MAX_READINGS];
    struct metrics_distribution histograms[METRICS_MAX_HISTOGRAMS];
    const struct metrics_list *list; /* where the last family that was begun stands */
    int begun;
};

static uint64_t count_of(const struct metrics_distribution *distribution)
{
    uint64_t count = 0;

    for (int i = 0; i < METRICS_BUCKETS; i++)
        count += distribution->buckets[i];
    return count;
}

static void read_all(struct page *page, struct metrics *metrics)
{
    page->shown[METRICS_ALWAYS] = true;
    for (int i = 0; i < metrics->counters.count; i++) {
        page->counters[i] = (int64_t)metrics_read((struct metric){metrics, i});
        page->shown[metrics->counters.series[i].group] |= page->counters[i] != 0;
    }
    for (int i = 0; i < metrics->readings.count; i++) {
        const struct metrics_series *series = &metrics->readings.series[i];
        page->readings[i] = series->read(series->context);
        page->shown[series->group] |= page->readings[i] != 0;
    }
    for (int i = 0; i < metrics->histograms.count; i++) {
        metrics_read_histogram(metrics, i, &page->histograms[i]);
        page->shown[metrics->histograms.series[i].group] |= count_of(&page->histograms[i]) != 0;
    }
}

/* HELP and TYPE stand once, before a family's first series that is shown. */
static bool begin_series(struct page *page, const struct metrics_list *list, int index,
                         const char *type)
{
    const struct metrics_series *series = &list->series[index];

    if (!page->shown[series->group])
        return false;
    bool first =
        page->list != list || strcmp(series->family, list->series[page->begun].family) != 0;
    page->list = list;
    page->begun = index;
    if (first)
        fprintf(page->to, "# HELP %s %s\n# TYPE %s %s\n", series->family, series->help,
                series->family, type);
    return true;
}

static void write_value(FILE *to, enum metrics_unit unit, int64_t value)
{
    if (unit == METRICS_MICROSECONDS)
        fprintf(to, " %" PRId64 ".%06" PRId64 "\n", value / 1000000, value % 1000000);
    else
        fprintf(to, " %" PRId64 "\n", value);
}

/* `suffix` is _sum, _count or nothing. */
static void write_series(FILE *to, const struct metrics_series *series, const char *suffix,
                         enum metrics_unit unit, int64_t value)
{
    bool bare = *series->labels == '\0';

    fprintf(to, "%s%s%s%s%s", series->family, suffix, bare ? "" : "{", series->labels,
            bare ? "" : "}");
    write_value(to, unit, value);
}

static void write_histogram(FILE *to, const struct metrics_series *series,
                            const struct metrics_distribution *distribution)
{
    uint64_t count = 0;

    for (int i = 0; i < METRICS_BUCKETS; i++) {
        char end[24] = "+Inf";
        count += distribution->buckets[i];
        if (i < METRICS_BUCKETS - 1)
            snprintf(end, sizeof end, "%g", (double)metrics_bucket_ends_us[i] / 1e6);
        fprintf(to, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", series->family, series->labels,
                *series->labels == '\0' ? "" : ",", end, count);
    }
    write_series(to, series, "_sum", METRICS_MICROSECONDS, (int64_t)distribution->sum_us);
    write_series(to, series, "_count", METRICS_NUMBER, (int64_t)count);
}

void metrics_render(struct metrics *metrics, FILE *to)
{
    struct page *page = calloc(1, sizeof *page);

    if (!page)
        return;
    page->to = to;
    read_all(page, metrics);
    for (int i = 0; i < metrics->counters.count; i++)
        if (begin_series(page, &metrics->counters, i, "counter"))
            write_series(to, &metrics->counters.series[i], "", metrics->counters.series[i].unit,
                         page->counters[i]);
    for (int i = 0; i < metrics->readings.count; i++) {
        const struct metrics_series *series = &metrics->readings.series[i];
        if (begin_series(page, &metrics->readings, i,
                         series->kind == METRICS_COUNTER ? "counter" : "gauge"))
            write_series(to, series, "", series->unit, page->readings[i]);
    }
    for (int i = 0; i < metrics->histograms.count; i++)
        if (begin_series(page, &metrics->histograms, i, "histogram"))
            write_histogram(to, &metrics->histograms.series[i], &page->histograms[i]);
    free(page);
}
