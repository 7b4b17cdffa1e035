/*
 * What so many runs entitle to say of how often something happens: exact bounds of a binomial
 * proportion (Clopper and Pearson, Biometrika 26, 1934), at 95 %.
 */
#ifndef SECKILL_LOADTEST_FAULTS_CONFIDENCE_H
#define SECKILL_LOADTEST_FAULTS_CONFIDENCE_H

#include <stddef.h>

struct confidence {
    double least, most; /* shares, 0 to 1 */
};

/* Seen `seen` times in `runs`. Never and always are bounded on one side, by 95 %; what lies between
 * on both, by 97.5 % each. Without a run: from 0 to 1. */
struct confidence confidence_of(size_t seen, size_t runs);

/* "0 of 20: less than 14 % with 95 % confidence". */
void confidence_say(size_t seen, size_t runs, char *out, size_t size);

#endif
