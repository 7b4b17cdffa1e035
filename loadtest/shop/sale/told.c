/* See told.h. */
#include "loadtest/shop/sale/told.h"

#include "loadtest/report/files.h"
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

void told_print(FILE *to, const struct told *told)
{
    const struct target *target = told->plan->target;
    const struct sale *sale = told->sale;
    const struct shop_judgement *judgement = &sale->judgement;
    fprintf(to, "%s: %" PRId64 " on sale, %zu purchases in %.1f s\n\n", target->name, target->stock,
            sale->ledger.ops_count,
            ms(sale->ledger.load.ended_us - sale->ledger.load.began_us) / 1000);
    print_answers(to, told->answers);
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

static json_t *load_json(const struct told *told)
{
    const struct sale_plan *plan = told->plan;
    const struct sale *sale = told->sale;
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "connections", (json_int_t)plan->connections,
        "rate_per_s", (json_int_t)plan->rate_per_s, "seed", (json_int_t)plan->seed, "purchases",
        (json_int_t)sale->ledger.ops_count, "late_us", (json_int_t)sale->ledger.load.late_us,
        "took_us", (json_int_t)(sale->ledger.load.ended_us - sale->ledger.load.began_us),
        "failures", (json_int_t)sale->ledger.load.failures, "first_failure",
        sale->ledger.load.first_failure);
}

bool told_write(const struct told *told, struct error *error)
{
    const struct target *target = told->plan->target;
    const struct shop_judgement *judgement = &told->sale->judgement;
    json_t *all = json_pack("{ss ss sI sI sI ss ss so so so so}", "shop", target->name, "target",
                            target->path, "product", target->product, "stock", target->stock,
                            "limit", target->limit, "verdict",
                            shop_verdict_name(judgement->verdict), "why", judgement->why, "claims",
                            claims_json(judgement), "answers", answers_json(told->answers), "books",
                            books_json(&told->sale->ledger.books), "load", load_json(told));
    if (all && told->fail_if->count > 0)
        json_object_set_new(all, "thresholds", gate_load_json(told->fail_if, told->measured));
    return files_write_json(told->plan->folder, "results.json", all, error);
}

/* --- for a pipeline --- */

void sale_missing(const struct target *target, const char *missing[THRESHOLD_MEASURES])
{
    memset(missing, 0, THRESHOLD_MEASURES * sizeof *missing);
    if (!shop_query_is_given(&target->orders))
        missing[THRESHOLD_COMMITTED] = "the target's audit names no orders";
}

void sale_measure(const struct target *target, const struct sale *sale,
                  const struct sale_answers answers[SHOP_MEANINGS], struct measured *out)
{
    bool asked_for = target->poll.method != NULL;
    struct latency times = {.count = 0};
    *out = (struct measured){
        .values = {[THRESHOLD_ORDERS] = (double)sale->ledger.ops_count,
                   [THRESHOLD_COMMITTED] = (double)sale->ledger.books.orders_count,
                   [THRESHOLD_ACCEPTED] = (double)answers[SHOP_ACCEPTED].count,
                   [THRESHOLD_REFUSED] =
                       (double)(answers[SHOP_SOLD_OUT].became + answers[SHOP_REFUSED].became),
                   [THRESHOLD_FAILED] =
                       (double)(answers[SHOP_UNKNOWN].became + answers[SHOP_SHED].became +
                                (asked_for ? answers[SHOP_ACCEPTED].became : 0))}};
    for (size_t i = 0; i < SHOP_MEANINGS; i++)
        latency_merge(&times, &answers[i].times);
    measured_set_times(out, &times);
    measured_set_rates(out, sale->ledger.load.ended_us - sale->ledger.load.began_us);
}

void sale_add_cases(struct junit *junit, const struct target *target, const struct sale *sale)
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
        struct junit_case one = {.group = target->name, .name = claim_name((enum finding_kind)i)};
        junit_end(&one, of_claims[finding->result], claim_result_name(finding->result), "%s",
                  finding->text);
        junit_add(junit, &one);
    }
    struct junit_case verdict = {.group = target->name, .name = "verdict"};
    verdict.seconds = (double)(sale->ledger.load.ended_us - sale->ledger.load.began_us) / 1e6;
    junit_end(&verdict, of_verdicts[judgement->verdict], shop_verdict_name(judgement->verdict),
              "%s", judgement->why);
    junit_add(junit, &verdict);
}
