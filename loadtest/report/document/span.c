/* See span.h. */
#include "loadtest/report/document/span.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
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
