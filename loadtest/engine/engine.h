/*
 * The loads of our own: connections that a behaviour keeps busy, on one thread, until it is over.
 *
 * A behaviour does no I/O: it is asked what a free connection asks next, and told what came of it.
 * The engine knows which connections are free, how long an answer may take, and when to look at
 * what; a wire sends. A connection carries one request at a time.
 *
 *   FREE --next, commit--> BUSY --an answer, none in time, or it could not be sent--> FREE
 */
#ifndef SECKILL_LOADTEST_ENGINE_ENGINE_H
#define SECKILL_LOADTEST_ENGINE_ENGINE_H

#include "base/error.h"
#include "loadtest/engine/answer.h"
#include "loadtest/engine/http_request.h"

#include <stddef.h>
#include <stdint.h>

/* Longer than any order may take: 60 s of waiting, then its work. */
enum { ENGINE_ANSWER_LIMIT_US = 70000000 };

enum engine_next {
    ENGINE_ASKS,   /* the request is filled */
    ENGINE_PASSES, /* nothing on this connection, perhaps on another */
    ENGINE_RESTS   /* nothing on any */
};

/* `self` is the behaviour's own. Each member behind is_over may be NULL. */
struct behaviour {
    enum engine_next (*next)(void *self, size_t connection, int64_t now_us,
                             struct http_request *request);
    void (*answered)(void *self, size_t connection, int64_t now_us, const struct answer *answer);
    /* No more turns; `busy` connections have yet to be answered. */
    bool (*is_over)(void *self, size_t busy, int64_t now_us);
    /* All connections stand. */
    bool (*begin)(void *self, int64_t now_us, struct error *error);
    /* Before what next has asked for is sent, in one for all. */
    bool (*commit)(void *self, struct error *error);
    /* Once a turn, and while connections are opened. */
    bool (*tick)(void *self, int64_t now_us, struct error *error);
    /* When `next` is to be asked at the latest, to the microsecond; INT64_MAX: whenever. Crowded:
     * what is due is closer together than a scheduler is exact. NULL: every few milliseconds. */
    int64_t (*due_us)(void *self, bool *crowded);
};

struct engine;

/* How requests travel. Each connection is opened before the first request, or not at all. */
struct wire {
    bool (*open)(void *self, size_t connection, struct error *error);
    void (*prepare)(void *self, size_t connection, const struct http_request *request);
    bool (*send)(void *self, size_t connection); /* what was prepared; false: it could not be */
    /* Waits until something comes or is due, and tells the engine what has ended. */
    bool (*turn)(void *self, struct engine *engine, struct error *error);
    void (*drop)(void *self, size_t connection); /* nobody waits for its answer any more */
};

struct engine_plan {
    const struct behaviour *behaviour;
    void *self;
    const struct wire *wire;
    void *wire_self;
    size_t connections;
    int64_t limit_us; /* for an answer; 0: ENGINE_ANSWER_LIMIT_US */
};

/* False: it could not be done, or was interrupted. Requests under way then are not reported to the
 * behaviour. */
bool engine_run(const struct engine_plan *plan, struct error *error);

/* engine_run over the plain wire (plain.c): HTTP over sockets (client.h), one epoll, connections
 * that stand before the first request is due. */
enum { PLAIN_SERVERS_MAX = 16 };
struct plain_plan {
    const struct behaviour *behaviour;
    void *self;
    size_t connections;
    const char *const *servers; /* borrowed: http://HOST:PORT */
    size_t servers_count;
    /* Which server a connection is of, as a number that may be larger; NULL: its own number. */
    size_t (*server_of)(size_t connection);
    bool moves_on; /* a connection that gets no answer goes to the next server */
};
bool plain_run(const struct plain_plan *plan, struct error *error);

/* For a wire: a request is over, with an answer or without (status 0). */
void engine_ended(struct engine *engine, size_t connection, const struct answer *answer);
/* As the behaviour's; *exact: the behaviour says when. */
int64_t engine_due_us(const struct engine *engine, bool *exact, bool *crowded);

#endif
