/* See results.h. */
#include "loadtest/report/results.h"

#include "loadtest/base/pool.h"
#include "loadtest/report/files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 1000 };

/* NULL: it was not at a rate, or not for its figures; of a run whose generator was late there are
 * no parts. */
static json_t *parts_of(const json_t *run)
{
    bool is_truth = document_is(run, "phase", "truth");
    return is_truth ? NULL : json_object_get(json_object_get(run, "open_loop"), "parts");
}

enum column { PER_S, LATE, NEVER, P50, P90, P99, P999, MAX, COLUMNS };
/* The narrow form fits into 100 characters. */
static const struct {
    const char *member, *title;
    bool narrow;
} latencies[COLUMNS] = {[P50] = {"p50", "p50 ms", true},
                        [P90] = {"p90", "p90 ms", false},
                        [P99] = {"p99", "p99 ms", true},
                        [P999] = {"p999", "p99.9 ms", true},
                        [MAX] = {"max", "max ms", false}};

/* Of a part, the answers of one class. */
static json_t *answers_of(const json_t *part, enum load_class class)
{
    return json_object_get(json_object_get(part, "latency_us"), load_class_name(class));
}

static double figure(const json_t *part, enum load_class class, enum column column)
{
    const json_t *answers = answers_of(part, class);
    double seconds = json_number_value(json_object_get(part, "duration_s"));
    if (column == PER_S)
        return (double)document_integer(answers, "count") / seconds;
    if (column == LATE || column == NEVER)
        return (double)document_integer(part, column == LATE ? "late_starts" : "never_started");
    return (double)document_integer(answers, latencies[column].member) / 1000;
}

/* Where the lines go. */
struct open_print {
    FILE *to;
    const struct document *document;
    bool wide;
};

static void print_titles(const struct open_print *print)
{
    fprintf(print->to, "\n%-17s %4s  %-7s %9s %6s %6s  %-9s %6s", "strategy", "inst", "part",
            "offered/s", "late", "never", "answer", "each s");
    for (int column = P50; column <= MAX; column++) {
        if (print->wide || latencies[column].narrow)
            fprintf(print->to, " %8s", latencies[column].title);
    }
    fputc('\n', print->to);
}

static void print_line(const struct open_print *print, const struct line *line, size_t number,
                       const json_t *of, enum load_class class)
{
    double values[COLUMNS][ROUNDS_MAX];
    const json_t *runs = print->document->runs;
    size_t rounds = 0;
    bool seen = false;
    for (size_t i = 0; i < json_array_size(runs) && rounds < ROUNDS_MAX; i++) {
        const json_t *run = json_array_get(runs, i);
        const json_t *part = json_array_get(parts_of(run), number);
        if (!part || document_line_of(print->document, run) != line)
            continue;
        for (int column = 0; column < COLUMNS; column++)
            values[column][rounds] = figure(part, class, (enum column)column);
        seen = seen || document_integer(answers_of(part, class), "count") > 0;
        rounds++;
    }
    if (!seen)
        return;
    double median[COLUMNS];
    for (int column = 0; column < COLUMNS; column++)
        median[column] = span_of(values[column], rounds).median;
    fprintf(print->to, "%-17s %4d  %-7s %9.0f %6.0f %6.0f  %-9s %6.0f", line->strategy,
            line->instances, document_text(of, "part"),
            json_number_value(json_object_get(of, "rate_per_s")), median[LATE], median[NEVER],
            load_class_name(class), median[PER_S]);
    for (int column = P50; column <= MAX; column++) {
        if (print->wide || latencies[column].narrow)
            fprintf(print->to, " %8.2f", median[column]);
    }
    fputc('\n', print->to);
}

/* Whether it is the first of its line that has figures. */
static bool comes_first(const struct document *document, size_t which)
{
    const json_t *runs = document->runs;
    const struct line *line = document_line_of(document, json_array_get(runs, which));
    for (size_t i = 0; i < which; i++) {
        const json_t *run = json_array_get(runs, i);
        if (json_array_size(parts_of(run)) > 0 && document_line_of(document, run) == line)
            return false;
    }
    return line && json_array_size(parts_of(json_array_get(runs, which))) > 0;
}

void open_results_print(FILE *to, const struct document *document, bool wide)
{
    const struct open_print print = {to, document, wide};
    bool titled = false;
    for (size_t i = 0; i < json_array_size(document->runs); i++) {
        if (!comes_first(document, i))
            continue;
        if (!titled)
            print_titles(&print);
        titled = true;
        const json_t *run = json_array_get(document->runs, i);
        for (size_t number = 0; number < json_array_size(parts_of(run)); number++) {
            for (int class = 0; class < LOAD_CLASSES; class ++)
                print_line(&print, document_line_of(document, run), number,
                           json_array_get(parts_of(run), number), (enum load_class) class);
        }
    }
    if (titled)
        fputs("Latencies are from when each order was due, and at most 6.25 % more than the truth."
              "\nlate: orders that waited for a connection; never: orders that got none.\n",
              to);
}

static json_t *json_latency(const struct latency_figures *figures)
{
    return json_pack("{sI sI sI sI sI sI}", "count", figures->count, "p50", figures->p50_us, "p90",
                     figures->p90_us, "p99", figures->p99_us, "p999", figures->p999_us, "max",
                     figures->max_us);
}

