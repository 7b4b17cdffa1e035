/*
 * A lock in memcached: `add` of a token with a lease (article 002, with an owner).
 *
 * `add` stores what is not there, so one wins. The owner releases by `gets`, which gives the value
 * and its number, and `cas` under that number with an expiry that is long past: a comparison and a
 * deletion in one step, where `delete` after `get` would free whoever came in between. memcached
 * counts in whole seconds, which it reads a second after it has read them last (clock_handler in
 * its memcached.c). What it has read may be two seconds old, nearly: the rest of the second in
 * which it was read, and the second since. So a lease is rounded up and made two seconds longer
 * than what is counted on here. An expiry above 30 days would be read as a date; --lock-ttl-ms ends
 * far below.
 *
 * How it fails: memcached is a cache. A restart empties it, and without -M a full one throws locks
 * out (the log then says nothing): two owners at once. A paused holder still writes. A request
 * whose answer was lost is sent again on a new connection, where the token says whether the first
 * one had come through; when that fails too it is taken back if it can be, and the lease ends it.
 */
#include "backend/backend.h"
#include "base/clock.h"
#include "base/connect/breaker.h"
#include "base/connect/resolver.h"
#include "base/failpoint.h"
#include "lock/lock.h"

#include <libmemcached/memcached.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HOST_MAX = 255,
    TIMEOUT_MS = 500,
    CLOCK_BEHIND_S = 2,
    LONG_PAST = 30 * 24 * 60 * 60 + 1 /* the first expiry that is a date: in January 1970 */
};

struct memcache {
    char host[HOST_MAX + 1];   /* or the socket's path */
    in_port_t port;            /* 0: a unix socket */
    struct resolver *resolver; /* owned */
    atomic_bool down;
    struct breaker breaker;
};

struct memcache_session {
    struct memcache *memcache; /* borrowed */
    memcached_st *store;       /* owned; NULL: no connection */
    unsigned failures;         /* each has the next of the host's addresses tried */
    struct error error;
};

/* HOST:PORT or unix:///PATH. */
static void *memcache_open(const struct settings *settings, struct error *error)
{
    const char *address = settings->memcached;

    if (!*address)
        return NULL;
    struct memcache *memcache = calloc(1, sizeof *memcache);
    bool is_unix = strncmp(address, "unix://", 7) == 0;
    const char *host = is_unix ? address + 7 : address;
    const char *colon = is_unix ? NULL : strrchr(address, ':');
    size_t length = colon ? (size_t)(colon - host) : strlen(host);

    if (!memcache || length == 0 || length > HOST_MAX || (!is_unix && !colon)) {
        error_set(error, ERROR_INVALID, "--memcached: \"%s\" is not HOST:PORT or unix:///PATH",
                  address);
        free(memcache);
        return NULL;
    }
    snprintf(memcache->host, sizeof memcache->host, "%.*s", (int)length, host);
    if (colon)
        memcache->port = (in_port_t)strtoul(colon + 1, NULL, 10);
    memcache->resolver = resolver_create();
    if (memcache->resolver)
        return memcache;
    error_set(error, ERROR_INTERNAL, "out of memory");
    free(memcache);
    return NULL;
}

static void memcache_close(void *backend)
{
    struct memcache *memcache = backend;

    resolver_destroy(memcache->resolver);
    free(memcache);
}

/* No call that counts has failed since one got through. */
static bool memcache_up(void *backend)
{
    const struct memcache *memcache = backend;

    return !atomic_load_explicit(&memcache->down, memory_order_relaxed);
}

static void *memcache_session_open(void *memcache)
{
    struct memcache_session *session = calloc(1, sizeof *session);

    if (session)
        session->memcache = memcache;
    return session;
}

/* libmemcached avoids a server for seconds after an error; a new handle does not. */
static void hang_up(struct memcache_session *session)
{
    if (session->store)
        memcached_free(session->store);
    session->store = NULL;
    session->failures++;
}

