/* See panels.h. */
#include "loadtest/report/charts/panels.h"

#include "loadtest/report/charts/svg.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { WIDTH = 330, LEFT = 34, RIGHT = 216, TOP = 10, BOTTOM = 140, HEIGHT = 162, STRIP = 48 };

/* Between two names beside a plot, and how many have room. */
enum { LABEL_ROW = 11, LABELS_MAX = (BOTTOM - TOP) / LABEL_ROW + 1 };

/* Beyond it a curve is one answer in ten thousand. */
static const double NINES = 4;

bool panels_has(const struct document *document)
{
    for (size_t i = 0; i < document->count; i++)
        if (document->lines[i].answers)
            return true;
    return false;
}

void panels_begin(FILE *to, const struct line *line)
{
    fputs("<figure><figcaption>", to);
    svg_text(to, line->strategy);
    fprintf(to, "%s</figcaption>\n", line_body_text(line));
}

void panels_end(FILE *to)
{
    fputs("</figure>\n", to);
}

void panels_name(FILE *to, const struct document *document, const struct line *line)
{
    if (document->over)
        fprintf(to, "=%" PRId64, line->value);
    else
        fprintf(to, "×%d", line->instances);
}

/* The lines of one strategy: from `first` up to what is returned. */
static size_t group_end(const struct document *document, size_t first)
{
    size_t end = first + 1;
    while (end < document->count && !document_begins(document, end))
        end++;
    return end;
}

static bool group_has(const struct document *document, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (document->lines[i].answers)
            return true;
    return false;
}

static const struct latency *kind_of(const struct line *line, int kind)
{
    const struct latency *latency = line->answers ? &line->answers->kinds[kind] : NULL;
    return latency && latency->count > 0 ? latency : NULL;
}

size_t panels_curve(const struct latency *latency, struct panels_point *out, size_t room)
{
    double all = (double)latency->count;
    int64_t seen = 0;
    size_t count = 0;
    for (size_t i = 0; i < HISTOGRAM_STEPS && count < room; i++) {
        int64_t end_us = histogram_step_end(i);
        bool last = latency->steps[i] > 0 && seen + latency->steps[i] == latency->count;
        if (latency->steps[i] == 0)
            continue;
        if (count == 0)
            out[count++] = (struct panels_point){
                0, (double)(end_us < latency->max_us ? end_us : latency->max_us) / 1000};
        seen += latency->steps[i];
        double share = last ? (all - 1) / all : (double)seen / all;
        if (count < room)
            out[count++] = (struct panels_point){-log10(1 - share),
                                                 (double)(last ? latency->max_us : end_us) / 1000};
    }
    return count;
}

static void take_latencies(const struct document *document, struct axis *axis)
{
    for (size_t i = 0; i < document->count; i++)
        for (int kind = 0; kind < ANSWERS_KINDS; kind++) {
            const struct latency *latency = kind_of(&document->lines[i], kind);
            if (!latency)
                continue;
            /* A few answers in no time must not push all others to one end. */
            axis_take(axis, (double)latency_quantile_us(latency, 0.001) / 1000);
            axis_take(axis, (double)latency->max_us / 1000);
        }
}

static void percentile_grid(FILE *to, const struct axis *shares)
{
    static const char *const names[] = {"0", "90 %", "99 %", "99.9 %", "99.99 %"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double x = axis_place(shares, (double)i);
        fprintf(to, "<path d=\"M%.1f %dV%d\" style=\"stroke:var(--line);fill:none\"/>", x, TOP,
                BOTTOM);
        svg_label(to, x, BOTTOM + 14, "middle", "faint");
        fputs(names[i], to);
        svg_label_end(to);
    }
}

static const char *dashes_of(size_t number)
{
    static const char *const dashes[] = {"none", "6 3", "2 2", "8 2 2 2", "1 3"};
    return dashes[number % (sizeof dashes / sizeof *dashes)];
}

