/*
 * The writer's thread: it brings reserved orders from Redis into PostgreSQL.
 *
 * Happy path, one turn: take over what dead members left (every 0.5 s); take what this instance's
 * workers have handed over; write it; settle it in Redis. A turn that has found nothing for a while
 * does a step of reconciling; so does any when the last round is ten seconds old.
 *
 * States. "Behind": some of this member's entries are in its history in the stream alone, and the
 * writer reads the history from its beginning. "Level": everything newer comes by the hand-over.
 *
 *   writer   hand-over   a turn reads        next state
 *   level    open        the hand-over       behind: the hand-over overflows, a write or a settling
 *                                            fails, the session with Redis is a new one
 *   level    closed      nothing             behind, in this turn
 *   behind   closed      the history         at its end the hand-over opens
 *   behind   open        the history again   at its end, which has all that was reserved until the
 *                                            hand-over opened: level
 *
 * Failure modes:
 * - A turn fails: the writer pauses for 0.1 s and reads its history from the beginning.
 * - Another transaction holds a product's row: the product's entries are put off. They stay in the
 *   history alone; the writer looks every 20 ms whether one of those rows is free, and then reads
 *   the history up to the last of them ("retrying"). Other products go on meanwhile.
 * - It holds another lock that one order needs: that order's entry is put off, for a second.
 * - Redis or PostgreSQL is out of reach: nothing is written; every 0.5 s the age of the oldest
 *   undecided order is read for /metrics.
 * - PostgreSQL refuses what a mirror had allowed: the mirror is unloaded.
 * - Redis has lost what was accepted: stock_lost.h.
 * - The process dies between COMMIT and settling: the next writer reads the entries again and finds
 *   their orders decided.
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
#include "strategies/redis_stock/writer/stock_lost.h"
#include "strategies/redis_stock/writer/stock_settle.h"
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
    LOOK_ANYWAY_US = 1000000,
    PUT_OFF_PRODUCTS = 64
};

/* Entries that stay in the history because another transaction holds a lock that they need. */
struct put_off {
    int count;
    int64_t products[PUT_OFF_PRODUCTS];
    bool more; /* others, too: the array is full, or the row is not what they wait for */
    char last[STOCK_ENTRY_MAX];
};

struct writer {
    struct redis_stock *stock;       /* borrowed: whose writer it is */
    const struct services *services; /* borrowed: app */
    struct stock_link link;          /* owns its sessions */
    struct stock_stream *stream;     /* owned */
    pthread_t thread;
    atomic_bool stopping;
    _Atomic int64_t drift;     /* of the last whole round */
    _Atomic int64_t oldest_us; /* since when the oldest undecided entry of all waits; 0: none */
    bool behind;               /* the history is being read: see the table of states */
    bool failed;               /* part of the history could not be written: read it once more */
    struct put_off put_off;
    bool retrying; /* the entries that were put off are being read, up to retry_last */
    char retry_last[STOCK_ENTRY_MAX];
    int64_t look_at_us;
    int64_t look_anyway_at_us;
    int64_t take_over_at_us;
    bool taking_over; /* there may be more at once */
    int64_t mend_at_us;
    int64_t quiet_since_us;
    int64_t round_at_us;
    int64_t round_due_us; /* quiet or not */
    struct stock_round round;
    struct stock_lost lost; /* the end of the round */
    bool in_round;
    bool mirrors_seen;
    struct {
        struct metric fates[CLAIM_FATES];
        struct metric rebuilds;
        struct metric rounds;
    } counters;
};

static int64_t read_drift(void *context)
{
    struct writer *at = context;

    return atomic_load(&at->drift);
}

static int64_t read_oldest(void *context)
{
    struct writer *at = context;
    int64_t since_us = atomic_load(&at->oldest_us);

    return since_us == 0 ? 0 : (clock_mono_us() - since_us) / CLOCK_US_PER_S;
}

