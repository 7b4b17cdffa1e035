/*
 * The session with ZooKeeper: opened when it is first needed, and the leases that live by it.
 *
 * Happy path: zookeeper_ready asks the janitor for a session and waits until a server has answered.
 * A lease that is held is in a list (zookeeper_hold, zookeeper_unhold).
 *
 * Failure modes:
 * - The connection is lost: every held lease is lost at once, because the server may be about to
 *   end the session and give the locks away, and nobody would tell this process.
 * - The session expires: the janitor (zookeeper.c) closes it, and the next order opens another.
 * - A server is silent: the library gives it up after two thirds of the session's time, before the
 *   server gives up the session. A process that is stopped meanwhile learns of it when it wakes.
 */
#include "lock/zookeeper/zookeeper_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void zookeeper_lose_connection(struct zookeeper *zookeeper)
{
    if (!zookeeper->connected)
        return;
    zookeeper->connected = false;
    zookeeper->losses++;
    while (zookeeper->held) {
        struct lease *lease = zookeeper->held;
        zookeeper->held = lease->next;
        lease->next = zookeeper->lost;
        zookeeper->lost = lease;
        atomic_store(&lease->lost, true);
    }
}

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    struct zookeeper *zookeeper = context;

    (void)path;
    if (type != ZOO_SESSION_EVENT)
        return;
    pthread_mutex_lock(&zookeeper->mutex);
    if (handle == zookeeper->handle) {
        if (state == ZOO_CONNECTED_STATE) {
            zookeeper->connected = true;
            zookeeper->lease_us = zoo_recv_timeout(handle) * CLOCK_US_PER_MS;
        } else {
            zookeeper_lose_connection(zookeeper);
            zookeeper->why = "ZooKeeper: the connection was lost";
        }
        if (state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE) {
            zookeeper->expired = true;
            zookeeper->fresh_until_us = clock_mono_us() + FRESH_US;
        }
        pthread_cond_broadcast(&zookeeper->changed);
    }
    pthread_mutex_unlock(&zookeeper->mutex);
}

static void log_line(const char *message)
{
    log_debug("ZooKeeper: %s", message);
}

void zookeeper_open_session(struct zookeeper *zookeeper)
{
    const struct servers *servers = &zookeeper->servers;
    const char *root = strchr(zookeeper->settings->zookeeper, '/');
    size_t length = 0;
    char *text = NULL;
    FILE *to = open_memstream(&text, &length);

    if (!to)
        abort();
    for (int i = 0; i < servers->count; i++)
        fprintf(to, "%s%s", i > 0 ? "," : "", servers->list[i]);
    fprintf(to, "%s", root ? root : "");
    if (fclose(to) != 0)
        abort();
    zookeeper->handle = zookeeper_init2(text, on_session, (int)zookeeper->settings->lock_ttl_ms,
                                        NULL, zookeeper, 0, log_line);
    free(text);
    if (!zookeeper->handle) {
        zookeeper->fresh_until_us = 0;
        zookeeper->why = "ZooKeeper: no session can be opened";
    }
}

void zookeeper_wait_changed(struct zookeeper *zookeeper, int64_t until_us)
{
    struct timespec until = clock_timespec(until_us);

    pthread_cond_timedwait(&zookeeper->changed, &zookeeper->mutex, &until);
}

/* With the mutex held: has the janitor open a session if there is none. */
static void want_session(struct zookeeper *zookeeper)
{
    int64_t now_us = clock_mono_us();

    if (zookeeper->handle || zookeeper->expired || zookeeper->wanted ||
        now_us < zookeeper->look_at_us)
        return;
    zookeeper->wanted = true;
    zookeeper->fresh_until_us = now_us + FRESH_US;
    pthread_cond_broadcast(&zookeeper->changed);
}

bool zookeeper_ready(struct zookeeper *zookeeper, unsigned *loss)
{
    pthread_mutex_lock(&zookeeper->mutex);
    for (;;) {
        want_session(zookeeper);
        if (zookeeper->connected || clock_mono_us() >= zookeeper->fresh_until_us)
            break;
        zookeeper_wait_changed(zookeeper, zookeeper->fresh_until_us);
    }
    bool connected = zookeeper->connected;
    *loss = zookeeper->losses;
    if (!connected && !zookeeper->why)
        zookeeper->why = "ZooKeeper: no server answers";
    pthread_mutex_unlock(&zookeeper->mutex);
    return connected;
}

int64_t zookeeper_lease_us(struct zookeeper *zookeeper)
{
    pthread_mutex_lock(&zookeeper->mutex);
    int64_t lease_us = zookeeper->lease_us;
    pthread_mutex_unlock(&zookeeper->mutex);
    return lease_us;
}

const char *zookeeper_why(struct zookeeper *zookeeper)
{
    pthread_mutex_lock(&zookeeper->mutex);
    const char *why = zookeeper->why;
    pthread_mutex_unlock(&zookeeper->mutex);
    return why ? why : "";
}

bool zookeeper_hold(struct zookeeper *zookeeper, struct lease *lease, unsigned loss)
{
    pthread_mutex_lock(&zookeeper->mutex);
    bool holds = zookeeper->connected && zookeeper->losses == loss;
    if (holds) {
        lease->next = zookeeper->held;
        zookeeper->held = lease;
    }
    pthread_mutex_unlock(&zookeeper->mutex);
    return holds;
}

static void unlink_lease(struct lease **at, const struct lease *lease)
{
    while (*at && *at != lease)
        at = &(*at)->next;
    if (*at)
        *at = lease->next;
}

void zookeeper_unhold(struct zookeeper *zookeeper, struct lease *lease)
{
    pthread_mutex_lock(&zookeeper->mutex);
    unlink_lease(&zookeeper->held, lease);
    unlink_lease(&zookeeper->lost, lease);
    while (zookeeper->busy == lease)
        pthread_cond_wait(&zookeeper->changed, &zookeeper->mutex);
    pthread_mutex_unlock(&zookeeper->mutex);
}
