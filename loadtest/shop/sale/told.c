/* See told.h. */
#include "loadtest/shop/sale/told.h"

#include "loadtest/report/files.h"
#include "loadtest/report/page/page.h"
#include "loadtest/report/pipeline/gate.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

static double ms(int64_t us)
{
    return (double)us / 1000;
}

static void print_answers(FILE *to, const struct sale_answers *answers)
{
    fprintf(to, "%-10s %8s %8s %9s %9s %9s\n", "answer", "first", "in end", "p50 ms", "p99 ms",
            "max ms");
    for (size_t i = 0; i < SHOP_MEANINGS; i++) {
        const struct sale_answers *one = &answers[i];
        const struct latency_figures figures = latency_read(&one->times);
        if (one->count == 0 && one->became == 0)
            continue;
        fprintf(to, "%-10s %8" PRId64 " %8" PRId64, shop_meaning_name((enum shop_meaning)i),
                one->count, one->became);
        if (figures.count > 0)
            fprintf(to, " %9.2f %9.2f %9.2f\n", ms(figures.p50_us), ms(figures.p99_us),
                    ms(figures.max_us));
        else
            fprintf(to, " %9s %9s %9s\n", "-", "-", "-");
    }
}

/* Answers that came, and that no line of the target's outcome matches. */
static void print_unmatched(FILE *to, const struct ledger *ledger)
{
    size_t counts[1000] = {0};
    for (size_t i = 0; i < ledger->ops_count; i++) {
        const struct ledger_op *one = &ledger->ops[i];
        if (one->first == SHOP_UNKNOWN && one->status > 0 && one->status < 1000)
            counts[one->status]++;
    }
    for (size_t status = 0; status < 1000; status++) {
        if (counts[status])
            fprintf(to, "%zu answers of status %zu: no line of outcome matches them\n",
                    counts[status], status);
    }
}

void told_print(FILE *to, const struct sale *sale)
{
    const struct shop_judgement *judgement = &sale->judgement;
    fprintf(to, "%s: %" PRId64 " on sale, %zu purchases in %.1f s\n\n", sale->ledger.shop,
            sale->ledger.products[0].stock, sale->ledger.ops_count,
            ms(sale->ledger.load.ended_us - sale->ledger.load.began_us) / 1000);
    print_answers(to, sale->answers);
    print_unmatched(to, &sale->ledger);
    fputc('\n', to);
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++) {
        const struct claim_finding *finding = &judgement->claims[i];
        if (finding->result != CLAIM_NOT_ASKED)
            fprintf(to, "%-20s %-12s %s\n", claim_name((enum finding_kind)i),
                    claim_result_name(finding->result), finding->text);
    }
    if (sale->ledger.load.failures > 0)
        fprintf(to, "\n%zu requests went wrong, the first: %s\n", sale->ledger.load.failures,
                sale->ledger.load.first_failure);
    fprintf(to, "\n%s: %s\n", shop_verdict_name(judgement->verdict), judgement->why);
}

static json_t *claims_json(const struct shop_judgement *judgement)
{
    json_t *claims = json_array();
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++) {
        const struct claim_finding *finding = &judgement->claims[i];
        if (finding->result != CLAIM_NOT_ASKED)
            json_array_append_new(claims, json_pack("{s:s, s:s, s:s}", "claim",
                                                    claim_name((enum finding_kind)i), "result",
                                                    claim_result_name(finding->result), "text",
                                                    finding->text));
    }
    return claims;
}

static json_t *answers_json(const struct sale_answers *answers)
{
    json_t *all = json_object();
    for (size_t i = 0; i < SHOP_MEANINGS; i++) {
        const struct latency_figures figures = latency_read(&answers[i].times);
        json_t *one =
            json_pack("{sI sI}", "first", answers[i].count, "in_the_end", answers[i].became);
        if (figures.count > 0)
            json_object_update_new(one,
                                   json_pack("{sI sI sI sI sI}", "p50_us", figures.p50_us, "p90_us",
                                             figures.p90_us, "p99_us", figures.p99_us, "p999_us",
                                             figures.p999_us, "max_us", figures.max_us));
        json_object_set_new(all, shop_meaning_name((enum shop_meaning)i), one);
    }
    return all;
}

static int64_t units_of(const struct rows *books)
{
    int64_t units = 0;
    for (size_t i = 0; i < books->orders_count; i++)
        units += books->orders[i].quantity;
    return units;
}

