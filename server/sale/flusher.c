/* See flusher.h. The session is opened when somebody first wants a ticket, and closed when it was
 * of no use for a while. */
#include "sale/flusher.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "metrics/cost.h"
#include "metrics/metrics.h"
#include "sale/proven.h"
#include "sale/settle.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    IDLE_US = 10000000,
    TRY_AGAIN_US = 1000000,
    CONNECT_US = 2000000,
    /* Where a standby takes part: a primary that was left behind learns nothing of it. */
    PROOF_MOST_US = 1000000
};

struct flusher {
    const struct services *services; /* borrowed: app */
    struct session *session;         /* owned; the thread's */
    unsigned tickets;                /* given names so far; the thread's */
    struct metric flushes;
    struct metric orders;
    struct metric unproven;
    void (*complete)(void *context, struct order *list);
    void *context;
    pthread_t thread;
    bool started;
    struct {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        struct order *parked;
        struct order **end;
        unsigned ticket;       /* of the session that is open; 0: none is */
        int64_t server;        /* that it is with */
        struct proven *proven; /* owned */
        bool busy;             /* what was taken last is not answered yet */
        bool wanted;           /* a session, or one with another server */
        int64_t used_us;       /* when a ticket was last given */
        int64_t next_try_us;   /* no session is wanted before */
        bool stopping;
    } shared;
};

struct flusher *flusher_create(const struct services *services)
{
    struct flusher *flusher = calloc(1, sizeof *flusher);
    struct metrics *metrics = services->metrics;

    if (!flusher)
        return NULL;
    flusher->services = services;
    flusher->session = session_create(services);
    flusher->shared.proven = proven_create();
    if (!flusher->session || !flusher->shared.proven) {
        session_destroy(flusher->session);
        proven_destroy(flusher->shared.proven);
        free(flusher);
        return NULL;
    }
    flusher->shared.end = &flusher->shared.parked;
    pthread_mutex_init(&flusher->shared.mutex, NULL);
    clock_cond_init(&flusher->shared.changed);
    int group = metrics_group(metrics);
    flusher->flushes = metrics_counter(metrics, group, "seckill_shared_flushes_total",
                                       "Flushes that answered orders committed before.", "");
    flusher->orders = metrics_counter(metrics, group, "seckill_shared_flush_orders_total",
                                      "Orders that such a flush has answered.", "");
    flusher->unproven =
        metrics_counter(metrics, group, "seckill_shared_flush_unproven_total",
                        "Orders whose flush was not proven, and that were looked up.", "");
    return flusher;
}

void flusher_destroy(struct flusher *flusher)
{
    if (!flusher)
        return;
    session_destroy(flusher->session);
    proven_destroy(flusher->shared.proven);
    pthread_cond_destroy(&flusher->shared.changed);
    pthread_mutex_destroy(&flusher->shared.mutex);
    free(flusher);
}

unsigned flusher_ticket(struct flusher *flusher, const struct pg *pg, bool wanted)
{
    int64_t server = flusher ? pg_server(pg) : 0;

    if (!server)
        return 0;
    pthread_mutex_lock(&flusher->shared.mutex);
    bool same = flusher->shared.server == server;
    unsigned ticket = same ? flusher->shared.ticket : 0;
    if (ticket)
        flusher->shared.used_us = clock_mono_us();
    if (!ticket && wanted && flusher->started && !flusher->shared.wanted &&
        clock_mono_us() >= flusher->shared.next_try_us) {
        flusher->shared.wanted = true;
        pthread_cond_signal(&flusher->shared.changed);
    }
    pthread_mutex_unlock(&flusher->shared.mutex);
    return ticket;
}

bool flusher_rests(struct flusher *flusher)
{
    pthread_mutex_lock(&flusher->shared.mutex);
    bool rests = !flusher->shared.parked && !flusher->shared.busy;
    pthread_mutex_unlock(&flusher->shared.mutex);
    return rests;
}

/* A refusal that was read off the product's row and nothing else. */
static bool rests_on_the_row(const struct order *order)
{
    return (order->outcome == ORDER_SOLD_OUT || order->outcome == ORDER_SALE_NOT_OPEN) &&
           order->seen.version != 0;
}

