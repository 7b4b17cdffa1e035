/*
 * A turn takes what dead members left, then what this instance's workers have handed over, and
 * writes it; a turn without entries may reconcile. One that is behind, since it has just begun or
 * something has failed, reads its own history until it has all of it. A turn that fails pauses and
 * starts over. Stop lets what is there be written, for a bounded time; the rest stays in the
 * stream.
 */
#include "strategy/stock_writer.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "metrics/metrics.h"
#include "strategy/spending.h"
#include "strategy/stock_handover.h"
#include "strategy/stock_reconcile.h"
#include "strategy/stock_settle.h"
#include "strategy/stock_write.h"
#include "strategy/strategies.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    PATIENCE_US = 1000000,
    PAUSE_US = 100000,          /* before what could not be done is tried again */
    WAIT_US = 100000,           /* for something to be handed over */
    QUIET_US = 200000,          /* without entries before the reconciler begins */
    ROUND_US = 30000000,        /* between rounds when nobody asks for one */
    DRAIN_US = 3000000,         /* what stop allows */
    TAKE_OVER_MARGIN_MS = 1000, /* beyond the longest that work on an entry may take */
    TAKE_OVER_EVERY_US = 500000
};

struct writer {
    const struct services *services; /* borrowed: app */
    struct stock_link link;          /* owns its sessions */
    struct stock_stream *stream;     /* owned */
    pthread_t thread;
    atomic_bool stopping;
    atomic_bool check;     /* a round is wanted */
    _Atomic int64_t drift; /* of the last whole round */
    bool behind;           /* something is in our history alone */
    int64_t take_over_at_us;
    int64_t quiet_since_us;
    int64_t round_at_us;
    struct stock_round round;
    bool in_round;
};

static struct writer *writer; /* set by start, before the thread is there; NULL: not started */

static struct {
    int fates[CLAIM_FATES];
    int rebuilds;
    int rounds;
} counters;

void stock_writer_check(void)
{
    if (writer)
        atomic_store(&writer->check, true);
}

static int64_t read_drift(void *context)
{
    struct writer *at = context;

    return atomic_load(&at->drift);
}

static void register_metrics(struct writer *at)
{
    static const char *const labels[CLAIM_FATES] = {
        [CLAIM_OPEN] = "fate=\"put_off\"",    [CLAIM_CONFIRMED] = "fate=\"confirmed\"",
        [CLAIM_KNOWN] = "fate=\"known\"",     [CLAIM_ENDED] = "fate=\"sale_ended\"",
        [CLAIM_REFUSED] = "fate=\"refused\"", [CLAIM_POISON] = "fate=\"unwritable\"",
    };

    for (int i = 0; i < CLAIM_FATES; i++)
        counters.fates[i] = metrics_counter("seckill_redis_stock_claims_total",
                                            "Reserved orders that came to the writer.", labels[i]);
    counters.rebuilds = metrics_counter("seckill_redis_stock_rebuilds_total",
                                        "Mirrors that were wrong and built anew.", "");
    counters.rounds =
        metrics_counter("seckill_redis_stock_rounds_total", "Whole rounds of the reconciler.", "");
    metrics_gauge("seckill_redis_stock_drift_units",
                  "Redis's stock against PostgreSQL's less what is reserved, in the last round.",
                  "", read_drift, at);
}

/* PostgreSQL said no to something that a mirror had said yes to. */
static void rebuild(struct writer *at, const int64_t *products, int count)
{
    for (int i = 0; i < count; i++) {
        at->link.until_us =
            clock_mono_us() + at->services->settings->work_timeout_ms * CLOCK_US_PER_MS;
        if (!pg_connect(at->link.pg, at->link.until_us) ||
            stock_mirror_load(&at->link, products[i], true) == STOCK_UNREACHABLE)
            atomic_store(&at->check, true);
        else
            metrics_add(counters.rebuilds, 1);
    }
}

static struct spending_count count_fates(const struct stock_part *part)
{
    struct spending_count count = {{0}};

    for (int i = 0; i < part->count; i++) {
        enum claim_fate fate = part->claims[i].fate;
        metrics_add(counters.fates[fate], 1);
        count.ends[SPENT_COMMITTED] += fate == CLAIM_CONFIRMED;
        count.ends[SPENT_REFUSED] += fate == CLAIM_REFUSED;
    }
    return count;
}

/* What is reserved from now on is in our history alone, too. */
static void fall_behind(struct writer *at)
{
    stock_handover_close();
    at->behind = true;
}

/* Brings it into PostgreSQL and lets go of it. */
static bool write_part(struct writer *at, struct stock_part *part)
{
    stock_write(&at->link, part->claims, part->count, part->fresh);
    struct spending_count count = count_fates(part);
    FAILPOINT("stock-writer-committed");
    bool done =
        stock_settle(at->stream, &at->link, part, part->fresh && !stock_handover_is_empty());
    spending_charge_count(&strategy_redis_stock, &count);
    at->quiet_since_us = clock_mono_us();
    at->round_at_us = 0; /* figures have moved: a round when it is quiet again */
    return done;
}

/* After parts were written. */
static void conclude(struct writer *at, bool done)
{
    rebuild(at, at->stream->wrong, at->stream->wrong_count);
    at->stream->wrong_count = 0;
    if (done)
        return;
    fall_behind(at);
    clock_sleep_until(clock_mono_us() + PAUSE_US);
}