static void note_oldest(struct writer *at)
{
    int64_t age_ms = at->stream->oldest_ms;

    atomic_store(&at->oldest_us, age_ms < 0 ? 0 : clock_mono_us() - age_ms * CLOCK_US_PER_MS);
}

static void register_metrics(struct writer *at)
{
    static const char *const labels[CLAIM_FATES] = {
        [CLAIM_OPEN] = "fate=\"put_off\"",     [CLAIM_HELD] = "fate=\"row_held\"",
        [CLAIM_LOCKED] = "fate=\"lock_held\"", [CLAIM_CONFIRMED] = "fate=\"confirmed\"",
        [CLAIM_KNOWN] = "fate=\"known\"",      [CLAIM_ENDED] = "fate=\"sale_ended\"",
        [CLAIM_REFUSED] = "fate=\"refused\"",  [CLAIM_POISON] = "fate=\"unwritable\"",
        [CLAIM_LOST] = "fate=\"lost\"",
    };

    for (int i = 0; i < CLAIM_FATES; i++)
        at->counters.fates[i] = metrics_counter(
            at->services->metrics, METRICS_ALWAYS, "seckill_redis_stock_claims_total",
            "Reserved orders that came to the writer.", labels[i]);
    at->counters.rebuilds =
        metrics_counter(at->services->metrics, METRICS_ALWAYS, "seckill_redis_stock_rebuilds_total",
                        "Mirrors that were wrong and unloaded; the next order loads them.", "");
    at->counters.rounds =
        metrics_counter(at->services->metrics, METRICS_ALWAYS, "seckill_redis_stock_rounds_total",
                        "Whole rounds of the reconciler.", "");
    metrics_gauge(at->services->metrics, METRICS_ALWAYS, "seckill_redis_stock_drift_units",
                  "Redis's stock against PostgreSQL's less what is reserved, in the last round.",
                  "", read_drift, at);
    metrics_gauge(at->services->metrics, METRICS_ALWAYS,
                  "seckill_redis_stock_oldest_undecided_seconds",
                  "Age of the oldest accepted order that is not decided, of all instances.", "",
                  read_oldest, at);
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
                : stock_mirror_forget(&at->link, wrong->product_id, 1, &gone);
        if (result == STOCK_DONE)
            metrics_add(at->counters.rebuilds, (uint64_t)gone);
        else
            stock_mend_ask(&at->stock->mend, wrong->product_id);
    }
    at->stream->wrong_count = 0;
}

/* Unloads the mirrors of products whose commits Redis could not be told of. */
static void mend(struct writer *at)
{
    int64_t products[MEND_MAX];
    int count = clock_mono_us() < at->mend_at_us ? 0 : stock_mend_take(&at->stock->mend, products);
    enum stock_result result = STOCK_DONE;

    at->link.until_us = clock_mono_us() + TIMEOUT_US;
    for (int i = 0; i < count; i++) {
        int64_t gone = 0;
        if (result == STOCK_DONE)
            result = stock_mirror_forget(&at->link, products[i], 1, &gone);
        if (result != STOCK_DONE)
            stock_mend_put_back(&at->stock->mend, products[i]);
    }
    if (result != STOCK_DONE)
        at->mend_at_us = clock_mono_us() + PAUSE_US;
}

static struct cost_outcomes count_fates(const struct writer *at, const struct stock_part *part)
{
    struct cost_outcomes count = {{0}};

    for (int i = 0; i < part->count; i++) {
        enum claim_fate fate = part->claims[i].fate;
        metrics_add(at->counters.fates[fate], 1);
        count.ends[COST_COMMITTED] += fate == CLAIM_CONFIRMED;
        count.ends[COST_REFUSED] += fate == CLAIM_REFUSED;
    }
    return count;
}

