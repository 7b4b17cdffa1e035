/*
 * Pacing: when the loop hands orders over to dispatch, and when it answers the orders that found
 * the queues full. The loop never sleeps for it: sockets are served all the time, so that /healthz,
 * /readyz and everything else that is answered at once is never paced.
 *
 * Load shedding. Turning an order away costs the loop as much as any other answer. Where ten times
 * as many orders come as the queues take, a loop that answers each refusal at once spends a whole
 * core on them, which the workers and PostgreSQL lack. So the replies of refused orders are held
 * back, for HOLD_TIMES as long as the loop has worked since it last released some: a client that
 * waits for its reply sends no other order, and refusals take about a ninth of a core.
 *
 * Grouping. libmicrohttpd looks at every suspended connection, some 45 ns each, whenever one of
 * them is resumed. With more than CROWD waiting, hand-overs in both directions are PAUSE_NS for
 * each beyond apart, so that this takes a tenth of the time at most. With more than GROUP waiting
 * the same holds after MANY orders have come together: those that come a moment later belong into
 * one batch with them.
 *
 *   state            orders that arrive     decisions              refusals
 *   open             handed over            answered               held back, or released when due
 *   paused           collected              left in the done list  left in the done list
 *   draining         handed over            answered               answered
 *
 * Failure modes:
 * - The loop is busy all the time: no reply is held back longer than HOLD_MOST_US.
 * - The server drains: nothing is paused or held back any more.
 *
 * Tests: unit/http/test_http_pacing.c; http/test_crowd.c (health under overload).
 */
#include "http/edge/edge.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "metrics/metrics.h"

enum { CROWD = 512, GROUP = 64, MANY = 8, PAUSE_NS = 600, HOLD_TIMES = 8, HOLD_MOST_US = 250000 };

void edge_pace_init(struct http *http)
{
    http->held_last = &http->held_first;
    http->held_us = metrics_counter_of(
        http->services->metrics, METRICS_MICROSECONDS, METRICS_ALWAYS,
        "seckill_http_pacing_seconds_total",
        "How long replies to orders that found the queues full were held back.", "");
}

bool edge_pace_pauses(const struct http *http)
{
    return !http->draining && http->now_us < http->handover_us;
}

void edge_pace_handed_over(struct http *http)
{
    int64_t most = http->arrived >= MANY ? GROUP : CROWD;

    http->arrived = 0;
    if (http->waiting_count > most)
        http->handover_us = http->now_us + (http->waiting_count - most) * PAUSE_NS / 1000;
}

bool edge_pace_holds(struct http *http, struct order *order)
{
    if (http->draining || order->outcome != ORDER_QUEUE_FULL)
        return false;
    FAILPOINT("http.refused");
    if (!http->held_first)
        http->held_from_us = http->now_us;
    order->next = NULL;
    *http->held_last = order;
    http->held_last = &order->next;
    return true;
}

/* When the held replies are due. */
static int64_t release_us(const struct http *http)
{
    return http->held_from_us + clock_earlier(HOLD_TIMES * http->worked_us, HOLD_MOST_US);
}

/* Work that lies back longer than a reply may be held counts no more. */
void edge_pace_worked(struct http *http, int64_t now_us)
{
    if (!http->held_first && http->now_us - http->released_us > HOLD_MOST_US) {
        http->worked_us = 0;
        http->released_us = http->now_us;
    }
    http->worked_us += now_us - http->now_us;
}

struct order *edge_pace_release(struct http *http)
{
    struct order *list = http->held_first;

    if (!list || (!http->draining && http->now_us < release_us(http)))
        return NULL;
    http->held_first = NULL;
    http->held_last = &http->held_first;
    http->worked_us = 0;
    http->released_us = http->now_us;
    metrics_add(http->held_us, (uint64_t)(http->now_us - http->held_from_us));
    return list;
}

int64_t edge_pace_next_us(const struct http *http)
{
    int64_t next_us = edge_pace_pauses(http) ? http->handover_us : INT64_MAX;

    return http->held_first ? clock_earlier(next_us, release_us(http)) : next_us;
}
