/*
 * What a worker does: it takes a batch from its lane, drives the lane's strategy over it, and
 * between two batches looks whether another lane needs it more.
 *
 * A lane that has orders and no free worker gets, in this order:
 * 1. an idle worker of the lane (lane.c wakes it);
 * 2. a new worker, while permits last and PostgreSQL allows another session (hire);
 * 3. an idle worker of another lane, which steals the work (steal_work);
 * 4. if the lane has no worker at all (a starved lane): a busy worker of another lane, after its
 *    batch (help_starved_lane).
 *
 * States of a worker:
 *
 *   state      it is                          what comes next
 *   joining    on its way to lane_wait        waiting
 *   waiting    asleep in lane_wait            serving; after 10 s without an order: gone
 *   serving    working on a batch             joining, in its own lane or in another
 *   gone       ended; its permit is returned
 *
 * Failure modes:
 * - PostgreSQL refuses the worker a session: if other workers have one, it gives its order back and
 *   ends, and no other is started for a second. If none has, it asks again for a second.
 * - Another thread needs a session (store_wants_room): a worker that is not the only one closes its
 *   own and ends.
 * - No thread or memory for a worker: logged; the lane asks other lanes' workers.
 */
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

/* Which workers of other lanes are asked to come, because no permit is left. */
enum help {
    HELP_NONE,
    HELP_IDLE, /* idle ones: a lane has more orders than its workers take */
    HELP_ANY   /* busy ones, too: a lane with orders may have no worker at all */
};

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
        int connected; /* of the threads, those with a session with PostgreSQL */
        int64_t
            full_until_us; /* PostgreSQL has refused a session: no worker is started until then */
        enum help help;
        int64_t told_us; /* when idle workers were last woken for HELP_IDLE */
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

static void worker_finish(struct worker *worker, struct mailbox *mailbox, struct order *list)
{
    lane_done(worker->at->lane, mailbox, order_count(list));
    worker->workers->complete(worker->workers->context, list);
}

/* Answers the orders whose wait is over; returns the others. */
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
        worker_finish(worker, mailbox, late);
    return kept;
}

static struct order *worker_take(struct worker *worker, struct mailbox *mailbox, int max)
{
    int count;
    struct order *list = lane_take(worker->at->lane, mailbox, max, &count);

    return list ? drop_expired(worker, mailbox, list) : NULL;
}

/* Returns to the mailbox, behind the orders that have queued meanwhile: orders that are to be tried
 * again because another holder has the lock, and orders that the batch did not begin. Returns the
 * orders that the worker keeps. */
static struct order *stand_aside(struct worker *worker, struct mailbox *mailbox,
                                 struct order *again)
{
    struct order *waited = NULL;
    struct order **waited_end = &waited;
    struct order *kept = NULL;
    struct order **kept_end = &kept;

    for (struct order *next; again; again = next) {
        bool waits = again->outcome != ORDER_RETRY || again->if_not_done == ORDER_LOCK_TIMEOUT;
        struct order ***end = waits ? &waited_end : &kept_end;
        next = again->next;
        **end = again;
        *end = &again->next;
    }
    *waited_end = *kept_end = NULL;
    lane_return(worker->at->lane, mailbox, waited);
    return kept;
}

/* Sells the batch, answers each order as soon as it is decided, and goes on with the orders that
 * have queued meanwhile while the lock may be kept. */
static void worker_sell(struct worker *worker, struct mailbox *mailbox, struct order *orders)
{
    const struct strategy *strategy = worker->at->strategy;

    while (orders) {
        struct batch batch = {
            .orders = orders, .product_id = mailbox_product(mailbox), .count = order_count(orders)};
        orders = drive_sell(worker->workers->drive, worker->session, strategy, &batch);
        int parked = batch.count - order_count(orders) - order_count(batch.orders);
        if (parked > 0)
            lane_done(worker->at->lane, mailbox, parked);
        if (batch.orders)
            worker_finish(worker, mailbox, batch.orders);
        orders = stand_aside(worker, mailbox, orders);
        if (!orders && drive_keeps(worker->session, strategy))
            orders = worker_take(worker, mailbox, worker->at->max_batch);
    }
}

static void call_workers(struct workers *workers, const struct worker_lane *at)
{
    workers_call(workers, (size_t)(at - workers->lanes));
}

/* The batch is taken: another worker may serve what is left in the mailbox. */
static void offer_mailbox(struct worker *worker, struct mailbox *mailbox)
{
    lane_offer(worker->at->lane, mailbox);
    call_workers(worker->workers, worker->at);
}

/* Counts this worker's session; returns how many other workers have one with PostgreSQL. */
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

/* Makes sure of a session and enters the strategy. A refused session is asked for again, for a
 * second, while no other worker has one: another thread of the process makes room for it. */
static bool enter_strategy(struct worker *worker, struct order *first)
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

/* PostgreSQL allows this worker no session, and other workers have one: they sell the order. */
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

