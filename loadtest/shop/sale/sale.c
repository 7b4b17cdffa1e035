/* See sale.h. */
#include "loadtest/shop/sale/sale.h"

#include "loadtest/shop/audit/audit.h"

#include <stdio.h>
#include <stdlib.h>

enum { LEAST_BUYERS = 300, STOCKS = 3 };

static struct send_plan load_of(const struct sale_plan *plan, const struct shop_users *users)
{
    int64_t stocks = plan->target->stock * STOCKS;
    struct send_plan load = {
        .target = plan->target,
        .users = users,
        .call = plan->call,
        .connections = plan->connections,
        .buyers = plan->buyers > 0        ? plan->buyers
                  : stocks > LEAST_BUYERS ? stocks
                                          : LEAST_BUYERS,
        .seed = plan->seed,
        .lag_limit_us = plan->max_lag_ms * 1000,
        .tick = plan->tick,
        .context = plan->context,
    };
    if (plan->rate_per_s > 0)
        load.arrivals =
            (struct arrivals_plan){.kind = plan->arrivals,
                                   .seed = plan->seed,
                                   .parts = {{"sale", (double)plan->rate_per_s, plan->duration_us}},
                                   .parts_count = 1};
    return load;
}

static bool prepare(const struct shop_asker *asker, struct error *error)
{
    struct shop_books books = {0};
    bool good = audit_reset(asker, error) && audit_read(asker, &books, error) &&
                audit_is_fresh(asker->target, &books, error);
    shop_books_fini(&books);
    return good;
}

static bool load(const struct sale_plan *plan, const struct shop_asker *asker, struct sale *out,
                 struct json_lines *ledger, struct error *error)
{
    struct shop_users users;
    if (!users_open(&users, plan->target, asker->log, error))
        return false;
    const struct send_plan what = load_of(plan, &users);
    bool good = prepare(asker, error) && send_load(&what, &out->history, ledger, &out->sent, error);
    users_close(&users);
    return good;
}

static bool hold(const struct sale_plan *plan, const struct shop_asker *asker, struct sale *out,
                 struct json_lines *ledger, struct error *error)
{
    if (!load(plan, asker, out, ledger, error) || !audit_wait_quiet(asker, error) ||
        !audit_read(asker, &out->books, error))
        return false;
    shop_ledger_sent(ledger, &out->sent);
    shop_ledger_books(ledger, &out->books);
    return sale_judge(plan->target, out, error);
}

bool sale_judge(const struct target *target, struct sale *sale, struct error *error)
{
    struct shop_judgement *judgement = &sale->judgement;
    const struct send_result *sent = &sale->sent;
    if (!claims_judge(target, &sale->history, &sale->books, judgement, error))
        return false;
    if (sent->late_us == 0 || judgement->verdict == SHOP_VERDICT_BROKEN)
        return true;
    judgement->verdict = SHOP_VERDICT_INVALID;
    snprintf(judgement->why, sizeof judgement->why,
             "the generator could not keep up: it began one purchase in a hundred %.1f ms or more "
             "after its time (--max-lag-ms), and reached %.0f a second; so the times are its own, "
             "and no condition is judged: ask for less, or give it a machine of its own",
             (double)sent->late_us / 1000,
             (double)sale->history.count * 1e6 / (double)(sent->ended_us - sent->began_us + 1));
    return true;
}

bool sale_hold(const struct sale_plan *plan, struct sale *out, struct error *error)
{
    char path[1200], log[1200];
    struct error ignored;
    const struct shop_asker asker = {plan->target, log, QUERY_LIMIT_MS};
    const struct shop_load made = {plan->connections, plan->rate_per_s, plan->seed};
    *out = (struct sale){.judgement = {.verdict = SHOP_VERDICT_INVALID}};
    snprintf(path, sizeof path, "%s/ledger.jsonl", plan->folder);
    snprintf(log, sizeof log, "%s/shop.log", plan->folder);
    struct json_lines *ledger = shop_ledger_create(path, plan->target, &made, error);
    if (!ledger)
        return false;
    bool held = hold(plan, &asker, out, ledger, error);
    return json_lines_close(ledger, held ? error : &ignored) && held;
}

void sale_fini(struct sale *sale)
{
    history_fini(&sale->history);
    shop_books_fini(&sale->books);
}

bool sale_count(const struct sale *sale, struct sale_answers *out)
{
    struct latency *latencies = calloc(SHOP_MEANINGS, sizeof *latencies);
    if (!latencies)
        return false;
    for (size_t i = 0; i < SHOP_MEANINGS; i++)
        out[i] = (struct sale_answers){0};
    for (size_t i = 0; i < sale->history.count; i++) {
        const struct shop_purchase *one = &sale->history.items[i];
        out[one->first].count++;
        out[one->last].became++;
        if (one->end_us && sale->sent.late_us == 0)
            latency_add(&latencies[one->first], one->end_us - one->due_us);
    }
    for (size_t i = 0; i < SHOP_MEANINGS; i++)
        out[i].figures = latency_read(&latencies[i]);
    free(latencies);
    return true;
}