static bool connect_stores(struct writer *at)
{
    struct redis *redis = at->link.redis;
    bool fresh = false;

    at->link.until_us = clock_mono_us() + PATIENCE_US;
    /* Where PostgreSQL is known to be away the background's probe finds it again: a failed attempt
     * of ours would keep everybody else from trying. */
    if (!store_up(at->services->store) ||
        !stock_stream_connect(at->stream, redis, at->link.until_us, &fresh) ||
        !pg_connect(at->link.pg, at->link.until_us))
        return false;
    if (fresh) { /* after a restart of either side: what was ours, and what may be wrong */
        redis_survey(redis, at->link.until_us);
        fall_behind(at);
        atomic_store(&at->check, true);
    }
    return true;
}

/* How many entries there were; -1: that cannot be said. */
static int read_and_write(struct writer *at, enum stock_source source)
{
    struct stock_part part;
    bool done = true;

    at->link.until_us = clock_mono_us() + PATIENCE_US;
    int n = stock_stream_read(at->stream, &at->link, source);
    if (n <= 0) {
        spending_charge(&strategy_redis_stock, SPENT_NEITHER, 0);
        return n;
    }
    FAILPOINT("stock-writer-read");
    while (stock_stream_next(at->stream, &part))
        done &= write_part(at, &part);
    conclude(at, done);
    return n;
}

/* Once all of the history was read workers may hand over again; what they reserved until then is
 * in the history that is read after that. */
static void catch_up(struct writer *at)
{
    bool handing = stock_handover_is_open();

    at->behind = false; /* unless something fails */
    int n = read_and_write(at, STOCK_OWN_HISTORY);
    if (n < 0 || n == STREAM_ENTRIES) {
        at->behind = true;
    } else if (!handing && !at->behind) {
        stock_handover_open();
        at->behind = true;
    }
}

/* False: there was nothing for a while. */
static bool write_handed(struct writer *at)
{
    struct stock_part part = {.claims = at->stream->claims};
    int64_t until_us = clock_mono_us() + WAIT_US;

    if (!stock_handover_take(&part, until_us)) {
        conclude(at, stock_settle_noted(at->stream, &at->link) && stock_handover_is_open());
        spending_charge(&strategy_redis_stock, SPENT_NEITHER, 0);
        return false;
    }
    FAILPOINT("stock-writer-read");
    conclude(at, write_part(at, &part));
    return true;
}

static void reconcile(struct writer *at)
{
    int64_t now_us = clock_mono_us();

    if (atomic_exchange(&at->check, false))
        at->round_at_us = 0;
    if (!at->in_round && now_us < at->round_at_us)
        return;
    if (!at->in_round)
        stock_round_begin(&at->round);
    if (stock_round_step(&at->link, &at->round) != STOCK_DONE) {
        at->in_round = false;
        atomic_store(&at->check, true);
        return;
    }
    at->in_round = at->round.cursor[0] != '0' || at->round.cursor[1] != '\0';
    if (at->in_round)
        return;
    atomic_store(&at->drift, at->round.drift);
    metrics_add(counters.rebuilds, (uint64_t)at->round.rebuilt);
    metrics_add(counters.rounds, 1);
    at->round_at_us =
        clock_mono_us() + (at->round.drift || at->round.skipped ? QUIET_US : ROUND_US);
}

/* One turn. False: nothing can be done now. */
static bool turn(struct writer *at)
{
    if (!connect_stores(at))
        return false;
    if (at->behind)
        catch_up(at);
    if (clock_mono_us() >= at->take_over_at_us) {
        at->take_over_at_us = clock_mono_us() + TAKE_OVER_EVERY_US;
        read_and_write(at, STOCK_TAKE_OVER);
    }
    if (!write_handed(at) && clock_mono_us() - at->quiet_since_us >= QUIET_US)
        reconcile(at);
    return true;
}

static void *writer_main(void *argument)
{
    struct writer *at = argument;

    while (!atomic_load(&at->stopping)) {
        bool done = turn(at);
        spending_charge(&strategy_redis_stock, SPENT_NEITHER, 0);
        if (!done)
            clock_sleep_until(clock_mono_us() + PAUSE_US);
    }
    int64_t until_us = clock_mono_us() + DRAIN_US;
    bool more = true;
    while (more && clock_mono_us() < until_us && connect_stores(at)) {
        if (at->behind)
            catch_up(at);
        else
            more = write_handed(at);
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

bool stock_writer_start(const struct services *services, struct error *error)
{
    struct writer *at = calloc(1, sizeof *at);

    if (!at)
        return error_set(error, ERROR_INTERNAL, "out of memory");
    at->services = services;
    at->link.settings = services->settings;
    at->link.pg = pg_create(services->store);
    at->link.redis = redis_create(services->stock_cache);
    at->stream = stock_stream_create(services->settings,
                                     services->settings->work_timeout_ms + TAKE_OVER_MARGIN_MS);
    register_metrics(at);
    stock_handover_start();
    writer = at;
    if (!at->link.pg || !at->link.redis || !at->stream ||
        pthread_create(&at->thread, NULL, writer_main, at) != 0) {
        writer = NULL;
        stock_handover_stop();
        destroy(at);
        return error_set(error, ERROR_INTERNAL, "cannot start redis-stock's writer");
    }
    return true;
}

void stock_writer_stop(void)
{
    struct writer *at = writer;

    if (!at)
        return;
    atomic_store(&at->stopping, true);
    pthread_join(at->thread, NULL);
    writer = NULL;
    stock_handover_stop();
    destroy(at);
}
