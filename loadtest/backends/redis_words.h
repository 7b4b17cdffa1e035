/* What is asked of a Redis and told it in more than one place here. False with the error. */
#ifndef SECKILL_LOADTEST_BACKENDS_REDIS_WORDS_H
#define SECKILL_LOADTEST_BACKENDS_REDIS_WORDS_H

#include "loadtest/judge/redis_link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A command as hiredis formats it, whose answer is of no interest unless it is an error. */
bool redis_words_tell(redisContext *redis, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

bool redis_words_config(redisContext *redis, const char *name, char *out, size_t size,
                        struct error *error);
/* A field of INFO, "" when there is none. */
bool redis_words_info(redisContext *redis, const char *field, char *out, size_t size,
                      struct error *error);
int64_t redis_words_number(redisContext *redis, const char *field); /* 0 when it is not to be had */

#endif
