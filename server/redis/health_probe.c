/*
 * The probe of a Redis: the background thread sends it twice a second.
 *
 * It opens a new connection, because an open one may go on where a new one is refused (NOAUTH), or
 * hang at a server that the address no longer leads to, and runs a script that tries what the
 * strategies need (lua/lock/probe.lua). What no script may do, SUBSCRIBE, it tries at last.
 */
#include "redis/cluster/map.h"
#include "redis/redis_internal.h"

#include "base/log.h"

#include <string.h>

enum { PLACE_MAX = 300 };

/* The probe's keys are in a slot that is on its way to another node, and the server is alive. */
static bool is_moving(const char *reason)
{
    enum redis_direction direction = redis_direction_read(reason, "", NULL);

    return direction != REDIS_STAYS && direction != REDIS_DOWN;
}

void redis_probe_needs(struct redis *redis, const struct redis_needs *needs, int64_t until_us)
{
    struct redis_server *server = redis->server;

    if (redis_open(redis, until_us)) {
        struct redis_reply *reply = NULL;
        redis_survey(redis, until_us);
        if (redis_is_routed(redis)) { /* it has just said so */
            redis_close(redis);
            return;
        }
        enum redis_status status =
            redis_eval(redis, LUA_PROBE, 2, 4,
                       (const char *const[]){needs->absent, needs->hash, needs->of,
                                             redis_publish_command(redis)},
                       until_us, &reply);
        const char *refused = redis_reply_text(reply);
        if (status == REDIS_OK && !*refused && needs->subscribes)
            status = redis_tell(
                redis, 2, (const char *const[]){redis_subscribe_command(redis), needs->absent},
                until_us);
        const char *reason = redis_reason(redis);
        if (status == REDIS_OK && *refused) {
            redis_server_note_refusal(server, refused);
        } else if (status == REDIS_OK) {
            redis_server_note_served(server);
            redis_probe_replicas(redis, needs->kept, until_us);
        } else if (server->of && is_moving(reason)) {
            redis_server_note_reached(server);
        } else if (status == REDIS_REFUSED || redis_is_refusal(reason)) {
            redis_server_note_refusal(server, reason);
        } else {
            redis_server_note_unreached(server, reason);
        }
        redis_reply_free(reply);
    }
    redis_close(redis);
}

void redis_probe_health(struct redis *redis, const char *flag, const struct redis_needs *needs,
                        int64_t until_us)
{
    struct redis_server *server = redis->server;
    char place[PLACE_MAX];
    char why[REDIS_WHY_MAX];

    if (!redis_is_routed(redis))
        redis_probe_needs(redis, needs, until_us);
    if (redis_is_routed(redis))
        redis->server->routing->probe(redis, needs, until_us);
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
