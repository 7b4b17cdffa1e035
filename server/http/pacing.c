/*
 * When the loop rests.
 *
 * libmicrohttpd looks at every suspended connection, some 45 ns each, whenever one of them is to be
 * resumed. With a crowd in the queues nobody is answered sooner by a loop that turns for each: let
 * what arrives and what is decided come together, so that looking takes a tenth of the time at
 * most.
 *
 * With some hundred it is not the looking, but that orders which come many at a time belong into
 * one batch, and in a turn for each of them they would not meet.
 *
 * And where the queues are full the loop could spend a whole core on turning orders away, which the
 * workers and PostgreSQL then lack for those that were let in: it takes a ninth of one. What
 * arrives meanwhile waits in its socket. Queues that have turned an order away count as full for a
 * while: libmicrohttpd takes a request in five passes (header, body, reply, its end, a read that
 * finds nothing), so the refused come in waves, and between two of them there are turns that turn
 * nobody away but have no less to do.
 */
#include "http/edge.h"

#include "base/clock.h"
#include "metrics/metrics.h"

/* With more than CROWD waiting, a turn begins no earlier than so long after the one before, for
 * each beyond; when MANY have come in this one, with more than GROUP. While the queues count as
 * full, which is FULL_US from an order that was turned away, a turn rests after each BURST_US of
 * work, and at its end, so many times as long as it has worked; in all no longer than REST_MOST_US.
 */
enum {
    CROWD = 512,
    GROUP = 64,
    MANY = 8,
    PAUSE_NS = 600,
    BURST_US = 100,
    REST_TIMES = 8,
    REST_MOST_US = 50000,
    FULL_US = 5 * REST_MOST_US
};

void edge_rest_init(struct http *http)
{
    http->rested_us = metrics_counter_of(
        METRICS_MICROSECONDS, METRICS_ALWAYS, "seckill_http_rest_seconds_total",
        "How long the HTTP loop has rested because the queues were full or crowded.", "");
}

static bool is_full(const struct http *http)
{
    return http->now_us < http->full_until_us;
}

void edge_rest_begin(struct http *http)
{
    if (http->turned_away > 0)
        http->full_until_us = http->now_us + FULL_US;
    http->turned_away = http->arrived = 0;
    http->worked_from_us = http->now_us;
    http->rest_left_us = REST_MOST_US;
}

static void rest(struct http *http, int64_t now_us, int64_t until_us)
{
    if (until_us > now_us + http->rest_left_us)
        until_us = now_us + http->rest_left_us;
    if (until_us <= now_us)
        return;
    clock_sleep_until(until_us);
    http->worked_from_us = clock_mono_us();
    http->rest_left_us -= http->worked_from_us - now_us;
    metrics_add(http->rested_us, (uint64_t)(http->worked_from_us - now_us));
}

static int64_t rested_by_us(const struct http *http, int64_t now_us)
{
    return now_us + REST_TIMES * (now_us - http->worked_from_us);
}

void edge_breathe(struct http *http)
{
    if (!is_full(http))
        return;
    int64_t now_us = clock_mono_us();
    if (now_us - http->worked_from_us >= BURST_US)
        rest(http, now_us, rested_by_us(http, now_us));
}

void edge_rest(struct http *http)
{
    int64_t now_us = clock_mono_us();
    int64_t until_us = now_us;
    int64_t crowd = http->arrived >= MANY ? GROUP : CROWD;

    if (http->waiting_count > crowd)
        until_us = http->now_us + (http->waiting_count - crowd) * PAUSE_NS / 1000;
    if (is_full(http) && rested_by_us(http, now_us) > until_us)
        until_us = rested_by_us(http, now_us);
    rest(http, now_us, until_us);
}
