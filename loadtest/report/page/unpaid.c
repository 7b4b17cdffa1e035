/* See unpaid.h. */
#include "loadtest/report/page/unpaid.h"

#include "loadtest/report/page/words.h"

#include <inttypes.h>

static const json_t *figures_of(const json_t *run)
{
    return json_object_get(run, "unpaid");
}

static int64_t figure(const json_t *figures, const char *name)
{
    return (int64_t)json_integer_value(json_object_get(figures, name));
}

bool unpaid_is(const struct document *document)
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

static void row(FILE *to, const struct document *document, const json_t *run)
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

void unpaid_section(FILE *to, const struct document *document)
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
            row(to, document, run);
    }
    fputs("</table></div>\n", to);
}
