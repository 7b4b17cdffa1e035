/*
 * Where ZooKeeper's servers are: their names are looked up here, in the janitor's thread and with a
 * deadline, and the library is told addresses. It would look names up with getaddrinfo, which has
 * no deadline, in the thread that opens a session and, each time that it checks its socket, in the
 * one that sends the pings.
 *
 * Happy path: the first order wants a session; the hosts are looked up, and it is opened. While it
 * has no connection they are looked up every 2 s, because servers move; where that has changed
 * something another session is opened.
 *
 * Failure modes:
 * - Some hosts have no address: the others are used.
 * - None has, or there is no answer in time: no session; orders are refused at once for a moment,
 *   and the next one has them looked up again.
 */
#include "lock/zookeeper/zookeeper_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOOK_UP_US = 1000000, /* all hosts together */
    LOOK_AGAIN_US = 2000000,
    CLOSED_AFTER_FAILURE_US = 250000
};

/* The addresses of one HOST:PORT; [V6]:PORT is one that is known. */
static bool add_host(struct zookeeper *zookeeper, const char *host, size_t length, int64_t until_us,
                     struct servers *to, struct error *error)
{
    char name[RESOLVER_NAME_SIZE];
    struct resolved found = {.count = 1};
    const char *colon = memrchr(host, ':', length);
    size_t bracket = *host == '[';

    if (!colon || (size_t)(colon - host) - 2 * bracket >= sizeof name)
        return error_set(error, ERROR_INVALID, "--zookeeper: \"%.*s\" is no HOST:PORT", (int)length,
                         host);
    int port_length = (int)(host + length - colon);
    snprintf(name, sizeof name, "%.*s", (int)((size_t)(colon - host) - 2 * bracket),
             host + bracket);
    if (!resolver_is_numeric(name, found.addresses[0]) &&
        !resolver_ask(zookeeper->resolver, name, until_us, &zookeeper->stopping, &found, error))
        return false;
    for (int i = 0; i < found.count && to->count < SERVERS_MAX; i++)
        snprintf(to->list[to->count++], SERVER_SIZE, "%s%.*s", found.addresses[i], port_length,
                 colon);
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* In one order whatever order a name server gives them. With none, the error of the last host. */
static void find_servers(struct zookeeper *zookeeper, struct servers *found, struct error *error)
{
    const char *host = zookeeper->settings->zookeeper;
    const char *end = host + strcspn(host, "/");
    int64_t until_us = clock_mono_us() + LOOK_UP_US;
    int left = 1;

    found->count = 0;
    for (const char *at = host; at < end; at++)
        left += *at == ',';
    for (; left > 0; left--) {
        size_t length = strcspn(host, ",/");
        int64_t now_us = clock_mono_us();
        add_host(zookeeper, host, length, now_us + (until_us - now_us) / left, found, error);
        host += length + 1;
    }
    qsort(found->list, (size_t)found->count, SERVER_SIZE, by_text);
}

/* Some of them was not known; one that is not found now may be there all the same. */
static bool have_moved(const struct servers *known, const struct servers *found)
{
    for (int i = 0; i < found->count; i++)
        if (!bsearch(found->list[i], known->list, (size_t)known->count, SERVER_SIZE, by_text))
            return true;
    return false;
}

int64_t zookeeper_look_at(const struct zookeeper *zookeeper)
{
    if (zookeeper->connected || (!zookeeper->handle && !zookeeper->wanted))
        return INT64_MAX;
    return zookeeper->look_at_us;
}

static void fail(struct zookeeper *zookeeper, const struct error *error)
{
    const char *why = error->code == ERROR_TIMEOUT ? "ZooKeeper: no address of its hosts in time"
                                                   : "ZooKeeper: no such host";

    if (zookeeper->why != why)
        log_warn("ZooKeeper: %s", error->text);
    zookeeper->why = why;
    zookeeper->fresh_until_us = 0;
    zookeeper->look_at_us = clock_mono_us() + CLOSED_AFTER_FAILURE_US;
}

/* The session, whose leases are lost, makes room for another. The library could be told of the
 * servers while it runs, but frees what its own thread reads then. */
static void start_anew(struct zookeeper *zookeeper)
{
    log_info("ZooKeeper: its servers have moved");
    zookeeper->expired = zookeeper->wanted = true;
    zookeeper->fresh_until_us = clock_mono_us() + FRESH_US;
}

void zookeeper_look_up(struct zookeeper *zookeeper)
{
    struct error error = {ERROR_UNAVAILABLE, ""};
    struct servers found;

    pthread_mutex_unlock(&zookeeper->mutex);
    find_servers(zookeeper, &found, &error);
    pthread_mutex_lock(&zookeeper->mutex);
    zookeeper->look_at_us = clock_mono_us() + LOOK_AGAIN_US;
    if (zookeeper->handle) {
        if (!zookeeper->connected && have_moved(&zookeeper->servers, &found))
            start_anew(zookeeper);
        return;
    }
    zookeeper->wanted = false;
    zookeeper->servers = found;
    if (found.count > 0)
        zookeeper_open_session(zookeeper);
    else
        fail(zookeeper, &error);
    pthread_cond_broadcast(&zookeeper->changed);
}
