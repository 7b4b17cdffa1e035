/*
 * ZooKeeper as a backend: one session for the process, and the janitor thread that looks after it.
 *
 * Nodes carry tokens, so many locks can share the session, and a session is dear (a quorum write,
 * two threads, pings for as long as it lasts). The library has a thread that does I/O and one that
 * calls back; workers wait on a condition of ours, by the monotonic clock.
 *
 * The janitor:
 * - calls on_lost of the leases that were lost with a connection;
 * - looks the hosts up, and opens the session when the first order wants it (zookeeper_servers.c);
 * - closes a session that has expired;
 * - deletes, by their tokens, the nodes that a call has left which failed or was given up, after a
 *   reconnect if need be: nodes live as long as the session, which outlasts any order.
 */
#include "lock/zookeeper/zookeeper_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLEAR_AGAIN_US = 200000 };

static void add_ghost(struct zookeeper *zookeeper, struct ghost *ghost)
{
    pthread_mutex_lock(&zookeeper->mutex);
    ghost->next = zookeeper->ghosts;
    zookeeper->ghosts = ghost;
    pthread_cond_broadcast(&zookeeper->changed);
    pthread_mutex_unlock(&zookeeper->mutex);
}

void zookeeper_clear_later(struct zookeeper *zookeeper, const char *folder, const char *token,
                           int64_t due_us)
{
    struct ghost *ghost = calloc(1, sizeof *ghost);

    if (!ghost)
        abort(); /* a node that nobody deletes locks its product for ever */
    snprintf(ghost->folder, sizeof ghost->folder, "%s", folder);
    snprintf(ghost->token, sizeof ghost->token, "%s", token);
    ghost->due_us = due_us;
    add_ghost(zookeeper, ghost);
}

