/* See compare.h. The first run is what the others are compared with. */
#include "loadtest/report/html/compare.h"

#include "loadtest/report/charts/svg.h"
#include "loadtest/report/html/words.h"

#include <inttypes.h>
#include <stdlib.h>

enum figure { COMMITTED, P99 };

static const struct span *span_in(const struct found_line *line, enum figure figure)
{
    return figure == COMMITTED ? &line->committed_per_s : &line->p99_ms;
}

enum compare_result compare_spans(const struct span *its, size_t its_rounds,
                                  const struct span *first, size_t first_rounds)
{
    if (its_rounds < 2 || first_rounds < 2)
        return COMPARE_UNKNOWN;
    if (its->most < first->least)
        return COMPARE_LESS;
    return its->least > first->most ? COMPARE_MORE : COMPARE_ALIKE;
}

/* More is better of orders, and worse of milliseconds. */
static const char *class_of(enum compare_result result, enum figure figure)
{
    if (result == COMPARE_LESS || result == COMPARE_MORE)
        return (result == COMPARE_MORE) == (figure == COMMITTED) ? "safe" : "bad";
    return "";
}

static void cell(FILE *to, const struct found_line *line, const struct found_line *first,
                 enum figure figure)
{
    static const char *const marks[] = {[COMPARE_UNKNOWN] = "",
                                        [COMPARE_ALIKE] = " ≈",
                                        [COMPARE_LESS] = " ↓",
                                        [COMPARE_MORE] = " ↑"};
    if (!line || line->rounds == 0) {
        fputs("<td></td>", to);
        return;
    }
    const struct span *its = span_in(line, figure);
    int decimals = figure == COMMITTED ? 0 : 2;
    if (!first || first == line || first->rounds == 0 || span_in(first, figure)->median <= 0) {
        fprintf(to, "<td>%.*f</td>", decimals, its->median);
        return;
    }
    enum compare_result result =
        compare_spans(its, line->rounds, span_in(first, figure), first->rounds);
    fprintf(to, "<td class=\"%s\">%.*f (×%.2f%s)</td>", class_of(result, figure), decimals,
            its->median, its->median / span_in(first, figure)->median, marks[result]);
}

static void row(FILE *to, const struct html_run *runs, size_t count, const struct found_line *of)
{
    const struct found_line *first = found_same(&runs[0].found, of);
    fputs("<tr><td>", to);
    svg_text(to, of->strategy);
    fprintf(to, "%s ×%d", found_body_text(of), of->instances);
    if (of->value != 0)
        fprintf(to, " =%" PRId64, of->value);
    fputs("</td>", to);
    for (int figure = COMMITTED; figure <= P99; figure++)
        for (size_t i = 0; i < count; i++)
            cell(to, found_same(&runs[i].found, of), first, (enum figure)figure);
    fputs("</tr>\n", to);
}

/* Whether an earlier run has the line too. */
static bool is_shown(const struct html_run *runs, size_t run, const struct found_line *line)
{
    for (size_t i = 0; i < run; i++)
        if (found_same(&runs[i].found, line))
            return true;
    return false;
}

static void run_names(FILE *to, const struct html_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fputs("<th>", to);
        svg_text(to, runs[i].name);
        fputs("</th>", to);
    }
}

static void figures_table(FILE *to, const struct html_run *runs, size_t count)
{
    words_heading(
        to, "Beside each other", "并排比较",
        "Medians of the rounds, and × the first run's. ↑ ↓: no round of the one was like "
        "any of the other. ≈: their rounds overlap, so no difference is shown. Neither: "
        "one of them has a single round, and nobody knows its spread (<code>--rounds</code>).",
        "各轮的中位数，以及与第一次运行之比。↑ ↓：两次运行的各轮没有交叠。≈：有交叠，"
        "看不出差别。没有记号：其中一次只有一轮，无从知道波动（<code>--rounds</code>）。");
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
        for (size_t i = 0; i < runs[run].found.count; i++)
            if (!is_shown(runs, run, &runs[run].found.lines[i]))
                row(to, runs, count, &runs[run].found.lines[i]);
    fputs("</table></div>\n", to);
}

/* The value of a member of a member; an object's own members are asked for one by one. */
static const json_t *setting(const struct found *found, const char *part, const char *name)
{
    return json_object_get(json_object_get(found->document, part), name);
}

static bool differs(const struct html_run *runs, size_t count, const char *part, const char *name)
{
    for (size_t i = 1; i < count; i++) {
        const json_t *first = setting(&runs[0].found, part, name);
        const json_t *other = setting(&runs[i].found, part, name);
        if (first != other && !json_equal(first, other))
            return true;
    }
    return false;
}

static void setting_row(FILE *to, const struct html_run *runs, size_t count, const char *part,
                        const char *name)
{
    fputs("<tr><td>", to);
    svg_text(to, name);
    fputs("</td>", to);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = setting(&runs[i].found, part, name);
        char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
        fputs("<td class=\"text\">", to);
        svg_text(to, text ? text : json_string_value(value));
        fputs("</td>", to);
        free(text);
    }
    fputs("</tr>\n", to);
}

/* Of the members that a run's part has and no earlier run's: all there are, each once. */
static size_t setting_rows(FILE *to, const struct html_run *runs, size_t count, const char *part)
{
    size_t shown = 0;
    for (size_t run = 0; run < count; run++) {
        const char *name;
        json_t *value;
        json_object_foreach(json_object_get(runs[run].found.document, part), name, value)
        {
            bool earlier = false;
            for (size_t i = 0; i < run; i++)
                earlier = earlier || setting(&runs[i].found, part, name);
            if (earlier || !differs(runs, count, part, name))
                continue;
            setting_row(to, runs, count, part, name);
            shown++;
        }
    }
    return shown;
}

static void settings_table(FILE *to, const struct html_run *runs, size_t count)
{
    static const char *const parts[] = {"machine", "versions", "settings"};
    size_t shown = 0;
    words_heading(to, "What was not the same", "不相同的条件",
                  "Machine, versions and settings in which the runs differ.",
                  "这几次运行在机器、版本与设置上的不同之处。");
    fputs("<div class=\"scroll\"><table>\n<tr><th></th>", to);
    run_names(to, runs, count);
    fputs("</tr>\n", to);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        shown += setting_rows(to, runs, count, parts[i]);
    fputs("</table></div>\n", to);
    if (shown == 0)
        words_both(to, "p", "Nothing.", "没有。");
}

void compare_write(FILE *to, const struct html_run *runs, size_t count)
{
    figures_table(to, runs, count);
    settings_table(to, runs, count);
}
