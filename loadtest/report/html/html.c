/* See html.h. The page's frame, with its style, is page.html. */
#include "loadtest/report/html/html.h"

#include "gen/page_html.h"
#include "loadtest/report/files.h"
#include "loadtest/report/html/chart.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char marker[] = "<!--content-->";

/* One is shown. */
static void both(FILE *to, const char *tag, const char *english, const char *chinese)
{
    fprintf(to, "<%s><span class=\"en\">%s</span><span class=\"zh\">%s</span></%s>\n", tag, english,
            chinese, tag);
}

static void heading(FILE *to, const char *english, const char *chinese, const char *note_english,
                    const char *note_chinese)
{
    both(to, "h2", english, chinese);
    fprintf(to, "<p class=\"note\"><span class=\"en\">%s</span><span class=\"zh\">%s</span></p>\n",
            note_english, note_chinese);
}

static const char *chinese_verdict(enum verdict verdict)
{
    static const char *const names[] = {
        [VERDICT_KEPT] = "守住承诺",     [VERDICT_PROVED_NOTHING] = "什么也没证明",
        [VERDICT_UNSAFE] = "如实不安全", [VERDICT_NO_RUN] = "没有跑成",
        [VERDICT_BROKEN] = "违背承诺",
    };
    return names[verdict];
}

static enum found_class verdict_class(enum verdict verdict)
{
    if (verdict == VERDICT_KEPT)
        return FOUND_SAFE;
    return verdict == VERDICT_UNSAFE || verdict == VERDICT_BROKEN ? FOUND_BAD : FOUND_CARE;
}

