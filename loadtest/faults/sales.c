/* See trial.h. */
#include "loadtest/faults/trial.h"

#include "loadtest/base/pool.h"

#include <stdlib.h>

static bool is_sale(const struct ledger_op *op)
{
    return op->kind == LEDGER_BUY && op->result == LEDGER_OK && op->status != 200;
}

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The times of the sales in order, and how many. */
static int64_t *list_times(const struct ledger *ledger, size_t *count)
{
    int64_t *times = memory_take((ledger->ops_count + 1) * sizeof *times);
    *count = 0;
    for (size_t i = 0; i < ledger->ops_count; i++) {
        if (is_sale(&ledger->ops[i]))
            times[(*count)++] = ledger->ops[i].end_us;
    }
    qsort(times, *count, sizeof *times, by_time);
    return times;
}

/* -1: none came. */
static int64_t first_after(const int64_t *times, size_t count, int64_t at_us)
{
    for (size_t i = 0; i < count; i++) {
        if (times[i] >= at_us)
            return times[i] - at_us;
    }
    return -1;
}

static int64_t longest_gap(const int64_t *times, size_t count, int64_t last_us, int64_t end_us)
{
    int64_t longest_us = 0;
    for (size_t i = 0; i <= count; i++) {
        int64_t at_us = i < count && times[i] < end_us ? times[i] : end_us;
        longest_us = at_us - last_us > longest_us ? at_us - last_us : longest_us;
        last_us = at_us;
    }
    return longest_us;
}

int64_t sales_longer(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : a > b ? a : b;
}

void sales_look(struct sales *out, const struct fault_site *site)
{
    size_t sold = 0;
    int64_t *times = list_times(&site->ledger, &sold);
    int64_t start_us = site->start_us, end_us = start_us + site->schedule.duration_us;
    *out = (struct sales){.sold = (int64_t)sold, .shades_count = site->count};
    for (size_t i = 0; i < sold; i++) {
        size_t step = (size_t)((times[i] - start_us) / SALES_STEP_US);
        step = step < SALES_STEPS_MAX ? step : SALES_STEPS_MAX - 1;
        out->steps[step]++;
        out->count = step + 1;
    }
    for (size_t i = 0; i < site->count; i++) {
        int64_t begin_us = site->intervals[i].begin_us, heal_us = site->intervals[i].heal_us;
        out->shades[i] = (struct fault_interval){begin_us - start_us, heal_us - start_us};
        out->first_after_us = sales_longer(out->first_after_us, first_after(times, sold, heal_us));
    }
    out->longest_gap_us = longest_gap(times, sold, start_us, end_us);
    free(times);
}

static void measure_buy(const struct ledger_op *op, struct latency *latency, double *values)
{
    bool refused = op->result == LEDGER_FAIL && op->status >= 400 && op->status < 500;
    values[THRESHOLD_ORDERS]++;
    values[THRESHOLD_ACCEPTED] += op->result == LEDGER_OK && op->status == 202;
    values[THRESHOLD_REFUSED] += refused;
    values[THRESHOLD_FAILED] += op->result != LEDGER_OK && !refused;
    if (op->status != 0)
        latency_add(latency, op->end_us - op->start_us);
}

static size_t count_committed(const struct rows *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->orders_count; i++)
        count +=
            rows->orders[i].state == LEDGER_CONFIRMED || rows->orders[i].state == LEDGER_CANCELLED;
    return count;
}

void sales_measure(struct measured *out, const struct fault_site *site, const struct rows *rows)
{
    const struct ledger *ledger = &site->ledger;
    struct latency latency = {.count = 0};
    *out = (struct measured){.values = {[THRESHOLD_COMMITTED] = (double)count_committed(rows)}};
    for (size_t i = 0; i < ledger->ops_count; i++) {
        if (ledger->ops[i].kind == LEDGER_BUY)
            measure_buy(&ledger->ops[i], &latency, out->values);
    }
    measured_set_times(out, &latency);
    measured_set_rates(out, site->schedule.duration_us);
}