/* Level to behind: what is reserved from now on stays in the history alone. */
static void fall_behind(struct writer *at)
{
    stock_handover_close(&at->stock->handover);
    if (at->behind)
        return;
    at->behind = true;
    at->failed = at->retrying = false;
    at->put_off.count = 0;
    at->put_off.more = false;
    stock_stream_rewind(at->stream, STOCK_OWN_HISTORY);
}

static void put_off(struct put_off *to, int64_t product_id, const char *entry)
{
    int i = 0;

    if ((to->count == 0 && !to->more) || stock_entry_is_behind(entry, to->last))
        snprintf(to->last, sizeof to->last, "%s", entry);
    while (i < to->count && to->products[i] != product_id)
        i++;
    if (product_id == 0 || i == PUT_OFF_PRODUCTS)
        to->more = true;
    else if (i == to->count)
        to->products[to->count++] = product_id;
}

/* What the entry's orders wait for: their product's row, another lock (0), or nothing (-1). */
static int64_t waits_for(const struct stock_part *part, const struct part_entry *entry)
{
    int64_t product_id = -1;

    for (int i = entry->first; i < entry->first + entry->count; i++) {
        const struct claim *claim = &part->claims[i];
        if (claim->fate == CLAIM_HELD)
            return claim->order.product_id;
        if (claim->fate == CLAIM_LOCKED)
            product_id = 0;
    }
    return product_id;
}

/* Removes the entries that are put off from the part: all of an entry is settled at once. */
static void put_off_held(struct writer *at, struct stock_part *part)
{
    int n = 0;

    for (int i = 0; i < part->entries_count; i++) {
        const struct part_entry *entry = &part->entries[i];
        int64_t product_id = waits_for(part, entry);
        if (product_id >= 0)
            put_off(&at->put_off, product_id, entry->id);
        else
            part->entries[n++] = *entry;
    }
    part->entries_count = n;
}

/* Writes a part to PostgreSQL and settles it in Redis. */
static bool write_part(struct writer *at, struct stock_part *part)
{
    stock_write(&at->link, part->claims, part->count, part->fresh);
    struct cost_outcomes count = count_fates(at, part);
    stock_handover_keep_undecided(&at->stock->handover, part);
    FAILPOINT("stock-writer-committed");
    put_off_held(at, part);
    bool done = stock_settle(at->stream, &at->link, part,
                             part->fresh && !stock_handover_is_empty(&at->stock->handover));
    cost_charge_outcomes(at->services, at->stock->strategy, &count);
    at->quiet_since_us = clock_mono_us();
    at->round_at_us = 0; /* figures have moved: a round when it is quiet again */
    return done;
}

/* After parts were written: repairs mirrors; after a failure falls behind, and pauses. */
static void conclude(struct writer *at, bool done)
{
    bool was_behind = at->behind;

    unload_wrong(at);
    if (done)
        return;
    fall_behind(at);
    at->failed = was_behind;
    clock_sleep_until(clock_mono_us() + PAUSE_US);
}

static bool connect_stores(struct writer *at)
{
    bool fresh = false;

    at->link.until_us = clock_mono_us() + TIMEOUT_US;
    /* While PostgreSQL is known to be away, only the background's probe connects: a failed attempt
     * here would keep all other sessions from trying. */
    if (!store_up(services_store(at->services)) || *store_trouble(services_store(at->services)) ||
        !stock_stream_connect(at->stream, at->link.redis, at->link.until_us, &fresh) ||
        !pg_connect(at->link.pg, at->link.until_us))
        return false;
    if (fresh) { /* Redis or this process may have restarted: read the history, check the mirrors */
        redis_survey(at->link.redis, at->link.until_us);
        stock_flag_doubt(&at->stock->flag, clock_mono_us()); /* also by who has noticed nothing */
        at->behind = false;                                  /* from the beginning */
        fall_behind(at);
        atomic_store(&at->stock->mend.round, true);
    }
    return true;
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
    while (stock_stream_next(at->stream, &part))
        done &= write_part(at, &part);
    conclude(at, done);
    return true;
}

