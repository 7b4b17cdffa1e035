/*
 * Where a Redis is, as --redis and its like write it:
 *
 *   redis[s]://[[USER]:PASSWORD@][HOST|[V6]][:PORT][/DB]     rediss: TLS
 *   unix:///PATH
 *   redis-sentinel://[[USER]:PASSWORD@]HOST[:PORT],…/NAME[/DB]
 *
 * User and password may be percent-encoded. A URL holds a password, so no error repeats it.
 */
#ifndef SECKILL_REDIS_REDIS_URL_H
#define SECKILL_REDIS_REDIS_URL_H

#include "base/error.h"

enum { REDIS_HOST_MAX = 255, REDIS_WORD_MAX = 512, REDIS_SENTINELS_MAX = 8 };

struct redis_place {
    char host[REDIS_HOST_MAX + 1]; /* or the socket's path */
    int port;
};

struct redis_url {
    bool is_unix;
    bool tls;
    int database;
    char user[REDIS_WORD_MAX + 1];     /* "": the default user */
    char password[REDIS_WORD_MAX + 1]; /* "": none */
    char primary[REDIS_HOST_MAX + 1];  /* its name among Sentinels; "": there are none */
    int count;                         /* 1, or the Sentinels */
    struct redis_place places[REDIS_SENTINELS_MAX];
};

bool redis_url_parse(const char *text, struct redis_url *out, struct error *error);

#endif