bool flusher_has_covered(struct flusher *flusher, const struct order *order, unsigned ticket)
{
    int64_t since_us = 0;

    if (!rests_on_the_row(order))
        return false;
    pthread_mutex_lock(&flusher->shared.mutex);
    if (flusher->shared.ticket == ticket)
        since_us = proven_since_us(flusher->shared.proven, order->product_id, order->seen, ticket);
    pthread_mutex_unlock(&flusher->shared.mutex);
    return since_us != 0 && (!store_waits(services_store(flusher->services)) ||
                             clock_mono_us() - since_us < PROOF_MOST_US);
}

static void remember(struct flusher *flusher, const struct order *list, int64_t begun_us)
{
    pthread_mutex_lock(&flusher->shared.mutex);
    for (const struct order *order = list; order; order = order->next)
        if (rests_on_the_row(order))
            proven_note(flusher->shared.proven, order->product_id, order->seen, order->ticket,
                        begun_us);
    pthread_mutex_unlock(&flusher->shared.mutex);
}

void flusher_park(struct flusher *flusher, struct order *list)
{
    struct order *last = list;

    FAILPOINT("flusher.parking");
    while (last->next)
        last = last->next;
    pthread_mutex_lock(&flusher->shared.mutex);
    *flusher->shared.end = list;
    flusher->shared.end = &last->next;
    pthread_cond_signal(&flusher->shared.changed);
    pthread_mutex_unlock(&flusher->shared.mutex);
}

static void set_session(struct flusher *flusher, unsigned ticket, int64_t server)
{
    pthread_mutex_lock(&flusher->shared.mutex);
    flusher->shared.ticket = ticket;
    flusher->shared.server = server;
    flusher->shared.wanted = false;
    flusher->shared.used_us = clock_mono_us();
    flusher->shared.next_try_us = flusher->shared.used_us + TRY_AGAIN_US;
    pthread_mutex_unlock(&flusher->shared.mutex);
}

static void close_session(struct flusher *flusher)
{
    set_session(flusher, 0, 0);
    store_look_at_flusher(services_store(flusher->services), NULL, 0);
    pg_close(flusher->session->pg);
}

/* A new session has a new ticket: what was committed before it was opened may be lost. */
static void open_session(struct flusher *flusher)
{
    struct pg *pg = flusher->session->pg;
    struct cost before = cost_of_thread[COST_POSTGRESQL]; /* no order's */
    int64_t until_us = clock_mono_us() + CONNECT_US;

    close_session(flusher);
    pg_stand_back(pg, true); /* the workers can do without */
    bool opened = pg_connect(pg, until_us) && pg_server(pg) &&
                  store_look_at_flusher(services_store(flusher->services), pg, until_us);
    cost_of_thread[COST_POSTGRESQL] = before;
    if (opened) {
        flusher->tickets += flusher->tickets + 1 != 0 ? 1 : 2;
        set_session(flusher, flusher->tickets, pg_server(pg));
        return;
    }
    pg_close(pg); /* a pooler's proves nothing */
}

static bool flush(struct flusher *flusher)
{
    struct pg *pg = flusher->session->pg;
    int64_t until_us =
        clock_mono_us() + flusher->services->settings->work_timeout_ms * CLOCK_US_PER_MS;

    FAILPOINT("flusher.barrier");
    if (FAILPOINT_FAILS("flusher.skip"))
        return true;
    if (pg_flush_log(pg, until_us) == PG_OK) {
        FAILPOINT("flusher.flushed");
        return true;
    }
    log_warn("the commits of orders are not known to be flushed, and are looked up: %s",
             pg_error(pg)->text);
    return false;
}

/* To the first that was sold, as in a batch. */
static void charge(const struct flusher *flusher, const struct order *list)
{
    const struct order *order = list;

    while (order && order->outcome != ORDER_CONFIRMED)
        order = order->next;
    cost_charge(flusher->services, order ? order->strategy : list->strategy,
                order ? COST_COMMITTED : COST_OTHER, 0);
}

void flusher_doubt(struct order *order)
{
    if (order->outcome == ORDER_CONFIRMED) {
        order->outcome = ORDER_UNSETTLED;
        order->if_not_done = ORDER_BACKEND_UNAVAILABLE;
    } else if (order_outcome_row(order->outcome)->http_status < 300) {
        order->outcome = ORDER_OUTCOME_UNKNOWN;
    } else {
        order->outcome = ORDER_BACKEND_UNAVAILABLE;
    }
}

static struct order *stop_clocks(struct order *list)
{
    int64_t now_us = clock_mono_us();