/* Behind: reads a piece of the history. At its end the hand-over opens; at the next end, which
 * comes after everything that was reserved until then, the writer is level. */
static void catch_up(struct writer *at)
{
    bool handing = stock_handover_is_open(&at->stock->handover);
    bool more;

    if (!read_and_write(at, STOCK_OWN_HISTORY, &more)) {
        conclude(at, false);
    } else if (more) {
        return;
    } else if (at->failed) {
        at->behind = false;
        fall_behind(at);
    } else if (!handing) {
        stock_handover_open(&at->stock->handover);
    } else {
        at->behind = false;
    }
}

/* Whether to read the entries that were put off: one of their rows is free, or it is time. */
static bool may_retry(struct writer *at)
{
    int64_t now_us = clock_mono_us();

    if ((at->put_off.count == 0 && !at->put_off.more) || now_us < at->look_at_us)
        return false;
    at->look_at_us = now_us + LOOK_US;
    return (at->put_off.more && now_us >= at->look_anyway_at_us) ||
           (at->put_off.count > 0 &&
            stock_write_finds_free(&at->link, at->put_off.products, at->put_off.count));
}

/* Reads a piece of what was put off; entries whose rows are still held are put off once more. */
static void retry(struct writer *at)
{
    bool more;

    if (!at->retrying) {
        if (!may_retry(at))
            return;
        /* Entries that are decided but not yet settled must not be read again. */
        if (!stock_settle_noted(at->stream, &at->link)) {
            conclude(at, false);
            return;
        }
        at->retrying = true;
        at->look_anyway_at_us = clock_mono_us() + LOOK_ANYWAY_US;
        snprintf(at->retry_last, sizeof at->retry_last, "%s", at->put_off.last);
        at->put_off.count = 0;
        at->put_off.more = false;
        stock_stream_rewind(at->stream, STOCK_OWN_HISTORY);
    }
    if (!read_and_write(at, STOCK_OWN_HISTORY, &more))
        conclude(at, false);
    else if (!more || stock_entry_is_behind(at->stream->history_from, at->retry_last))
        at->retrying = false;
}

static void take_over(struct writer *at)
{
    if (!read_and_write(at, STOCK_TAKE_OVER, &at->taking_over))
        stock_stream_rewind(at->stream, STOCK_TAKE_OVER);
    else
        note_oldest(at);
    if (!at->taking_over)
        at->take_over_at_us = clock_mono_us() + TAKE_OVER_EVERY_US;
}

/* While PostgreSQL is away orders are accepted and grow old: keeps their age in /metrics true. */
static void watch(struct writer *at)
{
    if (clock_mono_us() < at->take_over_at_us)
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

    if (!stock_handover_take(&at->stock->handover, &part, until_us)) {
        bool settled = stock_settle_noted(at->stream, &at->link);
        if (!stock_handover_is_open(&at->stock->handover))
            fall_behind(at);
        conclude(at, settled);
        cost_charge(at->services, at->stock->strategy, COST_OTHER, 0);
        return false;
    }
    FAILPOINT("stock-writer-read");
    conclude(at, write_part(at, &part));
    return true;
}

static bool is_round_due(const struct writer *at)
{
    int64_t now_us = clock_mono_us();

    return !at->behind && (now_us - at->quiet_since_us >= QUIET_US || now_us >= at->round_due_us);
}

/* The mirrors, and then what Redis has lost. False: a store is out of reach. */
static bool reconcile_step(struct writer *at, bool *over)
{
    int ended;

    if (!at->mirrors_seen) {
        bool done = stock_round_step(&at->link, &at->round, over) == STOCK_DONE;
        at->mirrors_seen = done && *over;
        *over = false;
        return done;
    }
    enum stock_result result = stock_lost_step(&at->link, &at->stock->handover.kept, &at->lost,
                                               at->stream->claims, over, &ended);
    metrics_add(at->counters.fates[CLAIM_LOST], (uint64_t)ended);
    return result == STOCK_DONE;
}

