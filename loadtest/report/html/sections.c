/* See sections.h. */
#include "loadtest/report/html/sections.h"

#include "loadtest/report/charts/chart.h"
#include "loadtest/report/charts/panels.h"
#include "loadtest/report/charts/svg.h"
#include "loadtest/report/charts/swept.h"
#include "loadtest/report/charts/timeline.h"
#include "loadtest/report/html/unpaid.h"
#include "loadtest/report/html/words.h"

#include <inttypes.h>
#include <stdlib.h>

/* A sweep asks how fast, and has no stock that could show what a strategy is worth. */
static enum verdict shown_verdict(const struct document *document, const struct line *line)
{
    bool bad = line->verdict == VERDICT_BROKEN || line->verdict == VERDICT_NO_RUN;
    return document->over && !bad ? VERDICT_KEPT : line->verdict;
}

/* The worst colours it: a promise that was broken, or something that was not proved. */
static void banner(FILE *to, const struct document *document)
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

static void legend(FILE *to)
{
    fputs("<p class=\"note\"><span class=\"en\">"
          "✓ right whatever happens · △ wrong when a holder stalls, or when the store outside "
          "PostgreSQL forgets · ✗ sold too much, or lost an update, in this run (sold / stock)"
          "</span><span class=\"zh\">"
          "✓ 无论发生什么都正确 · △ 持锁者停顿、或 PostgreSQL 之外的存储丢数据时会出错 · "
          "✗ 在这次运行中超卖或丢失更新（卖出 / 库存）</span></p>\n",
          to);
}

static void rates(FILE *to, const struct document *document)
{
    words_heading(
        to, "Committed orders a second", "每秒落库的订单",
        "Log axis; the bar is the median of the rounds, the whisker goes from the least to the "
        "most. ×3: three instances share the load.",
        "对数坐标；条形是各轮的中位数，须线从最小到最大。×3 表示三个实例分担负载。");
    fputs("<div class=\"scroll\">\n", to);
    chart_rates(to, document);
    fputs("</div>\n", to);
    legend(to);
}

static void latencies(FILE *to, const struct document *document)
{
    words_heading(
        to, "Latency", "延迟",
        "Milliseconds, log axis: circle p50, thick line to p90, stroke p99, thin line to the "
        "longest; the figures are p50 and p99.",
        "毫秒，对数坐标：圆圈是 p50，粗线到 p90，竖线是 p99，细线到最长；数字是 p50 和 p99。");
    fputs("<div class=\"scroll\">\n", to);
    chart_latencies(to, document);
    fputs("</div>\n", to);
}

static void sweep(FILE *to, const struct document *document)
{
    words_heading(
        to, "Value by value", "逐个取值",
        "Above, committed orders a second: medians of the rounds, with whiskers from the least to "
        "the most; a full circle is the best value, or one whose rounds overlap with its rounds. "
        "Below, milliseconds: p50, and dashed p99. Log axes, the same for all strategies.",
        "上：每秒落库的订单，各轮的中位数，须线从最小到最大；实心圆是最佳取值，或与最佳取值的各轮"
        "有交叠的取值。下：延迟（毫秒），实线 p50，虚线 p99。对数坐标，各策略相同。");
    swept_panels(to, document);
}

static void panels(FILE *to, const struct document *document)
{
    if (!panels_has(document))
        return;
    words_heading(
        to, "Percentiles", "百分位",
        "Milliseconds that so many of the answers did not exceed, all rounds together. The first "
        "line is solid, the next ones dashed; all panels have the same axes.",
        "不超过该毫秒数的答复所占的比例，各轮合计。第一条为实线，其余为虚线；各图坐标相同。");
    panels_percentiles(to, document);
    words_heading(
        to, "How latencies are spread", "延迟分布",
        "Milliseconds on a log axis; each histogram is as high as its highest bar. A line at p50, "
        "a dashed one at p99. wrk does not tell its answers apart: where they were not all of one "
        "kind they are mixed. At a given rate they are told apart.",
        "毫秒，对数坐标；每个直方图以最高的条形为满高。实线是 p50，虚线是 p99。wrk 不区分答复："
        "答复不止一种时记为混合。给定速率时各种答复分开统计。");
    panels_histograms(to, document);
}

