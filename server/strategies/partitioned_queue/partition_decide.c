/*
 * Many queued buys, of any products, decided in one transaction (decide_many.h).
 *
 * Orders read under their products' locks cannot change under us, because every decision of a
 * queued order holds its product's row. Refused orders end `failed` with their reason. Every write
 * names what it expects (the row is queued, the epoch is the sale's, the stock is there) and the
 * number of rows it must match. Orders that wait for somebody else's lock are RETRY; one whose row
 * PostgreSQL refuses ends `failed`, reason `unwritable`; neither holds anybody up.
 */
#include "base/failpoint.h"
#include "sale/decide_many/decide_many.h"
#include "strategies/partitioned_queue/partition.h"

#include <string.h>

static const char unwritable[] = "unwritable";

static _Thread_local struct held held;

struct held *partition_held(void)
{
    return &held;
}

/* The decision's context. */
struct work {
    struct session *session;         /* borrowed */
    struct partition_entry *entries; /* borrowed */
    bool queued[PARTITION_BATCH];    /* of the entries: it is decided in this attempt */
    int64_t hold_s[PARTITION_BATCH]; /* or ORDER_HOLD_NOT_SAID */
};

static bool begin(struct decision *decision)
{
    const struct work *work = decision->context;

    session_begin_work(work->session);
    decision->until_us = work->session->work_until_us;
    return pg_connect(decision->pg, decision->until_us);
}

/* A failed row says why; the outcome has the same name. */
static enum order_outcome outcome_of_reason(const char *reason)
{
    enum order_outcome refusal = order_refusal_of(reason);

    if (refusal != ORDER_PENDING)
        return refusal;
    return strcmp(reason, unwritable) == 0 ? ORDER_INTERNAL_ERROR : ORDER_BACKEND_UNAVAILABLE;
}

/* What the row says of its order, which stays open where that is queued. */
static enum decide_state take_status(struct decision *decision, int row,
                                     struct partition_entry *entry)
{
    struct pg *pg = decision->pg;
    char reason[ORDER_REASON_MAX + 1];

    switch ((enum order_status)pg_get_int2(pg, row, 4)) {
    case STATUS_QUEUED:
        return DECIDE_OPEN;
    case STATUS_PENDING:
        entry->hold_until_us = pg_get_time(pg, row, 8);
        entry->outcome = ORDER_CONFIRMED;
        break;
    case STATUS_CONFIRMED:
        entry->outcome = ORDER_CONFIRMED;
        break;
    case STATUS_CANCELLED: /* it was sold first; its buyer is told what it is now */
        entry->outcome = ORDER_CANCELLED;
        break;
    case STATUS_EXPIRED:
        entry->outcome = ORDER_EXPIRED;
        break;
    case STATUS_FAILED:
        pg_get_text(pg, row, 5, reason, sizeof reason);
        entry->outcome = outcome_of_reason(reason);
        break;
    }
    return DECIDE_DECIDED;
}

static void take_row(struct decision *decision, int row)
{
    struct work *work = decision->context;
    struct pg *pg = decision->pg;
    int i = decision->at[pg_get_int8(pg, row, 0) - 1];
    struct decide_order *order = &decision->orders[i];
    struct partition_entry *entry = &work->entries[i];
    const struct tally *tally = &decision->tally;
    bool of_sale = tally->known[order->product] &&
                   pg_get_int8(pg, row, 1) == tally->rows[order->product].epoch;

    if (!entry->missing)
        return;
    entry->missing = false;
    entry->hold_until_us = 0;
    entry->outcome = ORDER_SALE_NOT_OPEN;
    order->user_id = pg_get_int8(pg, row, 2);
    order->quantity = pg_get_int8(pg, row, 3);
    work->hold_s[i] = pg_is_null(pg, row, 7) ? ORDER_HOLD_NOT_SAID : pg_get_int8(pg, row, 7);
    if (of_sale) /* else the row is dead, whatever it says */
        order->state = take_status(decision, row, entry);
    work->queued[i] = order->state == DECIDE_OPEN;
}

/* A row of an ended sale is refused. No row is no refusal: the purge may have had it, but it may as
 * well be in a database that this process does not see (a failover's new primary, another shop's),
 * and be confirmed there. */
static enum pg_status read_rows(struct decision *decision)
{
    struct work *work = decision->context;
    struct uuid ids[PARTITION_BATCH];

    for (int n = 0; n < decision->count; n++) {
        int i = decision->at[n];
        bool left = decision->orders[i].state != DECIDE_OPEN;
        ids[n] = work->entries[i].id;
        work->entries[i].missing = !left;
        work->entries[i].outcome = ORDER_OUTCOME_UNKNOWN;
        work->queued[i] = false;
        if (!left)
            decision->orders[i].state = DECIDE_DECIDED;
    }
    enum pg_status status = pg_exec(decision->pg, SQL_QUEUE_ROWS,
                                    PG_ARGS(pg_uuids(ids, decision->count)), decision->until_us);
    for (int row = 0; status == PG_OK && row < pg_rows(decision->pg); row++)
        take_row(decision, row);
    return status;
}