static void reconcile(struct writer *at)
{
    int64_t now_us = clock_mono_us();
    bool over;

    if (atomic_exchange(&at->stock->mend.round, false))
        at->round_at_us = 0;
    if (!at->in_round && now_us < at->round_at_us)
        return;
    if (!at->in_round) {
        stock_round_begin(&at->round);
        stock_lost_begin(&at->lost);
        at->mirrors_seen = false;
    }
    /* What is decided must not count as reserved. */
    if (!stock_settle_noted(at->stream, &at->link)) {
        conclude(at, false);
        return;
    }
    bool done = reconcile_step(at, &over);
    at->in_round = done && !over;
    if (at->in_round)
        return;
    at->round_due_us = clock_mono_us() + BUSY_ROUND_US;
    if (!done) {
        atomic_store(&at->stock->mend.round, true);
        return;
    }
    atomic_store(&at->drift, at->round.drift);
    metrics_add(at->counters.rebuilds, (uint64_t)at->round.rebuilt);
    metrics_add(at->counters.rounds, 1);
    at->round_at_us = clock_mono_us() +
                      (at->round.drift || at->round.skipped || at->lost.held ? QUIET_US : ROUND_US);
}

/* Until when this turn may wait for the hand-over; 0: there is other work. */
static int64_t wait_until(const struct writer *at)
{
    int64_t until_us = clock_mono_us() + WAIT_US;

    if (at->behind || at->retrying || at->taking_over)
        return 0;
    return at->put_off.count > 0 ? clock_earlier(until_us, at->look_at_us) : until_us;
}

/* One turn. False: nothing can be done now. */
static bool turn(struct writer *at)
{
    if (!connect_stores(at)) {
        watch(at);
        return false;
    }
    mend(at);
    if (at->behind)
        catch_up(at);
    else
        retry(at);
    if (at->taking_over || clock_mono_us() >= at->take_over_at_us)
        take_over(at);
    write_handed(at, wait_until(at));
    if (is_round_due(at))
        reconcile(at);
    return true;
}

static void *writer_main(void *argument)
{
    struct writer *at = argument;

    while (!atomic_load(&at->stopping)) {
        bool done = turn(at);
        cost_charge(at->services, at->stock->strategy, COST_OTHER, 0);
        if (!done)
            clock_sleep_until(clock_mono_us() + PAUSE_US);
    }
    int64_t until_us = clock_mono_us() + DRAIN_US;
    bool more = true;
    while (more && clock_mono_us() < until_us && connect_stores(at)) {
        if (at->behind)
            catch_up(at);
        else
            more = write_handed(at, clock_mono_us() + WAIT_US);
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

struct writer *stock_writer_start(struct redis_stock *stock, struct error *error)
{
    const struct services *services = stock->services;
    struct writer *at = calloc(1, sizeof *at);

    if (!at) {
        error_set(error, ERROR_INTERNAL, "out of memory");
        return NULL;
    }
    at->stock = stock;
    at->services = services;
    at->link.settings = services->settings;
    at->link.strategy = stock->strategy->name;
    at->link.pg = pg_create(services_store(services));
    at->link.redis = redis_create(services->backends[BACKEND_STOCK_REDIS]);
    at->stream = stock_stream_create(services->settings,
                                     services->settings->work_timeout_ms + TAKE_OVER_MARGIN_MS);
    register_metrics(at);
    if (at->link.pg)
        held_limit(at->link.pg);
    if (!at->link.pg || !at->link.redis || !at->stream ||
        pthread_create(&at->thread, NULL, writer_main, at) != 0) {
        destroy(at);
        error_set(error, ERROR_INTERNAL, "cannot start redis-stock's writer");
        return NULL;
    }
    return at;
}

void stock_writer_stop(struct writer *at)
{
    if (!at)
        return;
    atomic_store(&at->stopping, true);
    pthread_join(at->thread, NULL);
    destroy(at);
}
