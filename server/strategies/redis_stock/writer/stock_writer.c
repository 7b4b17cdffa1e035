/*
 * The writer's thread: it brings reserved orders from Redis into PostgreSQL.
 *
 * Happy path, one turn: take over what dead members left (every 0.5 s); take what this instance's
 * workers have handed over; write it; acknowledge it in Redis. A turn that has found nothing for a
 * while does a step of reconciling; so does any when the last round is ten seconds old.
 *
 * States. The history is what the stream has for this member and nobody has acknowledged; what is
 * newer comes by the hand-over, while that is open.
 *
 *   BEHIND        hand-over closed; a turn reads the history, from its beginning.
 *                 At its end the hand-over opens: CATCHING_UP
 *                 A write or an acknowledgement fails: BEHIND_AGAIN
 *   BEHIND_AGAIN  closed; the rest of the history.
 *                 At its end, from the beginning again: BEHIND
 *   CATCHING_UP   open; the history further on, and the hand-over.
 *                 At the end, which has all that was reserved until the hand-over opened: LEVEL
 *                 The hand-over overflows: BEHIND
 *                 A write or an acknowledgement fails: BEHIND_AGAIN
 *   LEVEL         open; the hand-over.
 *                 What was put off may be written: RETRYING
 *   RETRYING      open; the history up to what was put off, and the hand-over.
 *                 Behind that: LEVEL
 *
 * From LEVEL and RETRYING it is BEHIND when the hand-over overflows, or a write or an
 * acknowledgement fails; from any state when the session with Redis is a new one.
 *
 * Beside that there is a round of the reconciler: RESTS, until it is due and the writer is level;
 * then MIRRORS and LOST, what Redis has lost, a piece a turn; RESTS.
 *
 * Failure modes:
 * - A turn fails: the writer pauses for 0.1 s and reads its history from the beginning.
 * - Another transaction holds a product's row: the product's entries are put off. They stay in the
 *   history alone; the writer looks every 20 ms whether one of those rows is free, and then reads
 *   the history up to the last of them (RETRYING). Other products go on meanwhile.
 * - It holds another lock that one order needs: that order's entry is put off, for a second.
 * - Redis or PostgreSQL is out of reach: nothing is written; every 0.5 s the age of the oldest
 *   undecided order is read for /metrics.
 * - PostgreSQL refuses what a mirror had allowed: the mirror is unloaded.
 * - Redis has lost what was accepted: stock_lost.h.
 * - Another database has the stock Redis: nothing is read or written (stock_lease.h).
 * - The process dies between COMMIT and acknowledgement: the next writer reads the entries again
 * and finds their orders decided.
 * - The server stops: what is there is written, for 3 s at most; the rest stays in the stream.
 */
#include "strategies/redis_stock/writer/stock_writer.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "metrics/metrics.h"
#include "sale/decide_many/held.h"
#include "strategies/redis_stock/mirror/stock_reconcile.h"
#include "strategies/redis_stock/stock_instance.h"
#include "strategies/redis_stock/writer/stock_acknowledge.h"
#include "strategies/redis_stock/writer/stock_lost.h"
#include "strategies/redis_stock/writer/stock_put_off.h"
#include "strategies/redis_stock/writer/stock_write.h"
#include "strategy/cost_accounting.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TIMEOUT_US = 1000000,
    PAUSE_US = 100000,          /* before what could not be done is tried again */
    WAIT_US = 100000,           /* for something to be handed over */
    QUIET_US = 200000,          /* without entries before the reconciler begins */
    ROUND_US = 30000000,        /* between rounds when nobody asks for one */
    BUSY_ROUND_US = 10000000,   /* or when it is never quiet */
    DRAIN_US = 3000000,         /* what stop allows */
    TAKE_OVER_MARGIN_MS = 1000, /* beyond the longest that work on an entry may take */
    TAKE_OVER_EVERY_US = 500000,
    LOOK_US = 20000, /* how often it is asked for the rows of what was put off */
    LOOK_ANYWAY_US = 1000000
};

