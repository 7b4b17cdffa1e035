/* The page of runs (page.h): its tables, which are there without a script, and what is drawn. */
#include "loadtest/report/files.h"
#include "loadtest/report/page/page.h"
#include "loadtest/report/results.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The cell of the verdict that is shown; of what is unsafe, that no promise of its own forbids it.
 */
static void verdict_cell(FILE *to, const struct line *line, enum verdict shown)
{
    static const char *const chinese[][2] = {{"kept", "守住承诺"},
                                             {"kept, one instance", "守住承诺（仅一个实例）"},
                                             {"kept, not when paused", "守住承诺（停顿时除外）"},
                                             {"kept, no failover", "守住承诺（无故障切换）"},
                                             {"proved nothing", "什么也没证明"},
                                             {"no run", "没有跑成"},
                                             {"BROKEN", "违背承诺"},
                                             {"oversold", "超卖"},
                                             {"lost updates", "丢失更新"},
                                             {"wrong", "出错"}};
    const char *text = line_verdict_text(line, shown);
    size_t i = 0;
    while (strcmp(chinese[i][0], text) != 0)
        i++;
    fprintf(to, "<td class=\"text verdict %s\">", line_class_name(line_verdict_class(line, shown)));
    words_spans(to, text, chinese[i][1]);
    if (shown == VERDICT_UNSAFE && line->promise.one_instance)
        words_spans(to, " (it promises one instance)", "（它只承诺一个实例）");
    else if (shown == VERDICT_UNSAFE)
        words_spans(to, " (it promises nothing)", "（它什么也没承诺）");
    fputs("</td>", to);
}