static void memcache_session_close(void *opened)
{
    struct memcache_session *session = opened;

    if (!session)
        return;
    hang_up(session);
    free(session);
}

static struct memcache_session *session_of(const struct lock_client *client)
{
    return client->sessions[BACKEND_MEMCACHED];
}

/* The library would look the name up itself, with no end to it. */
static memcached_return_t add_server(struct memcache_session *session)
{
    const struct memcache *memcache = session->memcache;
    struct resolved found = {.count = 1};
    int64_t until_us = clock_mono_us() + TIMEOUT_MS * CLOCK_US_PER_MS;

    if (!memcache->port)
        return memcached_server_add_unix_socket(session->store, memcache->host);
    if (!resolver_is_numeric(memcache->host, found.addresses[0]) &&
        !resolver_ask(memcache->resolver, memcache->host, until_us, NULL, &found, &session->error))
        return MEMCACHED_HOST_LOOKUP_FAILURE;
    return memcached_server_add(
        session->store, found.addresses[session->failures % (unsigned)found.count], memcache->port);
}

static memcached_return_t prepare(struct memcache_session *session)
{
    static const struct {
        memcached_behavior_t behavior;
        uint64_t value;
    } rows[] = {
        {MEMCACHED_BEHAVIOR_SUPPORT_CAS, 1},
        {MEMCACHED_BEHAVIOR_TCP_NODELAY, 1},
        {MEMCACHED_BEHAVIOR_CONNECT_TIMEOUT, TIMEOUT_MS},
        {MEMCACHED_BEHAVIOR_POLL_TIMEOUT, TIMEOUT_MS},
        {MEMCACHED_BEHAVIOR_SND_TIMEOUT, TIMEOUT_MS * CLOCK_US_PER_MS},
        {MEMCACHED_BEHAVIOR_RCV_TIMEOUT, TIMEOUT_MS * CLOCK_US_PER_MS},
    };

    if (session->store)
        return MEMCACHED_SUCCESS;
    session->store = memcached_create(NULL);
    if (!session->store)
        return MEMCACHED_MEMORY_ALLOCATION_FAILURE;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        memcached_behavior_set(session->store, rows[i].behavior, rows[i].value);
    return add_server(session);
}

/* Answers that say what became of the request; after any other the connection is of no use. */
static bool is_answer(memcached_return_t result)
{
    return result == MEMCACHED_SUCCESS || result == MEMCACHED_NOTSTORED ||
           result == MEMCACHED_DATA_EXISTS || result == MEMCACHED_NOTFOUND;
}

static memcached_return_t keep_or_hang_up(struct memcache_session *session,
                                          memcached_return_t result)
{
    if (is_answer(result))
        return result;
    error_set(&session->error, ERROR_UNAVAILABLE, "memcached: %s",
              memcached_strerror(session->store, result));
    hang_up(session);
    return result;
}

static memcached_return_t add(struct memcache_session *session, const struct lease *lease,
                              int64_t ttl_ms)
{
    /* 1 to 2592000: rounded up, and what its clock may be behind. */
    time_t seconds = (time_t)((ttl_ms + 999) / 1000 + CLOCK_BEHIND_S);
    memcached_return_t result = prepare(session);

    if (result == MEMCACHED_SUCCESS)
        result = memcached_add(session->store, lease->name, strlen(lease->name), lease->token,
                               strlen(lease->token), seconds, 0);
    if (FAILPOINT_FAILS("memcached.reply"))
        result = MEMCACHED_TIMEOUT;
    return keep_or_hang_up(session, result);
}