/* The worst colours it: a promise that was broken, or something that was not proved. */
static void banner(FILE *to, const struct found *found)
{
    size_t counts[VERDICT_BROKEN + 1] = {0};
    const char *class = "safe";

    for (size_t i = 0; i < found->count; i++)
        counts[found->lines[i].verdict]++;
    if (counts[VERDICT_NO_RUN] + counts[VERDICT_PROVED_NOTHING] > 0)
        class = "care";
    if (counts[VERDICT_BROKEN] > 0)
        class = "bad";
    fprintf(to, "<p class=\"banner %s\">", class);
    const char *comma = "";
    for (int verdict = VERDICT_BROKEN; verdict >= VERDICT_KEPT; verdict--) {
        if (counts[verdict] == 0)
            continue;
        fprintf(to, "%s%zu <span class=\"en\">%s</span><span class=\"zh\">%s</span>", comma,
                counts[verdict], verdict_name((enum verdict)verdict),
                chinese_verdict((enum verdict)verdict));
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

static void pictures(FILE *to, const struct found *found)
{
    heading(to, "Committed orders a second", "每秒落库的订单",
            "Log axis; the bar is the median of the rounds, the whisker goes from the least to the "
            "most. ×3: three instances share the load.",
            "对数坐标；条形是各轮的中位数，须线从最小到最大。×3 表示三个实例分担负载。");
    fputs("<div class=\"scroll\">\n", to);
    chart_rates(to, found);
    fputs("</div>\n", to);
    legend(to);
    heading(to, "Latency", "延迟",
            "Milliseconds, log axis: circle p50, thick line to p90, stroke p99, thin line to the "
            "longest; the figures are p50 and p99.",
            "毫秒，对数坐标：圆圈是 p50，粗线到 p90，竖线是 p99，细线到最长；数字是 p50 和 p99。");
    fputs("<div class=\"scroll\">\n", to);
    chart_latencies(to, found);
    fputs("</div>\n", to);
}

static void line_row(FILE *to, const struct found_line *line)
{
    const struct span *rate = &line->committed_per_s;

    fputs("<tr><td>", to);
    chart_text(to, line->strategy);
    fprintf(to, "%s</td><td>%d</td>", strcmp(line->body, "guarded") == 0 ? " (guarded)" : "",
            line->instances);
    if (line->rounds > 0)
        fprintf(to, "<td>%.0f ±%.0f</td><td>%.2f</td><td>%.2f</td>", rate->median,
                (rate->most - rate->least) / 2, line->p50_ms.median, line->p99_ms.median);
    else
        fputs("<td></td><td></td><td></td>", to);
    if (line->sold_out)
        fprintf(to, "<td>%" PRId64 " / %" PRId64 "</td>", line->sold, line->stock);
    else
        fputs("<td></td>", to);
    fprintf(to, "<td>%" PRId64 "</td>", line->lost_updates);
    fprintf(to, "<td class=\"text %s\"><span class=\"en\">%s</span><span class=\"zh\">%s</span>",
            found_class_name(verdict_class(line->verdict)), verdict_name(line->verdict),
            chinese_verdict(line->verdict));
    fprintf(to, "</td><td class=\"%s\">%s</td></tr>\n", found_class_name(line->class),
            chart_sign(line->class));
    if (!line->error)
        return;
    fputs("<tr><td class=\"note\" colspan=\"9\">↳ ", to);
    chart_text(to, line->error);
    fputs("</td></tr>\n", to);
}

static void headers(FILE *to, const char *const names[][2], size_t count)
{
    fputs("<tr>", to);
    for (size_t i = 0; i < count; i++)
        both(to, "th", names[i][0], names[i][1]);
    fputs("</tr>\n", to);
}

static void lines_table(FILE *to, const struct found *found)
{
    static const char *const names[][2] = {
        {"strategy", "策略"},         {"instances", "实例"},  {"committed/s", "落库/秒"},
        {"p50 ms", "p50 毫秒"},       {"p99 ms", "p99 毫秒"}, {"sold / stock", "卖出 / 库存"},
        {"lost updates", "丢失更新"}, {"verdict", "判定"},    {"", ""}};

    heading(
        to, "Every line", "全部结果",
        "A verdict compares what a strategy promised with the database's own rows. Nothing goes "
        "wrong during this run: no holder is paused, no Redis forgets; the last column says "
        "which promise to be right then.",
        "判定把策略的承诺与数据库里的行相对照。这次运行中没有发生故障：没有持锁者被暂停，"
        "Redis 也没有丢数据；最后一列说明哪些策略承诺在那时仍然正确。");
    fputs("<div class=\"scroll\"><table>\n", to);
    headers(to, names, sizeof names / sizeof *names);
    for (size_t i = 0; i < found->count; i++)
        line_row(to, &found->lines[i]);
    fputs("</table></div>\n", to);
}

static void part_rows(FILE *to, const json_t *run, const json_t *part)
{
    static const char *const classes[] = {"committed", "accepted", "refused", "failed"};
    const json_t *latencies = json_object_get(part, "latency_us");

    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        const json_t *latency = json_object_get(latencies, classes[i]);
        int64_t count = (int64_t)json_integer_value(json_object_get(latency, "count"));
        if (count == 0)
            continue;
        fputs("<tr><td>", to);
        chart_text(to, json_string_value(json_object_get(run, "strategy")));
        fprintf(to, "</td><td>%d</td><td>%d</td><td class=\"text\">",
                (int)json_integer_value(json_object_get(run, "instances")),
                (int)json_integer_value(json_object_get(run, "round")));
        chart_text(to, json_string_value(json_object_get(part, "part")));
        fprintf(to, "</td><td>%.0f</td><td class=\"text\">%s</td><td>%" PRId64 "</td>",
                json_number_value(json_object_get(part, "rate_per_s")), classes[i], count);
        static const char *const figures[] = {"p50", "p90", "p99", "max"};
        for (size_t j = 0; j < sizeof figures / sizeof *figures; j++)
            fprintf(to, "<td>%.2f</td>",
                    json_number_value(json_object_get(latency, figures[j])) / 1000);
        fputs("</tr>\n", to);
    }
}

/* What was offered and how it was answered, part by part of the schedule. */
static void open_loop(FILE *to, const struct found *found)
{
    static const char *const names[][2] = {
        {"strategy", "策略"},   {"instances", "实例"},    {"round", "轮"},
        {"part", "阶段"},       {"offered/s", "到达/秒"}, {"answer", "答复"},
        {"orders", "订单"},     {"p50 ms", "p50 毫秒"},   {"p90 ms", "p90 毫秒"},
        {"p99 ms", "p99 毫秒"}, {"max ms", "最长 毫秒"}};
    const json_t *runs = json_object_get(found->document, "runs");
    bool begun = false;

    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        const json_t *parts = json_object_get(json_object_get(run, "open_loop"), "parts");
        for (size_t j = 0; j < json_array_size(parts); j++) {
            if (!begun) {
                heading(to, "At the given rate", "给定速率下",
                        "Each order is timed from when it was due, however late it could be sent.",
                        "延迟从订单应当发出的时刻算起，不论实际何时送出。");
                fputs("<div class=\"scroll\"><table>\n", to);
                headers(to, names, sizeof names / sizeof *names);
                begun = true;
            }
            part_rows(to, run, json_array_get(parts, j));
        }
    }
    if (begun)
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
        char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
        fputs("<dt>", to);
        chart_text(to, name);
        fputs("</dt><dd>", to);
        chart_text(to, text ? text : json_string_value(value));
        fputs("</dd>\n", to);
        free(text);
    }
}

