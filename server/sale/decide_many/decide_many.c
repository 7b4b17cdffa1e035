/* See decide_many.h: the attempt, what follows when it fails, and the second try of what is held.
 */
#include "sale/decide_many/decide_many.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/random/random.h"

enum { ATTEMPTS_MAX = 20, JITTER_US = 10000 };

void decide_init(struct decision *decision, const struct decider *by, void *context, struct pg *pg,
                 struct held *held)
{
    decision->by = by;
    decision->context = context;
    decision->pg = pg;
    decision->held = held;
    decision->fresh = false;
    decision->parts_until_us = INT64_MAX;
    decision->until_us = 0;
    decision->total = decision->count = 0;
    decision->troubles = decision->waits = 0;
    decision->burying = false;
}

void decide_add(struct decision *decision, const struct uuid *id, int64_t product_id,
                int64_t user_id, int64_t quantity)
{
    decision->places[decision->total] = decision->total;
    decision->orders[decision->total++] =
        (struct decide_order){*id, product_id, user_id, quantity, 0, DECIDE_OPEN};
}

static void set_all(struct decision *decision, enum decide_state from, enum decide_state to)
{
    for (int n = 0; n < decision->count; n++) {
        struct decide_order *order = &decision->orders[decision->at[n]];
        if (order->state == from)
            order->state = to;
    }
}

/* All, but for those that have waited in vain a moment ago. */
static void open_all(struct decision *decision)
{
    for (int n = 0; n < decision->count; n++) {
        struct decide_order *order = &decision->orders[decision->at[n]];
        bool rests = decision->held && held_rests(decision->held, &order->id);
        order->state = rests ? DECIDE_LOCKED : DECIDE_OPEN;
    }
}

/* Without a lock of the adapter's own it waits for the row of `awaited` alone, if that is not 0. */
static enum pg_status lock_rows(struct decision *decision, int64_t awaited)
{
    struct tally *tally = &decision->tally;
    enum pg_status status = PG_OK;

    for (int n = 0; n < decision->count; n++) {
        struct decide_order *order = &decision->orders[decision->at[n]];
        order->product = tally_product(tally, order->product_id);
    }
    if (decision->by->lock)
        return decision->by->lock(decision);
    if (awaited > 0)
        status = held_wait(decision->held, decision->pg, awaited, decision->until_us);
    if (status == PG_OK)
        status = tally_lock_free(tally);
    if (status != PG_OK)
        return status;
    held_note(decision->held, tally);
    for (int n = 0; n < decision->count; n++) {
        struct decide_order *order = &decision->orders[decision->at[n]];
        if (order->state == DECIDE_OPEN && tally->busy[order->product])
            order->state = DECIDE_HELD;
    }
    return PG_OK;
}

static enum pg_status read_wanted(struct decision *decision)
{
    for (int n = 0; n < decision->count; n++) {
        const struct decide_order *order = &decision->orders[decision->at[n]];
        if (order->state == DECIDE_OPEN && !decision->burying)
            tally_want(&decision->tally, order->product, order->user_id, order->quantity);
    }
    return tally_read(&decision->tally);
}

static void judge_all(struct decision *decision)
{
    for (int n = 0; n < decision->count; n++) {
        int i = decision->at[n];
        if (decision->orders[i].state != DECIDE_OPEN)
            continue;
        (decision->burying ? decision->by->bury : decision->by->judge)(decision, i);
        decision->orders[i].state = DECIDE_DECIDED;
    }
}

/* The whole transaction, up to and with the COMMIT. */
static enum pg_status transact(struct decision *decision, int64_t awaited)
{
    tally_init(&decision->tally, decision->pg, 0, decision->until_us);
    pg_begin(decision->pg);
    enum pg_status status = lock_rows(decision, awaited);
    if (status == PG_OK)
        status = decision->by->known(decision);
    if (status == PG_OK)
        status = read_wanted(decision);
    if (status == PG_OK) {
        judge_all(decision);
        status = decision->by->write(decision);
    }
    if (status != PG_OK) {
        pg_rollback(decision->pg, decision->until_us);
        open_all(decision);
    }
    return status;
}

static enum pg_status attempt(struct decision *decision, const int *at, int count, int64_t awaited)
{
    decision->at = at;
    decision->count = count;
    open_all(decision);
    if (!decision->by->begin(decision))
        return PG_LOST;
    if (decision->fresh && decision->by->at_once && awaited == 0) {
        enum pg_status status = decision->by->at_once(decision);
        if (status != PG_OK || decision->orders[at[0]].state == DECIDE_DECIDED)
            return status;
    }
    return transact(decision, awaited);
}

/* Waited in vain for a lock that one of them needs: that one is found, and left for later. */
static enum decide_next waited(struct decision *decision)
{
    bool alone = decision->count == 1;
    struct decide_order *order = &decision->orders[decision->at[0]];

    decision->waits++;
    held_waited(decision->held, alone ? &order->id : NULL);
    if (alone)
        order->state = DECIDE_LOCKED;
    return alone ? NEXT_DONE : NEXT_PART;
}

