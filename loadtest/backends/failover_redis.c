/* See failover.h: what concerns Redis and Sentinel. */
#include "loadtest/backends/failover.h"

#include "base/clock.h"
#include "loadtest/backends/redis_words.h"

#include <stdlib.h>
#include <string.h>

enum { POLL_US = 10000 };

static bool wait_info(redisContext *link, const char *field, const char *wanted, int64_t limit_us,
                      struct error *error)
{
    int64_t until_us = clock_mono_us() + limit_us;
    char found[64] = "";

    do {
        if (!redis_words_info(link, field, found, sizeof found, error))
            return false;
        if (strcmp(found, wanted) == 0)
            return true;
        clock_sleep_until(clock_mono_us() + POLL_US);
    } while (clock_mono_us() < until_us);
    return error_fail(error, "%s is not %s but \"%s\"", field, wanted, found);
}

bool failover_follow(const char *replica, int own_port, int port, int64_t limit_us,
                     struct error *error)
{
    redisContext *link = redis_link_open(replica, error);
    bool follows = link &&
                   redis_words_tell(link, error, "CONFIG SET replica-announce-ip 127.0.0.1") &&
                   redis_words_tell(link, error, "CONFIG SET replica-announce-port %d", own_port) &&
                   redis_words_tell(link, error, "REPLICAOF 127.0.0.1 %d", port) &&
                   wait_info(link, "master_link_status", "up", limit_us, error);

    if (link)
        redisFree(link);
    return follows;
}

bool failover_promote_replica(const char *replica, struct error *error)
{
    redisContext *link = redis_link_open(replica, error);
    bool leads = link && redis_words_tell(link, error, "REPLICAOF NO ONE") &&
                 wait_info(link, "role", "master", 10 * CLOCK_US_PER_S, error);

    if (link)
        redisFree(link);
    return leads;
}

/* Of one of its replicas, names and values in turn. */
static bool has_value(const redisReply *replica, const char *name, const char *wanted)
{
    for (size_t i = 0; i + 1 < replica->elements; i += 2)
        if (strcmp(replica->element[i]->str, name) == 0)
            return strcmp(replica->element[i + 1]->str, wanted) == 0;
    return false;
}

/* Sentinel hears of replicas from their primary, every ten seconds: one that it has not yet met
 * when the primary goes is nobody's successor. It has met whoever has told it whom he follows. */
static bool has_met_replica(redisContext *link, const char *name, struct error *error)
{
    redisReply *reply = redis_link_ask(link, error, "SENTINEL REPLICAS %s", name);
    bool met = false;

    for (size_t i = 0; reply && reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
        met |= has_value(reply->element[i], "flags", "slave") &&
               has_value(reply->element[i], "master-host", "127.0.0.1");
    freeReplyObject(reply);
    return met;
}

static bool wait_replica(redisContext *link, const char *name, int64_t limit_us,
                         struct error *error)
{
    int64_t until_us = clock_mono_us() + limit_us;

    while (!has_met_replica(link, name, error)) {
        if (clock_mono_us() >= until_us)
            return error_fail(error, "Sentinel has met no replica of %s", name);
        clock_sleep_until(clock_mono_us() + POLL_US);
    }
    return true;
}

bool failover_watch(const char *sentinel, const char *name, int port, int64_t down_after_ms,
                    int64_t limit_us, struct error *error)
{
    redisContext *link = redis_link_open(sentinel, error);
    bool watches =
        link && redis_words_tell(link, error, "SENTINEL MONITOR %s 127.0.0.1 %d 1", name, port) &&
        redis_words_tell(link, error, "SENTINEL SET %s down-after-milliseconds %lld", name,
                         (long long)down_after_ms) &&
        redis_words_tell(link, error, "SENTINEL SET %s failover-timeout 5000", name) &&
        wait_replica(link, name, limit_us, error);

    if (link)
        redisFree(link);
    return watches;
}

/* The port of the primary that it names; -1 when it cannot be asked. */
static int ask_port(redisContext *link, const char *name, struct error *error)
{
    redisReply *reply = redis_link_ask(link, error, "SENTINEL GET-MASTER-ADDR-BY-NAME %s", name);
    int port = -1;

    if (reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2)
        port = (int)strtol(reply->element[1]->str, NULL, 10);
    else if (reply)
        error_fail(error, "Sentinel watches no %s", name);
    freeReplyObject(reply);
    return port;
}

bool failover_wait_sentinel(const char *sentinel, const char *name, int port, int64_t limit_us,
                            struct error *error)
{
    int64_t until_us = clock_mono_us() + limit_us;
    redisContext *link = redis_link_open(sentinel, error);
    int found = link ? port : -1;

    while (found == port && clock_mono_us() < until_us) {
        found = ask_port(link, name, error);
        if (found == port)
            clock_sleep_until(clock_mono_us() + POLL_US);
    }
    if (link)
        redisFree(link);
    if (found == port)
        return error_fail(error, "Sentinel still names the primary at port %d", port);
    return found >= 0;
}
