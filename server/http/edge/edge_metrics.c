/* The edge in /metrics: replies by status; connections and requests as gauges. */
#include "http/edge/edge.h"

#include "metrics/metrics.h"

#include <stdio.h>

static const int statuses[EDGE_STATUSES] = {200, 201, 202, 204, 400, 401, 403, 404, 405, 409, 410,
                                            411, 412, 413, 414, 415, 421, 431, 500, 503, 504};

static int64_t read_gauge(void *context)
{
    return atomic_load_explicit((_Atomic int64_t *)context, memory_order_relaxed);
}

void edge_metrics_init(struct http *http)
{
    for (size_t i = 0; i < EDGE_STATUSES && statuses[i] != 0; i++) {
        char label[sizeof "status=\"000\""];

        snprintf(label, sizeof label, "status=\"%d\"", statuses[i]);
        http->responses[i] = metrics_counter(
            http->services->metrics, METRICS_ALWAYS, "seckill_http_responses_total",
            "Replies by status; what libmicrohttpd refuses by itself is not among them.", label);
    }
    metrics_gauge(http->services->metrics, METRICS_ALWAYS, "seckill_http_connections",
                  "Open connections.", "", read_gauge, &http->shown.connections);
    metrics_gauge(http->services->metrics, METRICS_ALWAYS, "seckill_http_requests_in_flight",
                  "Requests begun and not answered to the end.", "", read_gauge,
                  &http->shown.requests);
    metrics_gauge(http->services->metrics, METRICS_ALWAYS, "seckill_http_connections_waiting",
                  "Connections that wait to be accepted because there is no room for them.", "",
                  read_gauge, &http->shown.waiting);
    metrics_gauge(http->services->metrics, METRICS_ALWAYS, "seckill_http_listeners",
                  "Clients of GET /events.", "", read_gauge, &http->shown.streams);
    http->streams_asked = metrics_counter(
        http->services->metrics, METRICS_ALWAYS, "seckill_http_listeners_queries_total",
        "Looks at what is for sale, each for all clients of GET /events together.", "");
    http->streams_dropped = metrics_counter(
        http->services->metrics, METRICS_ALWAYS, "seckill_http_listeners_dropped_total",
        "Clients of GET /events that took too long to read a message.", "");
}

void edge_show(struct http *http)
{
    atomic_store_explicit(&http->shown.connections, http->connections.count, memory_order_relaxed);
    atomic_store_explicit(&http->shown.waiting, edge_accept_waiting(http), memory_order_relaxed);
    atomic_store_explicit(&http->shown.requests, http->requests, memory_order_relaxed);
    atomic_store_explicit(&http->shown.streams, http->streams.count, memory_order_relaxed);
}

void edge_count_reply(struct http *http, int status)
{
    for (size_t i = 0; i < EDGE_STATUSES && statuses[i] != 0; i++)
        if (statuses[i] == status)
            metrics_add(http->responses[i], 1);
}