static bool is_wait(enum pg_status status)
{
    return status == PG_BUSY || status == PG_WITHHELD;
}

/* It speaks of the server, and may be over in a moment. */
static bool is_trouble(enum pg_status status)
{
    return !pg_blames_rows(status) && status != PG_CONFLICT;
}

/* Leaves open what cannot be done now. */
static enum decide_next give_way(struct decision *decision, enum pg_status status)
{
    bool reached = status != PG_TIMEOUT && status != PG_LOST;
    int most = decision->by->troubles_max;

    if (decision->troubles == 0)
        decision->trouble = *pg_error(decision->pg);
    decision->troubles += reached ? 1 : most;
    return decision->count > 1 && decision->troubles < most ? NEXT_PART : NEXT_LEFT;
}

/* The one order whose statements PostgreSQL refuses. */
static enum decide_next bury(struct decision *decision)
{
    int place = decision->at[0];
    char id[UUID_TEXT_LENGTH + 1];

    uuid_format(&decision->orders[place].id, id);
    log_error("%s: order %s is unwritable: %s", decision->by->name, id,
              pg_error(decision->pg)->text);
    decision->burying = true;
    enum pg_status status = attempt(decision, decision->at, 1, 0);
    decision->burying = false;
    if (is_wait(status))
        return waited(decision);
    return status == PG_OK ? NEXT_DONE : NEXT_LEFT;
}

static enum decide_next after_failure(struct decision *decision, enum pg_status status,
                                      int *refusals)
{
    if (decision->by->failed)
        return decision->by->failed(decision, status);
    if (status == PG_WITHHELD)
        log_warn("%s: %d orders wait: %s", decision->by->name, decision->count,
                 pg_error(decision->pg)->text);
    if (is_wait(status))
        return waited(decision);
    if (is_trouble(status))
        return give_way(decision, status);
    if (pg_blames_rows(status) && !decision->fresh) {
        if (decision->count > 1) {
            log_warn("%s: PostgreSQL refuses %d orders: %s", decision->by->name, decision->count,
                     pg_error(decision->pg)->text);
            return NEXT_PART;
        }
        if (++*refusals == decision->by->refusals_max)
            return bury(decision);
    }
    decision->fresh = false; /* somebody may have been here all the same */
    clock_sleep_until(clock_mono_us() + (int64_t)random_below(JITTER_US));
    return NEXT_AGAIN;
}

static bool decide_range(struct decision *decision, int *at, int count);

static bool decide_parts(struct decision *decision, int *at, int count)
{
    int first = decision->by->part ? decision->by->part(decision, at) : count / 2;
    bool done = decide_range(decision, at, first);

    if (clock_mono_us() < decision->parts_until_us)
        done &= decide_range(decision, at + first, count - first);
    return done;
}

static bool decide_range(struct decision *decision, int *at, int count)
{
    int refusals = 0;

    for (int i = 0; i < ATTEMPTS_MAX && decision->troubles < decision->by->troubles_max; i++) {
        decision->at = at;
        decision->count = count;
        if (decision->waits >= HELD_WAITS_MAX) {
            set_all(decision, DECIDE_OPEN, DECIDE_HELD);
            return true;
        }
        enum pg_status status = attempt(decision, at, count, 0);
        enum decide_next next =
            status == PG_OK ? NEXT_DONE : after_failure(decision, status, &refusals);
        switch (next) {
        case NEXT_DONE:
            return true;
        case NEXT_PART:
            return decide_parts(decision, at, count);
        case NEXT_LEFT:
            return false;
        case NEXT_AGAIN:
            break;
        }
    }
    return false;
}

/* Decides those that are held once more. False: PostgreSQL is out of reach. */
static bool decide_held_ones(struct decision *decision)
{
    int64_t awaited = 0;
    int count = 0;

    for (int i = 0; i < decision->total; i++)
        if (decision->orders[i].state == DECIDE_HELD) {
            awaited = held_choose(decision->held, awaited, decision->orders[i].product_id);
            decision->places[count++] = i;
        }
    if (awaited == 0 || decision->waits >= HELD_WAITS_MAX ||
        decision->troubles >= decision->by->troubles_max)
        return true;
    enum pg_status status = attempt(decision, decision->places, count, awaited);
    /* In vain; or one of them waits for another lock, and is to be found. */
    if (is_wait(status))
        status = decide_range(decision, decision->places, count) ? PG_OK : PG_LOST;
    decision->at = decision->places;
    decision->count = count;
    if (status != PG_OK)
        set_all(decision, DECIDE_OPEN, DECIDE_HELD);
    return status != PG_TIMEOUT && status != PG_LOST; /* after anything else they are still held */
}

bool decide_many(struct decision *decision)
{
    if (decision->total == 0)
        return true;
    bool done = decide_range(decision, decision->places, decision->total);
    return (!decision->held || decide_held_ones(decision)) && done;
}
