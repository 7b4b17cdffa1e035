/*
 * Many queued buys, of any products, decided in one transaction.
 *
 * The products' rows are locked first (tally.h); what is read of the orders after that cannot
 * change under us, because everybody who decides a queued order holds its product's row. Then this
 * process decides in the entries' order, whoever fits: window, stock, limit. Refused orders end
 * `failed` with their reason. Every write names what it expects (the row is queued, the epoch is
 * the sale's, the stock is there) and the number of rows it must match; a mismatch, a deadlock or a
 * serialization failure is decided anew. Rows that somebody else holds are passed by: their orders
 * are RETRY, and the others are decided (held.h).
 *
 * A statement that PostgreSQL refuses as wrong, that waits in vain for a lock which one order
 * needs, or of which rows are withheld, as if they were locked, halves the entries until the guilty
 * order is alone. The one that is refused ends `failed`, reason `unwritable`; the one that has
 * waited is RETRY; neither holds anybody up.
 */
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/random/random.h"
#include "sale/decide_many/held.h"
#include "strategies/partitioned_queue/partition.h"

#include <string.h>

enum { ATTEMPTS_MAX = 20, JITTER_US = 5000 };

static const char unwritable[] = "unwritable";

static _Thread_local struct held held;

struct held *partition_held(void)
{
    return &held;
}

struct work {
    const struct settings *settings; /* borrowed: app */
    struct partition_entry *entries; /* borrowed */
    int count;
    int64_t awaited; /* the product whose row is waited for; 0: none */
    struct tally tally;
    struct {
        bool queued;
        bool left; /* not to be decided now */
        int sale;  /* the tally's index of the product; -1: of a sale that is over */
        int64_t user;
        int64_t quantity;
        int64_t hold_s;      /* or ORDER_HOLD_NOT_SAID */
    } rows[PARTITION_BATCH]; /* by entry */
};

static enum pg_status lock_sales(struct work *work)
{
    struct tally *tally = &work->tally;
    enum pg_status status = PG_OK;

    for (int i = 0; i < work->count; i++)
        work->rows[i].sale = tally_product(tally, work->entries[i].product_id);
    if (work->awaited > 0)
        status = held_wait(&held, tally->pg, work->awaited, tally->until_us);
    if (status == PG_OK)
        status = tally_lock_free(tally);
    if (status == PG_OK)
        held_note(&held, tally);
    return status;
}

/* A failed row says why; the outcome has the same name. */
static enum order_outcome outcome_of_reason(const char *reason)
{
    static const enum order_outcome refusals[] = {ORDER_SOLD_OUT, ORDER_LIMIT_REACHED,
                                                  ORDER_SALE_NOT_OPEN};

    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (strcmp(reason, order_outcome_row(refusals[i])->name) == 0)
            return refusals[i];
    return strcmp(reason, unwritable) == 0 ? ORDER_INTERNAL_ERROR : ORDER_BACKEND_UNAVAILABLE;
}

static void take_row(struct work *work, int row)
{
    struct pg *pg = work->tally.pg;
    char reason[ORDER_REASON_MAX + 1];
    int at = (int)pg_get_int8(pg, row, 0) - 1;
    struct partition_entry *entry = &work->entries[at];
    int sale = work->rows[at].sale;

    if (work->rows[at].left)
        return;
    if (!work->tally.known[sale] || pg_get_int8(pg, row, 1) != work->tally.rows[sale].epoch)
        sale = -1;
    work->rows[at].sale = sale;
    entry->missing = false;
    work->rows[at].user = pg_get_int8(pg, row, 2);
    work->rows[at].quantity = pg_get_int8(pg, row, 3);
    work->rows[at].hold_s = pg_is_null(pg, row, 7) ? ORDER_HOLD_NOT_SAID : pg_get_int8(pg, row, 7);
    entry->hold_until_us = 0;
    entry->outcome = ORDER_SALE_NOT_OPEN;
    if (sale < 0)
        return; /* the row is dead, whatever it says */
    switch ((enum order_status)pg_get_int2(pg, row, 4)) {
    case STATUS_QUEUED:
        work->rows[at].queued = true;
        break;
    case STATUS_PENDING:
        entry->hold_until_us = pg_get_time(pg, row, 8);
        entry->outcome = ORDER_CONFIRMED;
        break;
    case STATUS_CONFIRMED:
    case STATUS_CANCELLED: /* it had been confirmed, or was pending, first */
    case STATUS_EXPIRED:
        entry->outcome = ORDER_CONFIRMED;
        break;
    case STATUS_FAILED:
        pg_get_text(pg, row, 5, reason, sizeof reason);
        entry->outcome = outcome_of_reason(reason);
        break;
    }
}

