/*
 * The probe of a Redis: the background thread sends it twice a second.
 *
 * It opens a new connection, because an open one may go on where a new one is refused (NOAUTH), or
 * hang at a server that the address no longer leads to, and runs a script that writes nothing by a
 * command that Redis refuses when it takes no writes.
 */
#include "redis/redis_internal.h"

#include "base/log.h"

#include <string.h>

enum { PLACE_MAX = 300 };

static void try_to_write(struct redis *redis, const char *key, int64_t until_us)
{
    struct redis_server *server = redis->server;
    int64_t ignored;

    if (redis_open(redis, until_us)) {
        redis_identify(redis, until_us);
        enum redis_status status = redis_script(redis, LUA_PROBE, 1, 1, &key, until_us, &ignored);
        const char *reason = redis_reason(redis);
        if (status == REDIS_OK) {
            atomic_store_explicit(&server->closed_until_us, 0, memory_order_relaxed);
            redis_server_note_served(server);
        } else if (status == REDIS_REFUSED || redis_is_refusal(reason)) {
            redis_server_note_refusal(server, reason);
        } else {
            redis_server_note_unreached(server, reason);
        }
    }
    redis_close(redis);
}

void redis_probe_health(struct redis *redis, const char *flag, const char *key, int64_t until_us)
{
    struct redis_server *server = redis->server;
    char place[PLACE_MAX];
    char why[REDIS_WHY_MAX];

    try_to_write(redis, key, until_us);
    redis_server_why(server, why);
    if (strcmp(why, server->told) == 0)
        return;
    redis_server_place(server, place, sizeof place);
    if (why[0])
        log_warn("Redis at %s (%s) does not serve: %s", place, flag, why);
    else
        log_info("Redis at %s (%s) is back", place, flag);
    memcpy(server->told, why, sizeof why);
}
