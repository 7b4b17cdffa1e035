/* The page of told.h, in both languages: the verdict, the claims, the answers. */
#include "loadtest/shop/sale/told.h"

#include "loadtest/report/page/page.h"

#include <inttypes.h>

static void write_banner(FILE *to, const struct told *told)
{
    static const char *const classes[] = {
        [SHOP_VERDICT_KEPT] = "", [SHOP_VERDICT_BROKEN] = " bad", [SHOP_VERDICT_INVALID] = " care"};
    const struct shop_judgement *judgement = &told->sale->judgement;
    fprintf(to, "<p class=\"banner%s\">", classes[judgement->verdict]);
    words_text(to, told->plan->target->name);
    fprintf(to, ": <b>%s</b>. ", shop_verdict_name(judgement->verdict));
    words_text(to, judgement->why);
    fputs("</p>\n", to);
}

static void write_claims(FILE *to, const struct shop_judgement *judgement)
{
    static const char *const classes[] = {[CLAIM_NOT_ASKED] = "note",
                                          [CLAIM_KEPT] = "safe",
                                          [CLAIM_NOT_CHECKED] = "note",
                                          [CLAIM_BROKEN] = "bad"};
    static const char *const names[][2] = {
        {"claim", "主张"}, {"result", "结果"}, {"numbers, and an example", "数字与例子"}};
    words_heading(to, "Claims", "主张",
                  "By what buyers were told and what the shop's own books say. What was not put to "
                  "the test is not checked.",
                  "依据买家收到的答复和商店自己的账目；未经检验的，写明未检查。");
    fputs("<div class=\"scroll\"><table>\n", to);
    words_headers(to, names, sizeof names / sizeof names[0]);
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++) {
        const struct claim_finding *finding = &judgement->claims[i];
        if (finding->result == CLAIM_NOT_ASKED)
            continue;
        fprintf(to, "<tr><td>%s</td><td class=\"text %s\">%s</td><td class=\"text note\">",
                claim_name((enum finding_kind)i), classes[finding->result],
                claim_result_name(finding->result));
        words_text(to, finding->text);
        fputs("</td></tr>\n", to);
    }
    fputs("</table></div>\n", to);
}

static void write_answers(FILE *to, const struct sale_answers *answers)
{
    static const char *const names[][2] = {{"answer", "答复"},     {"first", "最初"},
                                           {"in the end", "最终"}, {"p50 ms", "p50 毫秒"},
                                           {"p99 ms", "p99 毫秒"}, {"p99.9 ms", "p99.9 毫秒"},
                                           {"max ms", "最大 毫秒"}};
    words_heading(to, "Answers", "答复",
                  "What the purchase's answer meant, and what it became where the shop was asked "
                  "again. Times are those of the first answer.",
                  "购买请求的答复，以及之后查询到的最终结果。时间为首次答复的时间。");
    fputs("<div class=\"scroll\"><table>\n", to);
    words_headers(to, names, sizeof names / sizeof names[0]);
    for (size_t i = 0; i < SHOP_MEANINGS; i++) {
        const struct latency_figures figures = latency_read(&answers[i].times);
        if (answers[i].count == 0 && answers[i].became == 0)
            continue;
        fprintf(to, "<tr><td>%s</td><td>%" PRId64 "</td><td>%" PRId64 "</td>",
                shop_meaning_name((enum shop_meaning)i), answers[i].count, answers[i].became);
        if (figures.count > 0)
            fprintf(to, "<td>%.2f</td><td>%.2f</td><td>%.2f</td><td>%.2f</td>",
                    (double)figures.p50_us / 1000, (double)figures.p99_us / 1000,
                    (double)figures.p999_us / 1000, (double)figures.max_us / 1000);
        fputs("</tr>\n", to);
    }
    fputs("</table></div>\n", to);
}

bool told_page(const struct told *told, struct error *error)
{
    FILE *page = page_begin(told->plan->folder, error);
    if (!page)
        return false;
    write_banner(page, told);
    write_claims(page, &told->sale->judgement);
    write_answers(page, told->answers);
    return page_end(page, json_array(), error);
}
