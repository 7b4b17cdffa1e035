/* See judge.h. */
#include "bench/judge.h"

#include <string.h>

const char *bench_verdict_name(enum bench_verdict verdict)
{
    static const char *const names[] = {"met",         "MISSED",       "told",
                                        "wrk's limit", "not measured", "left out"};
    return names[verdict];
}

struct span bench_span(const double *values, size_t count)
{
    double sorted[BENCH_ROUNDS_MAX];
    memcpy(sorted, values, count * sizeof *values);
    return span_of(sorted, count);
}

/* Median of fewer rounds than that: nobody's word. */
enum { CALM_LEAST = 3 };

/* The figures of a row by rounds; of a figure that stands alone both sides are the same. */
struct rounds {
    double of[BENCH_ROUNDS_MAX], against[BENCH_ROUNDS_MAX];
    size_t count;
    size_t late; /* not among them: there are no figures */
};

static const struct bench_sample *sample_of(const struct bench_series *series, int round)
{
    for (size_t i = 0; i < series->count; i++)
        if (series->samples[i].round == round)
            return &series->samples[i];
    return NULL;
}

/* Those that both sides have: one side may have been made again for another row. How many. */
static size_t pair_rounds(const struct bench_row *row, const struct bench_series *left,
                          const struct bench_series *right, enum bench_steal most,
                          struct rounds *out)
{
    out->count = out->late = 0;
    for (size_t i = 0; i < left->count; i++) {
        const struct bench_sample *of = &left->samples[i];
        const struct bench_sample *against = sample_of(right, of->round);
        if (!against || of->steal > most || against->steal > most)
            continue;
        if (of->late || against->late) {
            out->late++;
            continue;
        }
        out->of[out->count] = of->figures[row->of.figure];
        out->against[out->count++] = against->figures[row->against.figure];
    }
    return out->count;
}

enum bench_steal bench_steal_allowed(bool p99)
{
    return p99 ? BENCH_CALM : BENCH_TAKEN;
}

static bool is_p99(const struct bench_row *row)
{
    return row->of.figure == FIGURE_P99_MS;
}

static void choose_rounds(const struct bench_row *row, const struct bench_series *left,
                          const struct bench_series *right, struct rounds *chosen,
                          struct bench_judgement *out)
{
    enum bench_steal most = bench_steal_allowed(is_p99(row));
    size_t all = pair_rounds(row, left, right, BENCH_ROBBED, chosen);
    size_t late = chosen->late;
    size_t count = pair_rounds(row, left, right, most, chosen);
    out->with_steal = count < all && count < CALM_LEAST;
    while (count < all && count < CALM_LEAST)
        count = pair_rounds(row, left, right, ++most, chosen);
    out->rounds = count;
    out->left_out = all + late - count;
}

static enum usage_limit limit_of(const struct bench_series *series)
{
    size_t rounds[USAGE_GENERATOR + 1] = {0};
    enum usage_limit most = USAGE_UNKNOWN;
    for (size_t i = 0; i < series->count; i++) {
        const struct bench_sample *sample = &series->samples[i];
        if (!sample->late && ++rounds[sample->limit] > rounds[most])
            most = sample->limit;
    }
    return most;
}

enum bench_steal bench_steal_grade(double stolen, int64_t max_steal)
{
    if (100 * stolen > (double)max_steal)
        return BENCH_ROBBED;
    return 1000 * stolen > (double)max_steal ? BENCH_TAKEN : BENCH_CALM;
}

void bench_mark_stolen(struct bench_series *series, struct bench_sample *sample, double stolen,
                       int64_t max_steal)
{
    sample->stolen = stolen;
    sample->steal = bench_steal_grade(stolen, max_steal);
    if (sample->steal == BENCH_ROBBED && sample->late)
        series->why[0] = '\0';
}

static bool reaches(const struct bench_row *row, double ratio)
{
    return row->most ? ratio <= row->bound : ratio >= row->bound;
}

static void compare_rounds(const struct bench_row *row, const double *of, const double *against,
                           size_t count, struct bench_judgement *out)
{
    double ratios[BENCH_ROUNDS_MAX] = {0};
    size_t reached = 0;
    for (size_t i = 0; i < count; i++) {
        ratios[i] = against ? of[i] / against[i] : of[i];
        reached += reaches(row, ratios[i]);
    }
    struct span span = bench_span(ratios, count);
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
    struct rounds rounds;
    bool alone = row->against.measure == MEASURE_NONE;
    *out = (struct bench_judgement){.verdict = BENCH_FAILED};
    if (!has_figures(left, out) || (!alone && !has_figures(right, out)))
        return;
    out->why = "";
    choose_rounds(row, left, alone ? left : right, &rounds, out);
    out->of = bench_span(rounds.of, rounds.count);
    out->limit[0] = limit_of(left);
    if (!alone) {
        out->against = bench_span(rounds.against, rounds.count);
        out->limit[1] = limit_of(right);
        out->same = out->of.least <= out->against.most && out->against.least <= out->of.most;
    }
    compare_rounds(row, rounds.of, alone ? NULL : rounds.against, rounds.count, out);
    if (out->of.median <= 0 || (!alone && out->against.median <= 0)) {
        out->verdict = BENCH_FAILED;
        out->why =
            out->left_out > 0 && out->rounds == 0
                ? "the host took the cores in every round, and the generator was late"
                : "a figure is missing: too short, or the machine is too busy, or nothing was done";
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

/* What it takes to make the row's figures once more. */
static int64_t cost_ms(const struct bench_row *row, const struct bench_series *series)
{
    const struct bench_series *sides[] = {&series[row->of.measure], &series[row->against.measure]};
    int64_t cost = 0;
    for (size_t i = 0; i < (sides[0] == sides[1] ? 1 : 2); i++)
        if (sides[i]->count > 0 && !sides[i]->again)
            cost += sides[i]->took_ms / (int64_t)sides[i]->count;
    return cost;
}

static bool is_wanted_again(const struct bench_row *row, const struct bench_series *series,
                            int64_t rounds)
{
    struct bench_judgement judgement;
    bench_judge(row, series, &judgement);
    bool has_target = judgement.verdict == BENCH_MET || judgement.verdict == BENCH_MISSED;
    bool too_few = judgement.with_steal || judgement.rounds < (size_t)rounds;
    bool none = judgement.rounds == 0 && judgement.left_out > 0;
    return none || (has_target && (judgement.unsure || too_few));
}

bool bench_choose_again(const struct bench_row *const *rows, size_t count,
                        struct bench_series *series, int64_t rounds, int64_t now_ms,
                        int64_t until_ms)
{
    bool any = false;
    for (size_t i = 0; i < BENCH_MEASURES; i++)
        series[i].again = series[i].again_calm = false;
    for (size_t i = 0; i < count; i++) {
        int64_t cost = cost_ms(rows[i], series);
        if (!is_wanted_again(rows[i], series, rounds) || now_ms + cost > until_ms)
            continue;
        now_ms += cost;
        struct bench_series *sides[] = {&series[rows[i]->of.measure],
                                        &series[rows[i]->against.measure]};
        for (size_t k = 0; k < 2; k++) {
            sides[k]->again = true;
            sides[k]->again_calm = sides[k]->again_calm || is_p99(rows[i]);
        }
        any = true;
    }
    return any;
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
