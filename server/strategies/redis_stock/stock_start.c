/* redis-stock is made and taken down: its shards, a writer for each, and what is measured of them.
 */
#include "strategies/redis_stock/stock_start.h"

#include "base/clock.h"
#include "strategies/redis_stock/mirror/stock_loader.h"
#include "strategies/redis_stock/stock_instance.h"
#include "strategies/redis_stock/writer/stock_writer.h"

#include <stdlib.h>

static int64_t read_drift(void *context)
{
    const struct redis_stock *stock = context;
    int64_t sum = 0;

    for (int i = 0; i < stock->shards.count; i++)
        sum += atomic_load(&stock->work[i].drift);
    return sum;
}

static int64_t read_oldest(void *context)
{
    const struct redis_stock *stock = context;
    int64_t now_us = clock_mono_us();
    int64_t first_us = now_us;

    for (int i = 0; i < stock->shards.count; i++) {
        int64_t since_us = atomic_load(&stock->work[i].oldest_us);
        first_us = since_us == 0 ? first_us : clock_earlier(first_us, since_us);
    }
    return (now_us - first_us) / CLOCK_US_PER_S;
}

static void register_metrics(struct redis_stock *stock)
{
    static const char *const labels[CLAIM_FATES] = {
        [CLAIM_OPEN] = "fate=\"put_off\"",     [CLAIM_HELD] = "fate=\"row_held\"",
        [CLAIM_LOCKED] = "fate=\"lock_held\"", [CLAIM_CONFIRMED] = "fate=\"confirmed\"",
        [CLAIM_KNOWN] = "fate=\"known\"",      [CLAIM_ENDED] = "fate=\"sale_ended\"",
        [CLAIM_REFUSED] = "fate=\"refused\"",  [CLAIM_POISON] = "fate=\"unwritable\"",
        [CLAIM_LOST] = "fate=\"lost\"",
    };

    for (int i = 0; i < CLAIM_FATES; i++)
        stock->counters.fates[i] = metrics_counter(
            stock->services->metrics, METRICS_ALWAYS, "seckill_redis_stock_claims_total",
            "Reserved orders that came to the writer.", labels[i]);
    stock->counters.rebuilds = metrics_counter(
        stock->services->metrics, METRICS_ALWAYS, "seckill_redis_stock_rebuilds_total",
        "Mirrors that were wrong and unloaded; the next order loads them.", "");
    stock->counters.rounds =
        metrics_counter(stock->services->metrics, METRICS_ALWAYS,
                        "seckill_redis_stock_rounds_total", "Whole rounds of the reconciler.", "");
    metrics_gauge(stock->services->metrics, METRICS_ALWAYS, "seckill_redis_stock_drift_units",
                  "Redis's stock against PostgreSQL's less what is reserved, in the last round.",
                  "", read_drift, stock);
    metrics_gauge(stock->services->metrics, METRICS_ALWAYS,
                  "seckill_redis_stock_oldest_undecided_seconds",
                  "Age of the oldest accepted order that is not decided, of all instances.", "",
                  read_oldest, stock);
}

void stock_stop(struct redis_stock *stock)
{
    atomic_store(&stock->stopping, true);
    for (int i = 0; i < stock->shards.count; i++)
        stock_writer_end(stock->work[i].writer);
    stock_loader_stop(stock->loader);
    stock_lease_fini(&stock->lease);
    stock_lent_fini(&stock->lent);
    for (int i = 0; i < stock->shards.count; i++) {
        stock_handover_fini(&stock->work[i].handover);
        stock_mend_fini(&stock->work[i].mend);
    }
    stock_flag_fini(&stock->flag);
    free(stock->work);
    free(stock);
}

static bool start_writers(struct redis_stock *stock, struct error *error)
{
    for (int i = 0; i < stock->shards.count; i++) {
        stock->work[i].writer = stock_writer_start(stock, &stock->work[i]);
        if (!stock->work[i].writer)
            return error_set(error, ERROR_INTERNAL, "cannot start redis-stock's writer");
    }
    return true;
}

struct redis_stock *stock_start(const struct services *services, const struct strategy *strategy,
                                struct error *error)
{
    int count = (int)services->settings->stock_streams;
    struct redis_stock *stock = calloc(1, sizeof *stock);
    struct stock_work *work = calloc((size_t)count, sizeof *work);

    if (!stock || !work) {
        free(stock);
        free(work);
        error_set(error, ERROR_INTERNAL, "out of memory");
        return NULL;
    }
    *stock = (struct redis_stock){.services = services, .strategy = strategy, .work = work};
    stock_shards_init(&stock->shards, services->settings, count);
    stock_flag_init(&stock->flag);
    for (int i = 0; i < count; i++) {
        stock_mend_init(&work[i].mend);
        stock_handover_init(&work[i].handover);
    }
    stock_lent_init(&stock->lent, services->backends[BACKEND_STOCK_REDIS]);
    register_metrics(stock);
    if (stock_lease_init(&stock->lease, services, &stock->shards, error))
        stock->loader = stock_loader_start(stock, error);
    if (stock->loader && start_writers(stock, error))
        return stock;
    stock_stop(stock);
    return NULL;
}