static void line_style(FILE *to, int kind, const char *dashes)
{
    fprintf(to, "\" style=\"stroke:var(--%s);stroke-width:1.8;fill:none;stroke-dasharray:%s\"/>\n",
            answers_name(kind), dashes);
}

static void curve(FILE *to, const struct latency *latency, const struct axis *shares,
                  const struct axis *times)
{
    struct panels_point points[HISTOGRAM_STEPS + 1];
    size_t count = panels_curve(latency, points, HISTOGRAM_STEPS + 1);
    fputs("<path d=\"", to);
    for (size_t i = 0; i < count; i++)
        fprintf(to, "%s%.1f %.1f", i ? "L" : "M", axis_place(shares, points[i].nines),
                axis_place(times, points[i].ms));
}

/* The name of a curve, beside the plot as near to its end as the others allow. */
struct curve_label {
    const struct line *line;
    int kind;
    const char *dashes;
    double y;
};

/* Rising, LABEL_ROW apart, and none below the plot. */
static void spread(struct curve_label *labels, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && labels[j].y < labels[j - 1].y; j--) {
            struct curve_label label = labels[j];
            labels[j] = labels[j - 1];
            labels[j - 1] = label;
        }
    for (size_t i = 1; i < count; i++)
        if (labels[i].y < labels[i - 1].y + (double)LABEL_ROW)
            labels[i].y = labels[i - 1].y + (double)LABEL_ROW;
    for (size_t i = count; i > 0; i--) {
        double most = (double)BOTTOM - (double)(count - i) * (double)LABEL_ROW;
        if (labels[i - 1].y > most)
            labels[i - 1].y = most;
    }
}

static void draw_labels(FILE *to, const struct document *document, struct curve_label *labels,
                        size_t count)
{
    spread(labels, count);
    for (size_t i = 0; i < count; i++) {
        fprintf(to, "<path d=\"M%d %.1fh12", RIGHT + 4, labels[i].y);
        line_style(to, labels[i].kind, labels[i].dashes);
        svg_label(to, RIGHT + 19, labels[i].y + 3.5, "start", "ink");
        panels_name(to, document, labels[i].line);
        fputc(' ', to);
        svg_both(to, answers_name(labels[i].kind), answers_chinese(labels[i].kind));
        svg_label_end(to);
    }
}

static void curves_of(FILE *to, const struct document *document, size_t first, size_t end,
                      const struct axis *times)
{
    struct axis shares = {.from = 0, .to = NINES, .begin = LEFT, .end = RIGHT};
    struct curve_label labels[LABELS_MAX];
    size_t count = 0;

    panels_begin(to, &document->lines[first]);
    svg_begin(to, WIDTH, HEIGHT, "", "Percentiles of the latency in milliseconds",
              "延迟百分位（毫秒）");
    svg_grid_across(to, times, LEFT, RIGHT);
    percentile_grid(to, &shares);
    for (size_t i = first; i < end; i++)
        for (int kind = 0; kind < ANSWERS_KINDS; kind++) {
            const struct latency *latency = kind_of(&document->lines[i], kind);
            if (!latency)
                continue;
            curve(to, latency, &shares, times);
            line_style(to, kind, dashes_of(i - first));
            if (count < LABELS_MAX)
                labels[count++] =
                    (struct curve_label){&document->lines[i], kind, dashes_of(i - first),
                                         axis_place(times, (double)latency->max_us / 1000)};
        }
    draw_labels(to, document, labels, count);
    svg_end(to);
    panels_end(to);
}

void panels_percentiles(FILE *to, const struct document *document)
{
    struct axis times = {.log = true};
    take_latencies(document, &times);
    axis_settle(&times, BOTTOM, TOP);
    fputs("<div class=\"panels\">\n", to);
    for (size_t first = 0; first < document->count; first = group_end(document, first))
        if (group_has(document, first, group_end(document, first)))
            curves_of(to, document, first, group_end(document, first), &times);
    fputs("</div>\n", to);
}