enum writer_state { BEHIND, BEHIND_AGAIN, CATCHING_UP, LEVEL, RETRYING };
enum round_state { RESTS, MIRRORS, LOST };

struct writer {
    struct redis_stock *stock;       /* borrowed: whose writer it is, */
    struct stock_work *work;         /* and what for */
    const struct services *services; /* borrowed: app */
    struct stock_link link;          /* owns its sessions */
    struct stock_stream *stream;     /* owned */
    pthread_t thread;
    enum writer_state state;
    struct stock_put_off put_off;
    char retry_last[STOCK_ENTRY_MAX]; /* RETRYING: where it ends */
    int64_t look_at_us;
    int64_t look_anyway_at_us;
    int64_t take_over_at_us; /* 0: there may be more at once */
    int64_t mend_at_us;
    int64_t quiet_since_us;
    int64_t round_at_us;
    int64_t round_due_us; /* quiet or not */
    enum round_state round_state;
    struct stock_round round; /* MIRRORS */
    struct stock_lost lost;   /* LOST */
};

static void note_oldest(struct writer *at)
{
    int64_t age_ms = at->stream->oldest_ms;

    atomic_store(&at->work->oldest_us, age_ms < 0 ? 0 : clock_mono_us() - age_ms * CLOCK_US_PER_MS);
}

/* PostgreSQL said no to something that a mirror had said yes to: the mirror is unloaded, and the
 * next order has it built anew. Loading may take long. */
static void unload_wrong(struct writer *at)
{
    for (int i = 0; i < at->stream->wrong_count; i++) {
        const struct stream_wrong *wrong = &at->stream->wrong[i];
        int64_t gone = 0;
        stock_give_time(&at->link);
        enum stock_result result =
            wrong->ended
                ? stock_mirror_forget_ended(&at->link, wrong->product_id, wrong->ended, &gone)
                : stock_mirror_forget(&at->link, wrong->product_id, &gone);
        if (result == STOCK_DONE)
            metrics_add(at->stock->counters.rebuilds, (uint64_t)gone);
        else
            stock_mend_ask(&at->work->mend, wrong->product_id);
    }
    at->stream->wrong_count = 0;
}

/* Unloads the mirrors of products whose commits Redis could not be told of. */
static void mend(struct writer *at)
{
    int64_t products[MEND_MAX];
    int count = clock_mono_us() < at->mend_at_us ? 0 : stock_mend_take(&at->work->mend, products);
    enum stock_result result = STOCK_DONE;

    at->link.until_us = clock_mono_us() + TIMEOUT_US;
    for (int i = 0; i < count; i++) {
        int64_t gone = 0;
        if (result == STOCK_DONE)
            result = stock_mirror_forget(&at->link, products[i], &gone);
        if (result != STOCK_DONE)
            stock_mend_put_back(&at->work->mend, products[i]);
    }
    if (result != STOCK_DONE)
        at->mend_at_us = clock_mono_us() + PAUSE_US;
}

static struct cost_outcomes count_fates(const struct writer *at, const struct stock_part *part)
{
    struct cost_outcomes count = {{0}};

    for (int i = 0; i < part->count; i++) {
        enum claim_fate fate = part->claims[i].fate;
        metrics_add(at->stock->counters.fates[fate], 1);
        count.ends[COST_COMMITTED] += fate == CLAIM_CONFIRMED;
        count.ends[COST_REFUSED] += fate == CLAIM_REFUSED;
    }
    return count;
}

static bool is_level(const struct writer *at)
{
    return at->state == LEVEL || at->state == RETRYING;
}

/* Orders reserved from now on stay in the history alone, which is read from its beginning. */
static void start_over(struct writer *at)
{
    stock_handover_close(&at->work->handover);
    at->state = BEHIND;
    stock_put_off_clear(&at->put_off);
    stock_stream_rewind(at->stream, STOCK_OWN_HISTORY);
}

/* The hand-over has overflowed. */
static void fall_behind(struct writer *at)
{
    if (is_level(at))
        start_over(at);
    else if (at->state == CATCHING_UP)
        at->state = BEHIND;
}

