/* See matrix.h. */
#include "loadtest/faults/matrix.h"

#include <math.h>
#include <stdio.h>

static const double one_side = 0.05, each_side = 0.025;
enum { HALVINGS = 60 };

/* The chance of at most `seen` in `runs`, each with the chance `share`, which is neither 0 nor 1.
 */
static double at_most(size_t seen, size_t runs, double share)
{
    /* Debian 13's cppcheck takes a middle of two bounds for the lower one. */
    /* cppcheck-suppress invalidFunctionArg */
    double seen_log = log(share);
    double other_log = log1p(-share);
    double sum = 0;
    for (size_t i = 0; i <= seen; i++)
        sum +=
            exp(lgamma((double)runs + 1) - lgamma((double)i + 1) - lgamma((double)(runs - i) + 1) +
                (double)i * seen_log + (double)(runs - i) * other_log);
    return sum;
}

/* The share with which at most `seen` have the chance `wanted`: it falls as the share rises. */
static double share_of(size_t seen, size_t runs, double wanted)
{
    double low = 0, high = 1;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (at_most(seen, runs, middle) > wanted)
            low = middle;
        else
            high = middle;
    }
    return high;
}

struct confidence confidence_of(size_t seen, size_t runs)
{
    if (runs == 0)
        return (struct confidence){0, 1};
    if (seen == 0)
        return (struct confidence){0, 1 - pow(one_side, 1 / (double)runs)};
    if (seen == runs)
        return (struct confidence){pow(one_side, 1 / (double)runs), 1};
    return (struct confidence){share_of(seen - 1, runs, 1 - each_side),
                               share_of(seen, runs, each_side)};
}

void confidence_say(size_t seen, size_t runs, char *out, size_t size)
{
    struct confidence bounds = confidence_of(seen, runs);
    if (runs == 0)
        snprintf(out, size, "no run: nothing can be said");
    else if (seen == 0)
        snprintf(out, size, "0 of %zu: less than %.0f %% with 95 %% confidence", runs,
                 ceil(100 * bounds.most));
    else if (seen == runs)
        snprintf(out, size, "%zu of %zu: more than %.0f %% with 95 %% confidence", seen, runs,
                 floor(100 * bounds.least));
    else
        snprintf(out, size, "%zu of %zu: %.0f to %.0f %% with 95 %% confidence", seen, runs,
                 floor(100 * bounds.least), ceil(100 * bounds.most));
}
