/* See chart.h. */
#include "loadtest/report/html/chart.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    WIDTH = 760,
    LABELS = 178, /* where the plot begins */
    PLOT = 430,
    TOP = 26,
    ROW = 17,
    GAP = 7, /* between strategies */
    BAR = 12,
    FOOT = 8
};

/* A log axis from a power of ten to another. */
struct axis {
    int from, to;
};

void chart_text(FILE *to, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", to);
            break;
        case '>':
            fputs("&gt;", to);
            break;
        case '&':
            fputs("&amp;", to);
            break;
        case '"':
            fputs("&quot;", to);
            break;
        default:
            fputc(*text, to);
        }
    }
}

const char *chart_sign(enum found_class class)
{
    static const char *const signs[] = {[FOUND_SAFE] = "✓", [FOUND_CARE] = "△", [FOUND_BAD] = "✗"};
    return signs[class];
}

static void widen(struct axis *axis, double value)
{
    if (value <= 0)
        return;
    int low = (int)floor(log10(value));
    int high = (int)ceil(log10(value));
    bool first = axis->from == axis->to;
    axis->from = first || low < axis->from ? low : axis->from;
    axis->to = first || high > axis->to ? high : axis->to;
    if (axis->from == axis->to)
        axis->to++;
}

static double place(const struct axis *axis, double value)
{
    if (value <= 0)
        return LABELS;
    return (double)LABELS + (double)PLOT * (log10(value) - axis->from) / (axis->to - axis->from);
}

static bool begins_group(const struct found *found, size_t i)
{
    return i == 0 || strcmp(found->lines[i].strategy, found->lines[i - 1].strategy) != 0;
}

static int height_of(const struct found *found)
{
    int height = TOP + FOOT;
    for (size_t i = 0; i < found->count; i++)
        height += ROW + (i > 0 && begins_group(found, i) ? GAP : 0);
    return height;
}

static void begin(FILE *to, const struct found *found, const char *more, const char *english,
                  const char *chinese)
{
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\""
            " font-family=\"system-ui, sans-serif\" font-size=\"12\"%s>\n"
            "<title>%s · %s</title>\n",
            WIDTH, height_of(found), more, english, chinese);
}

static void grid(FILE *to, const struct axis *axis, int height)
{
    for (int power = axis->from; power <= axis->to; power++) {
        double value = pow(10, power);
        double x = place(axis, value);
        fprintf(to,
                "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" style=\"stroke:var(--line)\"/>"
                "<text x=\"%.1f\" y=\"14\" text-anchor=\"middle\" style=\"fill:var(--faint)\">",
                x, TOP - 6, x, height - FOOT + 2, x);
        fprintf(to, "%.*f</text>\n", power < 0 ? -power : 0, value);
    }
}

/* Returns the line's middle. */
static double label(FILE *to, const struct found *found, size_t i, int *y)
{
    const struct found_line *line = &found->lines[i];
    bool begins = begins_group(found, i);

    if (i > 0)
        *y += ROW + (begins ? GAP : 0);
    double middle = *y + (double)BAR / 2;
    if (begins) {
        fprintf(to, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" style=\"fill:var(--ink)\">",
                LABELS - 34, middle + 4);
        chart_text(to, line->strategy);
        fputs("</text>", to);
    }
    fprintf(to,
            "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" font-size=\"10\""
            " style=\"fill:var(--faint)\">%s×%d</text>\n",
            LABELS - 6, middle + 4, strcmp(line->body, "guarded") == 0 ? "g " : "",
            line->instances);
    return middle;
}