/* The place of the first of the attempt's entries that is of the same order. */
static int first_of(const struct decision *decision, int i)
{
    int n = 0;

    while (!uuid_equal(&decision->orders[decision->at[n]].id, &decision->orders[i].id))
        n++;
    return decision->at[n];
}

/* An order that came twice is decided once. */
static void judge(struct decision *decision, int i)
{
    struct work *work = decision->context;
    struct partition_entry *entry = &work->entries[i];
    const struct decide_order *order = &decision->orders[i];
    int twin = first_of(decision, i);

    if (twin != i) {
        entry->outcome = work->entries[twin].outcome;
        entry->hold_until_us = work->entries[twin].hold_until_us;
        work->queued[i] = false;
        return;
    }
    entry->outcome = tally_judge(&decision->tally, order->product, order->user_id, order->quantity);
    if (entry->outcome != ORDER_PENDING)
        return;
    entry->hold_until_us = purchase_hold_until(work->session->services->settings, work->hold_s[i],
                                               &decision->tally.rows[order->product]);
    entry->outcome = ORDER_CONFIRMED;
}

/* An order whose statements PostgreSQL refuses. */
static void bury(struct decision *decision, int i)
{
    struct work *work = decision->context;

    work->entries[i].outcome = ORDER_INTERNAL_ERROR;
}

static const char *reason_of_outcome(enum order_outcome outcome)
{
    return outcome == ORDER_INTERNAL_ERROR ? unwritable : order_outcome_row(outcome)->name;
}

static enum pg_status write_orders(struct decision *decision)
{
    const struct work *work = decision->context;
    struct uuid confirmed[PARTITION_BATCH];
    int64_t holds[PARTITION_BATCH];
    struct uuid refused[PARTITION_BATCH];
    const char *reasons[PARTITION_BATCH];
    int confirmations = 0;
    int refusals = 0;
    enum pg_status status = PG_OK;

    for (int n = 0; n < decision->count; n++) {
        const struct partition_entry *entry = &work->entries[decision->at[n]];
        if (!work->queued[decision->at[n]])
            continue;
        if (entry->outcome == ORDER_CONFIRMED) {
            holds[confirmations] = entry->hold_until_us;
            confirmed[confirmations++] = entry->id;
        } else {
            refused[refusals] = entry->id;
            reasons[refusals++] = reason_of_outcome(entry->outcome);
        }
    }
    if (confirmations > 0)
        status =
            tally_write(&decision->tally, SQL_QUEUE_CONFIRM,
                        PG_ARGS(pg_uuids(confirmed, confirmations), pg_times(holds, confirmations)),
                        confirmations, "orders");
    if (status == PG_OK && refusals > 0)
        status = tally_write(&decision->tally, SQL_QUEUE_FAIL,
                             PG_ARGS(pg_uuids(refused, refusals), pg_texts(reasons, refusals)),
                             refusals, "orders");
    return status;
}

static bool has_queued(const struct decision *decision)
{
    const struct work *work = decision->context;

    for (int n = 0; n < decision->count; n++)
        if (work->queued[decision->at[n]])
            return true;
    return false;
}

static enum pg_status write_and_commit(struct decision *decision)
{
    const struct work *work = decision->context;
    enum pg_status status;

    /* They were decided before, by a commit whose reply may have been lost: committing the rows'
     * locks waits for what that one has to wait for. */
    if (!has_queued(decision))
        return pg_commit(decision->pg, decision->until_us);
    session_work_pause(work->session);
    FAILPOINT_WITH("queue.deciding", work->entries, decision->total, product_id);
    status = tally_write_shares(&decision->tally);
    if (status == PG_OK)
        status = write_orders(decision);
    if (status == PG_OK)
        status = tally_write_stocks(&decision->tally);
    return status == PG_OK ? pg_commit(decision->pg, decision->until_us) : status;
}

static const struct decider consumer = {
    .name = "partitioned-queue",
    .refusals_max = 1,
    .troubles_max = 1, /* the broker keeps the messages, and they come again */
    .begin = begin,
    .known = read_rows,
    .judge = judge,
    .bury = bury,
    .write = write_and_commit,
};

bool partition_decide_buys(struct session *session, struct partition_entry *entries, int count)
{
    struct decision decision;
    struct work work = {.session = session, .entries = entries};

    decide_init(&decision, &consumer, &work, session->pg, &held);
    for (int i = 0; i < count; i++)
        decide_add(&decision, &entries[i].id, entries[i].product_id, 0, 0);
    bool done = decide_many(&decision);
    bool proven = pg_prove(session->pg, decision.until_us) == PG_OK;
    for (int i = 0; i < count; i++)
        if (!proven || decision.orders[i].state != DECIDE_DECIDED) {
            entries[i].outcome = ORDER_RETRY;
            entries[i].missing = false;
        }
    return done && proven;
}
