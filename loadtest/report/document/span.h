/* The middle and the ends of a figure over rounds. */
#ifndef SECKILL_LOADTEST_REPORT_DOCUMENT_SPAN_H
#define SECKILL_LOADTEST_REPORT_DOCUMENT_SPAN_H

#include <stddef.h>

struct span {
    double median, least, most;
};
/* Of `values`, which it sorts; all 0 of none. */
struct span span_of(double *values, size_t count);

#endif
