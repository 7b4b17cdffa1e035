/*
 * Redlock: SET NX PX of one token on 3 or 5 independent Redis servers; the lock is whose the
 * majority is (Redis documentation, "Distributed Locks with Redis").
 *
 * The nodes are asked one after the other, each for a fraction of the lease, so that one that hangs
 * does not eat it. The time since the first request, and the drift that the nodes' clocks may have,
 * is taken off the lease: a majority that came too late is none. An attempt that fails is taken
 * back everywhere, also where the answer was lost, and tried again after a random pause.
 *
 * How it fails: a minority of nodes may be away and nobody notices; without a majority the store
 * has failed. A node that restarts without its keys gives its vote away twice: with the lock held
 * by a bare majority there are two owners, so it must stay away for a lease after a crash. And a
 * holder paused past the lease still writes: more nodes make no fence.
 */
#include "backend/backend.h"
#include "base/clock.h"
#include "base/failpoint.h"
#include "lock/redis/redis_lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 5, URL_MAX = 2048, NODE_TIMEOUT_MAX_US = 200000 };
/* Of the lease: what one node may take of it, and what two clocks may drift apart in it. */
enum { TIMEOUT_SHARE = 20, DRIFT_SHARE = 100, DRIFT_LEAST_US = 2000 };

/* All the nodes, shared by all threads. */
struct redlock {
    struct redis_server *nodes[NODES_MAX];
    int count;
};

/* A thread's own: one a node. */
struct redlock_sessions {
    struct redlock *redlock; /* borrowed */
    struct redis *nodes[NODES_MAX];
    struct error error;
};

static bool add_node(struct redlock *redlock, const struct settings *settings, const char *url,
                     size_t length, struct error *error)
{
    char text[URL_MAX];

    if (redlock->count == NODES_MAX || length >= sizeof text)
        return error_set(error, ERROR_INVALID, "too many nodes, or a URL that is too long");
    snprintf(text, sizeof text, "%.*s", (int)length, url);
    redlock->nodes[redlock->count] = redis_server_create(text, settings->redis_ca, error);
    return redlock->nodes[redlock->count++] != NULL;
}

static void redlock_close(void *backend)
{
    struct redlock *redlock = backend;

    for (int i = 0; redlock && i < redlock->count; i++)
        redis_server_destroy(redlock->nodes[i]);
    free(redlock);
}

/* 3 or 5 URLs with commas between them. */
static void *redlock_open(const struct settings *settings, struct error *error)
{
    const char *urls = settings->redlock;

    if (!*urls)
        return NULL;
    struct redlock *redlock = calloc(1, sizeof *redlock);
    bool fine = true;

    if (!redlock) {
        error_set(error, ERROR_INTERNAL, "out of memory");
        return NULL;
    }
    for (const char *at = urls; fine && *at;) {
        size_t length = strcspn(at, ",");
        fine = add_node(redlock, settings, at, length, error);
        at += length + (at[length] == ',');
    }
    if (fine && (redlock->count == 3 || redlock->count == 5))
        return redlock;
    if (fine)
        error_set(error, ERROR_INVALID, "these are not 3 or 5 URLs of Redis servers");
    error_prefix(error, "--redlock");
    redlock_close(redlock);
    return NULL;
}

static int redlock_nodes(void *backend)
{
    const struct redlock *redlock = backend;

    return redlock->count;
}

static void redlock_session_close(void *opened)
{
    struct redlock_sessions *sessions = opened;

    for (int i = 0; sessions && i < sessions->redlock->count; i++)
        redis_destroy(sessions->nodes[i]);
    free(sessions);
}

static void *redlock_session_open(void *redlock)
{
    struct redlock_sessions *sessions = calloc(1, sizeof *sessions);
    bool fine = sessions != NULL;

    if (fine)
        sessions->redlock = redlock;
    for (int i = 0; fine && i < sessions->redlock->count; i++) {
        sessions->nodes[i] = redis_create(sessions->redlock->nodes[i]);
        fine = sessions->nodes[i] != NULL;
    }
    if (fine)
        return sessions;
    redlock_session_close(sessions);
    return NULL;
}

/* The lock, which needs a majority of the nodes, and each node. */
static void redlock_health(void *backend, backend_report *report, void *to)
{
    struct redlock *redlock = backend;
    int serving = 0;

    for (int i = 0; i < redlock->count; i++)
        serving += redis_server_up(redlock->nodes[i]);
    bool up = serving > redlock->count / 2;
    report(to, "redlock", up, up ? "" : "no majority of the nodes serves");
    for (int i = 0; i < redlock->count; i++) {
        char name[24];

        snprintf(name, sizeof name, "redlock-%d", i + 1);
        redis_server_report(redlock->nodes[i], name, redis_server_lock_flaw(redlock->nodes[i]),
                            report, to);
    }
}

