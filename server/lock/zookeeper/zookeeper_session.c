/*
 * The session with ZooKeeper: opened when it is first needed, and the leases that live by it.
 *
 * Happy path: zookeeper_ready opens the session and waits until a server has answered. A lease that
 * is held is in a list (zookeeper_hold, zookeeper_unhold).
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

enum { FRESH_US = 2000000 };

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

static void open_session(struct zookeeper *zookeeper)
{
    zookeeper->fresh_until_us = clock_mono_us() + FRESH_US;
    zookeeper->handle =
        zookeeper_init2(zookeeper->hosts, on_session, (int)zookeeper->settings->lock_ttl_ms, NULL,
                        zookeeper, 0, log_line);
    if (!zookeeper->handle) {
        zookeeper->fresh_until_us = 0;
        zookeeper->why = "ZooKeeper: no such host";
    }
}

void zookeeper_wait_changed(struct zookeeper *zookeeper, int64_t until_us)
{
    struct timespec until = clock_timespec(until_us);

    pthread_cond_timedwait(&zookeeper->changed, &zookeeper->mutex, &until);
}

bool zookeeper_ready(struct zookeeper *zookeeper, unsigned *loss)
{
    pthread_mutex_lock(&zookeeper->mutex);
    for (;;) {
        if (!zookeeper->handle && !zookeeper->expired)
            open_session(zookeeper);
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
