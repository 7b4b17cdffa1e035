/* The edge's own state, shared by the files of this room. One thread owns all of it but `done` and
 * `shown`. */
#ifndef SECKILL_HTTP_EDGE_H
#define SECKILL_HTTP_EDGE_H

#include "http/edge/connection.h"
#include "http/edge/streams.h"
#include "http/http.h"
#include "metrics/metrics.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

enum { EDGE_ADDRESS_MAX = 128, EDGE_STATUSES = 24 };

struct request;

struct http {
    const struct services *services;         /* borrowed: app */
    const struct route *routes;              /* borrowed: api; ends with a row without a pattern */
    struct dispatch *dispatch;               /* borrowed: app; set by http_run */
    const struct strategy *default_strategy; /* borrowed: registry */
    struct MHD_Daemon *daemon;               /* owned */
    int epoll_fd;                            /* borrowed: daemon */
    int listen_fd;                           /* -1 once it is closed */
    int event_fd;
    char address[EDGE_ADDRESS_MAX];

    bool draining;
    bool abandoned; /* the drain was cut short: requests that still wait are not answered */

    int64_t now_us; /* monotonic: when the loop last woke */
    struct connections connections;
    int64_t connections_most;
    bool knocked;       /* the listening socket has connections to be accepted */
    bool held_back;     /* when the loop last waited there was no room for connections, or accepting
                           failed */
    bool accept_failed; /* the last attempt */
    int64_t accept_again_us; /* monotonic: not before that */
    int64_t waiting_left;    /* of those that had to wait, the ones not accepted yet */
    int64_t requests;        /* begun and not completed */
    int64_t
        accepted; /* of the requests, those that waited or have a reply: a drain completes them */
    struct request *waiting; /* every suspended request */
    int64_t waiting_count;
    struct streams streams;

    /* Pacing (pacing.c); times are monotonic. */
    int64_t arrived;          /* orders collected since the last hand-over */
    int64_t handover_us;      /* no hand-over in either direction until then */
    struct order *held_first; /* refused orders whose replies are held back */
    struct order **held_last;
    int64_t held_from_us; /* when the first of them was refused */
    int64_t released_us;  /* when replies were last released, or their work last forgotten */
    int64_t worked_us;    /* how long the loop has worked since */

    /* Orders and tasks for the next hand-over to dispatch, in order of arrival. */
    struct order *orders_first;
    struct order **orders_last;
    struct task *tasks_first;
    struct task **tasks_last;

    /* The gauges as they were at the last edge_show, for the thread that writes the metrics. */
    struct {
        _Atomic int64_t connections;
        _Atomic int64_t waiting;
        _Atomic int64_t requests;
        _Atomic int64_t streams;
    } shown;

    struct metric responses[EDGE_STATUSES]; /* counters, by edge_status_index */
    struct metric held_us;                  /* these are counters */
    struct metric waited;
    struct metric accept_failures;
    struct metric streams_asked; /* these are counters */
    struct metric streams_dropped;

    /* Orders and tasks that dispatch has given back; only this part is shared with other threads.
     */
    struct {
        pthread_mutex_t mutex;
        struct order *orders;
        struct task *tasks;
        bool signalled; /* event_fd was written since the loop last took the lists */
    } done;
};

/* From now on the edge accepts connections from `listen_fd`, which it owns, but no more than `most`
 * at once. */
void edge_accept_init(struct http *http, int listen_fd, unsigned most);
/* The descriptor to poll for new connections; -1 while there is no room for any. Lowers *next_us to
 * the time of the next attempt. */
int edge_accept_fd(struct http *http, int64_t *next_us);
void edge_accept(struct http *http);
/* Closes the listening socket: the connections that wait to be accepted are reset. */
void edge_accept_close(struct http *http);

/* Pacing, by http->now_us. */
void edge_pace_init(struct http *http);
/* Whether the loop is to hand nothing over to dispatch, and to take nothing back, yet. */
bool edge_pace_pauses(const struct http *http);
/* The collected orders have been handed over. */
void edge_pace_handed_over(struct http *http);
/* True when the order was refused and its reply is held back: edge_pace_release returns it. */
bool edge_pace_holds(struct http *http, struct order *order);
/* The loop has worked from http->now_us until now, and is about to wait. */
void edge_pace_worked(struct http *http, int64_t now_us);
/* The orders whose replies were held back, once they are due; else NULL. */
struct order *edge_pace_release(struct http *http);
/* When a pause or a hold is over; INT64_MAX when there is none. */
int64_t edge_pace_next_us(const struct http *http);

/* Connections that wait to be accepted. */
int64_t edge_accept_waiting(const struct http *http);

/* Registers the metrics of replies, connections and requests. */
void edge_metrics_init(struct http *http);
/* Notes what the gauges are to show. */
void edge_show(struct http *http);
/* Counts a reply. */
void edge_count_reply(struct http *http, int status);

#endif
