/*
 * What follows from the figures; no row is named here.
 *
 * A ratio is that of the medians. Each round has a ratio of its own too, of two figures that were
 * taken close to each other; where some of those reach the bound and some do not, the verdict is
 * within noise, and such a row is measured again, whichever side of the bound its medians are on:
 * who repeats what was missed alone repeats until it is met. Where the generator was at its limit
 * and the server was not, in most rounds of either side, the figure is the generator's, and no
 * ratio is given.
 */
#include "loadtest/bench.h"

#include "loadtest/table.h"

#include <string.h>

const char *bench_verdict_name(enum bench_verdict verdict)
{
    static const char *const names[] = {"met",         "MISSED",       "told",
                                        "wrk's limit", "not measured", "left out"};
    return names[verdict];
}

const char *bench_figure_name(enum bench_figure figure)
{
    static const char *const names[] = {"per_s",  "committed_per_s", "p50_ms",
                                        "p99_ms", "cpu_us",          "kib",
                                        "share",  "overloaded_per_s"};
    return names[figure];
}

struct bench_span bench_span(const double *values, size_t count)
{
    double sorted[BENCH_ROUNDS_MAX];
    if (count == 0)
        return (struct bench_span){0};
    memcpy(sorted, values, count * sizeof *values);
    struct bench_span span = {.median = table_median(sorted, count, NULL)};
    span.least = sorted[0];
    span.most = sorted[count - 1];
    return span;
}

static size_t take_figures(const struct bench_series *series, enum bench_figure figure, double *out)
{
    for (size_t i = 0; i < series->count; i++)
        out[i] = series->samples[i].figures[figure];
    return series->count;
}

static enum usage_limit limit_of(const struct bench_series *series)
{
    size_t rounds[USAGE_GENERATOR + 1] = {0};
    enum usage_limit most = USAGE_UNKNOWN;
    for (size_t i = 0; i < series->count; i++) {
        enum usage_limit limit = series->samples[i].limit;
        if (++rounds[limit] > rounds[most])
            most = limit;
    }
    return most;
}

static bool reaches(const struct bench_row *row, double ratio)
{
    return row->most ? ratio <= row->bound : ratio >= row->bound;
}

static void compare_rounds(const struct bench_row *row, const double *of, const double *against,
                           size_t count, struct bench_judgement *out)
{
    double ratios[BENCH_ROUNDS_MAX];
    size_t reached = 0;
    for (size_t i = 0; i < count; i++) {
        ratios[i] = against ? of[i] / against[i] : of[i];
        reached += reaches(row, ratios[i]);
    }
    struct bench_span span = bench_span(ratios, count);
    out->least = span.least;
    out->most = span.most;
    out->unsure = row->bound > 0 && reached > 0 && reached < count;
}

/* False: there are no figures, and the verdict says so. */
static bool has_figures(const struct bench_series *series, struct bench_judgement *out)
{
    if (series->count > 0 && !*series->why)
        return true;
    out->verdict = series->absent ? BENCH_ABSENT : BENCH_FAILED;
    out->why = series->why;
    return false;
}

/* What a request costs a server, and how much memory, does not depend on who waits for whom. */
static bool is_generators(const struct bench_side *side, enum usage_limit limit)
{
    return limit == USAGE_GENERATOR && side->figure <= FIGURE_P99_MS;
}

void bench_judge(const struct bench_row *row, const struct bench_series *series,
                 struct bench_judgement *out)
{
    const struct bench_series *left = &series[row->of.measure];
    const struct bench_series *right = &series[row->against.measure];
    double of[BENCH_ROUNDS_MAX], against[BENCH_ROUNDS_MAX];
    bool alone = row->against.measure == MEASURE_NONE;
    *out = (struct bench_judgement){.verdict = BENCH_FAILED};
    if (!has_figures(left, out) || (!alone && !has_figures(right, out)))
        return;
    out->why = "";
    size_t count = take_figures(left, row->of.figure, of);
    size_t others = alone ? count : take_figures(right, row->against.figure, against);
    count = others < count ? others : count; /* one side may have been doubted in another row */
    out->rounds = count;
    out->of = bench_span(of, count);
    out->limit[0] = limit_of(left);
    if (!alone) {
        out->against = bench_span(against, count);
        out->limit[1] = limit_of(right);
        out->same = out->of.least <= out->against.most && out->against.least <= out->of.most;
    }
    compare_rounds(row, of, alone ? NULL : against, count, out);
    if (out->of.median <= 0 || (!alone && out->against.median <= 0)) {
        out->verdict = BENCH_FAILED;
        out->why =
            "a figure is missing: too short, or the machine is too busy, or nothing was done";
        return;
    }
    out->ratio = alone ? out->of.median : out->of.median / out->against.median;
    if (is_generators(&row->of, out->limit[0]) || is_generators(&row->against, out->limit[1]))
        out->verdict = BENCH_GENERATOR;
    else if (row->bound <= 0)
        out->verdict = BENCH_TOLD;
    else
        out->verdict = reaches(row, out->ratio) ? BENCH_MET : BENCH_MISSED;
}

/* What it takes to make the row's figures so often again. */
static int64_t cost_ms(const struct bench_row *row, const struct bench_series *series,
                       int64_t more_rounds)
{
    const struct bench_series *sides[] = {&series[row->of.measure], &series[row->against.measure]};
    int64_t cost = 0;
    for (size_t i = 0; i < (sides[0] == sides[1] ? 1 : 2); i++)
        if (sides[i]->count > 0 && !sides[i]->doubted)
            cost += sides[i]->took_ms * more_rounds / (int64_t)sides[i]->count;
    return cost;
}

void bench_doubt(const struct bench_row *const *rows, size_t count, struct bench_series *series,
                 int64_t more_rounds, int64_t now_ms, int64_t until_ms)
{
    for (size_t i = 0; i < count; i++) {
        struct bench_judgement judgement;
        bench_judge(rows[i], series, &judgement);
        bool doubted = judgement.verdict <= BENCH_MISSED && judgement.unsure;
        int64_t cost = cost_ms(rows[i], series, more_rounds);
        if (!doubted || now_ms + cost > until_ms)
            continue;
        now_ms += cost;
        series[rows[i]->of.measure].doubted = true;
        series[rows[i]->against.measure].doubted = true;
    }
}

int bench_exit_status(const struct bench_judgement *judgements, size_t count)
{
    int status = 0;
    for (size_t i = 0; i < count; i++) {
        enum bench_verdict verdict = judgements[i].verdict;
        if (verdict == BENCH_MISSED)
            return 1;
        if (verdict == BENCH_GENERATOR || verdict == BENCH_FAILED)
            status = 2;
    }
    return status;
}
