/* See bench_case.h. */
#include "harness/bench/bench_case.h"

struct bench_series case_series[BENCH_MEASURES];
struct bench_judgement case_judged;

struct bench_row case_row(double bound, bool most)
{
    return (struct bench_row){.number = 1,
                              .what = "a row",
                              .of = {MEASURE_E, FIGURE_RATE},
                              .against = {MEASURE_NGINX, FIGURE_RATE},
                              .bound = bound,
                              .most = most};
}

void case_measured(enum bench_measure_id id, enum usage_limit limit, double a, double b, double c)
{
    const double values[] = {a, b, c};
    case_series[id] = (struct bench_series){.wanted = true, .count = 3};
    for (size_t i = 0; i < 3; i++) {
        case_series[id].samples[i].round = (int)i + 1;
        case_series[id].samples[i].figures[FIGURE_RATE] = values[i];
        case_series[id].samples[i].limit = limit;
    }
}

enum bench_verdict case_judge(const struct bench_row *of)
{
    bench_judge(of, case_series, &case_judged);
    return case_judged.verdict;
}

void case_again(enum bench_measure_id id, int first, int last, double value)
{
    for (int round = first; round <= last; round++) {
        struct bench_sample *sample = &case_series[id].samples[case_series[id].count++];
        *sample = case_series[id].samples[0];
        sample->round = round;
        sample->steal = BENCH_CALM;
        sample->figures[FIGURE_RATE] = value;
    }
}