/* A thread without a session waits for one: this worker, unless it is the only one, closes its own.
 */
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
static bool worker_serve(struct worker *worker, struct mailbox *mailbox)
{
    const struct worker_lane *at = worker->at;
    struct order *first = worker_take(worker, mailbox, 1);

    if (at->max_batch == 1)
        offer_mailbox(worker, mailbox);
    bool entered = first && enter_strategy(worker, first);
    bool leaves = first && !entered && is_one_too_many(worker);
    if (leaves) {
        lane_give_back(at->lane, mailbox, first);
        first = NULL;
    }
    if (at->max_batch > 1) {
        if (entered)
            first->next = worker_take(worker, mailbox, at->max_batch - 1);
        offer_mailbox(worker, mailbox);
    }
    if (entered) {
        worker_sell(worker, mailbox, first);
        drive_leave(worker->workers->drive, worker->session, at->strategy);
    } else if (first) {
        worker_finish(worker, mailbox, first);
    }
    lane_leave(at->lane, mailbox);
    return !leaves;
}

static enum help requested_help(struct workers *workers)
{
    pthread_mutex_lock(&workers->shared.mutex);
    enum help help = workers->shared.help;
    pthread_mutex_unlock(&workers->shared.mutex);
    return help;
}

/* Called before a search, so that a request that is made during the search stays. */
static void lower_request(struct workers *workers, enum help help)
{
    pthread_mutex_lock(&workers->shared.mutex);
    if (workers->shared.help > help)
        workers->shared.help = help;
    pthread_mutex_unlock(&workers->shared.mutex);
}

static void raise_request(struct workers *workers, enum help help)
{
    pthread_mutex_lock(&workers->shared.mutex);
    if (workers->shared.help < help)
        workers->shared.help = help;
    pthread_mutex_unlock(&workers->shared.mutex);
}

/* Joins a lane that misses a worker; with `starved` only a lane that has none. The search begins
 * behind the worker's own lane, so that workers go round when there are more lanes than workers. */
static struct worker_lane *join_another(const struct worker *worker, bool starved)
{
    const struct workers *workers = worker->workers;
    size_t own = (size_t)(worker->at - workers->lanes);

    for (size_t i = 1; i < workers->count; i++) {
        struct worker_lane *at = &workers->lanes[(own + i) % workers->count];
        if ((!starved || lane_counts(at->lane).workers == 0) && lane_worker_joins(at->lane))
            return at;
    }
    return NULL;
}

/* Moves the worker to a starved lane, also when its own lane still has orders; its own lane may be
 * starved afterwards, and asks for a worker in turn. */
static bool help_starved_lane(struct worker *worker)
{
    struct worker_lane *from = worker->at;

    lower_request(worker->workers, HELP_IDLE);
    struct worker_lane *to = join_another(worker, true);
    if (!to)
        return false;
    raise_request(worker->workers, HELP_ANY); /* other lanes may be starved, too */
    lane_worker_leaves(from->lane, true);
    worker->at = to;
    call_workers(worker->workers, from);
    return true;
}

/* Work stealing: an idle worker moves to a lane that misses one, first of all to a starved lane. */
static bool steal_work(struct worker *worker)
{
    lower_request(worker->workers, HELP_NONE);
    struct worker_lane *to = join_another(worker, true);
    enum help more = to ? HELP_ANY : HELP_IDLE;
    if (!to)
        to = join_another(worker, false);
    if (!to)
        return false;
    raise_request(worker->workers, more);
    if (lane_worker_leaves(worker->at->lane, false)) {
        worker->at = to;
        return true;
    }
    lane_worker_leaves(to->lane, true);
    call_workers(worker->workers, to);
    return false;
}

/* Between two batches. */
static void help_others(struct worker *worker)
{
    enum help help = requested_help(worker->workers);

    if (help == HELP_ANY && help_starved_lane(worker))
        return;
    if (help != HELP_NONE)
        steal_work(worker);
}

/* The worker keeps its session from lane to lane: a new session costs PostgreSQL a process. */
static void worker_work(struct worker *worker)
{
    int64_t until_us = clock_mono_us() + IDLE_US;

    for (;;) {
        struct mailbox *mailbox = lane_wait(worker->at->lane, until_us);
        if (mailbox) {
            if (!worker_serve(worker, mailbox) || makes_room(worker))
                break;
            help_others(worker);
        } else if (makes_room(worker)) {
            break;
        } else if (!steal_work(worker)) {
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

    worker_work(worker);
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

/* No worker can be started: asks the workers of all lanes and wakes the idle ones. For a lane that
 * has a worker they are woken every 0.1 s at most. */
static void ask(struct workers *workers, enum help help)
{
    int64_t now_us = clock_mono_us();
    bool tell = help == HELP_ANY;

    raise_request(workers, help);
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

/* Starts a worker for the lane; false: there is no permit, session, thread or memory for one. */
static bool hire(struct workers *workers, struct worker_lane *at)
{
    if (!take_permit(workers))
        return false;
    if (!lane_worker_joins(at->lane)) {
        return_permit(workers);
        return true; /* another worker has come meanwhile */
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

    while (lane_missing_workers(at->lane) > 0)
        if (!hire(workers, at)) {
            ask(workers, lane_counts(at->lane).workers == 0 ? HELP_ANY : HELP_IDLE);
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
