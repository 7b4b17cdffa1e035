/* See apart.h. H. B. Mann, D. R. Whitney, On a test of whether one of two random variables is
 * stochastically larger than the other (1947); S. Holm, A simple sequentially rejective multiple
 * test procedure (1979). */
#include "loadtest/report/document/apart.h"

#include <stdlib.h>

#define WRONG_AT_MOST 0.05

enum { SUMS = APART_ROUNDS * APART_ROUNDS + 1 };

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

struct span span_of(double *values, size_t count)
{
    if (count == 0)
        return (struct span){0};
    qsort(values, count, sizeof *values, ascending);
    double middle = count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
    return (struct span){middle, values[0], values[count - 1]};
}

/* How likely it is that of m and n rounds of one kind at most `most` of the m × n pairs are in
 * order. The ways to have u such pairs are the coefficients of a Gaussian binomial, which is made
 * factor by factor: (1 - x^(n+i)) / (1 - x^i). */
static double share_below(size_t m, size_t n, size_t most)
{
    double ways[SUMS] = {1}, all = 0, below = 0;
    for (size_t i = 1; i <= m; i++) {
        for (size_t u = m * n; u >= n + i && u <= m * n; u--)
            ways[u] -= ways[u - n - i];
        for (size_t u = i; u <= m * n; u++)
            ways[u] += ways[u - i];
    }
    for (size_t u = 0; u <= m * n; u++) {
        all += ways[u];
        below += u <= most ? ways[u] : 0;
    }
    return below / all;
}

double apart_p(const struct apart_rounds *one, const struct apart_rounds *other, int *more)
{
    size_t above = 0, under = 0, pairs = one->count * other->count;
    for (size_t i = 0; i < one->count; i++)
        for (size_t j = 0; j < other->count; j++) {
            above += one->values[i] > other->values[j];
            under += one->values[i] < other->values[j];
        }
    *more = above > under;
    if (pairs == 0)
        return 1;
    double p = 2 * share_below(one->count, other->count, pairs - (*more ? above : under));
    return p < 1 ? p : 1;
}

double apart_limit(double *p, size_t count)
{
    double limit = -1;
    if (count > 0)
        qsort(p, count, sizeof *p, ascending);
    for (size_t i = 0; i < count && p[i] <= WRONG_AT_MOST / (double)(count - i); i++)
        limit = p[i];
    return limit;
}

size_t apart_rounds_needed(size_t pairs)
{
    size_t rounds = 2;
    while (rounds < APART_ROUNDS &&
           2 * share_below(rounds, rounds, 0) > WRONG_AT_MOST / (double)pairs)
        rounds++;
    return rounds;
}
