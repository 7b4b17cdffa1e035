/* See timeline.h. */
#include "loadtest/report/charts/timeline.h"

#include "loadtest/report/charts/svg.h"

#include <string.h>

enum {
    WIDTH = 760,
    HEIGHT = 316,
    LEFT = 46,
    RIGHT = 670,
    RATES_TOP = 22,
    RATES_BOTTOM = 150,
    TIMES_TOP = 172,
    TIMES_BOTTOM = 290
};

/* Beside the kinds of answers. */
enum { OFFERED = LOAD_CLASSES };

struct drawing {
    FILE *to;
    const struct timeline *timeline;
    struct axis seconds, rates, times;
};

static double rate_of(const struct timeline *timeline, int64_t count)
{
    return (double)count * 1e6 / (double)timeline->slice_us;
}

static bool has_kind(const struct timeline *timeline, int kind)
{
    for (size_t i = 0; i < timeline->count; i++)
        if (timeline->slices[i].answered[kind] > 0 || timeline->slices[i].p99_us[kind] > 0)
            return true;
    return false;
}

static void settle(struct drawing *drawing)
{
    const struct timeline *timeline = drawing->timeline;
    for (size_t i = 0; i < timeline->count; i++) {
        const struct timeline_slice *slice = &timeline->slices[i];
        axis_take(&drawing->rates, rate_of(timeline, slice->offered));
        for (int kind = 0; kind < LOAD_CLASSES; kind++) {
            axis_take(&drawing->rates, rate_of(timeline, slice->answered[kind]));
            axis_take(&drawing->times, (double)slice->p50_us[kind] / 1000);
            axis_take(&drawing->times, (double)slice->p99_us[kind] / 1000);
        }
    }
    axis_settle(&drawing->rates, RATES_BOTTOM, RATES_TOP);
    axis_settle(&drawing->times, TIMES_BOTTOM, TIMES_TOP);
    double seconds = (double)timeline->slice_us * (double)timeline->count / 1e6;
    drawing->seconds =
        (struct axis){.from = 0, .to = seconds, .begin = LEFT, .end = RIGHT, .most = seconds};
}

/* A slice's begin in the picture. */
static double slice_x(const struct drawing *drawing, size_t slice)
{
    return axis_place(&drawing->seconds, (double)slice * (double)drawing->timeline->slice_us / 1e6);
}

/* In steps, for a slice's figure is of all of it. */
static void rate_steps(const struct drawing *drawing, int kind)
{
    const struct timeline *timeline = drawing->timeline;
    for (size_t i = 0; i < timeline->count; i++) {
        const struct timeline_slice *slice = &timeline->slices[i];
        int64_t count = kind == OFFERED ? slice->offered : slice->answered[kind];
        fprintf(drawing->to, "L%.1f %.1fH%.1f", slice_x(drawing, i),
                axis_place(&drawing->rates, rate_of(timeline, count)), slice_x(drawing, i + 1));
    }
}

/* A ground on which the answers stand. */
static void offered_area(const struct drawing *drawing)
{
    fprintf(drawing->to, "<path d=\"M%d %d", LEFT, RATES_BOTTOM);
    rate_steps(drawing, OFFERED);
    fprintf(drawing->to, "V%dZ\" style=\"fill:var(--offered)\"/>\n", RATES_BOTTOM);
}

static void rate_line(const struct drawing *drawing, int kind)
{
    fprintf(drawing->to, "<path d=\"M%d %d", LEFT, RATES_BOTTOM);
    rate_steps(drawing, kind);
    fprintf(drawing->to, "\" style=\"stroke:var(--%s);stroke-width:1.6;fill:none\"/>\n",
            answers_name(kind));
}

/* A slice in which none was due is a gap. */
static void time_line(const struct drawing *drawing, int kind, bool p99)
{
    const struct timeline *timeline = drawing->timeline;
    bool drawn = false;
    fputs("<path d=\"", drawing->to);
    for (size_t i = 0; i < timeline->count; i++) {
        const struct timeline_slice *slice = &timeline->slices[i];
        int64_t us = p99 ? slice->p99_us[kind] : slice->p50_us[kind];
        if (us > 0) {
            double y = axis_place(&drawing->times, (double)us / 1000);
            double begin = slice_x(drawing, i), end = slice_x(drawing, i + 1);
            /* Alone it would be a line of no length. */
            fprintf(drawing->to, drawn ? "L%.1f %.1fL%.1f %.1f" : "M%.1f %.1fL%.1f %.1f",
                    drawn ? (begin + end) / 2 : begin, y, (begin + end) / 2, y);
        }
        drawn = us > 0;
    }
    fprintf(drawing->to,
            "\" style=\"stroke:var(--%s);stroke-width:%s;fill:none;stroke-dasharray:%s\"/>\n",
            answers_name(kind), p99 ? "1.3" : "2", p99 ? "4 2" : "none");
}