/* Something of what was read is neither written nor let go of. */
static void read_again(struct writer *at)
{
    if (is_level(at)) {
        start_over(at);
        return;
    }
    stock_handover_close(&at->work->handover);
    at->state = BEHIND_AGAIN;
}

/* Writes a part to PostgreSQL and acknowledges it in Redis. */
static bool write_part(struct writer *at, struct stock_part *part)
{
    stock_write(&at->link, part->claims, part->count, part->fresh);
    struct cost_outcomes count = count_fates(at, part);
    stock_handover_keep_undecided(&at->work->handover, part);
    FAILPOINT("stock-writer-committed");
    stock_put_off_take(&at->put_off, part);
    bool done = stock_acknowledge(at->stream, &at->link, part,
                                  part->fresh && !stock_handover_is_empty(&at->work->handover));
    cost_charge_outcomes(at->services, at->stock->strategy, &count);
    at->quiet_since_us = clock_mono_us();
    at->round_at_us = 0; /* figures have moved: a round when it is quiet again */
    return done;
}

/* After parts were written: repairs mirrors; after a failure the history is to be read again, after
 * a pause. */
static void conclude(struct writer *at, bool done)
{
    unload_wrong(at);
    if (done)
        return;
    read_again(at);
    clock_sleep_until(clock_mono_us() + PAUSE_US);
}

static bool connect_stores(struct writer *at)
{
    bool fresh = false;

    at->link.until_us = clock_mono_us() + TIMEOUT_US;
    /* While PostgreSQL is known to be away, only the background's probe connects: a failed attempt
     * here would keep all other sessions from trying. */
    if (!store_up(services_store(at->services)) || *store_trouble(services_store(at->services)) ||
        !pg_connect(at->link.pg, at->link.until_us) ||
        !stock_stream_connect(at->stream, &at->link, &fresh))
        return false;
    if (fresh) { /* Redis or this process may have restarted: read the history, check the mirrors */
        redis_survey(at->link.redis, at->link.until_us);
        stock_flag_doubt(&at->stock->flag, clock_mono_us()); /* in all threads */
        start_over(at);
        atomic_store(&at->work->mend.round, true);
    }
    return true;
}

/* The instance has one, whatever its shards. */
static void keep_lease(struct writer *at)
{
    if (at->work == at->stock->work)
        stock_lease_keep(&at->stock->lease);
}

/* False: Redis did not answer. *more: there may be more entries behind these. */
static bool read_and_write(struct writer *at, enum stock_source source, bool *more)
{
    struct stock_part part;
    bool done = true;

    *more = false;
    at->link.until_us = clock_mono_us() + TIMEOUT_US;
    int n = stock_stream_read(at->stream, &at->link, source, more);
    if (n <= 0) {
        cost_charge(at->services, at->stock->strategy, COST_OTHER, 0);
        return n == 0;
    }
    FAILPOINT("stock-writer-read");
    while (stock_stream_next(at->stream, &part)) {
        keep_lease(at);
        done &= write_part(at, &part);
    }
    conclude(at, done);
    return true;
}

/* Reads a piece of the history, and at its end enters the next state. */
static void catch_up(struct writer *at)
{
    bool more;

    if (!stock_handover_is_open(&at->work->handover))
        fall_behind(at);
    if (!read_and_write(at, STOCK_OWN_HISTORY, &more)) {
        conclude(at, false);
        return;
    }
    if (more)
        return;
    if (at->state == BEHIND_AGAIN) {
        start_over(at);
    } else if (at->state == BEHIND) {
        stock_handover_open(&at->work->handover);
        at->state = CATCHING_UP;
    } else {
        at->state = LEVEL;
    }
}