static const char *best_word(const struct document *document, const struct line *line)
{
    static const char *const words[] = {
        [SWEPT_BEST] = " best", [SWEPT_LIKE_BEST] = " = best", [SWEPT_LESS] = ""};
    return words[swept_mark_of(document, line)];
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
    svg_text(to, line->strategy);
    fprintf(to, "%s</td><td>%d</td>", line_body_text(line), line->instances);
    if (document->over)
        fprintf(to, "<td>%" PRId64 "</td>", line->value);
    figures(to, document, line);
    if (!document->over)
        stock(to, line);
    fprintf(to, "<td class=\"text %s\">", line_class_name(words_verdict_class(verdict)));
    words_verdict(to, verdict);
    fprintf(to, "</td><td class=\"%s\">%s</td></tr>\n", line_class_name(line->class),
            chart_sign(line->class));
    if (!line->error && line->generators == 0)
        return;
    fputs("<tr><td class=\"note\" colspan=\"9\">↳ ", to);
    svg_text(to, line->error ? line->error
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

static void lines_table(FILE *to, const struct document *document)
{
    lines_notes(to, document);
    fputs("<div class=\"scroll\"><table>\n", to);
    lines_headers(to, document);
    for (size_t i = 0; i < document->count; i++)
        line_row(to, document, &document->lines[i]);
    fputs("</table></div>\n", to);
}

static void part_rows(FILE *to, const json_t *run, const json_t *part)
{
    const json_t *latencies = json_object_get(part, "latency_us");

    for (int kind = 0; kind < LOAD_CLASSES; kind++) {
        const json_t *latency = json_object_get(latencies, answers_name(kind));
        int64_t count = (int64_t)json_integer_value(json_object_get(latency, "count"));
        if (count == 0)
            continue;
        fputs("<tr><td>", to);
        svg_text(to, json_string_value(json_object_get(run, "strategy")));
        fprintf(to, "</td><td>%d</td><td>%d</td>",
                (int)json_integer_value(json_object_get(run, "instances")),
                (int)json_integer_value(json_object_get(run, "round")));
        const char *name = json_string_value(json_object_get(part, "part"));
        const char *chinese = timeline_part_chinese(name ? name : "");
        fputs("<td class=\"text\">", to);
        if (chinese)
            words_spans(to, name, chinese);
        else
            svg_text(to, name);
        fputs("</td>", to);
        fprintf(to, "<td>%.0f</td><td class=\"text\">",
                json_number_value(json_object_get(part, "rate_per_s")));
        words_spans(to, answers_name(kind), answers_chinese(kind));
        fprintf(to, "</td><td>%" PRId64 "</td>", count);
        static const char *const figures[] = {"p50", "p90", "p99", "max"};
        for (size_t j = 0; j < sizeof figures / sizeof *figures; j++)
            fprintf(to, "<td>%.2f</td>",
                    json_number_value(json_object_get(latency, figures[j])) / 1000);
        fputs("</tr>\n", to);
    }
}

/* Whether an earlier run of the same line has drawn it. */
static bool is_drawn(const json_t *runs, size_t number, const struct document *document)
{
    const struct line *line = document_line_of(document, json_array_get(runs, number));
    for (size_t i = 0; i < number; i++) {
        const json_t *run = json_array_get(runs, i);
        const json_t *open = json_object_get(run, "open_loop");
        if (json_object_get(open, "timeline") && document_line_of(document, run) == line)
            return true;
    }
    return line == NULL;
}

static void timelines(FILE *to, const struct document *document)
{
    const json_t *runs = json_object_get(document->json, "runs");
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        const json_t *open = json_object_get(run, "open_loop");
        if (!json_object_get(open, "timeline") || is_drawn(runs, i, document))
            continue;
        fputs("<figure class=\"scroll\"><figcaption>", to);
        svg_text(to, json_string_value(json_object_get(run, "strategy")));
        fprintf(to, " ×%d</figcaption>\n", document_line_of(document, run)->instances);
        timeline_draw(to, run);
        fputs("</figure>\n", to);
    }
}

/* What was offered and how it was answered: over time, and part by part of the schedule. */
static void open_loop(FILE *to, const struct document *document)
{
    static const char *const names[][2] = {
        {"strategy", "策略"},   {"instances", "实例"},    {"round", "轮"},
        {"part", "阶段"},       {"offered/s", "到达/秒"}, {"answer", "答复"},
        {"orders", "订单"},     {"p50 ms", "p50 毫秒"},   {"p90 ms", "p90 毫秒"},
        {"p99 ms", "p99 毫秒"}, {"max ms", "最长 毫秒"}};
    const json_t *runs = json_object_get(document->json, "runs");

    if (!document_has_open_loop(document))
        return;
    words_heading(to, "At the given rate", "给定速率下",
                  "Each order is timed from when it was due, however late it could be sent; its "
                  "latency stands where it was due, its answer where it came. The first round.",
                  "延迟从订单应当发出的时刻算起，不论实际何时送出；延迟画在应当发出的时刻，答复画在"
                  "到来的时刻。图中是第一轮。");
    timelines(to, document);
    fputs("<div class=\"scroll\"><table>\n", to);
    words_headers(to, names, sizeof names / sizeof *names);
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        const json_t *parts = json_object_get(json_object_get(run, "open_loop"), "parts");
        for (size_t j = 0; j < json_array_size(parts) && document_line_of(document, run); j++)
            part_rows(to, run, json_array_get(parts, j));
    }
    fputs("</table></div>\n", to);
}

