/* The values that verbs name in braces, as a buyer has them: {stock}, {token}, {lock} … */
#ifndef SECKILL_LOADTEST_ZOO_VALUE_H
#define SECKILL_LOADTEST_ZOO_VALUE_H

#include "loadtest/zoo/stage.h"

enum { ZOO_VALUE_SIZE = 256, ZOO_WORDS = 24 };

/* What is sent, and what is shown of it: "{seckill-zoo-1f3a}:lock", "lock". */
struct zoo_value {
    char sent[ZOO_VALUE_SIZE], shown[ZOO_VALUE_SIZE];
};

/* A template with its names replaced. Not a name that there is: as it stands. */
void zoo_value_fill(struct zoo_value *out, const struct zoo_stage *stage,
                    const struct zoo_buyer *buyer, const char *text);

/* The words of a template, which blanks separate, each filled. How many. */
int zoo_value_words(struct zoo_value out[ZOO_WORDS], const struct zoo_stage *stage,
                    const struct zoo_buyer *buyer, const char *text);

#endif
