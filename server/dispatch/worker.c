#include "dispatch/worker.h"

#include "base/clock.h"
#include "base/log.h"
#include "drive/drive.h"
#include "metrics/metrics.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    IDLE_US = 10000000,
    ASK_AGAIN_US = 100000,
    FULL_US = 1000000,
    CLAIM_US = 1000000,
    CLAIM_PAUSE_US = 50000
};

/* What lanes want of other lanes' workers, because no permit is left. */
enum want { WANT_NOTHING, WANT_IDLE_ONES, WANT_ANYBODY };

struct workers {
    const struct services *services; /* borrowed: app */
    struct worker_lane *lanes;       /* borrowed: dispatch */
    size_t count;
    struct drive *drive; /* owned */
    void (*complete)(void *context, struct order *list);
    void *context;
    struct {
        pthread_mutex_t mutex;
        pthread_cond_t ended;
        int permits; /* left */
        int threads;
        int connected;         /* of these, with a session with PostgreSQL */
        int64_t full_until_us; /* PostgreSQL has refused one: no thread is started for another */
        enum want want;        /* ANYBODY: a lane with orders may have no worker at all */
        int64_t told_us;       /* when idle workers were last asked to help those that have one */
    } shared;
};

struct worker {
    struct workers *workers;
    struct worker_lane *at;
    struct session *session; /* owned */
    bool connected;          /* and counted so */
};

struct workers *workers_create(const struct services *services, struct worker_lane *lanes,
                               size_t count, int permits,
                               void (*complete)(void *context, struct order *list), void *context)
{
    struct workers *workers = calloc(1, sizeof *workers);

    if (!workers)
        return NULL;
    workers->drive = drive_create(services->metrics);
    if (!workers->drive) {
        free(workers);
        return NULL;
    }
    workers->services = services;
    workers->lanes = lanes;
    workers->count = count;
    workers->complete = complete;
    workers->context = context;
    workers->shared.permits = permits;
    pthread_mutex_init(&workers->shared.mutex, NULL);
    pthread_cond_init(&workers->shared.ended, NULL);
    return workers;
}

static int count_orders(const struct order *list)
{
    int count = 0;

    for (; list; list = list->next)
        count++;
    return count;
}

static void finish(struct worker *worker, struct mailbox *mailbox, struct order *list)
{
    lane_done(worker->at->lane, mailbox, count_orders(list));
    worker->workers->complete(worker->workers->context, list);
}

/* Sends off what has waited too long; returns the rest. */
static struct order *drop_expired(struct worker *worker, struct mailbox *mailbox,
                                  struct order *list)
{
    struct order *late = NULL;
    struct order *kept = NULL;
    struct order **end = &kept;
    int64_t now_us = clock_mono_us();

    for (struct order *next; list; list = next) {
        next = list->next;
        list->queue_us = now_us - list->arrived_us - list->work_us;
        if (!list->no_wait && list->wait_until_us <= now_us) {
            list->outcome = list->waited ? ORDER_LOCK_TIMEOUT : ORDER_QUEUE_TIMEOUT;
            list->next = late;
            late = list;
            continue;
        }
        *end = list;
        end = &list->next;
    }
    *end = NULL;
    if (late)
        finish(worker, mailbox, late);
    return kept;
}

static struct order *take(struct worker *worker, struct mailbox *mailbox, int max)
{
    int count;
    struct order *list = lane_take(worker->at->lane, mailbox, max, &count);

    return list ? drop_expired(worker, mailbox, list) : NULL;
}

/* Who is to be tried again because somebody holds a lock stands aside for those that have queued
 * meanwhile, and so does who was left behind by a batch, but for a run. Returns the others. */
static struct order *stand_aside(struct worker *worker, struct mailbox *mailbox,
                                 struct order *again)
{
    struct order *waited = NULL;
    struct order **waited_end = &waited;
    struct order *kept = NULL;
    struct order **kept_end = &kept;

    for (struct order *next; again; again = next) {
        bool waits = again->outcome == ORDER_RETRY ? again->if_not_done == ORDER_LOCK_TIMEOUT
                                                   : !worker->at->strategy->pipelined;
        struct order ***end = waits ? &waited_end : &kept_end;
        next = again->next;
        **end = again;
        *end = &again->next;
    }
    *waited_end = *kept_end = NULL;
    lane_return(worker->at->lane, mailbox, waited);
    return kept;
}

