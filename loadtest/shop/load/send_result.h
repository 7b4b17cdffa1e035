/* What a load came to, beside its purchases: told, and asked for by no claim. */
#ifndef SECKILL_LOADTEST_SHOP_LOAD_SEND_RESULT_H
#define SECKILL_LOADTEST_SHOP_LOAD_SEND_RESULT_H

#include <stddef.h>
#include <stdint.h>

struct send_result {
    int64_t began_us, ended_us; /* CLOCK_MONOTONIC */
    size_t answered;
    int64_t
        late_us; /* so late began one purchase in a hundred, which was too late; 0: it was not */
    size_t failures;         /* visits that did not go as they should */
    char first_failure[400]; /* "": none */
};

#endif
