/*
 * One ZooKeeper session for the process: nodes carry tokens, so many locks can share it, and a
 * session is dear (a quorum write, two threads, pings for as long as it lasts).
 *
 * The library has a thread that does I/O and one that calls back; the workers wait on a condition
 * of ours, by the monotonic clock. What
 * a given-up or failed call may have left in the tree, the janitor thread clears away by its token,
 * after a reconnect if need be: nodes live as long as the session, which outlasts any order.
 *
 * How it fails: a lost connection makes every lease that is held lost at once, for the server may
 * be about to end the session and give the locks away, and nobody would tell us. An expired session
 * is closed by the janitor and the next order opens another. The library gives up a silent server
 * after two thirds of the session's time, before the server gives up the session; a process that is
 * stopped meanwhile learns of it when it wakes.
 */
#include "lock/zookeeper/zookeeper_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRESH_US = 2000000, CLEAR_AGAIN_US = 200000 };

bool keeper_built(void)
{
    return true;
}

/* Session ----------------------------------------------------------------------------------------
 */

static void lose_connection(struct keeper *keeper)
{
    if (!keeper->connected)
        return;
    keeper->connected = false;
    keeper->losses++;
    while (keeper->held) {
        struct lease *lease = keeper->held;
        keeper->held = lease->next;
        lease->next = keeper->lost;
        keeper->lost = lease;
        atomic_store(&lease->lost, true);
    }
}

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    struct keeper *keeper = context;

    (void)path;
    if (type != ZOO_SESSION_EVENT)
        return;
    pthread_mutex_lock(&keeper->mutex);
    if (handle == keeper->handle) {
        if (state == ZOO_CONNECTED_STATE) {
            keeper->connected = true;
            keeper->lease_us = zoo_recv_timeout(handle) * CLOCK_US_PER_MS;
        } else {
            lose_connection(keeper);
            keeper->why = "ZooKeeper: the connection was lost";
        }
        if (state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE) {
            keeper->expired = true;
            keeper->fresh_until_us = clock_mono_us() + FRESH_US;
        }
        pthread_cond_broadcast(&keeper->changed);
    }
    pthread_mutex_unlock(&keeper->mutex);
}

static void log_line(const char *message)
{
    log_debug("ZooKeeper: %s", message);
}

static void open_session(struct keeper *keeper)
{
    keeper->fresh_until_us = clock_mono_us() + FRESH_US;
    keeper->handle = zookeeper_init2(keeper->hosts, on_session, (int)keeper->settings->lock_ttl_ms,
                                     NULL, keeper, 0, log_line);
    if (!keeper->handle) {
        keeper->fresh_until_us = 0;
        keeper->why = "ZooKeeper: no such host";
    }
}

void keeper_wait_changed(struct keeper *keeper, int64_t until_us)
{
    struct timespec until = clock_timespec(until_us);

    pthread_cond_timedwait(&keeper->changed, &keeper->mutex, &until);
}

bool keeper_ready(struct keeper *keeper, unsigned *loss)
{
    pthread_mutex_lock(&keeper->mutex);
    for (;;) {
        if (!keeper->handle && !keeper->expired)
            open_session(keeper);
        if (keeper->connected || clock_mono_us() >= keeper->fresh_until_us)
            break;
        keeper_wait_changed(keeper, keeper->fresh_until_us);
    }
    bool connected = keeper->connected;
    *loss = keeper->losses;
    if (!connected && !keeper->why)
        keeper->why = "ZooKeeper: no server answers";
    pthread_mutex_unlock(&keeper->mutex);
    return connected;
}

bool keeper_up(struct keeper *keeper)
{
    pthread_mutex_lock(&keeper->mutex);
    bool up = keeper->connected || (!keeper->handle && !keeper->why);
    pthread_mutex_unlock(&keeper->mutex);
    return up;
}

int64_t keeper_lease_us(struct keeper *keeper)
{
    pthread_mutex_lock(&keeper->mutex);
    int64_t lease_us = keeper->lease_us;
    pthread_mutex_unlock(&keeper->mutex);
    return lease_us;
}

const char *keeper_why(struct keeper *keeper)
{
    pthread_mutex_lock(&keeper->mutex);
    const char *why = keeper->why;
    pthread_mutex_unlock(&keeper->mutex);
    return why ? why : "";
}

/* Leases -----------------------------------------------------------------------------------------
 */

bool keeper_hold(struct keeper *keeper, struct lease *lease, unsigned loss)
{
    pthread_mutex_lock(&keeper->mutex);
    bool holds = keeper->connected && keeper->losses == loss;
    if (holds) {
        lease->next = keeper->held;
        keeper->held = lease;
    }
    pthread_mutex_unlock(&keeper->mutex);
    return holds;
}

static void unlink_lease(struct lease **at, const struct lease *lease)
{
    while (*at && *at != lease)
        at = &(*at)->next;
    if (*at)
        *at = lease->next;
}

void keeper_unhold(struct keeper *keeper, struct lease *lease)
{
    pthread_mutex_lock(&keeper->mutex);
    unlink_lease(&keeper->held, lease);
    unlink_lease(&keeper->lost, lease);
    while (keeper->busy == lease)
        pthread_cond_wait(&keeper->changed, &keeper->mutex);
    pthread_mutex_unlock(&keeper->mutex);
}

/* The janitor ------------------------------------------------------------------------------------
 */