/* Decides the orders in hand, each answered as soon as it is decided, and then, while the hold may
 * be kept, whatever has queued meanwhile. */
static void sell(struct worker *worker, struct mailbox *mailbox, struct order *orders)
{
    const struct strategy *strategy = worker->at->strategy;

    while (orders) {
        struct batch batch = {.orders = orders,
                              .product_id = mailbox_product(mailbox),
                              .count = count_orders(orders)};
        orders = drive_sell(worker->workers->drive, worker->session, strategy, &batch);
        int parked = batch.count - count_orders(orders) - count_orders(batch.orders);
        if (parked > 0)
            lane_done(worker->at->lane, mailbox, parked);
        if (batch.orders)
            finish(worker, mailbox, batch.orders);
        orders = stand_aside(worker, mailbox, orders);
        if (!orders && drive_keeps(worker->session, strategy))
            orders = take(worker, mailbox, worker->at->max_batch);
    }
}

static void call(struct workers *workers, const struct worker_lane *at)
{
    workers_call(workers, (size_t)(at - workers->lanes));
}

/* What is left in the mailbox may want another pair of hands. */
static void offer(struct worker *worker, struct mailbox *mailbox)
{
    lane_offer(worker->at->lane, mailbox);
    call(worker->workers, worker->at);
}

/* Keeps the count; answers how many others have a session with PostgreSQL. */
static int count_connected(struct worker *worker)
{
    struct workers *workers = worker->workers;
    bool connected = pg_is_open(worker->session->pg);

    pthread_mutex_lock(&workers->shared.mutex);
    workers->shared.connected += connected - worker->connected;
    int others = workers->shared.connected - connected;
    pthread_mutex_unlock(&workers->shared.mutex);
    worker->connected = connected;
    return others;
}

/* The first worker's session is claimed for a second: somebody else makes room. */
static bool enter(struct worker *worker, struct order *first)
{
    int64_t until_us = clock_mono_us() + CLAIM_US;

    for (;;) {
        if (!pg_is_open(worker->session->pg))
            pg_stand_back(worker->session->pg, count_connected(worker) > 0);
        bool entered = drive_enter(worker->session, worker->at->strategy, first);
        if (pg_is_open(worker->session->pg) != worker->connected)
            count_connected(worker);
        if (entered || !pg_is_refused(worker->session->pg) || count_connected(worker) > 0 ||
            clock_mono_us() >= until_us)
            return entered;
        clock_sleep_until(clock_mono_us() + CLAIM_PAUSE_US);
    }
}

/* PostgreSQL allows no session for this worker, and others have one: the order is theirs. */
static bool is_one_too_many(struct worker *worker)
{
    struct workers *workers = worker->workers;

    if (!pg_is_refused(worker->session->pg) || count_connected(worker) == 0)
        return false;
    pthread_mutex_lock(&workers->shared.mutex);
    workers->shared.full_until_us = clock_mono_us() + FULL_US;
    pthread_mutex_unlock(&workers->shared.mutex);
    return true;
}

/* Somebody who has no session needs one more than this worker, who is not the only one. */
static bool makes_room(struct worker *worker)
{
    struct workers *workers = worker->workers;

    if (!store_wants_room(services_store(workers->services)) || count_connected(worker) == 0 ||
        !pg_make_room(worker->session->pg))
        return false;
    count_connected(worker);
    pthread_mutex_lock(&workers->shared.mutex);
    workers->shared.full_until_us = clock_mono_us() + FULL_US;
    pthread_mutex_unlock(&workers->shared.mutex);
    return true;
}

