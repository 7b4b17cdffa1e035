/*
 * ZooKeeper's recipe for a lock (ZooKeeper documentation, "ZooKeeper Recipes and Solutions",
 * Locks): whoever has the lowest of the numbered nodes has it.
 *
 * A node, ephemeral and sequential, is made under the lock's own; its name begins with a token, by
 * which it is found again when the answer was lost. Each waits for the one node before its own to
 * vanish, so that a release wakes one waiter and not the crowd, and then looks again: the one
 * before may have given up its place. The token also keeps the locks of one session apart, which
 * the session's id, used by the C client's own recipe, does not.
 *
 * How it fails: a lost connection ends the work, although the server may still have our node: it
 * may also be about to delete it. The lease is the session's; what is counted on here is that time
 * from before the answer that we are the first. A process paused for longer writes all the same,
 * and a server that loses its disk forgets every lock.
 */
#include "lock/zookeeper/zookeeper.h"

#include "base/clock.h"
#include "settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

enum { JOIN_ATTEMPTS = 3 };

static void folder_of(const struct lease *lease, char folder[ZOOKEEPER_PATH_MAX + 1])
{
    size_t length = (size_t)(strrchr(lease->name, '/') - lease->name);

    memcpy(folder, lease->name, length);
    folder[length] = '\0';
}

/* Makes the node; the lease then has its name. */
static bool join_line(struct zookeeper *zookeeper, const char *folder, struct lease *lease)
{
    char path[ZOOKEEPER_PATH_MAX + 1];
    int code = ZNONODE;

    int length = snprintf(path, sizeof path, "%s/%s-", folder, lease->token);
    for (int i = 0; length < (int)sizeof path && code == ZNONODE && i < JOIN_ATTEMPTS; i++) {
        /* The server deletes a container some time after it has become empty. */
        if (i > 0)
            zookeeper_add(zookeeper, folder, ZOO_CONTAINER, NULL);
        code = zookeeper_add(zookeeper, path, ZOO_EPHEMERAL_SEQUENTIAL, lease->name);
    }
    if (code != ZOK && code != ZNONODE)
        zookeeper_clear_later(zookeeper, folder, lease->token, 0);
    return code == ZOK;
}

static int leave_line(struct zookeeper *zookeeper, struct lease *lease)
{
    char folder[ZOOKEEPER_PATH_MAX + 1];
    int code = zookeeper_delete(zookeeper, lease->name);

    if (code != ZOK && code != ZNONODE) {
        folder_of(lease, folder);
        zookeeper_clear_later(zookeeper, folder, lease->token, 0);
    }
    return code;
}

static long long number_of(const char *name)
{
    const char *dash = strchr(name, '-');

    return dash ? strtoll(dash + 1, NULL, 10) : INT64_MAX;
}

/* The name of the node before ours, NULL when ours is the first; false when ours is not there. */
static bool find_place(const struct zookeeper_names *names, const struct lease *lease,
                       const char **before)
{
    long long own = number_of(strrchr(lease->name, '/'));
    long long best = 0;
    bool present = false;

    *before = NULL;
    for (int i = 0; i < names->count; i++) {
        long long number = number_of(names->names[i]);
        present |= number == own;
        if (number < own && (!*before || number > best)) {
            *before = names->names[i];
            best = number;
        }
    }
    return present;
}

/* Where we stand: OWNED, BUSY with the node before ours in `before`, or UNKNOWN. */
static enum lock_result look(struct zookeeper *zookeeper, const struct lease *lease,
                             char before[ZOOKEEPER_PATH_MAX + 1])
{
    char folder[ZOOKEEPER_PATH_MAX + 1];
    enum lock_result result = LOCK_UNKNOWN;
    struct zookeeper_names names;
    const char *name;

    folder_of(lease, folder);
    if (zookeeper_children(zookeeper, folder, &names) == ZOK && find_place(&names, lease, &name)) {
        result = name ? LOCK_BUSY : LOCK_OWNED;
        if (name &&
            snprintf(before, ZOOKEEPER_PATH_MAX + 1, "%s/%s", folder, name) > ZOOKEEPER_PATH_MAX)
            result = LOCK_UNKNOWN;
    }
    zookeeper_names_fini(&names);
    return result;
}

static enum lock_result wait_turn(struct zookeeper *zookeeper, struct lease *lease, unsigned loss,
                                  int64_t until_us)
{
    char before[ZOOKEEPER_PATH_MAX + 1];

    for (;;) {
        int64_t asked_us = clock_mono_us();
        enum lock_result result = look(zookeeper, lease, before);
        atomic_store(&lease->valid_until_us, asked_us + zookeeper_lease_us(zookeeper));
        if (result == LOCK_OWNED && !zookeeper_hold(zookeeper, lease, loss))
            return LOCK_UNKNOWN;
        if (result != LOCK_BUSY || clock_mono_us() >= until_us)
            return result;
        switch (zookeeper_await_gone(zookeeper, before, loss, until_us)) {
        case ZOK:
            break;
        case ZOPERATIONTIMEOUT:
            return LOCK_BUSY;
        default:
            return LOCK_UNKNOWN;
        }
    }
}

static struct zookeeper *zookeeper_of(const struct lock_client *client)
{
    return client->sessions[BACKEND_ZOOKEEPER];
}

static enum lock_result zookeeper_acquire(struct lock_client *client, int64_t key, bool once,
                                          int64_t until_us, struct lease *lease)
{
    struct zookeeper *zookeeper = zookeeper_of(client);
    char folder[ZOOKEEPER_PATH_MAX + 1];
    unsigned loss;

    lease_begin(client, &lock_zookeeper, key, lease);
    snprintf(folder, sizeof folder, "/%.*s", ZOOKEEPER_PATH_MAX - 1, lease->name);
    if (!zookeeper_ready(zookeeper, &loss) || !join_line(zookeeper, folder, lease))
        return LOCK_UNKNOWN;
    enum lock_result result = wait_turn(zookeeper, lease, loss, once ? 0 : until_us);
    if (result != LOCK_OWNED)
        leave_line(zookeeper, lease);
    return result;
}

static enum lock_release zookeeper_release(struct lock_client *client, struct lease *lease,
                                           int64_t until_us)
{
    (void)until_us; /* the calls have a timeout of their own */
    zookeeper_unhold(zookeeper_of(client), lease);
    switch (leave_line(zookeeper_of(client), lease)) {
    case ZOK:
        return LOCK_RELEASED;
    case ZNONODE:
        return LOCK_NOT_OWNER;
    default:
        return LOCK_RELEASE_UNKNOWN;
    }
}

/* The session lives on, so somebody must delete the node when a lease would have ended. */
static void zookeeper_abandon(struct lock_client *client, struct lease *lease)
{
    char folder[ZOOKEEPER_PATH_MAX + 1];

    zookeeper_unhold(zookeeper_of(client), lease);
    folder_of(lease, folder);
    zookeeper_clear_later(zookeeper_of(client), folder, lease->token,
                          atomic_load(&lease->valid_until_us));
}

static const char *lock_why(const struct lock_client *client)
{
    return zookeeper_why(zookeeper_of(client));
}

const struct lock lock_zookeeper = {
    .name = "zookeeper-lock",
    .acquire = zookeeper_acquire,
    .release = zookeeper_release,
    .abandon = zookeeper_abandon,
    .why = lock_why,
};