const char *timeline_part_chinese(const char *name)
{
    static const char *const names[][2] = {{"lead", "预热"},
                                           {"steady", "稳态"},
                                           {"idle", "开售前"},
                                           {"bell", "开售"},
                                           {"tail", "尾声"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], name) == 0)
            return names[i][1];
    return NULL;
}

/* Where one part of the schedule ends and the next begins. */
static void draw_parts(const struct drawing *drawing, const json_t *parts)
{
    double at = 0;
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i);
        const char *name = json_string_value(json_object_get(part, "part"));
        const char *chinese = timeline_part_chinese(name ? name : "");
        double begin = axis_place(&drawing->seconds, at);
        at += json_number_value(json_object_get(part, "duration_s"));
        double end = axis_place(&drawing->seconds, at);
        svg_label(drawing->to, (begin + end) / 2, RATES_TOP - 8, "middle", "faint");
        if (chinese)
            svg_both(drawing->to, name, chinese);
        else
            svg_text(drawing->to, name);
        svg_label_end(drawing->to);
        fprintf(drawing->to,
                "<path d=\"M%.1f %dV%d\" style=\"stroke:var(--faint);stroke-dasharray:2 3;"
                "fill:none\"/>\n",
                end, RATES_TOP - 6, TIMES_BOTTOM);
    }
}

static void key(const struct drawing *drawing, double y, const char *colour, const char *english,
                const char *chinese)
{
    fprintf(drawing->to, "<path d=\"M%d %.1fh14\" style=\"stroke:var(--%s);stroke-width:3\"/>",
            RIGHT + 8, y - 3.5, colour);
    svg_label(drawing->to, RIGHT + 26, y, "start", "ink");
    svg_both(drawing->to, english, chinese);
    svg_label_end(drawing->to);
}

static void draw_keys(const struct drawing *drawing)
{
    double y = RATES_TOP + 8;
    key(drawing, y, "offered", "offered/s", "到达/秒");
    for (int kind = 0; kind < LOAD_CLASSES; kind++)
        if (has_kind(drawing->timeline, kind))
            key(drawing, y += 16, answers_name(kind), answers_name(kind), answers_chinese(kind));
    y = TIMES_TOP + 8;
    svg_label(drawing->to, RIGHT + 8, y, "start", "ink");
    svg_both(drawing->to, "ms: — p50", "毫秒：— p50");
    svg_label_end(drawing->to);
    svg_label(drawing->to, RIGHT + 8, y + 14, "start", "ink");
    fputs("- - p99", drawing->to);
    svg_label_end(drawing->to);
}

bool timeline_draw(FILE *to, const json_t *run)
{
    struct timeline timeline;
    if (!answers_timeline(run, &timeline) || timeline.count == 0)
        return false;
    struct drawing drawing = {.to = to, .timeline = &timeline, .times = {.log = true}};
    settle(&drawing);
    svg_begin(to, WIDTH, HEIGHT, "", "Offered, answered and latency over time",
              "到达、答复与延迟随时间的变化");
    svg_grid_across(to, &drawing.rates, LEFT, RIGHT);
    svg_grid_across(to, &drawing.times, LEFT, RIGHT);
    svg_grid_down(to, &drawing.seconds, TIMES_BOTTOM, TIMES_BOTTOM + 4, TIMES_BOTTOM + 16);
    svg_label(to, RIGHT + 12, TIMES_BOTTOM + 16, "start", "faint");
    svg_both(to, "s", "秒");
    svg_label_end(to);
    draw_parts(&drawing, json_object_get(json_object_get(run, "open_loop"), "parts"));
    offered_area(&drawing);
    for (int kind = 0; kind < LOAD_CLASSES; kind++) {
        if (!has_kind(&timeline, kind))
            continue;
        rate_line(&drawing, kind);
        time_line(&drawing, kind, false);
        time_line(&drawing, kind, true);
    }
    draw_keys(&drawing);
    svg_end(to);
    return true;
}