/* False: the worker has no session, and can have none. */
static bool serve(struct worker *worker, struct mailbox *mailbox)
{
    const struct worker_lane *at = worker->at;
    struct order *first = take(worker, mailbox, 1);

    if (at->max_batch == 1)
        offer(worker, mailbox);
    bool entered = first && enter(worker, first);
    bool leaves = first && !entered && is_one_too_many(worker);
    if (leaves) {
        lane_give_back(at->lane, mailbox, first);
        first = NULL;
    }
    if (at->max_batch > 1) {
        if (entered)
            first->next = take(worker, mailbox, at->max_batch - 1);
        offer(worker, mailbox);
    }
    if (entered) {
        sell(worker, mailbox, first);
        drive_leave(worker->workers->drive, worker->session, at->strategy);
    } else if (first) {
        finish(worker, mailbox, first);
    }
    lane_leave(at->lane, mailbox);
    return !leaves;
}

static enum want what_is_wanted(struct workers *workers)
{
    pthread_mutex_lock(&workers->shared.mutex);
    enum want want = workers->shared.want;
    pthread_mutex_unlock(&workers->shared.mutex);
    return want;
}

/* Before a search: what is asked for during it must not be forgotten after it. */
static void want_no_more_than(struct workers *workers, enum want want)
{
    pthread_mutex_lock(&workers->shared.mutex);
    if (workers->shared.want > want)
        workers->shared.want = want;
    pthread_mutex_unlock(&workers->shared.mutex);
}

static void want_at_least(struct workers *workers, enum want want)
{
    pthread_mutex_lock(&workers->shared.mutex);
    if (workers->shared.want < want)
        workers->shared.want = want;
    pthread_mutex_unlock(&workers->shared.mutex);
}

/* Joins a lane that wants somebody; `hungry`: one that has nobody. The search begins behind the
 * worker's own lane, so that where lanes are more than workers these go round. */
static struct worker_lane *join_another(const struct worker *worker, bool hungry)
{
    const struct workers *workers = worker->workers;
    size_t own = (size_t)(worker->at - workers->lanes);

    for (size_t i = 1; i < workers->count; i++) {
        struct worker_lane *at = &workers->lanes[(own + i) % workers->count];
        if ((!hungry || lane_counts(at->lane).workers == 0) && lane_worker_joins(at->lane))
            return at;
    }
    return NULL;
}

/* Goes to a lane that has nobody, be there work where it is: that lane may be the next to have
 * nobody. */
static bool helps_the_hungry(struct worker *worker)
{
    struct worker_lane *from = worker->at;

    want_no_more_than(worker->workers, WANT_IDLE_ONES);
    struct worker_lane *to = join_another(worker, true);
    if (!to)
        return false;
    want_at_least(worker->workers, WANT_ANYBODY); /* there may be more of them */
    lane_worker_leaves(from->lane, true);
    worker->at = to;
    call(worker->workers, from);
    return true;
}

/* One who has nothing to do goes where another pair of hands is wanted. */
static bool finds_work(struct worker *worker)
{
    want_no_more_than(worker->workers, WANT_NOTHING);
    struct worker_lane *to = join_another(worker, true);
    enum want more = to ? WANT_ANYBODY : WANT_IDLE_ONES;
    if (!to)
        to = join_another(worker, false);
    if (!to)
        return false;
    want_at_least(worker->workers, more);
    if (lane_worker_leaves(worker->at->lane, false)) {
        worker->at = to;
        return true;
    }
    lane_worker_leaves(to->lane, true);
    call(worker->workers, to);
    return false;
}

/* Between two batches. */
static void look_around(struct worker *worker)
{
    enum want want = what_is_wanted(worker->workers);

    if (want == WANT_ANYBODY && helps_the_hungry(worker))
        return;
    if (want != WANT_NOTHING)
        finds_work(worker);
}

