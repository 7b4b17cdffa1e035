/* See page.h. The first run is what the others are compared with. */
#include "loadtest/base/pool.h"
#include "loadtest/report/page/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The figures that are compared. */
static const enum line_figure compared[] = {LINE_COMMITTED, LINE_P99};
enum { COMPARED = sizeof compared / sizeof *compared };

/* Where one of them has a single round nobody knows its spread, and nothing is claimed. */
static bool can_compare(const struct line *line, const struct line *first)
{
    return first && line->rounds > 1 && first->rounds > 1;
}

/* What the table's cells are compared by. */
struct comparison {
    size_t pairs;
    double limit; /* different up to this p */
};

static void compare_all(const struct page_run *runs, size_t count, struct comparison *out)
{
    size_t lines = 0;
    int more;
    for (size_t run = 1; run < count; run++)
        lines += runs[run].document.count;
    double *p = memory_take((2 * lines + 1) * sizeof *p);
    *out = (struct comparison){.pairs = 0};
    for (size_t run = 1; run < count; run++)
        for (size_t i = 0; i < runs[run].document.count; i++) {
            const struct line *line = &runs[run].document.lines[i];
            const struct line *first = document_same(&runs[0].document, line);
            for (int k = 0; can_compare(line, first) && k < COMPARED; k++)
                p[out->pairs++] =
                    apart_p(&line->rounds_of[compared[k]], &first->rounds_of[compared[k]], &more);
        }
    out->limit = apart_limit(p, out->pairs);
    free(p);
}

enum mark { UNKNOWN, ALIKE, MORE, LESS };

static enum mark mark_of(const struct line *line, const struct line *first, enum line_figure figure,
                         const struct comparison *by)
{
    int more;
    if (!can_compare(line, first))
        return UNKNOWN;
    double p = apart_p(&line->rounds_of[figure], &first->rounds_of[figure], &more);
    return p > by->limit ? ALIKE : more ? MORE : LESS;
}

static void cell(FILE *to, const struct line *line, const struct line *first,
                 enum line_figure figure, const struct comparison *by)
{
    if (!line || line->rounds == 0) {
        fputs("<td></td>", to);
        return;
    }
    double its = line->figures[figure].median, of = first ? first->figures[figure].median : 0;
    int decimals = figure == LINE_COMMITTED ? 0 : 2;
    if (!first || first == line || first->rounds == 0 || of <= 0) {
        fprintf(to, "<td>%.*f</td>", decimals, its);
        return;
    }
    static const char *const marks[] = {"", " ≈", " ↑", " ↓"};
    enum mark mark = mark_of(line, first, figure, by);
    /* More is better of orders, and worse of milliseconds. */
    bool better = (mark == MORE) == (figure == LINE_COMMITTED);
    fprintf(to, "<td class=\"%s\">%.*f (×%.2f%s)</td>",
            mark <= ALIKE ? ""
            : better      ? "safe"
                          : "bad",
            decimals, its, its / of, marks[mark]);
}

static void row(FILE *to, const struct page_run *runs, size_t count, const struct line *of,
                const struct comparison *by)
{
    const struct line *first = document_same(&runs[0].document, of);
    fputs("<tr><td>", to);
    words_text(to, of->strategy);
    fprintf(to, "%s ×%d", line_body_text(of), of->instances);
    if (of->value != 0)
        fprintf(to, " =%" PRId64, of->value);
    fputs("</td>", to);
    for (int k = 0; k < COMPARED; k++)
        for (size_t i = 0; i < count; i++)
            cell(to, document_same(&runs[i].document, of), first, compared[k], by);
    fputs("</tr>\n", to);
}

/* Whether an earlier run has the line too. */
static bool is_shown(const struct page_run *runs, size_t run, const struct line *line)
{
    for (size_t i = 0; i < run; i++)
        if (document_same(&runs[i].document, line))
            return true;
    return false;
}

static void run_names(FILE *to, const struct page_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fputs("<th>", to);
        words_text(to, runs[i].name);
        fputs("</th>", to);
    }
}

static void figures_table(FILE *to, const struct page_run *runs, size_t count)
{
    struct comparison by;
    compare_all(runs, count, &by);
    words_heading(
        to, "Beside each other", "并排比较",
        "Medians of the rounds, and × the first run's. ↑ ↓: different, by Mann and Whitney's test "
        "of the rounds with Holm's correction over the table: of twenty pages on which nothing "
        "differs at most one has such a mark. ≈: no difference is shown. Neither: one of them has "
        "a single round, and nobody knows its spread (<code>--rounds</code>).",
        "各轮的中位数，以及与第一次运行之比。↑ ↓：有差别（对各轮做 Mann-Whitney 检验，全表 Holm "
        "校正：毫无差别的二十页中至多一页有此记号）。≈：看不出差别。没有记号：其中一次只有一轮，"
        "无从知道波动（<code>--rounds</code>）。");
    if (by.pairs > 0) {
        char words[2][200];
        size_t needed = apart_rounds_needed(by.pairs);
        snprintf(words[0], sizeof words[0],
                 "Of the %zu compared here none can be called different with fewer than %zu rounds "
                 "on each side.",
                 by.pairs, needed);
        snprintf(words[1], sizeof words[1], "此表比较 %zu 对，每边少于 %zu 轮时都不能说有差别。",
                 by.pairs, needed);
        words_both(to, "p", words[0], words[1]);
    }
    fprintf(to, "<div class=\"scroll\"><table>\n<tr><th></th><th colspan=\"%zu\">", count);
    words_spans(to, "committed/s", "落库/秒");
    fprintf(to, "</th><th colspan=\"%zu\">", count);
    words_spans(to, "p99 ms", "p99 毫秒");
    fputs("</th></tr>\n<tr>", to);
    words_both(to, "th", "strategy", "策略");
    run_names(to, runs, count);
    run_names(to, runs, count);
    fputs("</tr>\n", to);
    for (size_t run = 0; run < count; run++)
        for (size_t i = 0; i < runs[run].document.count; i++)
            if (!is_shown(runs, run, &runs[run].document.lines[i]))
                row(to, runs, count, &runs[run].document.lines[i], &by);
    fputs("</table></div>\n", to);
}

void compare_write(FILE *to, const struct page_run *runs, size_t count)
{
    figures_table(to, runs, count);
    fputs("<div data-draw=\"differences\"></div>\n", to);
}