static void add_ghost(struct keeper *keeper, struct ghost *ghost)
{
    pthread_mutex_lock(&keeper->mutex);
    ghost->next = keeper->ghosts;
    keeper->ghosts = ghost;
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->mutex);
}

void keeper_clear_later(struct keeper *keeper, const char *folder, const char *token,
                        int64_t due_us)
{
    struct ghost *ghost = calloc(1, sizeof *ghost);

    if (!ghost)
        abort(); /* a node that nobody deletes locks its product for ever */
    snprintf(ghost->folder, sizeof ghost->folder, "%s", folder);
    snprintf(ghost->token, sizeof ghost->token, "%s", token);
    ghost->due_us = due_us;
    add_ghost(keeper, ghost);
}

/* One whose time has come, taken off the list; else NULL and when there will be one. */
static struct ghost *take_ghost(struct keeper *keeper, int64_t *next_us)
{
    *next_us = INT64_MAX;
    if (!keeper->connected)
        return NULL;
    for (struct ghost **at = &keeper->ghosts; *at; at = &(*at)->next) {
        struct ghost *ghost = *at;
        if (ghost->due_us <= clock_mono_us()) {
            *at = ghost->next;
            return ghost;
        }
        if (ghost->due_us < *next_us)
            *next_us = ghost->due_us;
    }
    return NULL;
}

static void clear(struct keeper *keeper, struct ghost *ghost)
{
    char path[KEEPER_PATH_MAX + 1];
    struct keeper_names names;
    int code = keeper_children(keeper, ghost->folder, &names);

    for (int i = 0; code == ZOK && i < names.count; i++) {
        if (strncmp(names.names[i], ghost->token, RANDOM_TOKEN_LENGTH) != 0)
            continue;
        int length = snprintf(path, sizeof path, "%s/%s", ghost->folder, names.names[i]);
        code = length < (int)sizeof path ? keeper_delete(keeper, path) : ZOK;
    }
    keeper_names_fini(&names);
    if (code == ZOK || code == ZNONODE) {
        free(ghost);
        return;
    }
    ghost->due_us = clock_mono_us() + CLEAR_AGAIN_US;
    add_ghost(keeper, ghost);
}

/* With the mutex held, which it lets go of meanwhile. */
static void tell_lost(struct keeper *keeper)
{
    struct lease *lease = keeper->lost;

    keeper->lost = lease->next;
    keeper->busy = lease;
    pthread_mutex_unlock(&keeper->mutex);
    log_warn("the lease on product %lld was lost", (long long)lease->key);
    if (lease->on_lost)
        lease->on_lost(lease->on_lost_context);
    pthread_mutex_lock(&keeper->mutex);
    keeper->busy = NULL;
    pthread_cond_broadcast(&keeper->changed);
}

static void close_session(struct keeper *keeper)
{
    zhandle_t *handle = keeper->handle;

    keeper->handle = NULL;
    lose_connection(keeper);
    pthread_mutex_unlock(&keeper->mutex);
    if (handle)
        zookeeper_close(handle);
    pthread_mutex_lock(&keeper->mutex);
    keeper->expired = false;
    keeper->why = NULL;
    pthread_cond_broadcast(&keeper->changed);
}

static void *janitor_main(void *argument)
{
    struct keeper *keeper = argument;
    int64_t next_us = INT64_MAX;

    pthread_mutex_lock(&keeper->mutex);
    while (!keeper->stopping) {
        bool usable = !keeper->lost && !keeper->expired;
        struct ghost *ghost = usable ? take_ghost(keeper, &next_us) : NULL;
        if (keeper->lost) {
            tell_lost(keeper);
        } else if (keeper->expired) {
            close_session(keeper);
        } else if (ghost) {
            pthread_mutex_unlock(&keeper->mutex);
            clear(keeper, ghost);
            pthread_mutex_lock(&keeper->mutex);
        } else if (next_us == INT64_MAX) {
            pthread_cond_wait(&keeper->changed, &keeper->mutex);
        } else {
            keeper_wait_changed(keeper, next_us);
        }
    }
    close_session(keeper);
    pthread_mutex_unlock(&keeper->mutex);
    return NULL;
}

/* Its life ---------------------------------------------------------------------------------------
 */

struct keeper *keeper_create(const char *hosts, const struct settings *settings,
                             struct error *error)
{
    struct keeper *keeper = calloc(1, sizeof *keeper);

    if (keeper)
        keeper->hosts = strdup(hosts);
    if (!keeper || !keeper->hosts) {
        error_set(error, ERROR_INTERNAL, "out of memory");
        free(keeper);
        return NULL;
    }
    keeper->settings = settings;
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
    pthread_mutex_init(&keeper->mutex, NULL);
    clock_cond_init(&keeper->changed);
    if (pthread_create(&keeper->janitor, NULL, janitor_main, keeper) == 0)
        return keeper;
    error_set(error, ERROR_INTERNAL, "cannot start ZooKeeper's janitor thread");
    free(keeper->hosts);
    free(keeper);
    return NULL;
}

void keeper_destroy(struct keeper *keeper)
{
    if (!keeper)
        return;
    pthread_mutex_lock(&keeper->mutex);
    keeper->stopping = true;
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->mutex);
    pthread_join(keeper->janitor, NULL);
    while (keeper->ghosts) {
        struct ghost *ghost = keeper->ghosts;
        keeper->ghosts = ghost->next;
        free(ghost);
    }
    pthread_cond_destroy(&keeper->changed);
    pthread_mutex_destroy(&keeper->mutex);
    free(keeper->hosts);
    free(keeper);
}
