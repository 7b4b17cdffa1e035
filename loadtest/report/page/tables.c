/* See tables.h. */
#include "loadtest/report/page/tables.h"

#include "loadtest/report/page/words.h"

#include <inttypes.h>

/* A sweep asks how fast, and has no stock that could show what a strategy is worth. */
static enum verdict shown_verdict(const struct document *document, const struct line *line)
{
    bool bad = line->verdict == VERDICT_BROKEN || line->verdict == VERDICT_NO_RUN;
    return document->over && !bad ? VERDICT_KEPT : line->verdict;
}

/* The worst colours it: a promise that was broken, or something that was not proved. */
void tables_verdicts(FILE *to, const struct document *document)
{
    size_t counts[VERDICT_BROKEN + 1] = {0};
    const char *class = "safe";

    for (size_t i = 0; i < document->count; i++)
        counts[shown_verdict(document, &document->lines[i])]++;
    if (counts[VERDICT_NO_RUN] + counts[VERDICT_PROVED_NOTHING] > 0)
        class = "care";
    if (counts[VERDICT_BROKEN] > 0)
        class = "bad";
    fprintf(to, "<p class=\"banner %s\">", class);
    const char *comma = "";
    for (int verdict = VERDICT_BROKEN; verdict >= VERDICT_KEPT; verdict--) {
        if (counts[verdict] == 0)
            continue;
        bool measured = document->over && verdict == VERDICT_KEPT;
        fprintf(to, "%s%zu ", comma, counts[verdict]);
        if (measured)
            words_spans(to, "measured", "已测量");
        else
            words_verdict(to, (enum verdict)verdict);
        comma = " · ";
    }
    fputs("</p>\n", to);
}

static const char *best_word(const struct document *document, const struct line *line)
{
    static const char *const words[] = {
        [LINE_BEST] = " best", [LINE_LIKE_BEST] = " = best", [LINE_LESS] = ""};
    return words[document_mark(document, line)];
}

/* "4260 ±11"; of a single round nobody knows the spread. */
static void figures(FILE *to, const struct document *document, const struct line *line)
{
    const struct span *rate = &line->figures[LINE_COMMITTED];

    if (line->rounds == 0) {
        fputs("<td></td><td></td><td></td>", to);
        return;
    }
    fprintf(to, "<td>%.0f", rate->median);
    if (line->rounds > 1)
        fprintf(to, " ±%.0f", (rate->most - rate->least) / 2);
    fprintf(to, "%s</td><td>%.2f</td><td>%.2f</td>",
            document->over ? best_word(document, line) : "", line->figures[LINE_P50].median,
            line->figures[LINE_P99].median);
}

static void stock(FILE *to, const struct line *line)
{
    fputs("<td>", to);
    if (line->worst)
        fprintf(to, "%" PRId64 " / %" PRId64, line->sold, line->stock);
    fprintf(to, "</td><td>%" PRId64 "</td>", line->lost_updates);
}

static void line_row(FILE *to, const struct document *document, const struct line *line)
{
    enum verdict verdict = shown_verdict(document, line);

    fputs("<tr><td>", to);
    words_text(to, line->strategy);
    fprintf(to, "%s</td><td>%d</td>", line_body_text(line), line->instances);
    if (document->over)
        fprintf(to, "<td>%" PRId64 "</td>", line->value);
    figures(to, document, line);
    if (!document->over)
        stock(to, line);
    fprintf(to, "<td class=\"text %s\">", line_class_name(words_verdict_class(verdict)));
    words_verdict(to, verdict);
    fprintf(to, "</td><td class=\"%s\">%s</td></tr>\n", line_class_name(line->class),
            words_sign(line->class));
    if (!line->error && line->generators == 0)
        return;
    fputs("<tr><td class=\"note\" colspan=\"9\">↳ ", to);
    words_text(to, line->error
                       ? line->error
                       : "a round without figures: wrk was never idle and the servers were");
    fputs("</td></tr>\n", to);
}

static void lines_notes(FILE *to, const struct document *document)
{
    if (document->over)
        words_heading(
            to, "Every line", "全部结果",
            "Committed orders a second, ± half the spread of the rounds. = best: no "
            "difference from the best value is shown (Mann and Whitney's test, with "
            "Holm's correction over the page: wrong at most once in twenty pages).",
            "每秒落库的订单，± 为各轮波动的一半。= best：与最佳取值看不出差别（Mann-Whitney "
            "检验，全页 Holm 校正：二十页至多错一次）。");
    else
        words_heading(
            to, "Every line", "全部结果",
            "A verdict compares what a strategy promised with the database's own rows. Nothing "
            "goes wrong during this run: no holder is paused, no Redis forgets; the last column "
            "says which promise to be right then.",
            "判定把策略的承诺与数据库里的行相对照。这次运行中没有发生故障：没有持锁者被暂停，"
            "Redis 也没有丢数据；最后一列说明哪些策略承诺在那时仍然正确。");
}

/* A sweep's have a value, and no stock that could be sold out. */
static void lines_headers(FILE *to, const struct document *document)
{
    static const char *const run[][2] = {
        {"strategy", "策略"},         {"instances", "实例"},  {"committed/s", "落库/秒"},
        {"p50 ms", "p50 毫秒"},       {"p99 ms", "p99 毫秒"}, {"sold / stock", "卖出 / 库存"},
        {"lost updates", "丢失更新"}, {"verdict", "判定"},    {"", ""}};
    static const char *const swept[][2] = {{"strategy", "策略"},   {"instances", "实例"},
                                           {"value", "取值"},      {"committed/s", "落库/秒"},
                                           {"p50 ms", "p50 毫秒"}, {"p99 ms", "p99 毫秒"},
                                           {"verdict", "判定"},    {"", ""}};
    if (document->over)
        words_headers(to, swept, sizeof swept / sizeof *swept);
    else
        words_headers(to, run, sizeof run / sizeof *run);
}

void tables_lines(FILE *to, const struct document *document)
{
    lines_notes(to, document);
    fputs("<div class=\"scroll\"><table>\n", to);
    lines_headers(to, document);
    for (size_t i = 0; i < document->count; i++)
        line_row(to, document, &document->lines[i]);
    fputs("</table></div>\n", to);
}
