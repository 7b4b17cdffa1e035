/* See swept.h. The values stand at equal distances: 0 has no place on a log axis. */
#include "loadtest/report/charts/swept.h"

#include "loadtest/report/charts/panels.h"
#include "loadtest/report/charts/svg.h"

#include <inttypes.h>
#include <string.h>

enum {
    WIDTH = 320,
    HEIGHT = 258,
    LEFT = 44,
    RIGHT = 306,
    RATES_TOP = 16,
    RATES_BOTTOM = 118,
    TIMES_TOP = 148,
    TIMES_BOTTOM = 226
};

struct drawing {
    FILE *to;
    const struct document *document;
    struct axis rates, times;
    int64_t values[64]; /* of the setting, rising */
    size_t count;
};

static void take_value(struct drawing *drawing, int64_t value)
{
    size_t at = drawing->count;
    for (size_t i = 0; i < drawing->count; i++)
        if (drawing->values[i] == value)
            return;
    if (at == sizeof drawing->values / sizeof *drawing->values)
        return;
    for (drawing->count++; at > 0 && drawing->values[at - 1] > value; at--)
        drawing->values[at] = drawing->values[at - 1];
    drawing->values[at] = value;
}

static double x_of(const struct drawing *drawing, int64_t value)
{
    size_t at = 0;
    while (at + 1 < drawing->count && drawing->values[at] != value)
        at++;
    double width = (double)(RIGHT - LEFT) / (double)drawing->count;
    return (double)LEFT + width * ((double)at + 0.5);
}

static void settle(struct drawing *drawing)
{
    for (size_t i = 0; i < drawing->document->count; i++) {
        const struct line *line = &drawing->document->lines[i];
        take_value(drawing, line->value);
        axis_take(&drawing->rates, line->figures[LINE_COMMITTED].least);
        axis_take(&drawing->rates, line->figures[LINE_COMMITTED].most);
        axis_take(&drawing->times, line->figures[LINE_P50].median);
        axis_take(&drawing->times, line->figures[LINE_P99].median);
    }
    axis_settle(&drawing->rates, RATES_BOTTOM, RATES_TOP);
    axis_settle(&drawing->times, TIMES_BOTTOM, TIMES_TOP);
}

/* What is measured, above its plot. */
static void unit(FILE *to, double y, const char *english, const char *chinese)
{
    svg_label(to, RIGHT, y - 5, "end", "faint");
    svg_both(to, english, chinese);
    svg_label_end(to);
}

/* Every value where there is room, else each second, third … */
static void value_labels(const struct drawing *drawing)
{
    size_t every = (drawing->count + 7) / 8;
    for (size_t i = 0; i < drawing->count; i += every) {
        svg_label(drawing->to, x_of(drawing, drawing->values[i]), TIMES_BOTTOM + 13, "middle",
                  "faint");
        fprintf(drawing->to, "%" PRId64, drawing->values[i]);
        svg_label_end(drawing->to);
    }
    svg_label(drawing->to, (double)(LEFT + RIGHT) / 2, TIMES_BOTTOM + 27, "middle", "faint");
    svg_text(drawing->to, drawing->document->over);
    svg_label_end(drawing->to);
}

enum swept_mark swept_mark_of(const struct document *document, const struct line *line)
{
    const struct line *best = line;
    int more;
    for (size_t i = 0; i < document->count; i++) {
        const struct line *other = &document->lines[i];
        if (strcmp(other->strategy, line->strategy) == 0 && strcmp(other->body, line->body) == 0 &&
            other->figures[LINE_COMMITTED].median > best->figures[LINE_COMMITTED].median)
            best = other;
    }
    if (best == line)
        return SWEPT_BEST;
    double p = apart_p(&line->committed_rounds, &best->committed_rounds, &more);
    return p > document->apart ? SWEPT_LIKE_BEST : SWEPT_LESS;
}

static void point(const struct drawing *drawing, const struct line *line)
{
    const struct span *rate = &line->figures[LINE_COMMITTED];
    double x = x_of(drawing, line->value);
    double low = axis_place(&drawing->rates, rate->least);
    double high = axis_place(&drawing->rates, rate->most);
    bool best = swept_mark_of(drawing->document, line) != SWEPT_LESS;
    fprintf(drawing->to,
            "<path d=\"M%.1f %.1fV%.1fM%.1f %.1fh6M%.1f %.1fh6\" style=\"stroke:var(--ink);"
            "fill:none\"/><circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" style=\"fill:var(--%s);"
            "stroke:var(--committed);stroke-width:2\"/>\n",
            x, low, high, x - 3, low, x - 3, high, x, axis_place(&drawing->rates, rate->median),
            best ? "committed" : "ground");
}

/* Over the values, of the lines from `first` to `end`; those without rounds are left out. */
static void line_through(const struct drawing *drawing, size_t first, size_t end,
                         const struct axis *axis, size_t member, const char *style)
{
    bool begun = false;
    fputs("<path d=\"", drawing->to);
    for (size_t i = first; i < end; i++) {
        const struct line *line = &drawing->document->lines[i];
        const struct span *const spans[] = {&line->figures[LINE_COMMITTED],
                                            &line->figures[LINE_P50], &line->figures[LINE_P99]};
        if (line->rounds == 0)
            continue;
        fprintf(drawing->to, "%s%.1f %.1f", begun ? "L" : "M", x_of(drawing, line->value),
                axis_place(axis, spans[member]->median));
        begun = true;
    }
    fprintf(drawing->to, "\" style=\"stroke:var(--committed);fill:none;%s\"/>\n", style);
}

static void panel(const struct drawing *drawing, size_t first, size_t end)
{
    FILE *to = drawing->to;
    panels_begin(to, &drawing->document->lines[first]);
    svg_begin(to, WIDTH, HEIGHT, "", "Committed orders a second, and latency, by value",
              "各取值下每秒落库的订单与延迟");
    svg_grid_across(to, &drawing->rates, LEFT, RIGHT);
    svg_grid_across(to, &drawing->times, LEFT, RIGHT);
    unit(to, RATES_TOP, "committed/s", "落库/秒");
    unit(to, TIMES_TOP, "ms", "毫秒");
    value_labels(drawing);
    line_through(drawing, first, end, &drawing->rates, 0, "stroke-width:1.5");
    for (size_t i = first; i < end; i++)
        if (drawing->document->lines[i].rounds > 0)
            point(drawing, &drawing->document->lines[i]);
    line_through(drawing, first, end, &drawing->times, 1, "stroke-width:2");
    line_through(drawing, first, end, &drawing->times, 2, "stroke-width:1.5;stroke-dasharray:4 2");
    svg_end(to);
    panels_end(to);
}

void swept_panels(FILE *to, const struct document *document)
{
    struct drawing drawing = {
        .to = to, .document = document, .rates = {.log = true}, .times = {.log = true}};
    settle(&drawing);
    fputs("<div class=\"panels\">\n", to);
    for (size_t first = 0; first < document->count;) {
        size_t end = first + 1;
        while (end < document->count && !document_begins(document, end))
            end++;
        panel(&drawing, first, end);
        first = end;
    }
    fputs("</div>\n", to);
}
