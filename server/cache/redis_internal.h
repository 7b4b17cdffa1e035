/* What the files of cache/ share. */
#ifndef SECKILL_CACHE_REDIS_INTERNAL_H
#define SECKILL_CACHE_REDIS_INTERNAL_H

#include "cache/redis.h"

#include <hiredis/hiredis.h>
#include <stdatomic.h>

enum {
    REDIS_HOST_MAX = 255,
    REDIS_ARGUMENTS_MAX = 600, /* redis-stock: 100 entries with five each, and some */
    REDIS_SHA_LENGTH = 40
};

struct cache {
    char host[REDIS_HOST_MAX + 1]; /* or the socket's path */
    bool is_unix;
    int port;
    int database;
    atomic_bool up;
    _Atomic int64_t closed_until_us;
    atomic_int version;
    atomic_uint flaws;
};

struct redis {
    struct cache *cache;    /* borrowed */
    redisContext *context;  /* owned; NULL: not connected */
    struct redis *listener; /* owned; the session that subscribes, made on first use */
    struct error error;
    char sha[LUA_COUNT][REDIS_SHA_LENGTH + 1]; /* "" until this session has loaded the script */
};

/* No reply came: whatever was sent may or may not have run. Closes the session. */
enum redis_status redis_lose(struct redis *redis, enum error_code code, const char *why);

/* The next reply; REDIS_OK without one when the deadline came first. */
enum redis_status redis_read(struct redis *redis, int64_t until_us, redisReply **out);
/* The next reply; none in time loses the session. */
enum redis_status redis_receive(struct redis *redis, int64_t until_us, redisReply **out);

/* Sends a command and receives its reply. *out is NULL unless there was one; to be freed. */
enum redis_status redis_command(struct redis *redis, int count, const char *const *arguments,
                                int64_t until_us, redisReply **out);

/* Gives a reply to a caller outside cache/, or frees it unless the status is REDIS_OK. */
enum redis_status redis_hand_over(enum redis_status status, redisReply *answer,
                                  struct redis_reply **reply);

#endif