/* A row of an ended sale is refused. No row is no refusal: the purge may have had it, but it may as
 * well be in a database that this process does not see (a failover's new primary, another shop's),
 * and be confirmed there. */
static enum pg_status read_rows(struct work *work)
{
    struct tally *tally = &work->tally;
    struct uuid ids[PARTITION_BATCH];

    for (int i = 0; i < work->count; i++) {
        ids[i] = work->entries[i].id;
        work->rows[i].left =
            tally->busy[work->rows[i].sale] || held_rests(&held, &work->entries[i].id);
        work->entries[i].missing = !work->rows[i].left;
        work->entries[i].outcome = work->rows[i].left ? ORDER_RETRY : ORDER_OUTCOME_UNKNOWN;
        work->rows[i].queued = false;
    }
    enum pg_status status =
        pg_exec(tally->pg, SQL_QUEUE_ROWS, PG_ARGS(pg_uuids(ids, work->count)), tally->until_us);
    for (int row = 0; status == PG_OK && row < pg_rows(tally->pg); row++)
        take_row(work, row);
    return status;
}

static enum pg_status read_wanted(struct work *work)
{
    for (int i = 0; i < work->count; i++)
        if (work->rows[i].queued)
            tally_want(&work->tally, work->rows[i].sale, work->rows[i].user,
                       work->rows[i].quantity);
    return tally_read(&work->tally);
}

static enum order_outcome judge(struct work *work, int i)
{
    enum order_outcome outcome =
        tally_judge(&work->tally, work->rows[i].sale, work->rows[i].user, work->rows[i].quantity);

    if (outcome != ORDER_PENDING)
        return outcome;
    work->entries[i].hold_until_us = purchase_hold_until(work->settings, work->rows[i].hold_s,
                                                         &work->tally.rows[work->rows[i].sale]);
    return ORDER_CONFIRMED;
}

/* In the entries' order, whoever fits. An order that came twice is decided once. */
static void decide(struct work *work)
{
    for (int i = 0; i < work->count; i++) {
        int twin = 0;
        if (!work->rows[i].queued)
            continue;
        while (!uuid_equal(&work->entries[twin].id, &work->entries[i].id))
            twin++;
        if (twin < i) {
            work->entries[i].outcome = work->entries[twin].outcome;
            work->entries[i].hold_until_us = work->entries[twin].hold_until_us;
            work->rows[i].queued = false;
        } else {
            work->entries[i].outcome = judge(work, i);
        }
    }
}

static enum pg_status write_orders(struct work *work)
{
    struct uuid confirmed[PARTITION_BATCH];
    int64_t holds[PARTITION_BATCH];
    struct uuid refused[PARTITION_BATCH];
    const char *reasons[PARTITION_BATCH];
    int confirmations = 0;
    int refusals = 0;
    enum pg_status status = PG_OK;

    for (int i = 0; i < work->count; i++) {
        if (!work->rows[i].queued)
            continue;
        if (work->entries[i].outcome == ORDER_CONFIRMED) {
            holds[confirmations] = work->entries[i].hold_until_us;
            confirmed[confirmations++] = work->entries[i].id;
        } else {
            refused[refusals] = work->entries[i].id;
            reasons[refusals++] = order_outcome_row(work->entries[i].outcome)->name;
        }
    }
    if (confirmations > 0)
        status =
            tally_write(&work->tally, SQL_QUEUE_CONFIRM,
                        PG_ARGS(pg_uuids(confirmed, confirmations), pg_times(holds, confirmations)),
                        confirmations, "orders");
    if (status == PG_OK && refusals > 0)
        status = tally_write(&work->tally, SQL_QUEUE_FAIL,
                             PG_ARGS(pg_uuids(refused, refusals), pg_texts(reasons, refusals)),
                             refusals, "orders");
    return status;
}

static bool has_queued(const struct work *work)
{
    for (int i = 0; i < work->count; i++)
        if (work->rows[i].queued)
            return true;
    return false;
}

/* The whole transaction. */
static enum pg_status transact(struct session *session, struct work *work)
{
    pg_begin(session->pg);
    enum pg_status status = lock_sales(work);
    if (status == PG_OK)
        status = read_rows(work);
    if (status == PG_OK)
        status = read_wanted(work);
    if (status != PG_OK)
        return status;
    decide(work);
    /* They were decided before, by a commit whose reply may have been lost: committing the rows'
     * locks waits for what that one has to wait for. */
    if (!has_queued(work))
        return pg_commit(session->pg, session->work_until_us);
    session_work_pause(session);
    FAILPOINT_WITH("queue.deciding", work->entries, work->count, product_id);
    status = tally_write_shares(&work->tally);
    if (status == PG_OK)
        status = write_orders(work);
    if (status == PG_OK)
        status = tally_write_stocks(&work->tally);
    return status == PG_OK ? pg_commit(session->pg, session->work_until_us) : status;
}