/* Takes a ghost whose time has come off the list; else NULL, and *next_us is when one is due. */
static struct ghost *take_ghost(struct zookeeper *zookeeper, int64_t *next_us)
{
    *next_us = INT64_MAX;
    if (!zookeeper->connected)
        return NULL;
    for (struct ghost **at = &zookeeper->ghosts; *at; at = &(*at)->next) {
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

static void clear(struct zookeeper *zookeeper, struct ghost *ghost)
{
    char path[ZOOKEEPER_PATH_MAX + 1];
    struct zookeeper_names names;
    int code = zookeeper_children(zookeeper, ghost->folder, &names);

    for (int i = 0; code == ZOK && i < names.count; i++) {
        if (strncmp(names.names[i], ghost->token, RANDOM_TOKEN_LENGTH) != 0)
            continue;
        int length = snprintf(path, sizeof path, "%s/%s", ghost->folder, names.names[i]);
        code = length < (int)sizeof path ? zookeeper_delete(zookeeper, path) : ZOK;
    }
    zookeeper_names_fini(&names);
    if (code == ZOK || code == ZNONODE) {
        free(ghost);
        return;
    }
    ghost->due_us = clock_mono_us() + CLEAR_AGAIN_US;
    add_ghost(zookeeper, ghost);
}

/* With the mutex held; unlocks it during the call. */
static void tell_lost(struct zookeeper *zookeeper)
{
    struct lease *lease = zookeeper->lost;

    zookeeper->lost = lease->next;
    zookeeper->busy = lease;
    pthread_mutex_unlock(&zookeeper->mutex);
    log_warn("the lease on product %lld was lost", (long long)lease->key);
    if (lease->on_lost)
        lease->on_lost(lease->on_lost_context);
    pthread_mutex_lock(&zookeeper->mutex);
    zookeeper->busy = NULL;
    pthread_cond_broadcast(&zookeeper->changed);
}

static void close_session(struct zookeeper *zookeeper)
{
    zhandle_t *handle = zookeeper->handle;

    zookeeper->handle = NULL;
    zookeeper_lose_connection(zookeeper);
    pthread_mutex_unlock(&zookeeper->mutex);
    if (handle)
        zookeeper_close(handle);
    pthread_mutex_lock(&zookeeper->mutex);
    zookeeper->expired = false;
    zookeeper->look_at_us = 0;
    zookeeper->why = NULL;
    pthread_cond_broadcast(&zookeeper->changed);
}

static void wait_changed(struct zookeeper *zookeeper, int64_t next_us)
{
    if (next_us == INT64_MAX)
        pthread_cond_wait(&zookeeper->changed, &zookeeper->mutex);
    else
        zookeeper_wait_changed(zookeeper, next_us);
}

static void *janitor_main(void *argument)
{
    struct zookeeper *zookeeper = argument;
    int64_t next_us = INT64_MAX;

    pthread_mutex_lock(&zookeeper->mutex);
    while (!atomic_load(&zookeeper->stopping)) {
        bool usable = !zookeeper->lost && !zookeeper->expired;
        struct ghost *ghost = usable ? take_ghost(zookeeper, &next_us) : NULL;
        if (zookeeper->lost) {
            tell_lost(zookeeper);
        } else if (zookeeper->expired) {
            close_session(zookeeper);
        } else if (ghost) {
            pthread_mutex_unlock(&zookeeper->mutex);
            clear(zookeeper, ghost);
            pthread_mutex_lock(&zookeeper->mutex);
        } else if (zookeeper_look_at(zookeeper) <= clock_mono_us()) {
            zookeeper_look_up(zookeeper);
        } else {
            wait_changed(zookeeper, clock_earlier(next_us, zookeeper_look_at(zookeeper)));
        }
    }
    close_session(zookeeper);
    pthread_mutex_unlock(&zookeeper->mutex);
    return NULL;
}

/* HOST:PORT,… as ZooKeeper writes it, perhaps with a /PATH at its end that all names stand under.
 * Connects when it is first needed. */
static void *open_zookeeper(const struct settings *settings, struct error *error)
{
    if (!settings->zookeeper[0])
        return NULL;
    struct zookeeper *zookeeper = calloc(1, sizeof *zookeeper);

    if (zookeeper)
        zookeeper->resolver = resolver_create();
    if (!zookeeper || !zookeeper->resolver) {
        error_set(error, ERROR_INTERNAL, "out of memory");
        free(zookeeper);
        return NULL;
    }
    zookeeper->settings = settings;
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
    pthread_mutex_init(&zookeeper->mutex, NULL);
    clock_cond_init(&zookeeper->changed);
    if (pthread_create(&zookeeper->janitor, NULL, janitor_main, zookeeper) == 0)
        return zookeeper;
    error_set(error, ERROR_INTERNAL, "cannot start ZooKeeper's janitor thread");
    resolver_destroy(zookeeper->resolver);
    free(zookeeper);
    return NULL;
}

static void close_zookeeper(void *backend)
{
    struct zookeeper *zookeeper = backend;

    pthread_mutex_lock(&zookeeper->mutex);
    atomic_store(&zookeeper->stopping, true);
    pthread_cond_broadcast(&zookeeper->changed);
    pthread_mutex_unlock(&zookeeper->mutex);
    pthread_join(zookeeper->janitor, NULL);
    while (zookeeper->ghosts) {
        struct ghost *ghost = zookeeper->ghosts;
        zookeeper->ghosts = ghost->next;
        free(ghost);
    }
    pthread_cond_destroy(&zookeeper->changed);
    pthread_mutex_destroy(&zookeeper->mutex);
    resolver_destroy(zookeeper->resolver);
    free(zookeeper);
}

/* There is a session with a server, or none has been needed yet. */
static bool zookeeper_up(void *backend)
{
    struct zookeeper *zookeeper = backend;

    pthread_mutex_lock(&zookeeper->mutex);
    bool up = zookeeper->connected || (!zookeeper->handle && !zookeeper->why);
    pthread_mutex_unlock(&zookeeper->mutex);
    return up;
}

const struct backend backend_zookeeper = {
    .name = "zookeeper",
    .absent = "ZooKeeper is not configured (--zookeeper)",
    .open = open_zookeeper,
    .close = close_zookeeper,
    .up = zookeeper_up,
};