json_t *open_results_steps(const struct latency *latency)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = memory_need(open_memstream(&text, &size));
    latency_write(to, latency);
    fclose(to);
    json_t *steps = json_string(text);
    free(text);
    return steps;
}

/* `steps` NULL: nobody has kept them. */
static json_t *json_classes(const struct load_part *part, const struct latency *steps)
{
    json_t *classes = json_object();
    for (int class = 0; class < LOAD_CLASSES; class ++) {
        json_t *figures = json_latency(&part->classes[class]);
        if (steps && steps[class].count > 0)
            json_object_set_new(figures, "steps", open_results_steps(&steps[class]));
        json_object_set_new(classes, load_class_name((enum load_class) class), figures);
    }
    return classes;
}

enum slice_figure { ANSWERED, P50_US, P99_US, OFFERED };

static int64_t slice_figure(const struct timeline_slice *slice, int class, enum slice_figure which)
{
    if (which == P50_US || which == P99_US)
        return latency_quantile_us(&slice->latencies[class], which == P50_US ? 0.5 : 0.99);
    return which == ANSWERED ? slice->answered[class] : slice->offered;
}

/* "3 17 0": the figure of each slice. NULL: all are 0. */
static json_t *json_slices(const struct timeline *timeline, int class, enum slice_figure which)
{
    char text[TIMELINE_ROOM * sizeof " -9223372036854775808"];
    size_t used = 0;
    int64_t sum = 0;
    for (size_t i = 0; i < timeline->count; i++) {
        int64_t value = slice_figure(&timeline->slices[i], class, which);
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%" PRId64, i ? " " : "", value);
        sum += value;
    }
    return sum > 0 ? json_string(text) : NULL;
}

/* A kind of answer that nobody got is left out. */
static json_t *json_timeline(const struct timeline *timeline)
{
    json_t *object = json_pack("{sI so*}", "slice_us", timeline->slice_us, "offered",
                               json_slices(timeline, 0, OFFERED));
    for (int class = 0; class < LOAD_CLASSES; class ++) {
        json_t *answered = json_slices(timeline, class, ANSWERED);
        if (answered)
            json_object_set_new(object, load_class_name((enum load_class) class),
                                json_pack("{so so* so*}", "answered", answered, "p50_us",
                                          json_slices(timeline, class, P50_US), "p99_us",
                                          json_slices(timeline, class, P99_US)));
    }
    return object;
}

/* A line of the CSV: what its run, its part and its class of answers have. */
static json_t *json_line(json_t *run, json_t *part, enum load_class class)
{
    json_t *answers = answers_of(part, class), *line = json_copy(run);
    json_object_update(line, part);
    json_object_set(line, "count", json_object_get(answers, "count"));
    json_object_set(line, "latency_us", answers);
    json_object_set(line, "lag_us", json_object_get(json_object_get(run, "open_loop"), "lag_us"));
    json_object_set_new(line, "answer", json_string(load_class_name(class)));
    return line;
}

bool open_results_write_csv(const char *folder, const struct document *document,
                            struct error *error)
{
    json_t *lines = json_array();
    if (!document_has_open_loop(document)) {
        json_decref(lines);
        return true;
    }
    for (size_t i = 0; i < json_array_size(document->runs); i++) {
        json_t *run = json_array_get(document->runs, i);
        for (size_t part = 0; part < json_array_size(parts_of(run)); part++)
            for (int class = 0; class < LOAD_CLASSES; class ++)
                json_array_append_new(lines, json_line(run, json_array_get(parts_of(run), part),
                                                       (enum load_class) class));
    }
    bool written = files_write_csv(
        folder, "arrivals.csv",
        "strategy,body,instances,scenario,phase,round,part,rate_per_s:1,duration_s:3,"
        "arrivals,late_starts,never_started,answer,count,latency_us_p50,"
        "latency_us_p90,latency_us_p99,latency_us_p999,latency_us_max,lag_us_p99",
        lines, error);
    json_decref(lines);
    return written;
}

json_t *open_results_json(const struct phase_result *run)
{
    const struct load_detail *detail = run->plan.load.detail;
    json_t *parts = json_array();
    bool is_told = run->load.parts_count > 0 && !run->load.too_late;
    for (size_t i = 0; is_told && i < run->load.parts_count; i++) {
        const struct load_part *part = &run->load.parts[i];
        json_array_append_new(
            parts, json_pack("{ss sf sf sI sI sI so}", "part", part->planned.name, "rate_per_s",
                             part->planned.rate_per_s, "duration_s",
                             (double)part->planned.duration_us / 1e6, "arrivals", part->arrivals,
                             "late_starts", part->late_starts, "never_started", part->never_started,
                             "latency_us", json_classes(part, detail ? detail->parts[i] : NULL)));
    }
    json_t *timeline = NULL;
    if (is_told && detail && detail->timeline.count > 0)
        timeline = json_timeline(&detail->timeline);
    return json_pack("{ss sI sI sb so so so*}", "arrivals",
                     run->plan.load.arrivals.kind == ARRIVALS_CONSTANT ? "constant" : "poisson",
                     "committed_in_time", run->load.committed_in_time, "unanswered",
                     run->load.abandoned, "too_late", (int)run->load.too_late, "lag_us",
                     json_latency(&run->load.lag), "parts", parts, "timeline", timeline);
}