/* Takes its session wherever it goes, because a new one costs PostgreSQL a process. */
static void work(struct worker *worker)
{
    int64_t until_us = clock_mono_us() + IDLE_US;

    for (;;) {
        struct mailbox *mailbox = lane_wait(worker->at->lane, until_us);
        if (mailbox) {
            if (!serve(worker, mailbox) || makes_room(worker))
                break;
            look_around(worker);
        } else if (makes_room(worker)) {
            break;
        } else if (!finds_work(worker)) {
            bool over = clock_mono_us() >= until_us || lane_is_closing(worker->at->lane);
            if (over && lane_worker_leaves(worker->at->lane, false))
                return;
            continue;
        }
        until_us = clock_mono_us() + IDLE_US;
    }
    lane_worker_leaves(worker->at->lane, true);
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct workers *workers = worker->workers;

    work(worker);
    pg_close(worker->session->pg);
    count_connected(worker);
    session_destroy(worker->session);
    free(worker);

    pthread_mutex_lock(&workers->shared.mutex);
    workers->shared.permits++;
    pthread_mutex_unlock(&workers->shared.mutex);
    for (size_t i = 0; i < workers->count; i++)
        workers_call(workers, i);

    metrics_leave(workers->services->metrics); /* nobody joins this thread */
    pthread_mutex_lock(&workers->shared.mutex);
    workers->shared.threads--;
    pthread_cond_broadcast(&workers->shared.ended);
    pthread_mutex_unlock(&workers->shared.mutex);
    return NULL;
}

static bool start(struct workers *workers, struct worker_lane *at)
{
    struct worker *worker = calloc(1, sizeof *worker);
    pthread_attr_t detached;
    pthread_t thread;

    if (!worker)
        return false;
    worker->workers = workers;
    worker->at = at;
    worker->session = session_create(workers->services);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    bool started = worker->session && pthread_create(&thread, &detached, worker_main, worker) == 0;
    pthread_attr_destroy(&detached);
    if (!started) {
        log_error("%s: cannot start a worker: out of threads or memory", at->strategy->name);
        session_destroy(worker->session);
        free(worker);
    }
    return started;
}

/* The right to start a thread. */
static bool take_permit(struct workers *workers)
{
    pthread_mutex_lock(&workers->shared.mutex);
    bool full = workers->shared.connected > 0 && clock_mono_us() < workers->shared.full_until_us;
    bool got = workers->shared.permits > 0 && !full;
    workers->shared.permits -= got;
    workers->shared.threads += got;
    pthread_mutex_unlock(&workers->shared.mutex);
    return got;
}

/* Where no thread can be started: wakes the idle workers of all lanes, who look around. For a lane
 * that has somebody not each time that it asks. */
static void ask(struct workers *workers, enum want want)
{
    int64_t now_us = clock_mono_us();
    bool tell = want == WANT_ANYBODY;

    want_at_least(workers, want);
    pthread_mutex_lock(&workers->shared.mutex);
    if (!tell && now_us - workers->shared.told_us >= ASK_AGAIN_US) {
        tell = true;
        workers->shared.told_us = now_us;
    }
    pthread_mutex_unlock(&workers->shared.mutex);
    for (size_t i = 0; tell && i < workers->count; i++)
        lane_wake(workers->lanes[i].lane, false);
}

static void return_permit(struct workers *workers)
{
    pthread_mutex_lock(&workers->shared.mutex);
    workers->shared.permits++;
    workers->shared.threads--;
    pthread_cond_broadcast(&workers->shared.ended);
    pthread_mutex_unlock(&workers->shared.mutex);
}

/* A thread of its own for whom the lane wants; false: none could be had. */
static bool hire(struct workers *workers, struct worker_lane *at)
{
    if (!take_permit(workers))
        return false;
    if (!lane_worker_joins(at->lane)) {
        return_permit(workers);
        return true; /* somebody has come meanwhile */
    }
    if (start(workers, at))
        return true;
    lane_worker_leaves(at->lane, true);
    return_permit(workers);
    return false;
}

void workers_call(struct workers *workers, size_t i)
{
    struct worker_lane *at = &workers->lanes[i];

    while (lane_wants(at->lane) > 0)
        if (!hire(workers, at)) {
            ask(workers, lane_counts(at->lane).workers == 0 ? WANT_ANYBODY : WANT_IDLE_ONES);
            return;
        }
}

void workers_destroy(struct workers *workers)
{
    if (!workers)
        return;
    pthread_mutex_lock(&workers->shared.mutex);
    while (workers->shared.threads > 0)
        pthread_cond_wait(&workers->shared.ended, &workers->shared.mutex);
    pthread_mutex_unlock(&workers->shared.mutex);
    pthread_cond_destroy(&workers->shared.ended);
    pthread_mutex_destroy(&workers->shared.mutex);
    drive_destroy(workers->drive);
    free(workers);
}
