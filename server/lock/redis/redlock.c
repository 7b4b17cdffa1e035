/*
 * Redlock: SET NX PX of one token on 3 or 5 independent Redis servers; the lock is whose the
 * majority is (Redis documentation, "Distributed Locks with Redis").
 *
 * The nodes are asked one after the other, each for a fraction of the lease, so that one that hangs
 * does not eat it. What has passed since the first request, and what the nodes' clocks may differ
 * by, is taken off the lease: a majority that came too late is none. An attempt that fails is taken
 * back everywhere, also where the answer was lost, and tried again after a random pause.
 *
 * How it fails: a minority of nodes may be away and nobody notices; without a majority the store
 * has failed. A node that restarts without its keys gives its vote away twice: with the lock held
 * by a bare majority there are two owners, so it must stay away for a lease after a crash. And a
 * holder paused past the lease still writes: more nodes make no fence.
 */
#include "lock/redis/redlock.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "lock/redis/redis_lock.h"
#include "settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { URL_MAX = 300, NODE_PATIENCE_MAX_US = 200000 };
/* Of the lease: what one node may take of it, and what two clocks may drift apart in it. */
enum { PATIENCE_SHARE = 20, DRIFT_SHARE = 100, DRIFT_LEAST_US = 2000 };

struct redlock {
    struct redis_server *nodes[REDLOCK_NODES_MAX];
    int count;
};

struct redlock_sessions {
    struct redlock *redlock; /* borrowed */
    struct redis *nodes[REDLOCK_NODES_MAX];
    struct error error;
};

static bool add_node(struct redlock *redlock, const char *url, size_t length)
{
    char text[URL_MAX];
    struct error error;

    if (redlock->count == REDLOCK_NODES_MAX || length >= sizeof text)
        return false;
    snprintf(text, sizeof text, "%.*s", (int)length, url);
    redlock->nodes[redlock->count] = redis_server_create(text, &error);
    return redlock->nodes[redlock->count++] != NULL;
}

struct redlock *redlock_create(const char *urls, struct error *error)
{
    struct redlock *redlock = calloc(1, sizeof *redlock);
    bool fine = redlock != NULL;

    for (const char *at = urls; fine && *at;) {
        size_t length = strcspn(at, ",");
        fine = add_node(redlock, at, length);
        at += length + (at[length] == ',');
    }
    if (fine && (redlock->count == 3 || redlock->count == 5))
        return redlock;
    error_set(error, ERROR_INVALID, "--redlock: \"%s\" is not 3 or 5 URLs of Redis servers", urls);
    redlock_destroy(redlock);
    return NULL;
}

void redlock_destroy(struct redlock *redlock)
{
    for (int i = 0; redlock && i < redlock->count; i++)
        redis_server_destroy(redlock->nodes[i]);
    free(redlock);
}

bool redlock_up(const struct redlock *redlock)
{
    int up = 0;

    for (int i = 0; i < redlock->count; i++)
        up += redis_server_up(redlock->nodes[i]);
    return up > redlock->count / 2;
}

int redlock_count(const struct redlock *redlock)
{
    return redlock->count;
}

struct redis_server *redlock_node(const struct redlock *redlock, int i)
{
    return redlock->nodes[i];
}

struct redlock_sessions *redlock_open(struct redlock *redlock)
{
    struct redlock_sessions *sessions = calloc(1, sizeof *sessions);
    bool fine = sessions != NULL;

    if (fine)
        sessions->redlock = redlock;
    for (int i = 0; fine && i < redlock->count; i++) {
        sessions->nodes[i] = redis_create(redlock->nodes[i]);
        fine = sessions->nodes[i] != NULL;
    }
    if (fine)
        return sessions;
    redlock_close(sessions);
    return NULL;
}

void redlock_close(struct redlock_sessions *sessions)
{
    for (int i = 0; sessions && i < sessions->redlock->count; i++)
        redis_destroy(sessions->nodes[i]);
    free(sessions);
}

static int majority(const struct lock_client *client)
{
    return client->redlock->redlock->count / 2 + 1;
}

static struct lock_client node_client(const struct lock_client *client, int i)
{
    return (struct lock_client){.redis = client->redlock->nodes[i], .settings = client->settings};
}

static int64_t node_deadline(const struct lock_client *client)
{
    int64_t share_us = client->settings->lock_ttl_ms * CLOCK_US_PER_MS / PATIENCE_SHARE;

    return clock_mono_us() + (share_us < NODE_PATIENCE_MAX_US ? share_us : NODE_PATIENCE_MAX_US);
}

static enum lock_release redlock_release(struct lock_client *client, struct lease *lease,
                                         int64_t until_us)
{
    int released = 0;
    int unknown = 0;

    for (int i = 0; i < client->redlock->redlock->count; i++) {
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

static enum lock_result attempt(struct lock_client *client, struct lease *lease)
{
    struct redlock *redlock = client->redlock->redlock;
    int64_t ttl_us = client->settings->lock_ttl_ms * CLOCK_US_PER_MS;
    int64_t asked_us = clock_mono_us();
    int owned = 0;
    int lost = 0;
    char why[sizeof client->redlock->error.text] = "";

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
    error_set(&client->redlock->error, ERROR_UNAVAILABLE, "%d of %d Redis nodes do not serve: %s",
              lost, redlock->count, why);
    return LOCK_UNKNOWN;
}

static enum lock_result redlock_acquire(struct lock_client *client, int64_t key, bool once,
                                        int64_t until_us, struct lease *lease)
{
    lease_begin(client, &lock_redlock, key, lease);
    return lock_poll(client, lease, attempt, once, until_us);
}

static const char *redlock_why(const struct lock_client *client)
{
    return client->redlock->error.text;
}

const struct lock lock_redlock = {
    .name = "redlock",
    .acquire = redlock_acquire,
    .release = redlock_release,
    .why = redlock_why,
};