static json_t *books_json(const struct rows *books)
{
    json_t *all = json_object();
    if (books->has_left)
        json_object_set_new(all, "stock_left", json_integer(books->left));
    if (books->has_orders) {
        json_object_set_new(all, "orders", json_integer((json_int_t)books->orders_count));
        json_object_set_new(all, "units", json_integer(units_of(books)));
    }
    return all;
}

static json_t *load_json(const struct ledger *ledger)
{
    const struct ledger_load *load = &ledger->load;
    return json_pack("{sI sI sI sI sI sI sI ss}", "connections", load->connections, "rate_per_s",
                     load->rate_per_s, "seed", ledger->seed, "purchases",
                     (json_int_t)ledger->ops_count, "late_us", load->late_us, "took_us",
                     load->ended_us - load->began_us, "failures", (json_int_t)load->failures,
                     "first_failure", load->first_failure);
}

static json_t *sale_json(const struct target *target, const struct sale *sale)
{
    const struct shop_judgement *judgement = &sale->judgement;
    return json_pack("{ss ss sI sI sI ss ss so so so so}", "shop", target->name, "target",
                     target->path, "product", target->product, "stock", target->stock, "limit",
                     target->limit, "verdict", shop_verdict_name(judgement->verdict), "why",
                     judgement->why, "claims", claims_json(judgement), "answers",
                     answers_json(sale->answers), "books", books_json(&sale->ledger.books), "load",
                     load_json(&sale->ledger));
}

/* --- the page, in both languages: the verdict, the claims, the answers --- */

static void write_banner(FILE *to, const struct sale *sale)
{
    static const char *const classes[] = {
        [SHOP_VERDICT_KEPT] = "", [SHOP_VERDICT_BROKEN] = " bad", [SHOP_VERDICT_INVALID] = " care"};
    const struct shop_judgement *judgement = &sale->judgement;
    fprintf(to, "<p class=\"banner%s\">", classes[judgement->verdict]);
    words_text(to, sale->ledger.shop);
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

static bool write_page(const char *folder, const struct sale *sale, struct error *error)
{
    FILE *page = page_begin(folder, error);
    if (!page)
        return false;
    write_banner(page, sale);
    write_claims(page, &sale->judgement);
    write_answers(page, sale->answers);
    return page_end(page, json_array(), error);
}

bool told_write(const char *folder, const struct target *target, const struct sale *sale,
                const struct thresholds *fail_if, struct error *error)
{
    json_t *all = sale_json(target, sale);
    if (all && fail_if->count > 0)
        json_object_set_new(all, "thresholds", gate_load_json(fail_if, &sale->measured));
    return files_write_json(folder, "results.json", all, error) && write_page(folder, sale, error);
}

/* --- for a pipeline --- */

void told_missing(const struct target *target, const char *missing[THRESHOLD_MEASURES])
{
    memset(missing, 0, THRESHOLD_MEASURES * sizeof *missing);
    if (!shop_query_is_given(&target->orders))
        missing[THRESHOLD_COMMITTED] = "the target's audit names no orders";
}

void told_add_cases(struct junit *junit, const struct sale *sale)
{
    static const enum junit_outcome of_claims[] = {[CLAIM_KEPT] = JUNIT_PASSED,
                                                   [CLAIM_NOT_CHECKED] = JUNIT_SKIPPED,
                                                   [CLAIM_BROKEN] = JUNIT_FAILED};
    static const enum junit_outcome of_verdicts[] = {[SHOP_VERDICT_KEPT] = JUNIT_PASSED,
                                                     [SHOP_VERDICT_BROKEN] = JUNIT_FAILED,
                                                     [SHOP_VERDICT_INVALID] = JUNIT_ERROR};
    const struct shop_judgement *judgement = &sale->judgement;
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++) {
        const struct claim_finding *finding = &judgement->claims[i];
        if (finding->result == CLAIM_NOT_ASKED)
            continue;
        struct junit_case one = {.group = sale->ledger.shop,
                                 .name = claim_name((enum finding_kind)i)};
        junit_end(&one, of_claims[finding->result], claim_result_name(finding->result), "%s",
                  finding->text);
        junit_add(junit, &one);
    }
    struct junit_case verdict = {.group = sale->ledger.shop, .name = "verdict"};
    verdict.seconds = (double)(sale->ledger.load.ended_us - sale->ledger.load.began_us) / 1e6;
    junit_end(&verdict, of_verdicts[judgement->verdict], shop_verdict_name(judgement->verdict),
              "%s", judgement->why);
    junit_add(junit, &verdict);
}
