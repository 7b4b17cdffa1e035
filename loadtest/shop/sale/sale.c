/* See sale.h. */
#include "loadtest/shop/sale/sale.h"

#include "base/clock.h"
#include "loadtest/base/pool.h"
#include "loadtest/ledger/ledger_read.h"
#include "loadtest/shop/audit/audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool sell(const struct sale_plan *plan, const struct shop_asker *asker,
                 struct ledger *ledger, struct json_lines *writer, struct error *error)
{
    struct shop_users users;
    if (!users_open(&users, asker, error))
        return false;
    bool good = audit_begin(asker, error) && send_load(plan, &users, ledger, writer, error) &&
                audit_wait_quiet(asker, error) && audit_read(asker, &ledger->books, error);
    users_close(&users);
    if (!good)
        return false;
    ledger_write_load(writer, &ledger->load);
    ledger_write_books(writer, &ledger->books);
    ledger_write_done(writer, clock_mono_us());
    return true;
}

/* Where the request's answer that leads to `sold` has the order's id; NULL: nowhere. */
static const char *order_pointer(const struct shop_request *request)
{
    for (size_t i = 0; i < request->rule_count; i++) {
        const struct shop_rule *rule = &request->rules[i];
        if (rule->order && (rule->meaning == SHOP_SOLD || rule->meaning == SHOP_ACCEPTED))
            return rule->order;
    }
    return NULL;
}

static void count(struct sale *sale)
{
    memset(sale->answers, 0, sizeof sale->answers);
    for (size_t i = 0; i < sale->ledger.ops_count; i++) {
        const struct ledger_op *one = &sale->ledger.ops[i];
        sale->answers[one->first].count++;
        sale->answers[one->last].became++;
        if (one->end_us != LEDGER_NEVER && sale->ledger.load.late_us == 0)
            latency_add(&sale->answers[one->first].times, one->end_us - one->due_us);
    }
}

static void measure(const struct target *target, struct sale *sale)
{
    const struct sale_answers *answers = sale->answers;
    bool asked_for = target->poll.method != NULL;
    struct latency times = {.count = 0};
    sale->measured = (struct measured){
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
    measured_set_times(&sale->measured, &times);
    measured_set_rates(&sale->measured, sale->ledger.load.ended_us - sale->ledger.load.began_us);
}

void sale_judge(const struct target *target, struct sale *sale)
{
    const char *of_purchase = order_pointer(&target->purchase);
    const struct shop_terms terms = {.claims = target->claims,
                                     .order_pointer =
                                         of_purchase ? of_purchase : order_pointer(&target->poll)};
    struct shop_judgement *judgement = &sale->judgement;
    const struct ledger_load *sent = &sale->ledger.load;
    claims_judge(&terms, &sale->ledger, judgement);
    count(sale);
    measure(target, sale);
    if (sent->late_us == 0 || judgement->verdict == SHOP_VERDICT_BROKEN)
        return;
    judgement->verdict = SHOP_VERDICT_INVALID;
    snprintf(judgement->why, sizeof judgement->why,
             "the generator could not keep up: it began one purchase in a hundred %.1f ms or more "
             "after its time (--max-lag-ms), and reached %.0f a second; so the times are its own, "
             "and no condition is judged: ask for less, or give it a machine of its own",
             (double)sent->late_us / 1000,
             (double)sale->ledger.ops_count * 1e6 / (double)(sent->ended_us - sent->began_us + 1));
}

/* What the ledger says of the sale before anything is sent. */
static void begin(const struct sale_plan *plan, struct ledger *ledger)
{
    const struct target *target = plan->target;
    const struct ledger_product product = {
        .id = target->product, .stock = target->stock, .limit = target->limit};
    *ledger =
        (struct ledger){.seed = plan->seed,
                        .shop = memory_copy(target->name),
                        .load = {.connections = plan->connections, .rate_per_s = plan->rate_per_s}};
    ledger_add_product(ledger, &product);
}

bool sale_hold(const struct sale_plan *plan, struct sale *out, struct error *error)
{
    char path[1200], log[1200];
    struct error ignored;
    const struct shop_asker asker = {plan->target, log, QUERY_LIMIT_MS};
    *out = (struct sale){.judgement = {.verdict = SHOP_VERDICT_INVALID}};
    snprintf(path, sizeof path, "%s/ledger.jsonl", plan->folder);
    snprintf(log, sizeof log, "%s/shop.log", plan->folder);
    begin(plan, &out->ledger);
    struct json_lines *writer = ledger_create(path, &out->ledger, plan->target->path, error);
    if (!writer)
        return false;
    bool held = sell(plan, &asker, &out->ledger, writer, error);
    if (held)
        sale_judge(plan->target, out);
    return json_lines_close(writer, held ? error : &ignored) && held;
}

static bool is_same(const char *what, int64_t theirs, int64_t ours, struct error *error)
{
    return theirs == ours ||
           error_fail(error, "its %s is %" PRId64 ", and there it is %" PRId64, what, theirs, ours);
}

/* A claim is never "not checked" because the file has come to ask for more since. */
static bool has_same(const char *what, bool theirs, bool ours, struct error *error)
{
    return ours == theirs || error_fail(error, "it has %s%s, which is %sasked for there",
                                        theirs ? "" : "no ", what, theirs ? "not " : "");
}

static bool is_of(const struct target *target, const struct ledger *ledger, struct error *error)
{
    const struct ledger_product *product = &ledger->products[0];
    const struct rows *books = &ledger->books;
    return (strcmp(ledger->shop, target->name) == 0 ||
            error_fail(error, "its shop is called %.80s, and there it is %.80s (name)",
                       ledger->shop, target->name)) &&
           is_same("product", product->id, target->product, error) &&
           is_same("stock", product->stock, target->stock, error) &&
           is_same("limit", product->limit, target->limit, error) &&
           has_same("audit.stock", books->has_left, shop_query_is_given(&target->stock_left),
                    error) &&
           has_same("audit.orders", books->has_orders, shop_query_is_given(&target->orders), error);
}

bool sale_judge_again(const char *path, const struct target *target, struct sale *out,
                      struct error *error)
{
    struct ledger *ledger = &out->ledger;
    struct error why;
    *out = (struct sale){.judgement = {.verdict = SHOP_VERDICT_INVALID}};
    if (!ledger_read_file(ledger, path, LEDGER_OF_SHOP, error))
        return false;
    if (!is_of(target, ledger, &why)) {
        ledger_fini(ledger);
        return error_fail(error,
                          "%s is of another sale than %s: %s; a ledger is judged with the target "
                          "file that it was made with",
                          path, target->path, why.text);
    }
    sale_judge(target, out);
    return true;
}

void sale_fini(struct sale *sale)
{
    ledger_fini(&sale->ledger);
}
