/* See tables.h. */
#include "loadtest/report/page/tables.h"

#include "loadtest/report/page/words.h"

#include <inttypes.h>

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
    fputs("<tr><td>", to);
    words_text(to, line->strategy);
    fprintf(to, "%s ×%d</td>", line_body_text(line), line->instances);
    words_verdict(to, line, words_shown(document, line));
    words_right_if(to, line);
    if (document->over)
        fprintf(to, "<td>%" PRId64 "</td>", line->value);
    figures(to, document, line);
    if (!document->over)
        stock(to, line);
    fputs("</tr>\n", to);
    if (!line->error && line->generators == 0)
        return;
    fputs("<tr><td class=\"note\" colspan=\"8\">↳ ", to);
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
            "goes wrong during this run: no holder is paused, no Redis forgets; “still right if” "
            "says what each promises then. ×3: three instances share the load.",
            "判定把策略的承诺与数据库里的行相对照。这次运行中没有发生故障：没有持锁者被暂停，"
            "Redis 也没有丢数据；“何时仍正确”说明各策略在那时的承诺。×3 表示三个实例分担负载。");
}

/* A sweep's have a value, and no stock that could be sold out. */
static void lines_headers(FILE *to, const struct document *document)
{
    static const char *const run[][2] = {{"strategy", "策略"},
                                         {"verdict", "判定"},
                                         {"still right if", "何时仍正确"},
                                         {"committed/s", "落库/秒"},
                                         {"p50 ms", "p50 毫秒"},
                                         {"p99 ms", "p99 毫秒"},
                                         {"sold / stock", "卖出 / 库存"},
                                         {"lost updates", "丢失更新"}};
    static const char *const swept[][2] = {
        {"strategy", "策略"},  {"verdict", "判定"},        {"still right if", "何时仍正确"},
        {"value", "取值"},     {"committed/s", "落库/秒"}, {"p50 ms", "p50 毫秒"},
        {"p99 ms", "p99 毫秒"}};
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
