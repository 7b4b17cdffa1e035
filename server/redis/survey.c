/* What a Redis says of itself: its version, whether it is a node of a cluster, and whether what it
 * acknowledges may be lost. */
#include "redis/redis_internal.h"

#include <stdlib.h>
#include <string.h>

/* On this very session: it may turn out to be with a cluster's node. */
static enum redis_status ask(struct redis *redis, int count, const char *const *arguments,
                             int64_t until_us, struct redis_reply **reply)
{
    redisReply *answer = NULL;
    enum redis_status status = redis_command(redis, count, arguments, until_us, &answer);

    return redis_hand_over(status, answer, reply);
}

static enum redis_status read_version(struct redis *redis, int64_t until_us, int *version,
                                      unsigned *flaws)
{
    struct redis_reply *reply;
    enum redis_status status =
        ask(redis, 2, (const char *const[]){"INFO", "server"}, until_us, &reply);

    const char *text = redis_reply_text(reply);
    const char *line = text ? strstr(text, "redis_version:") : NULL;
    if (line) {
        char *end = NULL;
        long major = strtol(line + strlen("redis_version:"), &end, 10);
        long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
        *version = (int)(major * 100 + minor);
        /* redis_mode, or a Valkey's server_mode */
        atomic_store_explicit(&redis->server->clustered, strstr(text, "_mode:cluster") != NULL,
                              memory_order_relaxed);
    } else {
        *flaws |= REDIS_NAMELESS;
    }
    redis_reply_free(reply);
    return status;
}

/* `flaw` unless the setting has the value; a server that does not tell is REDIS_SILENT. */
static enum redis_status read_setting(struct redis *redis, const char *name, const char *value,
                                      unsigned flaw, int64_t until_us, unsigned *flaws)
{
    struct redis_reply *reply;
    enum redis_status status =
        ask(redis, 3, (const char *const[]){"CONFIG", "GET", name}, until_us, &reply);
    const char *is = redis_reply_text(redis_reply_at(reply, 1));

    if (!is)
        *flaws |= REDIS_SILENT;
    else if (strcmp(is, value) != 0)
        *flaws |= flaw;
    redis_reply_free(reply);
    return status;
}

static bool survey(struct redis *redis, int64_t until_us)
{
    static const struct {
        const char *name;
        const char *value;
        unsigned flaw;
    } wanted[] = {
        {"appendonly", "yes", REDIS_NO_APPEND_FILE},
        {"appendfsync", "always", REDIS_LAZY_FSYNC},
        {"maxmemory-policy", "noeviction", REDIS_EVICTS},
    };
    int version = 0;
    unsigned flaws = 0;

    if (read_version(redis, until_us, &version, &flaws) == REDIS_LOST)
        return false;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (read_setting(redis, wanted[i].name, wanted[i].value, wanted[i].flaw, until_us,
                         &flaws) == REDIS_LOST)
            return false;
    redis_server_note(redis_server_of(redis), version, flaws);
    return true;
}

/* A user who may not ask may well be allowed what the strategies need. */
bool redis_survey(struct redis *redis, int64_t until_us)
{
    if (redis_is_routed(redis))
        return true; /* its nodes are, by the probe */
    redis->optional = true;
    bool done = survey(redis, until_us);
    redis->optional = false;
    return done;
}
