/*
 * Whether what a session has written outlives the server: WAITAOF counts the append-only files that
 * have it, the server's own and those of its replicas.
 *
 * It answers when both counts are reached or its own time is over, so the counts are compared here.
 * It speaks of its own connection's writes up to the last one, and the log is one sequence, so also
 * of all that the server had before that one.
 *
 * A replica says how far its file is each second, and when it is asked; the question comes through
 * the same log as the writes. One that reads both at once answers before it has flushed. So the
 * question is asked anew, at first after a moment.
 *
 * Failure modes: the server is older than 7.2, or has no append-only file
 * (redis_server_replicas_unfit); it was made a replica meanwhile, and refuses; a replica has
 * stopped, or flushes each second only: there are not enough in time.
 * Sources: Redis documentation, WAITAOF and "Replication".
 */
#include "redis/redis_internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>

enum { VERSION_LEAST = 702, FIRST_MS = 1, MOST_MS = 100, PROBE_WAIT_US = 300000 };

#define WHO "the Redis of --stock-redis "

void redis_server_want_replicas(struct redis_server *server, int replicas)
{
    server->replicas = replicas;
}

int redis_server_replicas(const struct redis_server *server)
{
    return server->replicas;
}

const char *redis_server_replicas_unfit(const struct redis_server *server)
{
    int version = redis_server_version(server);

    if (server->replicas == 0)
        return NULL;
    if (version != 0 && version < VERSION_LEAST)
        return WHO "is older than 7.2 and has no WAITAOF, which --stock-redis-replicas needs: take "
                   "Redis 7.2 or Valkey, or leave that at 0";
    if (redis_server_flaws(server) & REDIS_NO_APPEND_FILE)
        return WHO "has no append-only file, which --stock-redis-replicas needs: set appendonly "
                   "yes, there and at its replicas";
    return NULL;
}

bool redis_server_lags(const struct redis_server *server)
{
    return atomic_load_explicit(&server->lags, memory_order_relaxed);
}

static enum redis_status ask(struct redis *redis, int64_t wait_ms, bool *enough)
{
    int wanted = redis->server->replicas;
    char replicas[12];
    char wait[24];
    struct redis_reply *reply;

    snprintf(replicas, sizeof replicas, "%d", wanted);
    snprintf(wait, sizeof wait, "%lld", (long long)wait_ms);
    /* Redis looks at the time at the end of its own pauses; it gets a second more. */
    enum redis_status status =
        redis_call(redis, 4, (const char *const[]){"WAITAOF", "1", replicas, wait},
                   clock_mono_us() + wait_ms * CLOCK_US_PER_MS + CLOCK_US_PER_S, &reply);
    *enough = status == REDIS_OK && redis_reply_number(redis_reply_at(reply, 0)) >= 1 &&
              redis_reply_number(redis_reply_at(reply, 1)) >= wanted;
    redis_reply_free(reply);
    return status;
}

enum redis_status redis_wait_replicas(struct redis *redis, int64_t until_us, bool *enough)
{
    enum redis_status status = REDIS_OK;
    int64_t wait_ms = FIRST_MS;

    *enough = redis->server->replicas == 0;
    while (!*enough && status == REDIS_OK) {
        status = ask(redis, wait_ms, enough);
        int64_t left_ms = (until_us - clock_mono_us()) / CLOCK_US_PER_MS;
        if (left_ms <= 0)
            break;
        wait_ms = clock_earlier(clock_earlier(2 * wait_ms, MOST_MS), left_ms);
    }
    return status;
}

void redis_probe_replicas(struct redis *redis, const char *key, int64_t until_us)
{
    struct redis_server *server = redis->server;
    bool enough = false;

    if (server->replicas == 0 || redis_server_replicas_unfit(server))
        return;
    if (redis_send(redis, 3, (const char *const[]){"SET", key, ""}, until_us) == REDIS_OK)
        redis_wait_replicas(redis, clock_earlier(until_us, clock_mono_us() + PROBE_WAIT_US),
                            &enough);
    if (atomic_exchange_explicit(&server->lags, !enough, memory_order_relaxed) != !enough)
        log_warn("the replicas of redis-stock's Redis %s (--stock-redis-replicas)",
                 enough ? "flush what it writes again"
                        : "do not flush what it writes: orders wait for PostgreSQL");
}
