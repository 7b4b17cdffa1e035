/*
 * A backend is a row of data and a few functions: PostgreSQL, a Redis, whatever strategies are
 * built over. app opens and closes the rows, a session opens and connects those that its strategy
 * needs, readiness, metrics and the background's probe walk them.
 *
 * A new one is a file that defines its row, a line in BACKENDS, a setting and a line of CMake. A
 * client library that was absent at build time or a URL that was not given takes away the
 * strategies that need the backend, nothing else.
 *
 * Thread rule: what `open` returns is shared by all threads, what `session_open` returns belongs to
 * one thread at a time.
 */
#ifndef SECKILL_BACKEND_BACKEND_H
#define SECKILL_BACKEND_BACKEND_H

#include "base/error.h"
#include "settings/settings.h"

#include <stdbool.h>
#include <stdint.h>

/* In the order in which they are opened, connected and shown; the last is closed first. */
#define BACKENDS(ROW)                                                                              \
    ROW(POSTGRESQL, postgresql)                                                                    \
    ROW(REDIS, redis)                                                                              \
    ROW(STOCK_REDIS, stock_redis)                                                                  \
    ROW(REDLOCK, redlock)                                                                          \
    ROW(MEMCACHED, memcached)                                                                      \
    ROW(ZOOKEEPER, zookeeper)                                                                      \
    ROW(RABBITMQ, rabbitmq)

#define BACKEND_ID(NAME, name) BACKEND_##NAME,
enum backend_id { BACKENDS(BACKEND_ID) BACKEND_COUNT };
#undef BACKEND_ID

/* What a strategy needs, as bits. */
#define BACKEND_NEED(NAME, name) NEED_##NAME = 1u << BACKEND_##NAME,
enum backend_need { BACKENDS(BACKEND_NEED) };
#undef BACKEND_NEED

/* `detail` says why it does not serve, or what is wrong with one that does; else "". */
typedef void backend_report(void *to, const char *name, bool up, const char *detail);

struct backend {
    const char *name;   /* in GET /strategies, GET /readyz and seckill_backend_up */
    const char *absent; /* why what needs it cannot be used when it is not open */

    /* NULL without an error: it is not configured. Connects to nothing. The function is NULL where
     * the client library was absent at build time. `settings` are borrowed until `close`. */
    void *(*open)(const struct settings *settings, struct error *error);
    void (*close)(void *backend); /* after every session */

    /* Connects to nothing; NULL when out of memory. The functions are NULL where all threads share
     * the backend itself. */
    void *(*session_open)(void *backend); /* borrowed: backend */
    void (*session_close)(void *session); /* NULL is allowed */
    /* Makes sure of a connection; cheap when there is one. False: `error` says why, or is
     * ERROR_NONE where that has been logged. NULL: connected when it is first used. */
    bool (*connect)(void *session, int64_t until_us, struct error *error);

    /* The first contact, at the start; one that is absent then is a warning. False: what waiting
     * would not mend. NULL: none. */
    bool (*greet)(void *backend, struct error *error);

    /* Cached state, any thread, no I/O; one of the two at least. `health` may report several names,
     * and is asked first. */
    bool (*up)(void *backend);
    void (*health)(void *backend, backend_report *report, void *to);
    /* NULL, or why strategies cannot use it though it is open: NULL or a text. Any thread. */
    const char *(*unfit)(void *backend);

    /* For the background thread, with a session of its own: asks node `node` of `nodes` (NULL: one)
     * and logs a change. NULL: none. */
    void (*probe)(void *session, int node, const struct settings *settings, int64_t until_us);
    int (*nodes)(void *backend);
};

/* Each in the file of its client. */
#define BACKEND_ROW(NAME, name) extern const struct backend backend_##name;
BACKENDS(BACKEND_ROW)
#undef BACKEND_ROW

#endif
