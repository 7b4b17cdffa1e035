/*
 * A request: from its target's arrival to its reply's last byte. One allocation, made when
 * libmicrohttpd tells the target, freed when it reports the request completed.
 *
 *   begin ─▶ read the body ─▶ handle ─────────────────────────▶ answer ─▶ completed
 *                                └▶ wait (suspended) ─▶ step ─┘
 *
 * A handler either leaves an answer behind or starts waiting for an order or a call. When that is
 * done the loop runs the request's step, which may start the next wait; with no step left the
 * connection is resumed and answered. Everything runs on the edge's thread but a call's work, which
 * has the request to itself.
 */
#ifndef SECKILL_HTTP_REQUEST_H
#define SECKILL_HTTP_REQUEST_H

#include "dispatch/dispatch.h"
#include "http/edge/connection.h"
#include "http/reader/problem.h"
#include "http/reader/reader.h"
#include "postgres/catalog.h"

#include <microhttpd.h>

struct http;
struct route;
struct request;
struct stream;

enum {
    REQUEST_BODY_MAX = 16 * 1024,
    REQUEST_BODY_INLINE = 256 /* an order's body fits: no second allocation */
};

/* READ lasts until the loop's next pass. A connection suspended at once is still waiting for data
 * in libmicrohttpd's books: on resume it would read before it answers, which costs a system call
 * and takes a client that has shut down its sending side for one that has left. */
enum request_phase {
    REQUEST_NEW,
    REQUEST_READING,
    REQUEST_READ,
    REQUEST_WAITING,
    REQUEST_ANSWERED
};

/* A call to the catalog on a pool thread, which also renders its answer there. */
struct call {
    struct task task;
    struct request *request; /* borrowed */
    /* Calls the catalog and, on CATALOG_OK, may set `text`. */
    enum catalog_result (*work)(struct call *call, struct pg *pg, struct error *error);
    enum order_outcome missing; /* what CATALOG_NOT_FOUND means here */
    bool refused;               /* dispatch would not take it: `work` has not run */
    enum catalog_result result;
    /* A result HELD or QUEUED is tried again until then; the caller may say another time. */
    int64_t again_until_us;
    bool unsettled; /* a COMMIT of it was lost: a result UNKNOWN is tried again, too */

    /* The arguments; each kind of call uses its own few. */
    struct uuid order_id;
    int64_t id;
    int64_t count;
    int64_t stock;
    int limit;
    unsigned given; /* members of a PATCH */
    struct feed_position position;
    struct order_page page;

    /* What came of it. */
    struct product product; /* also what a PUT puts */
    struct order_record record;
    bool created;
    char *text; /* owned: the JSON to answer with; NULL while there is none */
};

struct request {
    struct http *http;             /* borrowed */
    struct connection *connection; /* borrowed: connection.c; NULL for an orphan */
    const struct route *route;     /* borrowed: the route table; NULL while unknown */
    enum request_phase phase;
    bool refused;          /* `problem` is the answer, whatever the body holds */
    bool is_head;          /* its answer has no body */
    bool accepted;         /* it has waited, or has a reply: counted in the edge */
    bool pending;          /* dispatch has `order` or `call` */
    bool alone;            /* it carries a call, has no client, and is its owner's to free */
    struct stream *stream; /* owned: its reply has no end (stream.h); else NULL */

    /* The edge's list of suspended requests. */
    struct request *previous;
    struct request *next;

    void (*step)(struct request *request);              /* when the wait is over; may be NULL */
    enum MHD_Result (*answer)(struct request *request); /* queues the reply, unless `refused` */

    struct headers headers;
    struct problem problem;
    char allow[32];        /* for a 405, and for OPTIONS */
    int64_t product_id;    /* from the path */
    struct uuid order_id;  /* from the path */
    char *path;            /* points into `target` */
    char *query;           /* the same; NULL when there is none */
    const char *target_at; /* borrowed: where libmicrohttpd has the target, until `begin` is over */
    size_t target_length;
    int reply_room; /* bytes that the reply's head may have */

    struct order order;
    struct call *call; /* owned; NULL until the first call */

    size_t head_bytes;
    uint64_t body_seen;
    size_t body_length;
    char *body; /* `body_inline`, or owned once it has outgrown that */
    char body_inline[REQUEST_BODY_INLINE];
    char target[]; /* as it came */
};

/* A request on a connection that has none; NULL when there is no memory. */
struct request *request_create(struct http *http, struct connection *connection,
                               const char *target);

/* Its reply is written, or its connection gone. */
void request_complete(struct request *request);

/* For handlers and steps: the request's problem is its answer. */
void request_refuse(struct request *request);

/* For handlers: read the query or the body; when they return false the request is refused. */
bool request_query(struct request *request, struct param *params, size_t count);
bool request_json(struct request *request, struct member *members, size_t count);

/* For handlers and steps: suspends the connection if it is not, and has `order` (filled by the
 * caller) or `call` handed to dispatch at the end of this loop pass. */
void request_wait_order(struct request *request, void (*step)(struct request *));
void request_wait_call(struct request *request, void (*step)(struct request *));

/* For calls that no client waits for. NULL when there is no memory. */
struct request *request_create_alone(struct http *http, const struct route *route);
void request_destroy_alone(struct request *request); /* not while it has a call under way */
/* Has its call handed to dispatch; its step runs when that is done. */
void request_submit_call(struct request *request, void (*step)(struct request *));

/* The request's call, a look-up until the caller says otherwise, with `work` set and due in
 * `allowance_ms`, which is 5 s or more; NULL, with the request refused, when there is no memory. */
struct call *request_call(struct request *request,
                          enum catalog_result (*work)(struct call *, struct pg *, struct error *),
                          enum order_outcome missing, int64_t allowance_ms);

/* Whether the call went well; if not, its problem is now the request's answer. */
bool request_call_done(struct request *request);

/* For the loop: dispatch is done with what the request waited for, or would not take it. */
void request_done(struct request *request);

/* Counts the request among those that a drain sees through to their last byte. */
void request_accept(struct request *request);

/* For the end of a drain that was cut short: lets every suspended connection go, unanswered. */
void request_abandon_all(struct http *http);

struct request *request_of_order(struct order *order);
struct request *request_of_task(struct task *task);

#endif