static void redlock_probe(void *opened, int node, const struct settings *settings, int64_t until_us)
{
    struct redlock_sessions *sessions = opened;
    struct redis_needs needs = {.of = "redlock"};

    snprintf(needs.absent, sizeof needs.absent, "%s:lock:probe", settings->system_name);
    snprintf(needs.hash, sizeof needs.hash, "%s:lock-probe", settings->system_name);
    redis_probe_health(sessions->nodes[node], "--redlock", &needs, until_us);
}

static struct redlock_sessions *sessions_of(const struct lock_client *client)
{
    return client->sessions[BACKEND_REDLOCK];
}

static int majority(const struct lock_client *client)
{
    return sessions_of(client)->redlock->count / 2 + 1;
}

static struct lock_client node_client(const struct lock_client *client, int i)
{
    return (struct lock_client){.redis = sessions_of(client)->nodes[i],
                                .settings = client->settings};
}

static int64_t node_deadline(const struct lock_client *client)
{
    int64_t share_us = client->settings->lock_ttl_ms * CLOCK_US_PER_MS / TIMEOUT_SHARE;

    return clock_mono_us() + (share_us < NODE_TIMEOUT_MAX_US ? share_us : NODE_TIMEOUT_MAX_US);
}

static enum lock_release redlock_release(struct lock_client *client, struct lease *lease,
                                         int64_t until_us)
{
    int released = 0;
    int unknown = 0;

    for (int i = 0; i < sessions_of(client)->redlock->count; i++) {
        struct lock_client node = node_client(client, i);
        int64_t node_us = node_deadline(client);
        enum lock_release result =
            lock_redis_token.release(&node, lease, node_us < until_us ? node_us : until_us);
        released += result == LOCK_RELEASED;
        unknown += result == LOCK_RELEASE_UNKNOWN;
    }
    if (released >= majority(client))
        return LOCK_RELEASED;
    return released + unknown >= majority(client) ? LOCK_RELEASE_UNKNOWN : LOCK_NOT_OWNER;
}

static enum lock_result redlock_attempt(struct lock_client *client, struct lease *lease)
{
    struct redlock *redlock = sessions_of(client)->redlock;
    int64_t ttl_us = client->settings->lock_ttl_ms * CLOCK_US_PER_MS;
    int64_t asked_us = clock_mono_us();
    int owned = 0;
    int lost = 0;
    char why[sizeof sessions_of(client)->error.text] = "";

    for (int i = 0; i < redlock->count; i++) {
        struct lock_client node = node_client(client, i);
        int64_t until_us = node_deadline(client);
        bool mine = false;
        if (redis_connect(node.redis, until_us) &&
            redis_lock_set(&node, lease, lease->token, until_us, &mine) == REDIS_OK)
            owned += mine;
        else if (lost++ == 0)
            snprintf(why, sizeof why, "%s", redis_error(node.redis)->text);
    }
    FAILPOINT("redlock.voted");
    atomic_store(&lease->valid_until_us, asked_us + ttl_us - ttl_us / DRIFT_SHARE - DRIFT_LEAST_US);
    if (owned >= majority(client) && lease_holds(lease))
        return LOCK_OWNED;
    if (owned + lost > 0)
        redlock_release(client, lease, INT64_MAX);
    if (lost <= redlock->count - majority(client))
        return LOCK_BUSY;
    error_set(&sessions_of(client)->error, ERROR_UNAVAILABLE,
              "%d of %d Redis nodes do not serve: %s", lost, redlock->count, why);
    return LOCK_UNKNOWN;
}

static const char *redlock_why(const struct lock_client *client)
{
    return sessions_of(client)->error.text;
}

const struct lock lock_redlock = {
    .name = "redlock",
    .attempt = redlock_attempt,
    .release = redlock_release,
    .why = redlock_why,
};

const struct backend backend_redlock = {
    .name = "redlock",
    .absent = "Redlock's Redis nodes are not configured (--redlock)",
    .open = redlock_open,
    .close = redlock_close,
    .session_open = redlock_session_open,
    .session_close = redlock_session_close,
    .health = redlock_health,
    .probe = redlock_probe,
    .nodes = redlock_nodes,
};
