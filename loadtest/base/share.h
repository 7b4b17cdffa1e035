/* A share as it is typed: "5%", from 0% to 100%. */
#ifndef SECKILL_LOADTEST_BASE_SHARE_H
#define SECKILL_LOADTEST_BASE_SHARE_H

#include <stdbool.h>

/* `out`: 0 to 1. False: it is none. */
bool share_read(const char *text, double *out);

#endif
