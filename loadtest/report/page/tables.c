/* See page.h. */
#include "loadtest/report/page/page.h"

#include <inttypes.h>

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
    const char *mark = document->over ? document_mark_word(document, line) : "";
    fprintf(to, "%s%s</td><td>%.2f</td><td>%.2f</td>", *mark ? " " : "", mark,
            line->figures[LINE_P50].median, line->figures[LINE_P99].median);
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

static const json_t *figures_of(const json_t *run)
{
    return json_object_get(run, "unpaid");
}

static int64_t figure(const json_t *figures, const char *name)
{
    return (int64_t)json_integer_value(json_object_get(figures, name));
}

bool tables_are_unpaid(const struct document *document)
{
    const json_t *runs = json_object_get(document->json, "runs");
    return figures_of(json_array_get(runs, 0)) != NULL;
}

/* Of a picture that the script draws: what was bought, and what became of it. */
static void shares(FILE *to, const json_t *figures)
{
    fprintf(to, "<td data-shares=\"%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\"></td>",
            figure(figures, "bought"), figure(figures, "paid"), figure(figures, "too_late"),
            figure(figures, "never_paid"));
}

static void unpaid_row(FILE *to, const struct document *document, const json_t *run)
{
    static const char *const names[] = {"bought",  "paid",      "too_late", "never_paid",
                                        "refused", "most_held", "looks",    "disagreed"};
    const struct line *line = document_line_of(document, run);
    const json_t *figures = figures_of(run);
    const char *wrong = json_string_value(json_object_get(figures, "wrong"));

    fputs("<tr><td>", to);
    words_text(to, line->strategy);
    fprintf(to, "%s</td>", line_body_text(line));
    words_verdict(to, line, line->verdict);
    fprintf(to, "<td>%d</td>", line->instances);
    shares(to, figures);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fprintf(to, "<td>%" PRId64 "</td>", figure(figures, names[i]));
    fprintf(to, "<td>%" PRId64 "</td></tr>\n", figure(json_object_get(run, "audit"), "stock"));
    if (!wrong || !*wrong)
        return;
    fputs("<tr><td class=\"note\" colspan=\"13\">↳ ", to);
    words_text(to, wrong);
    fputs("</td></tr>\n", to);
}

void tables_unpaid(FILE *to, const struct document *document)
{
    static const char *const names[][2] = {{"strategy", "策略"},     {"verdict", "判定"},
                                           {"instances", "实例"},    {"", ""},
                                           {"bought", "下单"},       {"paid", "已支付"},
                                           {"too late", "支付过晚"}, {"never paid", "未支付"},
                                           {"refused", "被拒"},      {"most held", "最多占用"},
                                           {"looks", "查账次数"},    {"disagreed", "账不平"},
                                           {"left", "剩余"}};
    const json_t *runs = json_object_get(document->json, "runs");

    words_heading(
        to, "Orders that have yet to be paid", "待支付的订单",
        "Each order holds its unit for a second. Four buyers in ten pay at once, three when the "
        "hold ends, three never. The rows are counted all the while: each unit must be in the "
        "stock, sold or held, or that look disagreed. At the end nothing may be held, and what was "
        "sold must be what was paid.",
        "每个订单占用库存一秒。十个买家中四个立即支付，三个在到期前后支付，三个始终不支付。"
        "期间不断核对数据库里的行：每件商品要么在库存里，要么已售出，要么被占用，否则记为账不平。"
        "结束时不得有占用，售出的必须等于已支付的。");
    fputs("<div data-draw=\"unpaid\"></div>\n", to);
    fputs("<div class=\"scroll\"><table>\n", to);
    words_headers(to, names, sizeof names / sizeof *names);
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        if (document_line_of(document, run))
            unpaid_row(to, document, run);
    }
    fputs("</table></div>\n", to);
}
