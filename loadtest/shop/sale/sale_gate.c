/* See told.h. */
#include "loadtest/shop/sale/told.h"

#include <string.h>

void sale_missing(const struct target *target, const char *missing[THRESHOLD_MEASURES])
{
    memset(missing, 0, THRESHOLD_MEASURES * sizeof *missing);
    if (!shop_query_is_given(&target->orders))
        missing[THRESHOLD_COMMITTED] = "the target's audit names no orders";
}

static void count_purchase(const struct target *target, const struct ledger_op *one, double *values)
{
    bool asked_for = target->poll.method != NULL;
    values[THRESHOLD_ORDERS]++;
    values[THRESHOLD_ACCEPTED] += one->first == SHOP_ACCEPTED;
    values[THRESHOLD_REFUSED] += one->last == SHOP_SOLD_OUT || one->last == SHOP_REFUSED;
    values[THRESHOLD_FAILED] += one->last == SHOP_UNKNOWN || one->last == SHOP_SHED ||
                                (one->last == SHOP_ACCEPTED && asked_for);
}

void sale_measure(const struct target *target, const struct sale *sale, struct measured *out)
{
    struct latency latency = {.count = 0};
    *out = (struct measured){
        .values = {[THRESHOLD_COMMITTED] = (double)sale->ledger.books.orders_count}};
    for (size_t i = 0; i < sale->ledger.ops_count; i++) {
        const struct ledger_op *one = &sale->ledger.ops[i];
        count_purchase(target, one, out->values);
        if (one->end_us != LEDGER_NEVER)
            latency_add(&latency, one->end_us - one->due_us);
    }
    measured_set_times(out, &latency);
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
        struct junit_case one = junit_case_of(target->name, claim_name((enum finding_kind)i));
        junit_end(&one, of_claims[finding->result], claim_result_name(finding->result), "%s",
                  finding->text);
        junit_add(junit, &one);
    }
    struct junit_case verdict = junit_case_of(target->name, "verdict");
    verdict.seconds = (double)(sale->ledger.load.ended_us - sale->ledger.load.began_us) / 1e6;
    junit_end(&verdict, of_verdicts[judgement->verdict], shop_verdict_name(judgement->verdict),
              "%s", judgement->why);
    junit_add(junit, &verdict);
}
