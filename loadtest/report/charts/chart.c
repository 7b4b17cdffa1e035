/* See chart.h. */
#include "loadtest/report/charts/chart.h"

#include "loadtest/report/charts/svg.h"

#include <inttypes.h>
#include <string.h>

enum {
    WIDTH = 760,
    LABELS = 178, /* where the plot begins */
    PLOT = 430,
    TOP = 26,
    ROW = 17,
    GAP = 7, /* between strategies */
    BAR = 12,
    FOOT = 8,
    CAPTION = 32, /* above a picture that stands alone, and its key below */
    KEY = 40
};

const char *chart_sign(enum line_class class)
{
    static const char *const signs[] = {[LINE_SAFE] = "✓", [LINE_CARE] = "△", [LINE_BAD] = "✗"};
    return signs[class];
}

static int height_of(const struct document *document)
{
    int height = TOP + FOOT;
    for (size_t i = 0; i < document->count; i++)
        height += ROW + (i > 0 && document_begins(document, i) ? GAP : 0);
    return height;
}

/* Returns the line's middle. */
static double label(FILE *to, const struct document *document, size_t i, int *y)
{
    const struct line *line = &document->lines[i];
    bool begins = document_begins(document, i);

    if (i > 0)
        *y += ROW + (begins ? GAP : 0);
    double middle = *y + (double)BAR / 2;
    if (begins) {
        fprintf(to, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" style=\"fill:var(--ink)\">",
                LABELS - 34, middle + 4);
        svg_name(to, line->strategy);
        fputs("</text>", to);
    }
    fprintf(to,
            "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" font-size=\"10\""
            " style=\"fill:var(--faint)\">%s×%d</text>\n",
            LABELS - 6, middle + 4, strcmp(line->body, "guarded") == 0 ? "g " : "",
            line->instances);
    return middle;
}

static void bar(FILE *to, const struct axis *axis, const struct line *line, double middle)
{
    const struct span *rate = &line->figures[LINE_COMMITTED];
    double end = axis_place(axis, rate->median);
    const char *class = line_class_name(line->class);

    fprintf(to,
            "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\""
            " style=\"fill:var(--%s)\"/>",
            LABELS, middle - (double)BAR / 2, end - (double)LABELS, BAR, class);
    double after = end;
    if (line->rounds > 1) {
        double low = axis_place(axis, rate->least);
        after = axis_place(axis, rate->most);
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

/* `top`: where it begins. */
static void draw_rates(FILE *to, const struct document *document, int top)
{
    struct axis axis = {.log = true};
    int y = top + TOP;

    for (size_t i = 0; i < document->count; i++) {
        axis_take(&axis, document->lines[i].figures[LINE_COMMITTED].least);
        axis_take(&axis, document->lines[i].figures[LINE_COMMITTED].most);
    }
    axis_settle(&axis, LABELS, LABELS + PLOT);
    svg_grid_down(to, &axis, top + TOP - 6, top + height_of(document) - FOOT + 2, top + 14);
    for (size_t i = 0; i < document->count; i++)
        bar(to, &axis, &document->lines[i], label(to, document, i, &y));
}

static const char english[] = "Committed orders a second";
static const char chinese[] = "每秒落库的订单";

void chart_rates(FILE *to, const struct document *document)
{
    svg_begin(to, WIDTH, height_of(document), "", english, chinese);
    draw_rates(to, document, 0);
    svg_end(to);
}

/* Both languages, one below the other: a picture in a text has no reader's choice. */
static void write_key(FILE *to, int y)
{
    static const struct {
        enum line_class class;
        const char *english, *chinese;
        int x;
    } keys[] = {
        {LINE_SAFE, "right whatever happens", "无论发生什么都正确", 20},
        {LINE_CARE, "wrong when a lock holder stalls, or its store forgets",
         "持锁者停顿或存储丢数据时会出错", 200},
        {LINE_BAD, "oversold in this run: sold / stock", "本次超卖：卖出 / 库存", 530},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        fprintf(to,
                "<rect x=\"%d\" y=\"%d\" width=\"10\" height=\"10\" rx=\"2\""
                " style=\"fill:var(--%s)\"/>",
                keys[i].x, y - 9, line_class_name(keys[i].class));
        svg_label(to, keys[i].x + 16, y, "start", "ink");
        fprintf(to, "%s %s", chart_sign(keys[i].class), keys[i].english);
        svg_label_end(to);
        svg_label(to, keys[i].x + 16, y + 14, "start", "faint");
        fputs(keys[i].chinese, to);
        svg_label_end(to);
    }
}

void chart_alone(FILE *to, const struct document *document)
{
    int height = CAPTION + height_of(document) + KEY;

    svg_begin(to, WIDTH, height,
              "><style>svg{--ground:#fff;--ink:#1a1c20;--faint:#5c6470;--line:#d9dde3;"
              "--safe:#007a5a;--care:#c98500;--bad:#a51d08}"
              "@media(prefers-color-scheme:dark){svg{--ground:#14161a;--ink:#e8eaee;"
              "--faint:#a0a8b4;--line:#343a44;--safe:#2fbf94;--care:#f2c14e;--bad:#f0603c}}"
              "</style",
              english, chinese);
    fputs("<rect width=\"100%\" height=\"100%\" style=\"fill:var(--ground)\"/>\n", to);
    fprintf(
        to,
        "<text x=\"20\" y=\"22\" font-weight=\"600\" style=\"fill:var(--ink)\">%s · %s</text>\n",
        english, chinese);
    draw_rates(to, document, CAPTION);
    write_key(to, height - KEY + 14);
    svg_end(to);
}

/* What a file does not say is where the figure before it is. */
static double known(double figure, double before)
{
    return figure > 0 ? figure : before;
}

static void range(FILE *to, const struct axis *axis, const struct line *line, double middle)
{
    double p50 = line->figures[LINE_P50].median, p90 = known(line->figures[LINE_P90].median, p50);
    double p99 = known(line->figures[LINE_P99].median, p90),
           longest = known(line->figures[LINE_LONGEST].median, p99);
    const double at[] = {axis_place(axis, p50), axis_place(axis, p90), axis_place(axis, p99),
                         axis_place(axis, longest)};
    const char *class = line_class_name(line->class);

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
            at[3] + 6, middle + 4, line->figures[LINE_P50].median, line->figures[LINE_P99].median);
}

void chart_latencies(FILE *to, const struct document *document)
{
    struct axis axis = {.log = true};
    int y = TOP;

    for (size_t i = 0; i < document->count; i++) {
        axis_take(&axis, document->lines[i].figures[LINE_P50].median);
        axis_take(&axis, document->lines[i].figures[LINE_P99].median);
        axis_take(&axis, document->lines[i].figures[LINE_LONGEST].median);
    }
    axis_settle(&axis, LABELS, LABELS + PLOT);
    svg_begin(to, WIDTH, height_of(document), "", "Latency in milliseconds", "延迟（毫秒）");
    svg_grid_down(to, &axis, TOP - 6, height_of(document) - FOOT + 2, 14);
    for (size_t i = 0; i < document->count; i++) {
        double middle = label(to, document, i, &y);
        if (document->lines[i].figures[LINE_P50].median > 0)
            range(to, &axis, &document->lines[i], middle);
    }
    svg_end(to);
}