/* An order whose statements PostgreSQL refuses. */
static enum pg_status bury(struct session *session, struct partition_entry *entry)
{
    const char *reason = unwritable;
    char id[UUID_TEXT_LENGTH + 1];

    uuid_format(&entry->id, id);
    log_error("order %s cannot be written: %s", id, pg_error(session->pg)->text);
    entry->outcome = ORDER_INTERNAL_ERROR;
    return pg_exec(session->pg, SQL_QUEUE_FAIL,
                   PG_ARGS(pg_uuids(&entry->id, 1), pg_texts(&reason, 1)), session->work_until_us);
}

/* One transaction. Not inlined: its tables are large, and must be gone when the halves get theirs.
 */
static __attribute__((noinline)) enum pg_status
attempt(struct session *session, struct partition_entry *entries, int count, int64_t awaited)
{
    struct work work;

    work.settings = session->services->settings;
    work.entries = entries;
    work.count = count;
    work.awaited = awaited;
    session_begin_work(session);
    if (!pg_connect(session->pg, session->work_until_us))
        return PG_LOST;
    tally_init(&work.tally, session->pg, 0, session->work_until_us);
    enum pg_status status = transact(session, &work);
    if (status != PG_OK)
        pg_rollback(session->pg, session->work_until_us);
    if (status != PG_WITHHELD)
        return status;
    log_warn("%d queued orders wait: %s", count, pg_error(session->pg)->text);
    return PG_BUSY;
}

static bool decide_range(struct session *session, struct partition_entry *entries, int count,
                         int *waits);

static bool halve(struct session *session, struct partition_entry *entries, int count, int *waits)
{
    int half = count / 2;

    return decide_range(session, entries, half, waits) &&
           decide_range(session, entries + half, count - half, waits);
}

/* The one order that PostgreSQL refuses, or that has waited for a lock. */
static bool decide_guilty(struct session *session, struct partition_entry *entry,
                          enum pg_status status)
{
    if (status != PG_BUSY)
        status = bury(session, entry);
    if (status == PG_BUSY) {
        held_waited(&held, &entry->id);
        entry->outcome = ORDER_RETRY;
    }
    return status == PG_OK || status == PG_BUSY;
}

/* *waits: how often it was waited in vain for what one of them needs; when that is often, those
 * that are left are RETRY. */
static bool decide_range(struct session *session, struct partition_entry *entries, int count,
                         int *waits)
{
    for (int i = 0; i < ATTEMPTS_MAX && *waits < HELD_WAITS_MAX; i++) {
        enum pg_status status = attempt(session, entries, count, 0);
        if (status == PG_OK)
            return true;
        *waits += status == PG_BUSY;
        if (status == PG_BUSY || pg_blames_rows(status)) {
            if (count == 1)
                return decide_guilty(session, entries, status);
            if (status == PG_BUSY)
                held_waited(&held, NULL);
            return halve(session, entries, count, waits);
        }
        if (status != PG_CONFLICT)
            return false;
        clock_sleep_until(clock_mono_us() + (int64_t)random_below(JITTER_US));
    }
    for (int i = 0; i < count; i++)
        entries[i].outcome = ORDER_RETRY;
    return *waits >= HELD_WAITS_MAX;
}

/* Decides what is held once more, behind the one row that may be waited for. False: PostgreSQL is
 * out of reach. */
static bool decide_held(struct session *session, struct partition_entry *entries, int count,
                        int *waits)
{
    static _Thread_local struct partition_entry again[PARTITION_BATCH];
    int from[PARTITION_BATCH];
    int64_t product_id = 0;
    int n = 0;

    for (int i = 0; i < count; i++)
        if (entries[i].outcome == ORDER_RETRY && !held_rests(&held, &entries[i].id)) {
            product_id = held_choose(&held, product_id, entries[i].product_id);
            from[n] = i;
            again[n++] = entries[i];
        }
    if (product_id == 0 || *waits >= HELD_WAITS_MAX)
        return true;
    enum pg_status status = attempt(session, again, n, product_id);
    /* In vain; or one of them waits for another lock, and is to be found. */
    if (status == PG_BUSY)
        status = decide_range(session, again, n, waits) ? PG_OK : PG_LOST;
    for (int i = 0; status == PG_OK && i < n; i++)
        entries[from[i]] = again[i];
    return status != PG_TIMEOUT && status != PG_LOST; /* after anything else they are still held */
}

bool partition_decide_buys(struct session *session, struct partition_entry *entries, int count)
{
    int waits = 0;

    return decide_range(session, entries, count, &waits) &&
           decide_held(session, entries, count, &waits);
}
