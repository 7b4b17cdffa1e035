/* The values that an exhibit's words name, as a buyer has them: {stock}, {letter}, @lock … */
#ifndef SECKILL_LOADTEST_ZOO_VALUE_H
#define SECKILL_LOADTEST_ZOO_VALUE_H

#include "loadtest/zoo/stage.h"

enum { ZOO_VALUE_SIZE = 256, ZOO_WORDS = 24 };

/* A value as it is sent, and as it is shown: "{seckill-zoo-1f3a}:lock", "lock". */
struct zoo_value {
    char sent[ZOO_VALUE_SIZE], shown[ZOO_VALUE_SIZE];
};

/* The length of "{name}" that `text` begins with; 0: no name in braces. */
size_t zoo_value_name(const char *text);
/* Whether a buyer has the value that `text` begins with, in braces. */
bool zoo_value_exists(const char *text);

/* A template with its names replaced. */
void zoo_value_fill(struct zoo_value *out, const struct zoo_stage *stage,
                    const struct zoo_buyer *buyer, const char *text);

/* The next word of `at`, behind which it then stands, without its quotes and with its line ends.
 * False: there is none, or it is too long. */
bool zoo_value_word(const char **at, char out[ZOO_VALUE_SIZE]);

/* The words of a template, each filled. How many. */
int zoo_value_words(struct zoo_value out[ZOO_WORDS], const struct zoo_stage *stage,
                    const struct zoo_buyer *buyer, const char *text);

#endif