/* Whether the lock is the lease's own, and the number under which it may be replaced. */
static memcached_return_t read_owner(struct memcache_session *session, const struct lease *lease,
                                     bool *own, uint64_t *number)
{
    const char *const keys[] = {lease->name};
    const size_t lengths[] = {strlen(lease->name)};
    memcached_return_t result = prepare(session);
    memcached_result_st item;

    *own = false;
    if (result == MEMCACHED_SUCCESS)
        result = memcached_mget(session->store, keys, lengths, 1);
    if (result != MEMCACHED_SUCCESS || !memcached_result_create(session->store, &item))
        return keep_or_hang_up(session, result);
    bool found = false;
    while (memcached_fetch_result(session->store, &item, &result)) {
        found = true;
        *own = memcached_result_length(&item) == RANDOM_TOKEN_LENGTH &&
               memcmp(memcached_result_value(&item), lease->token, RANDOM_TOKEN_LENGTH) == 0;
        *number = memcached_result_cas(&item);
    }
    memcached_result_free(&item);
    if (result == MEMCACHED_END)
        result = found ? MEMCACHED_SUCCESS : MEMCACHED_NOTFOUND;
    return keep_or_hang_up(session, result);
}

static enum lock_release memcache_release(struct lock_client *client, struct lease *lease,
                                          int64_t until_us)
{
    struct memcache_session *session = session_of(client);
    bool worked = session->store != NULL;
    uint64_t number = 0;
    bool own = false;

    (void)until_us; /* TIMEOUT_MS ends each call */
    memcached_return_t result = read_owner(session, lease, &own, &number);
    if (!is_answer(result) && worked)
        result = read_owner(session, lease, &own, &number);
    FAILPOINT("memcached.release");
    if (is_answer(result) && own)
        result =
            keep_or_hang_up(session, memcached_cas(session->store, lease->name, strlen(lease->name),
                                                   "", 0, LONG_PAST, 0, number));
    if (!is_answer(result))
        return LOCK_RELEASE_UNKNOWN;
    return own && result == MEMCACHED_SUCCESS ? LOCK_RELEASED : LOCK_NOT_OWNER;
}

/* TIMEOUT_MS is time enough for each. */
static enum lock_result memcache_fail(struct lock_client *client, struct lease *lease,
                                      int64_t asked_us)
{
    struct memcache *memcache = session_of(client)->memcache;

    if (breaker_trip(&memcache->breaker, asked_us, INT64_MAX, 0))
        atomic_store(&memcache->down, true);
    memcache_release(client, lease, 0);
    return LOCK_UNKNOWN;
}

static enum lock_result memcache_attempt(struct lock_client *client, struct lease *lease)
{
    struct memcache_session *session = session_of(client);
    int64_t ttl_ms = client->settings->lock_ttl_ms;
    int64_t asked_us = clock_mono_us();
    bool worked = session->store != NULL;
    uint64_t number;
    bool own;

    if (!worked && breaker_is_open(&session->memcache->breaker)) {
        error_set(&session->error, ERROR_UNAVAILABLE, "memcached was out of reach a moment ago");
        return LOCK_UNKNOWN;
    }
    memcached_return_t result = add(session, lease, ttl_ms);
    bool again = worked && !is_answer(result);
    if (again)
        result = add(session, lease, ttl_ms);
    own = result == MEMCACHED_SUCCESS;
    if (again && !own && is_answer(result))
        result = read_owner(session, lease, &own, &number);
    if (!is_answer(result))
        return memcache_fail(client, lease, asked_us);
    breaker_close(&session->memcache->breaker);
    atomic_store(&session->memcache->down, false);
    return own ? LOCK_OWNED : LOCK_BUSY;
}

static const char *memcache_why(const struct lock_client *client)
{
    return session_of(client)->error.text;
}

const struct lock lock_memcached = {
    .name = "memcached-lock",
    .attempt = memcache_attempt,
    .release = memcache_release,
    .why = memcache_why,
};

const struct backend backend_memcached = {
    .name = "memcached",
    .absent = "memcached is not configured (--memcached)",
    .open = memcache_open,
    .close = memcache_close,
    .session_open = memcache_session_open,
    .session_close = memcache_session_close,
    .up = memcache_up,
};