    for (struct order *order = list; order; order = order->next)
        order->work_us += now_us; /* park took it away */
    return list;
}

static void settle(struct flusher *flusher, struct order *list)
{
    struct batch batch = {.orders = list, .count = order_count(list)};

    if (!list)
        return;
    metrics_add(flusher->unproven, (uint64_t)batch.count);
    for (struct order *order = list; order; order = order->next)
        flusher_doubt(order);
    session_begin_work(flusher->session);
    settle_batch(flusher->session, &batch);
    cost_charge(flusher->services, list->strategy, COST_OTHER, 0);
    flusher->complete(flusher->context, stop_clocks(list));
}

/* Takes out the orders that this ticket does not prove. */
static struct order *take_unproven(struct order **list, unsigned ticket)
{
    struct order *taken = NULL;
    struct order **end = &taken;

    for (struct order **at = list; *at;) {
        struct order *order = *at;
        if (order->ticket == ticket) {
            at = &order->next;
            continue;
        }
        *at = order->next;
        order->next = NULL;
        *end = order;
        end = &order->next;
    }
    return taken;
}

static void answer(struct flusher *flusher, struct order *list)
{
    unsigned ticket = flusher->shared.ticket; /* no other thread changes it */
    struct order *unproven = take_unproven(&list, ticket);
    int64_t begun_us = clock_mono_us();

    if (list && (ticket == 0 || !flush(flusher))) {
        close_session(flusher);
        settle(flusher, list);
    } else if (list) {
        remember(flusher, list, begun_us);
        charge(flusher, list);
        metrics_add(flusher->flushes, 1);
        metrics_add(flusher->orders, (uint64_t)order_count(list));
        flusher->complete(flusher->context, stop_clocks(list));
    }
    unsigned opened = pg_opened(flusher->session->pg);
    settle(flusher, unproven);
    if (pg_opened(flusher->session->pg) != opened || !pg_is_open(flusher->session->pg))
        set_session(flusher, 0, 0); /* it is another one now */
}

/* Waits for something to do. False: the end, and nothing is left. */
static bool take(struct flusher *flusher, struct order **list, bool *wanted, bool *idle)
{
    struct timespec until = clock_timespec(clock_mono_us() + IDLE_US);
    int late = 0;

    pthread_mutex_lock(&flusher->shared.mutex);
    flusher->shared.busy = false;
    while (!flusher->shared.parked && !flusher->shared.wanted && !flusher->shared.stopping && !late)
        late = pthread_cond_timedwait(&flusher->shared.changed, &flusher->shared.mutex, &until);
    *list = flusher->shared.parked;
    *wanted = flusher->shared.wanted;
    *idle = late && !*list && !*wanted && clock_mono_us() - flusher->shared.used_us >= IDLE_US;
    if (*idle)
        flusher->shared.ticket = 0;
    flusher->shared.parked = NULL;
    flusher->shared.end = &flusher->shared.parked;
    flusher->shared.busy = *list != NULL;
    bool over = flusher->shared.stopping && !*list;
    pthread_mutex_unlock(&flusher->shared.mutex);
    return !over;
}

static void *flusher_main(void *argument)
{
    struct flusher *flusher = argument;
    struct order *list;
    bool wanted;
    bool idle;

    while (take(flusher, &list, &wanted, &idle)) {
        if (list)
            answer(flusher, list);
        if (wanted)
            open_session(flusher);
        else if (idle)
            close_session(flusher);
    }
    close_session(flusher);
    return NULL;
}

bool flusher_start(struct flusher *flusher, void (*complete)(void *context, struct order *list),
                   void *context)
{
    if (!flusher)
        return true;
    flusher->complete = complete;
    flusher->context = context;
    bool started = pthread_create(&flusher->thread, NULL, flusher_main, flusher) == 0;
    pthread_mutex_lock(&flusher->shared.mutex);
    flusher->started = started;
    pthread_mutex_unlock(&flusher->shared.mutex);
    return started;
}

void flusher_stop(struct flusher *flusher)
{
    if (!flusher || !flusher->started)
        return;
    pthread_mutex_lock(&flusher->shared.mutex);
    flusher->shared.stopping = true;
    pthread_cond_signal(&flusher->shared.changed);
    pthread_mutex_unlock(&flusher->shared.mutex);
    pthread_join(flusher->thread, NULL);
    flusher->started = false;
}
