/*
 * GET /events: what is for sale, as it changes, for the page (http/stream.h has the rules).
 *
 * Happy path: whoever comes gets `event: products`, what GET /products?limit=1000 says; from then
 * on `event: changed` has the products that are no longer as they were. One look-up of the first
 * thousand products serves everybody. It is a task like GET /products', and bounded more tightly,
 * because a drain waits for it.
 *
 * Failure modes: PostgreSQL is out of reach, or slow: the streams end. A product vanished, or the
 * page of a thousand is another: everybody gets everything.
 */
#include "api/handlers.h"
#include "api/render.h"
#include "base/clock.h"
#include "http/edge/edge.h"
#include "http/stream.h"
#include "strategy/external_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_US (1 * CLOCK_US_PER_S)
#define WORK_US (1 * CLOCK_US_PER_S)

/* The products on sale at one moment. */
struct list {
    struct product items[CATALOG_PAGE_MAX];
    int count;
};

/* While it is asked, the pool's thread has all of it but `request`'s own fields. */
struct events {
    struct request *request; /* owned: the task's, without a connection */
    struct list lists[2];    /* by turns */
    struct list *last, *now; /* of these */
    struct list changed;
    bool whole; /* everything was asked for */
    struct stream_news news;
};

static bool is_same(const struct product *a, const struct product *b)
{
    return a->id == b->id && a->epoch == b->epoch && a->version == b->version &&
           a->stock == b->stock && a->initial_stock == b->initial_stock &&
           a->reserved == b->reserved && a->has_name == b->has_name &&
           strcmp(a->name, b->name) == 0 && a->has_limit == b->has_limit &&
           a->limit_per_user == b->limit_per_user && a->has_opens_at == b->has_opens_at &&
           a->opens_at_us == b->opens_at_us && a->has_closes_at == b->has_closes_at &&
           a->closes_at_us == b->closes_at_us && a->has_hold == b->has_hold &&
           a->hold_s == b->hold_s;
}

/* Fills `changed`; false: not every product of the last time is there. Both are in id order. */
static bool compare(struct events *events)
{
    const struct list *last = events->last, *now = events->now;
    int at = 0;

    events->changed.count = 0;
    for (int i = 0; i < now->count; i++) {
        bool known = at < last->count && last->items[at].id == now->items[i].id;

        if (!known || !is_same(&last->items[at], &now->items[i]))
            events->changed.items[events->changed.count++] = now->items[i];
        at += known;
    }
    return at == last->count;
}

static int64_t next_of(const struct list *list)
{
    return list->count == CATALOG_PAGE_MAX ? list->items[list->count - 1].id : 0;
}

/* "event: NAME", and the list as GET /products has it; NULL: no memory. */
static char *write_event(const char *name, const struct list *list, int64_t next)
{
    char *json = render_products(list->items, list->count, next);
    char *text = NULL;

    if (json && asprintf(&text, "event: %s\ndata: %s\n\n", name, json) < 0)
        text = NULL;
    free(json);
    return text;
}

static enum catalog_result look(struct call *call, struct pg *pg, struct error *error)
{
    struct events *events = call->request->http->streams.source.context;
    struct list *now = events->now;
    bool whole = events->whole;
    enum catalog_result result = catalog_products(pg, 0, CATALOG_PAGE_MAX, call->task.until_us,
                                                  now->items, &now->count, error);

    if (result != CATALOG_OK)
        return result;
    external_state_reserved(call->request->http->services, now->items, now->count,
                            call->task.until_us);
    events->news.all_need_whole = !compare(events) || next_of(now) != next_of(events->last);
    whole = whole || events->news.all_need_whole;
    if (whole)
        events->news.whole = write_event("products", now, next_of(now));
    if (events->changed.count > 0)
        events->news.changed = write_event("changed", &events->changed, next_of(now));
    if ((whole && !events->news.whole) || (events->changed.count > 0 && !events->news.changed)) {
        error_set(error, ERROR_INTERNAL, "no memory");
        return CATALOG_FAILED;
    }
    return CATALOG_OK;
}

static void looked(struct request *request)
{
    struct http *http = request->http;
    struct events *events = http->streams.source.context;
    struct stream_news news = events->news;
    bool good = request_call_done(request);
    struct list *last = events->last;

    events->news = (struct stream_news){.changed = NULL};
    if (good) {
        events->last = events->now;
        events->now = last;
    }
    streams_tell(http, good, &news);
}

static void ask(void *context, bool whole)
{
    struct events *events = context;
    struct request *request = events->request;
    struct call *call = request_call(request, look, ORDER_INTERNAL_ERROR, 0);

    events->whole = whole;
    if (!call) {
        streams_tell(request->http, false, &events->news);
        return;
    }
    call->task.wait_until_us = request->http->now_us + WAIT_US;
    call->task.until_us = call->task.wait_until_us + WORK_US;
    request_submit_call(request, looked);
}

static void destroy(void *context)
{
    struct events *events = context;

    request_destroy_alone(events->request);
    free(events->news.changed);
    free(events->news.whole);
    free(events);
}

/* Made for the first listener, and kept. */
static bool has_source(struct request *request)
{
    struct http *http = request->http;
    struct events *events;

    if (http->streams.source.ask)
        return true;
    events = calloc(1, sizeof *events);
    if (events)
        events->request = request_create_alone(http, request->route);
    if (!events || !events->request) {
        free(events);
        problem_outcome(&request->problem, ORDER_INTERNAL_ERROR);
        request_refuse(request);
        return false;
    }
    events->last = &events->lists[0];
    events->now = &events->lists[1];
    http->streams.source =
        (struct stream_source){.ask = ask, .destroy = destroy, .context = events};
    return true;
}

void events_get(struct request *request)
{
    if (request_query(request, NULL, 0) && has_source(request))
        stream_admit(request);
}