/* Whether to read the entries that were put off: one of their rows is free, or it is time. */
static bool may_retry(struct writer *at)
{
    int64_t now_us = clock_mono_us();

    if (stock_put_off_is_empty(&at->put_off) || now_us < at->look_at_us)
        return false;
    at->look_at_us = now_us + LOOK_US;
    return (at->put_off.others && now_us >= at->look_anyway_at_us) ||
           (at->put_off.count > 0 &&
            stock_write_finds_free(&at->link, at->put_off.products, at->put_off.count));
}

static void begin_retry(struct writer *at)
{
    /* Entries that are decided but not yet acknowledged must not be read again. */
    if (!stock_acknowledge_noted(at->stream, &at->link)) {
        conclude(at, false);
        return;
    }
    at->state = RETRYING;
    at->look_anyway_at_us = clock_mono_us() + LOOK_ANYWAY_US;
    snprintf(at->retry_last, sizeof at->retry_last, "%s", at->put_off.last);
    stock_put_off_clear(&at->put_off);
    stock_stream_rewind(at->stream, STOCK_OWN_HISTORY);
}

/* Reads a piece of what was put off; entries whose rows are still held are put off once more. */
static void retry(struct writer *at)
{
    bool more;

    if (at->state == LEVEL && may_retry(at))
        begin_retry(at);
    if (at->state != RETRYING)
        return;
    if (!read_and_write(at, STOCK_OWN_HISTORY, &more))
        conclude(at, false);
    else if (at->state == RETRYING &&
             (!more || stock_entry_is_behind(at->stream->history_from, at->retry_last)))
        at->state = LEVEL;
}

static bool may_take_over(const struct writer *at)
{
    return clock_mono_us() >= at->take_over_at_us;
}

static void take_over(struct writer *at)
{
    bool more;

    if (!read_and_write(at, STOCK_TAKE_OVER, &more))
        stock_stream_rewind(at->stream, STOCK_TAKE_OVER);
    else
        note_oldest(at);
    at->take_over_at_us = more ? 0 : clock_mono_us() + TAKE_OVER_EVERY_US;
}

/* While PostgreSQL is away orders are accepted and grow old: keeps their age in /metrics true. */
static void watch(struct writer *at)
{
    if (!may_take_over(at))
        return;
    at->take_over_at_us = clock_mono_us() + TAKE_OVER_EVERY_US;
    at->link.until_us = clock_mono_us() + TIMEOUT_US;
    if (stock_stream_look(at->stream, &at->link))
        note_oldest(at);
}

/* False: nothing was handed over until `until_us`, or a moment less. */
static bool write_handed(struct writer *at, int64_t until_us)
{
    struct stock_part part = {.claims = at->stream->claims};

    if (!stock_handover_take(&at->work->handover, &part, until_us)) {
        bool acknowledged = stock_acknowledge_noted(at->stream, &at->link);
        if (!stock_handover_is_open(&at->work->handover))
            fall_behind(at);
        conclude(at, acknowledged);
        cost_charge(at->services, at->stock->strategy, COST_OTHER, 0);
        return false;
    }
    FAILPOINT("stock-writer-read");
    keep_lease(at);
    cost_charge(at->services, at->stock->strategy, COST_OTHER, 0); /* so far: no order's */
    conclude(at, write_part(at, &part));
    return true;
}

static bool is_round_due(const struct writer *at)
{
    int64_t now_us = clock_mono_us();

    return is_level(at) && (now_us - at->quiet_since_us >= QUIET_US || now_us >= at->round_due_us);
}

/* A piece of the round's state, and at its end the next state. False: a store is out of reach. */
static bool reconcile_step(struct writer *at)
{
    bool over;
    int ended;

    if (at->round_state == MIRRORS) {
        bool done = stock_round_step(&at->link, &at->round, &over) == STOCK_DONE;
        if (done && over)
            at->round_state = LOST;
        return done;
    }
    enum stock_result result = stock_lost_step(&at->link, &at->work->handover.kept, &at->lost,
                                               at->stream->claims, &over, &ended);
    metrics_add(at->stock->counters.fates[CLAIM_LOST], (uint64_t)ended);
    if (result == STOCK_DONE && over)
        at->round_state = RESTS;
    return result == STOCK_DONE;
}

