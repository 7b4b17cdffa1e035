/*
 * When the loop rests.
 *
 * libmicrohttpd looks at every suspended connection, some 45 ns each, whenever one of them is to be
 * resumed. With a crowd in the queues nobody is answered sooner by a loop that turns for each: let
 * what arrives and what is decided come together, so that looking takes a tenth of the time at
 * most.
 *
 * And where the queues are full the loop could spend a whole core on turning orders away, which the
 * workers and PostgreSQL then lack for those that were let in: it takes a ninth of one. What
 * arrives meanwhile waits in its socket.
 */
#include "http/edge.h"

#include "base/clock.h"
#include "metrics/metrics.h"

/* With more than CROWD waiting, a turn begins no earlier than so long after the one before, for
 * each beyond; a turn that has turned orders away is followed by a rest of so many times its own
 * length; neither rest is longer than the last. */
enum { CROWD = 512, CROWD_PAUSE_NS = 600, REST_TIMES = 8, REST_MOST_US = 50000 };

void edge_rest_init(struct http *http)
{
    http->rested_us = metrics_counter(
        "seckill_http_rest_microseconds_total",
        "How long the HTTP loop has rested because the queues were full or crowded.", "");
}

void edge_rest(struct http *http)
{
    int64_t now_us = clock_mono_us();
    int64_t until_us = now_us;

    if (http->waiting_count > CROWD)
        until_us = http->now_us + (http->waiting_count - CROWD) * CROWD_PAUSE_NS / 1000;
    if (http->turned_away > 0) {
        int64_t rested_us = now_us + REST_TIMES * (now_us - http->now_us);
        if (rested_us > until_us)
            until_us = rested_us;
        http->turned_away = 0;
    }
    if (until_us > now_us + REST_MOST_US)
        until_us = now_us + REST_MOST_US;
    if (until_us > now_us) {
        clock_sleep_until(until_us);
        metrics_add(http->rested_us, (uint64_t)(clock_mono_us() - now_us));
    }
}