static void values(FILE *to, json_t *object)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        if (json_is_object(value)) {
            values(to, value);
            continue;
        }
        if (json_is_string(value) && json_string_length(value) == 0)
            continue; /* nothing was said, or it was not used */
        char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
        fputs("<dt>", to);
        svg_text(to, name);
        fputs("</dt><dd>", to);
        svg_text(to, text ? text : json_string_value(value));
        fputs("</dd>\n", to);
        free(text);
    }
}

/* Of a search for it alone: what was asked for, the rate, and how sure it is. */
static void capacity(FILE *to, const struct document *document)
{
    json_t *search = json_object_get(document->json, "capacity");

    if (!search)
        return;
    words_heading(
        to, "Capacity", "容量",
        "The highest rate of orders at which all conditions held, document by bisection and "
        "then confirmed; 0: none.",
        "满足全部条件的最高订单速率：先用二分法找到，再重复确认；0 表示没有。");
    fputs("<dl>\n", to);
    values(to, search);
    fputs("</dl>\n", to);
}

static void conditions(FILE *to, const struct document *document)
{
    const json_t *json = document->json;

    words_heading(to, "Machine and settings", "机器与设置",
                  "An order writes one row in orders and one update of the product's row.",
                  "一个订单写 orders 表一行，并更新商品的一行。");
    fputs("<dl>\n", to);
    values(to, json_object_get(json, "machine"));
    values(to, json_object_get(json, "versions"));
    values(to, json_object_get(json, "settings"));
    fprintf(to, "<dt>seed</dt><dd>%lld</dd>\n</dl>\n",
            (long long)json_integer_value(json_object_get(json, "seed")));
}

void sections_write(FILE *to, const struct document *document)
{
    banner(to, document);
    capacity(to, document);
    if (unpaid_is(document)) {
        unpaid_section(to, document);
        conditions(to, document);
        return;
    }
    if (document->over) {
        sweep(to, document);
    } else {
        rates(to, document);
        latencies(to, document);
    }
    open_loop(to, document);
    panels(to, document);
    lines_table(to, document);
    conditions(to, document);
}