static void bar(FILE *to, const struct axis *axis, const struct found_line *line, double middle)
{
    const struct span *rate = &line->committed_per_s;
    double end = place(axis, rate->median);
    const char *class = found_class_name(line->class);

    fprintf(to,
            "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\""
            " style=\"fill:var(--%s)\"/>",
            LABELS, middle - (double)BAR / 2, end - (double)LABELS, BAR, class);
    double after = end;
    if (line->rounds > 1) {
        double low = place(axis, rate->least);
        after = place(axis, rate->most);
        fprintf(to,
                "<path d=\"M%.1f %.1fH%.1fM%.1f %.1fv6M%.1f %.1fv6\""
                " style=\"stroke:var(--ink);fill:none\"/>",
                low, middle, after, low, middle - 3, after, middle - 3);
    }
    fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" style=\"fill:var(--ink)\">%.0f %s", after + 6,
            middle + 4, rate->median, chart_sign(line->class));
    if (line->oversold > 0)
        fprintf(to, " %" PRId64 " / %" PRId64, line->sold, line->stock);
    fputs("</text>\n", to);
}

static void draw_rates(FILE *to, const struct found *found, const char *more)
{
    struct axis axis = {0, 0};
    int y = TOP;

    for (size_t i = 0; i < found->count; i++) {
        widen(&axis, found->lines[i].committed_per_s.least);
        widen(&axis, found->lines[i].committed_per_s.most);
    }
    if (axis.to == axis.from)
        axis.to = 1;
    begin(to, found, more, "Committed orders a second", "每秒落库的订单");
    if (*more)
        fputs("<rect width=\"100%\" height=\"100%\" style=\"fill:var(--ground)\"/>\n", to);
    grid(to, &axis, height_of(found));
    for (size_t i = 0; i < found->count; i++)
        bar(to, &axis, &found->lines[i], label(to, found, i, &y));
    fputs("</svg>\n", to);
}

void chart_rates(FILE *to, const struct found *found)
{
    draw_rates(to, found, "");
}

void chart_alone(FILE *to, const struct found *found)
{
    draw_rates(to, found,
               "><style>svg{--ground:#fff;--ink:#1a1c20;--faint:#5c6470;--line:#d9dde3;"
               "--safe:#007a5a;--care:#b86e00;--bad:#c4320a}"
               "@media(prefers-color-scheme:dark){svg{--ground:#14161a;--ink:#e8eaee;"
               "--faint:#a0a8b4;--line:#343a44;--safe:#2fbf94;--care:#e6a23c;--bad:#ff7a52}}"
               "</style");
}

static void range(FILE *to, const struct axis *axis, const struct found_line *line, double middle)
{
    const double at[] = {place(axis, line->p50_ms.median), place(axis, line->p90_ms.median),
                         place(axis, line->p99_ms.median), place(axis, line->max_ms.median)};
    const char *class = found_class_name(line->class);

    fprintf(to,
            "<path d=\"M%.1f %.1fH%.1f\" style=\"stroke:var(--%s);stroke-width:6;"
            "stroke-linecap:round\"/><path d=\"M%.1f %.1fH%.1f\" style=\"stroke:var(--%s);"
            "stroke-width:2\"/><circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\""
            " style=\"fill:var(--ground);stroke:var(--%s);stroke-width:2\"/>"
            "<path d=\"M%.1f %.1fv10\" style=\"stroke:var(--%s);stroke-width:2\"/>",
            at[0], middle, at[1], class, at[1], middle, at[3], class, at[0], middle, class, at[2],
            middle - 5, class);
    fprintf(to,
            "<text x=\"%.1f\" y=\"%.1f\" style=\"fill:var(--faint)\" font-size=\"11\">"
            "%.1f · %.1f</text>\n",
            at[3] + 6, middle + 4, line->p50_ms.median, line->p99_ms.median);
}

void chart_latencies(FILE *to, const struct found *found)
{
    struct axis axis = {0, 0};
    int y = TOP;

    for (size_t i = 0; i < found->count; i++) {
        widen(&axis, found->lines[i].p50_ms.median);
        widen(&axis, found->lines[i].max_ms.median);
    }
    if (axis.to == axis.from)
        axis.to = 1;
    begin(to, found, "", "Latency in milliseconds", "延迟（毫秒）");
    grid(to, &axis, height_of(found));
    for (size_t i = 0; i < found->count; i++) {
        double middle = label(to, found, i, &y);
        if (found->lines[i].max_ms.median > 0)
            range(to, &axis, &found->lines[i], middle);
    }
    fputs("</svg>\n", to);
}