void panels_bars(const struct latency *latency, int64_t out[PANELS_BARS])
{
    memset(out, 0, PANELS_BARS * sizeof *out);
    for (size_t i = 0; i < HISTOGRAM_STEPS; i++)
        out[i / 4] += latency->steps[i];
}

double panels_bar_begin_ms(size_t bar)
{
    return bar == 0 ? 0 : (double)histogram_step_end(bar * 4 - 1) / 1000;
}

static void strip(FILE *to, const struct latency *latency, const struct axis *times, double bottom,
                  const char *colour)
{
    static const double HIGH = STRIP - 19;
    int64_t bars[PANELS_BARS];
    int64_t most = 1;
    panels_bars(latency, bars);
    for (size_t i = 0; i < PANELS_BARS; i++)
        most = bars[i] > most ? bars[i] : most;
    fprintf(to, "<path d=\"M%.1f %.1f", times->begin, bottom);
    for (size_t i = 0; i + 1 < PANELS_BARS; i++) {
        double end = axis_place(times, panels_bar_begin_ms(i + 1));
        if (bars[i] > 0 || (i > 0 && bars[i - 1] > 0))
            fprintf(to, "H%.1fV%.1fH%.1f", axis_place(times, panels_bar_begin_ms(i)),
                    bottom - HIGH * (double)bars[i] / (double)most, end);
    }
    fprintf(to, "V%.1fH%.1fZ\" style=\"fill:var(--%s)\"/>", bottom, times->end, colour);
    fprintf(to, "<path d=\"M%.1f %.1fH%.1f\" style=\"stroke:var(--faint);fill:none\"/>",
            times->begin, bottom, times->end);
    static const double shares[] = {0.5, 0.99};
    for (size_t i = 0; i < 2; i++) {
        double x = axis_place(times, (double)latency_quantile_us(latency, shares[i]) / 1000);
        fprintf(to, "<path d=\"M%.1f %.1fv%.1f\" style=\"stroke:var(--ink);fill:none%s\"/>\n", x,
                bottom + 3, -HIGH - 3, i ? ";stroke-dasharray:3 2" : "");
    }
}

static void histograms_of(FILE *to, const struct document *document, size_t first, size_t end,
                          const struct axis *times)
{
    int strips = 0;
    for (size_t i = first; i < end; i++)
        for (int kind = 0; kind < ANSWERS_KINDS; kind++)
            strips += kind_of(&document->lines[i], kind) != NULL;
    panels_begin(to, &document->lines[first]);
    svg_begin(to, WIDTH, strips * STRIP + 20, "", "How many took how long, in milliseconds",
              "延迟分布（毫秒）");
    svg_grid_down(to, times, 2, strips * STRIP + 4, strips * STRIP + 16);
    double bottom = 0;
    for (size_t i = first; i < end; i++)
        for (int kind = 0; kind < ANSWERS_KINDS; kind++) {
            const struct latency *latency = kind_of(&document->lines[i], kind);
            if (!latency)
                continue;
            bottom += (double)STRIP;
            strip(to, latency, times, bottom, answers_name(kind));
            svg_label(to, WIDTH - 10, bottom - (double)STRIP + 14, "end", "ink");
            panels_name(to, document, &document->lines[i]);
            fputc(' ', to);
            svg_both(to, answers_name(kind), answers_chinese(kind));
            fprintf(to, " %" PRId64, latency->count);
            svg_label_end(to);
        }
    svg_end(to);
    panels_end(to);
}

void panels_histograms(FILE *to, const struct document *document)
{
    struct axis times = {.log = true};
    take_latencies(document, &times);
    axis_settle(&times, 10, WIDTH - 16);
    fputs("<div class=\"panels\">\n", to);
    for (size_t first = 0; first < document->count; first = group_end(document, first))
        if (group_has(document, first, group_end(document, first)))
            histograms_of(to, document, first, group_end(document, first), &times);
    fputs("</div>\n", to);
}