static void conditions(FILE *to, const struct found *found)
{
    const json_t *document = found->document;

    heading(to, "Machine and settings", "机器与设置",
            "An order writes one row in orders and one update of the product's row.",
            "一个订单写 orders 表一行，并更新商品的一行。");
    fputs("<dl>\n", to);
    values(to, json_object_get(document, "machine"));
    values(to, json_object_get(document, "versions"));
    values(to, json_object_get(document, "settings"));
    fprintf(to, "<dt>seed</dt><dd>%lld</dd>\n</dl>\n",
            (long long)json_integer_value(json_object_get(document, "seed")));
}

static void one_run(FILE *to, const struct found *found)
{
    banner(to, found);
    pictures(to, found);
    lines_table(to, found);
    open_loop(to, found);
    conditions(to, found);
}

/* Whether no round of the one was as any of the other. */
static bool differs(const struct span *a, const struct span *b)
{
    return a->most < b->least || b->most < a->least;
}

static void compare_row(FILE *to, const struct html_run *runs, size_t count,
                        const struct found_line *first)
{
    fputs("<tr><td>", to);
    chart_text(to, first->strategy);
    fprintf(to, "</td><td>%d</td>", first->instances);
    for (size_t i = 0; i < count; i++) {
        const struct found_line *line = found_same(&runs[i].found, first);
        if (!line || line->rounds == 0 || first->committed_per_s.median <= 0) {
            fputs("<td></td>", to);
            continue;
        }
        double ratio = line->committed_per_s.median / first->committed_per_s.median;
        bool beyond = differs(&line->committed_per_s, &first->committed_per_s);
        fprintf(to, "<td class=\"%s\">%.0f", beyond ? ratio < 1 ? "bad" : "safe" : "",
                line->committed_per_s.median);
        if (i > 0)
            fprintf(to, " (×%.2f%s)", ratio, beyond ? ratio < 1 ? " ↓" : " ↑" : "");
        fputs("</td>", to);
    }
    fputs("</tr>\n", to);
}

static void compare(FILE *to, const struct html_run *runs, size_t count)
{
    heading(to, "Beside each other", "并排比较",
            "Committed orders a second, and × the first run. An arrow: no round of the one was "
            "like any of the other; what has none did not differ beyond the rounds' spread.",
            "每秒落库的订单，以及与第一次运行之比。有箭头表示两次运行的各轮没有交叠；没有箭头的差别"
            "不超出各轮的波动。");
    fputs("<div class=\"scroll\"><table>\n<tr>", to);
    both(to, "th", "strategy", "策略");
    both(to, "th", "instances", "实例");
    for (size_t i = 0; i < count; i++) {
        fputs("<th>", to);
        chart_text(to, runs[i].name);
        fputs("</th>", to);
    }
    fputs("</tr>\n", to);
    for (size_t i = 0; i < runs[0].found.count; i++)
        compare_row(to, runs, count, &runs[0].found.lines[i]);
    fputs("</table></div>\n", to);
}

static void content(FILE *to, const struct html_run *runs, size_t count)
{
    if (count == 1) {
        fputs("<p class=\"note\"><a href=\"results.csv\">results.csv</a> · "
              "<a href=\"results.json\">results.json</a></p>\n",
              to);
        one_run(to, &runs[0].found);
        return;
    }
    compare(to, runs, count);
    for (size_t i = 0; i < count; i++) {
        fputs("<h2>", to);
        chart_text(to, runs[i].name);
        fputs("</h2>\n", to);
        one_run(to, &runs[i].found);
    }
}

bool html_write(const char *folder, const struct html_run *runs, size_t count, struct error *error)
{
    const char *page = (const char *)page_html;
    const char *at = memmem(page, page_html_length, marker, sizeof marker - 1);
    FILE *file = files_create(folder, "report.html", error);

    if (!file)
        return false;
    size_t before = (size_t)(at - page);
    size_t behind = before + sizeof marker - 1;
    fwrite(page, 1, before, file);
    content(file, runs, count);
    fwrite(page + behind, 1, page_html_length - behind, file);
    return files_close(file, "report.html", error);
}

bool html_write_run(const char *folder, struct error *error)
{
    struct html_run run = {.name = folder};

    if (!found_read(folder, &run.found, error))
        return false;
    bool written = html_write(folder, &run, 1, error);
    found_free(&run.found);
    return written;
}