/* The cell that says how far the promise goes. */
static void right_if_cell(FILE *to, const struct line *line)
{
    const struct promise *promise = &line->promise;
    const char *chinese = !promise->one_instance                              ? "从不"
                          : !promise->many_instances                          ? "只有一个实例"
                          : promise->paused_holder && promise->redis_failover ? "无论发生什么"
                          : promise->paused_holder                            ? "没有故障切换"
                          : promise->redis_failover                           ? "没有停顿"
                                                    : "没有停顿和故障切换";
    fprintf(to, "<td class=\"text %s\">", line_class_name(line->class));
    words_spans(to, promise_right_if(promise), chinese);
    fputs("</td>", to);
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

/* Below a line; "": nothing. */
static void note_row(FILE *to, int columns, const char *note)
{
    if (!*note)
        return;
    fprintf(to, "<tr><td class=\"note\" colspan=\"%d\">↳ ", columns);
    words_text(to, note);
    fputs("</td></tr>\n", to);
}

static void line_row(FILE *to, const struct document *document, const struct line *line)
{
    fputs("<tr><td>", to);
    words_text(to, line->strategy);
    fprintf(to, "%s ×%d</td>", line_body_text(line), line->instances);
    verdict_cell(to, line, words_shown(document, line));
    right_if_cell(to, line);
    if (document->over)
        fprintf(to, "<td>%" PRId64 "</td>", line->value);
    figures(to, document, line);
    if (!document->over)
        stock(to, line);
    fputs("</tr>\n", to);
    note_row(to, 8,
             line->error             ? line->error
             : line->generators == 0 ? ""
                                     : "a round without figures: wrk was never idle and the "
                                       "servers were");
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

/* Every line of a run or a sweep, without a script. */
static void lines_table(FILE *to, const struct document *document)
{
    lines_notes(to, document);
    fputs("<div class=\"scroll\"><table>\n", to);
    lines_headers(to, document);
    for (size_t i = 0; i < document->count; i++)
        line_row(to, document, &document->lines[i]);
    fputs("</table></div>\n", to);
}

/* Whether it is of a run with buyers who have yet to pay (--scenario unpaid). */
static bool is_unpaid(const struct document *document)
{
    return json_object_get(json_array_get(document->runs, 0), "unpaid") != NULL;
}

/* The figures of the picture that the script draws stand behind it. */
static void unpaid_row(FILE *to, const struct document *document, const json_t *run)
{
    static const char *const names[] = {"bought",  "paid",      "too_late", "never_paid",
                                        "refused", "most_held", "looks",    "disagreed"};
    const struct line *line = document_line_of(document, run);
    const json_t *figures = json_object_get(run, "unpaid");
    fputs("<tr><td>", to);
    words_text(to, line->strategy);
    fprintf(to, "%s</td>", line_body_text(line));
    verdict_cell(to, line, line->verdict);
    fprintf(to, "<td>%d</td><td class=\"shares\"></td>", line->instances);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fprintf(to, "<td>%" PRId64 "</td>", document_integer(figures, names[i]));
    fprintf(to, "<td>%" PRId64 "</td></tr>\n",
            document_integer(json_object_get(run, "audit"), "stock"));
    note_row(to, 13, document_text(figures, "wrong"));
}

/* What became of the orders, and what the rows said meanwhile and at the end. */
static void unpaid_table(FILE *to, const struct document *document)
{
    static const char *const names[][2] = {{"strategy", "策略"},     {"verdict", "判定"},
                                           {"instances", "实例"},    {"", ""},
                                           {"bought", "下单"},       {"paid", "已支付"},
                                           {"too late", "支付过晚"}, {"never paid", "未支付"},
                                           {"refused", "被拒"},      {"most held", "最多占用"},
                                           {"looks", "查账次数"},    {"disagreed", "账不平"},
                                           {"left", "剩余"}};
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
    for (size_t i = 0; i < json_array_size(document->runs); i++) {
        const json_t *run = json_array_get(document->runs, i);
        if (document_line_of(document, run))
            unpaid_row(to, document, run);
    }
    fputs("</table></div>\n", to);
}

static json_t *answers_json(const struct answers *answers)
{
    json_t *all = json_object();
    for (int kind = 0; answers && kind < ANSWERS_KINDS; kind++)
        if (answers->kinds[kind].count > 0)
            json_object_set_new(all, answers_name(kind), open_results_steps(&answers->kinds[kind]));
    if (json_object_size(all) > 0)
        return all;
    json_decref(all);
    return NULL;
}

static json_t *line_json(const struct document *document, const struct line *line)
{
    const struct span *figures = line->figures;
    const struct span *rate = &figures[LINE_COMMITTED];
    bool best = document->over && document_mark(document, line) != LINE_LESS;
    return json_pack("{ss ss si sI sI ss s{sf sf sf} sf sf sf sf sI sI sI sb so*}", "strategy",
                     line->strategy, "body", line->body, "instances", line->instances, "value",
                     line->value, "rounds", (json_int_t)line->rounds, "class",
                     line_class_name(line->class), "committed_per_s", "median", rate->median,
                     "least", rate->least, "most", rate->most, "p50_ms", figures[LINE_P50].median,
                     "p90_ms", figures[LINE_P90].median, "p99_ms", figures[LINE_P99].median,
                     "max_ms", figures[LINE_LONGEST].median, "sold", line->sold, "stock",
                     line->stock, "oversold", line->oversold, "best", (int)best, "answers",
                     answers_json(line->answers));
}

/* results.json as it was written, and the CSV files beside it. */
static json_t *files_json(const struct page_run *run)
{
    const char *over = run->document.over;
    json_t *all = json_object();
    char *text = json_dumps(run->document.json, FILES_JSON);
    page_add_file(all, run->folder,
                  !over                       ? "results.csv"
                  : strcmp(over, "rate") == 0 ? "capacity.csv"
                                              : "sweep.csv");
    if (document_has_open_loop(&run->document))
        page_add_file(all, run->folder, "arrivals.csv");
    json_object_set_new(all, "results.json", json_sprintf("%s\n", text ? text : ""));
    free(text);
    return all;
}

/* What the script draws of a run, beside what results.json says, which is among its files: its
 * lines with their latencies. */
static json_t *drawn_of(const struct page_run *run)
{
    const struct document *document = &run->document;
    json_t *lines = json_array(), *said = json_string(run->name);
    if (!said) /* a folder's name may be anything */
        said = json_string("?");
    for (size_t i = 0; i < document->count; i++)
        json_array_append_new(lines, line_json(document, &document->lines[i]));
    return json_pack("{so so so ss* sb}", "name", said, "lines", lines, "files", files_json(run),
                     "over", document->over, "unpaid", (int)is_unpaid(document));
}

static void draw(FILE *to, const char *what, size_t run)
{
    fprintf(to, "<div data-draw=\"%s\" data-run=\"%zu\"></div>\n", what, run);
}

static void write_run(FILE *to, const struct page_run *run, size_t number)
{
    sentence_write(to, &run->document);
    sentence_made(to, run->document.json);
    draw(to, "files", number);
    if (is_unpaid(&run->document))
        unpaid_table(to, &run->document);
    else
        lines_table(to, &run->document);
    draw(to, "charts", number);
    draw(to, "conditions", number);
}

bool page_write_runs(const char *folder, const struct page_run *runs, size_t count,
                     struct error *error)
{
    FILE *to = page_begin(folder, error);
    if (!to)
        return false;
    json_t *drawn = json_array();
    if (count > 1)
        compare_write(to, runs, count);
    for (size_t i = 0; i < count; i++) {
        if (count > 1) {
            fputs("<h2 class=\"run\">", to);
            words_text(to, runs[i].name);
            fputs("</h2>\n", to);
        }
        write_run(to, &runs[i], i);
        json_array_append_new(drawn, drawn_of(&runs[i]));
    }
    return page_end(to, drawn, error);
}

bool page_write_run(const char *folder, const struct document *document, struct error *error)
{
    const struct page_run run = {.name = "", .folder = folder, .document = *document};

    return page_write_runs(folder, &run, 1, error);
}