static void reconcile(struct writer *at)
{
    if (atomic_exchange(&at->work->mend.round, false))
        at->round_at_us = 0;
    if (at->round_state == RESTS) {
        if (clock_mono_us() < at->round_at_us)
            return;
        stock_round_begin(&at->round);
        stock_lost_begin(&at->lost);
        at->round_state = MIRRORS;
    }
    /* Decided orders must not count as reserved. */
    if (!stock_acknowledge_noted(at->stream, &at->link)) {
        conclude(at, false);
        return;
    }
    bool done = reconcile_step(at);
    if (done && at->round_state != RESTS)
        return;
    at->round_state = RESTS;
    at->round_due_us = clock_mono_us() + BUSY_ROUND_US;
    if (!done) {
        atomic_store(&at->work->mend.round, true);
        return;
    }
    atomic_store(&at->work->drift, at->round.drift);
    metrics_add(at->stock->counters.rebuilds, (uint64_t)at->round.rebuilt);
    metrics_add(at->stock->counters.rounds, 1);
    at->round_at_us = clock_mono_us() +
                      (at->round.drift || at->round.skipped || at->lost.held ? QUIET_US : ROUND_US);
}

/* Until when this turn may wait for the hand-over; 0: there is other work. */
static int64_t wait_until(const struct writer *at)
{
    int64_t until_us = clock_mono_us() + WAIT_US;

    if (at->state != LEVEL || may_take_over(at))
        return 0;
    return at->put_off.count > 0 ? clock_earlier(until_us, at->look_at_us) : until_us;
}

/* One turn. False: nothing can be done now. */
static bool turn(struct writer *at)
{
    keep_lease(at);
    if (!connect_stores(at)) {
        watch(at);
        return false;
    }
    mend(at);
    if (is_level(at))
        retry(at);
    else
        catch_up(at);
    if (may_take_over(at))
        take_over(at);
    write_handed(at, wait_until(at));
    if (is_round_due(at))
        reconcile(at);
    return true;
}

static void *writer_main(void *argument)
{
    struct writer *at = argument;

    while (!atomic_load(&at->stock->stopping)) {
        bool done = turn(at);
        cost_charge(at->services, at->stock->strategy, COST_OTHER, 0);
        if (!done)
            clock_sleep_until(clock_mono_us() + PAUSE_US);
    }
    int64_t until_us = clock_mono_us() + DRAIN_US;
    bool more = true;
    while (more && clock_mono_us() < until_us && connect_stores(at)) {
        if (is_level(at))
            more = write_handed(at, clock_mono_us() + WAIT_US);
        else
            catch_up(at);
    }
    stock_stream_leave(at->stream, &at->link);
    return NULL;
}

static void destroy(struct writer *at)
{
    pg_destroy(at->link.pg);
    redis_destroy(at->link.redis);
    stock_stream_destroy(at->stream);
    free(at);
}

struct writer *stock_writer_start(struct redis_stock *stock, struct stock_work *work)
{
    const struct services *services = stock->services;
    struct writer *at = calloc(1, sizeof *at);

    if (!at)
        return NULL;
    at->stock = stock;
    at->work = work;
    at->services = services;
    at->link.settings = services->settings;
    at->link.strategy = stock->strategy->name;
    at->link.pg = pg_create(services_store(services));
    at->link.redis = redis_create(services->backends[BACKEND_STOCK_REDIS]);
    at->stream = stock_stream_create(services->settings,
                                     services->settings->work_timeout_ms + TAKE_OVER_MARGIN_MS);
    if (at->link.pg)
        held_limit(at->link.pg);
    if (at->link.redis)
        stock_aim(&at->link, &stock->shards.at[work - stock->work]);
    if (at->link.pg && at->link.redis && at->stream &&
        pthread_create(&at->thread, NULL, writer_main, at) == 0)
        return at;
    destroy(at);
    return NULL;
}

void stock_writer_end(struct writer *at)
{
    if (!at)
        return;
    pthread_join(at->thread, NULL);
    destroy(at);
}
