/* How the harness itself reaches a Redis: to look into it, and to have it forget. Every call has a
 * time limit. */
#ifndef SECKILL_LOADTEST_JUDGE_REDIS_LINK_H
#define SECKILL_LOADTEST_JUDGE_REDIS_LINK_H

#include "base/error.h"

#include <hiredis/hiredis.h>

/* redis://[[user]:password@]host[:port][/db], or unix:///path. NULL with the error, which never
 * repeats the URL. Owned by the caller: redisFree. */
redisContext *redis_link_open(const char *url, struct error *error);

/* A reply that is no error, or NULL with the error. Owned by the caller: freeReplyObject. */
redisReply *redis_link_ask(redisContext *redis, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A number of INFO, by its field, on a connection of this call's own; -1: it is not to be had. */
int64_t redis_link_number(const char *url, const char *field);

#endif
