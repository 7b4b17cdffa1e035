/* See html_matrix.h. A picture is drawn by hand in SVG: bars of a tenth of a second each, and
 * behind them the times in which the fault was in force. */
#include "loadtest/report/html/html_matrix.h"

#include "base/clock.h"
#include "loadtest/faults/confidence.h"
#include "loadtest/report/charts/svg.h"
#include "loadtest/report/html/html.h"
#include "loadtest/report/html/words.h"

#include <inttypes.h>

enum { STEP_WIDTH = 6, PICTURE_HEIGHT = 70, FOOT = 16 };

static int most_of(const struct sales *sales)
{
    int most = 1;
    for (size_t i = 0; i < sales->count; i++)
        most = sales->steps[i] > most ? sales->steps[i] : most;
    return most;
}

/* Where a time stands, in the picture's units. */
static double across(int64_t at_us)
{
    return (double)at_us * (double)STEP_WIDTH / (double)SALES_STEP_US;
}

static void draw_shades(FILE *to, const struct sales *sales)
{
    for (size_t i = 0; i < sales->shades_count; i++) {
        double from = across(sales->shades[i].begin_us);
        double width = across(sales->shades[i].heal_us) - from;
        fprintf(to,
                "<rect x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%d\" style=\"fill:var(--bad)\" "
                "fill-opacity=\".25\"/>\n",
                from, width > 1 ? width : 1, PICTURE_HEIGHT);
    }
}

static void draw(FILE *to, const struct sales *sales)
{
    int most = most_of(sales);
    fprintf(to,
            "<div class=\"scroll\"><svg width=\"%zu\" height=\"%d\" role=\"img\" "
            "aria-label=\"sales over time\">\n",
            sales->count * STEP_WIDTH, PICTURE_HEIGHT + FOOT);
    draw_shades(to, sales);
    for (size_t i = 0; i < sales->count; i++) {
        double height = (double)sales->steps[i] * (double)PICTURE_HEIGHT / most;
        fprintf(to,
                "<rect x=\"%zu\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" "
                "style=\"fill:var(--safe)\"/>\n",
                i * STEP_WIDTH, (double)PICTURE_HEIGHT - height, STEP_WIDTH - 1, height);
    }
    for (size_t i = 0; i < sales->count; i += CLOCK_US_PER_S / SALES_STEP_US)
        fprintf(to,
                "<text x=\"%zu\" y=\"%d\" font-size=\"11\" style=\"fill:var(--faint)\">%zu s"
                "</text>\n",
                i * STEP_WIDTH, PICTURE_HEIGHT + FOOT - 3, i * SALES_STEP_US / CLOCK_US_PER_S);
    fprintf(to, "</svg></div><p class=\"note\">");
    words_spans(to, "most in a second:", "每秒最多：");
    fprintf(to, " %" PRId64 "</p>\n", (int64_t)most * CLOCK_US_PER_S / SALES_STEP_US);
}

static const char *class_of(enum cell_verdict verdict)
{
    return verdict == CELL_HELD                                      ? "safe"
           : verdict == CELL_CONTRADICTED || verdict == CELL_INVALID ? "bad"
                                                                     : "care";
}

static void describe(FILE *to, const struct cell *cell)
{
    char says[120];
    confidence_say(cell->red, cell->runs, says, sizeof says);
    fputs("<h2>", to);
    svg_text(to, cell->strategy.name);
    fprintf(to, " / %s</h2>\n<p class=\"banner %s\">%s · ", cell->fault->name,
            class_of(cell_verdict(cell)), cell_verdict_name(cell_verdict(cell)));
    words_spans(to, "red in ", "出错：");
    fprintf(to, "%s</p>\n<p class=\"note\">", says);
    words_spans(to, "longest time without a sale", "最长无成交时间");
    fprintf(to, " %.2f s · ", (double)cell->longest_gap_us / CLOCK_US_PER_S);
    words_spans(to, "first sale after healing", "恢复后首次成交");
    if (cell->first_after_us < 0)
        fputs(" –</p>\n<p class=\"note\">", to);
    else
        fprintf(to, " %.2f s</p>\n<p class=\"note\">",
                (double)cell->first_after_us / CLOCK_US_PER_S);
    fprintf(to, "seed %" PRId64 ": ", cell->shown.seed);
    svg_text(to, cell->shown.evidence);
    if (*cell->shown.example)
        fputs("<br>", to);
    svg_text(to, cell->shown.example);
    fputs("</p>\n", to);
    draw(to, &cell->shown.sales);
}

static void content(FILE *to, const void *context)
{
    const struct matrix *matrix = context;
    fputs("<p class=\"note\"><a href=\"faults.json\">faults.json</a> · ", to);
    if (matrix->joined > 0) {
        fprintf(to, "%zu ", matrix->joined);
        words_spans(to, "matrices in one", "份矩阵合并");
    } else {
        fprintf(to, "seed %" PRId64, matrix->seed);
    }
    fputs("</p>\n<div class=\"scroll\">", to);
    matrix_print_html(to, matrix);
    fputs("</div>\n<p class=\"note\">", to);
    words_spans(
        to,
        "Red runs / runs. held: promised, and never red. *: the column's control, known to fail. "
        "Below: sales over time, of one run each; where it is shaded the fault was in force.",
        "出错的运行 / 全部运行。held：承诺过，且从未出错。*：该列的对照，已知会出错。"
        "下面是每格一次运行的成交时间线，阴影处故障正在发生。");
    fputs("</p>\n", to);
    for (size_t i = 0; i < matrix->count; i++) {
        if (cell_verdict(&matrix->cells[i]) != CELL_OUTSIDE)
            describe(to, &matrix->cells[i]);
    }
}

bool html_write_matrix(const char *folder, const struct matrix *matrix, struct error *error)
{
    return html_page(folder, content, matrix, error);
}
