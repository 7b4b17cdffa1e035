/*
 * Many queued buys, of any products, decided in one transaction.
 *
 * The products' rows are locked first, in id order, in a statement of its own; what is read after
 * that cannot change under us, because everybody who decides a queued order holds its product's
 * row. Then this process decides in the entries' order, whoever fits: window, stock, limit. Refused
 * orders end `failed` with their reason. Every write names what it expects (the row is queued, the
 * epoch is the sale's, the stock is there) and the number of rows it must match; a mismatch, a
 * deadlock or a serialization failure is decided anew.
 *
 * A statement that PostgreSQL refuses as wrong halves the entries until the guilty order is alone;
 * that one ends `failed`, reason `unwritable`, and holds nobody up.
 */
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/random.h"
#include "strategy/partition.h"
#include "strategy/purchase.h"

#include <string.h>

enum { ATTEMPTS_MAX = 20, JITTER_US = 5000 };

static const char unwritable[] = "unwritable";

/* The sales of a batch. */
struct sales {
    int count;
    int64_t ids[PARTITION_BATCH];
    int64_t epochs[PARTITION_BATCH];
    int64_t stock[PARTITION_BATCH];
    int64_t limit[PARTITION_BATCH];
    int64_t sold[PARTITION_BATCH];
    int64_t asked[PARTITION_BATCH];
    bool open[PARTITION_BATCH];
    bool split[PARTITION_BATCH];
};

/* What a user holds of a product with a limit already, and what this batch adds. */
struct shares {
    int count;
    int64_t products[PARTITION_BATCH];
    int64_t users[PARTITION_BATCH];
    int64_t epochs[PARTITION_BATCH];
    int64_t held[PARTITION_BATCH];
    int64_t added[PARTITION_BATCH];
};

struct work {
    struct partition_entry *entries;
    int count;
    struct sales sales;
    struct shares shares;
    struct {
        bool queued;
        int sale;  /* index in sales; -1: of a sale that is over */
        int share; /* index in shares; -1: no limit */
        int64_t user;
        int64_t quantity;
    } rows[PARTITION_BATCH]; /* by entry */
};

static int sale_of(const struct sales *sales, int64_t product_id)
{
    int i = 0;

    while (i < sales->count && sales->ids[i] != product_id)
        i++;
    return i < sales->count ? i : -1;
}

static enum pg_status lock_sales(struct session *session, struct work *work)
{
    struct sales *sales = &work->sales;

    sales->count = 0;
    for (int i = 0; i < work->count; i++)
        if (sale_of(sales, work->entries[i].product_id) < 0)
            sales->ids[sales->count++] = work->entries[i].product_id;
    enum pg_status status =
        pg_exec(session->pg, SQL_BATCH_LOCK,
                PG_ARGS(pg_int8s(sales->ids, sales->count), pg_int8(0)), session->work_until_us);
    if (status != PG_OK)
        return status;
    sales->count = pg_rows(session->pg);
    for (int i = 0; i < sales->count; i++) {
        struct product_row row;
        purchase_row_at(session->pg, i, &row);
        sales->ids[i] = pg_get_int8(session->pg, i, 6);
        sales->stock[i] = row.stock;
        sales->epochs[i] = row.epoch;
        sales->limit[i] = row.limit_per_user;
        sales->open[i] = row.open;
        sales->split[i] = row.split;
        sales->sold[i] = sales->asked[i] = 0;
    }
    return PG_OK;
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

static void take_row(struct session *session, struct work *work, int row)
{
    char reason[ORDER_REASON_MAX + 1];
    int at = (int)pg_get_int8(session->pg, row, 0) - 1;
    struct partition_entry *entry = &work->entries[at];
    int sale = sale_of(&work->sales, entry->product_id);

    if (sale >= 0 && pg_get_int8(session->pg, row, 1) != work->sales.epochs[sale])
        sale = -1;
    work->rows[at].sale = sale;
    work->rows[at].user = pg_get_int8(session->pg, row, 2);
    work->rows[at].quantity = pg_get_int8(session->pg, row, 3);
    if (sale < 0)
        return; /* the row is dead, whatever it says */
    switch ((enum order_status)pg_get_int2(session->pg, row, 4)) {
    case STATUS_QUEUED:
        work->rows[at].queued = true;
        break;
    case STATUS_CONFIRMED:
    case STATUS_CANCELLED: /* it had been confirmed first */
        entry->outcome = ORDER_CONFIRMED;
        break;
    case STATUS_FAILED:
        pg_get_text(session->pg, row, 5, reason, sizeof reason);
        entry->outcome = outcome_of_reason(reason);
        break;
    }
}

/* Entries without a row, or with one of an ended sale, stay SALE_NOT_OPEN: the sale they were for
 * is over. */
static enum pg_status read_rows(struct session *session, struct work *work)
{
    struct uuid ids[PARTITION_BATCH];

    for (int i = 0; i < work->count; i++) {
        ids[i] = work->entries[i].id;
        work->entries[i].outcome = ORDER_SALE_NOT_OPEN;
        work->rows[i].queued = false;
        work->rows[i].share = -1;
    }
    enum pg_status status = pg_exec(session->pg, SQL_QUEUE_ROWS,
                                    PG_ARGS(pg_uuids(ids, work->count)), session->work_until_us);
    for (int row = 0; status == PG_OK && row < pg_rows(session->pg); row++)
        take_row(session, work, row);
    return status;
}

/* Rows that are short and have buckets get them back; they are locked, so it can be done here. */
static enum pg_status fold_buckets(struct session *session, struct work *work)
{
    struct sales *sales = &work->sales;
    enum pg_status status = PG_OK;

    for (int i = 0; i < work->count; i++)
        if (work->rows[i].queued)
            sales->asked[work->rows[i].sale] += work->rows[i].quantity;
    for (int i = 0; status == PG_OK && i < sales->count; i++) {
        if (!sales->split[i] || sales->asked[i] <= sales->stock[i])
            continue;
        status = pg_exec(session->pg, SQL_STOCK_FOLD,
                         PG_ARGS(pg_int8(sales->ids[i]), pg_int8(sales->epochs[i])),
                         session->work_until_us);
        if (status == PG_OK)
            sales->stock[i] = pg_get_int8(session->pg, 0, 0);
    }
    return status;
}

static int share_of(struct shares *shares, int64_t product, int64_t user, int64_t epoch)
{
    int i = 0;

    while (i < shares->count && !(shares->products[i] == product && shares->users[i] == user))
        i++;
    if (i == shares->count) {
        shares->products[i] = product;
        shares->users[i] = user;
        shares->epochs[i] = epoch;
        shares->held[i] = shares->added[i] = 0;
        shares->count++;
    }
    return i;
}

static enum pg_status read_shares(struct session *session, struct work *work)
{
    struct shares *shares = &work->shares;

    shares->count = 0;
    for (int i = 0; i < work->count; i++) {
        int sale = work->rows[i].sale;
        if (work->rows[i].queued && work->sales.limit[sale] != NO_LIMIT)
            work->rows[i].share = share_of(shares, work->sales.ids[sale], work->rows[i].user,
                                           work->sales.epochs[sale]);
    }
    if (shares->count == 0)
        return PG_OK;
    enum pg_status status = pg_exec(session->pg, SQL_BATCH_UNITS,
                                    PG_ARGS(pg_int8s(shares->products, shares->count),
                                            pg_int8s(shares->epochs, shares->count),
                                            pg_int8s(shares->users, shares->count)),
                                    session->work_until_us);
    for (int row = 0; status == PG_OK && row < pg_rows(session->pg); row++)
        shares->held[pg_get_int8(session->pg, row, 0) - 1] = pg_get_int8(session->pg, row, 1);
    return status;
}

static enum order_outcome judge(struct work *work, int i)
{
    struct sales *sales = &work->sales;
    int sale = work->rows[i].sale;
    int share = work->rows[i].share;
    int64_t quantity = work->rows[i].quantity;

    if (!sales->open[sale])
        return ORDER_SALE_NOT_OPEN;
    if (quantity > sales->stock[sale] - sales->sold[sale])
        return ORDER_SOLD_OUT;
    if (share >= 0) {
        if (work->shares.held[share] + work->shares.added[share] + quantity > sales->limit[sale])
            return ORDER_LIMIT_REACHED;
        work->shares.added[share] += quantity;
    }
    sales->sold[sale] += quantity;
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
            work->rows[i].queued = false;
        } else {
            work->entries[i].outcome = judge(work, i);
        }
    }
}

/* PG_CONFLICT when a statement matched other rows than were decided. */
static enum pg_status run(struct session *session, enum sql statement,
                          const struct pg_value *values, int count, int64_t rows)
{
    enum pg_status status = pg_exec(session->pg, statement, values, count, session->work_until_us);

    return status == PG_OK && pg_affected(session->pg) != rows ? PG_CONFLICT : status;
}

static enum pg_status write_shares(struct session *session, struct shares *shares)
{
    int n = 0;

    for (int i = 0; i < shares->count; i++)
        if (shares->added[i] > 0) {
            shares->products[n] = shares->products[i];
            shares->users[n] = shares->users[i];
            shares->epochs[n] = shares->epochs[i];
            shares->added[n++] = shares->added[i];
        }
    return n == 0 ? PG_OK
                  : run(session, SQL_BATCH_PURCHASE_ADD,
                        PG_ARGS(pg_int8s(shares->products, n), pg_int8s(shares->epochs, n),
                                pg_int8s(shares->users, n), pg_int8s(shares->added, n)),
                        n);
}

static enum pg_status write_stock(struct session *session, struct sales *sales)
{
    int n = 0;

    for (int i = 0; i < sales->count; i++)
        if (sales->sold[i] > 0) {
            sales->ids[n] = sales->ids[i];
            sales->epochs[n] = sales->epochs[i];
            sales->sold[n++] = sales->sold[i];
        }
    return n == 0 ? PG_OK
                  : run(session, SQL_BATCH_TAKE,
                        PG_ARGS(pg_int8s(sales->ids, n), pg_int8s(sales->epochs, n),
                                pg_int8s(sales->sold, n), pg_int8(0)),
                        n);
}

static enum pg_status write_orders(struct session *session, const struct work *work)
{
    struct uuid confirmed[PARTITION_BATCH];
    struct uuid refused[PARTITION_BATCH];
    const char *reasons[PARTITION_BATCH];
    int confirmations = 0;
    int refusals = 0;
    enum pg_status status = PG_OK;

    for (int i = 0; i < work->count; i++) {
        if (!work->rows[i].queued)
            continue;
        if (work->entries[i].outcome == ORDER_CONFIRMED) {
            confirmed[confirmations++] = work->entries[i].id;
        } else {
            refused[refusals] = work->entries[i].id;
            reasons[refusals++] = order_outcome_row(work->entries[i].outcome)->name;
        }
    }
    if (confirmations > 0)
        status = run(session, SQL_QUEUE_CONFIRM, PG_ARGS(pg_uuids(confirmed, confirmations)),
                     confirmations);
    if (status == PG_OK && refusals > 0)
        status = run(session, SQL_QUEUE_FAIL,
                     PG_ARGS(pg_uuids(refused, refusals), pg_texts(reasons, refusals)), refusals);
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
    enum pg_status status = lock_sales(session, work);
    if (status == PG_OK)
        status = read_rows(session, work);
    if (status == PG_OK)
        status = fold_buckets(session, work);
    if (status == PG_OK)
        status = read_shares(session, work);
    if (status != PG_OK)
        return status;
    decide(work);
    if (!has_queued(work)) {
        pg_rollback(session->pg, session->work_until_us);
        return PG_OK;
    }
    session_work_pause(session);
    FAILPOINT("queue.deciding");
    status = write_shares(session, &work->shares);
    if (status == PG_OK)
        status = write_orders(session, work);
    if (status == PG_OK)
        status = write_stock(session, &work->sales);
    return status == PG_OK ? pg_commit(session->pg, session->work_until_us) : status;
}

/* An order whose statements PostgreSQL refuses. */
static bool bury(struct session *session, struct partition_entry *entry)
{
    const char *reason = unwritable;
    char id[UUID_TEXT_LENGTH + 1];

    uuid_format(&entry->id, id);
    log_error("order %s cannot be written: %s", id, pg_error(session->pg)->text);
    entry->outcome = ORDER_INTERNAL_ERROR;
    return pg_exec(session->pg, SQL_QUEUE_FAIL,
                   PG_ARGS(pg_uuids(&entry->id, 1), pg_texts(&reason, 1)),
                   session->work_until_us) == PG_OK;
}

static bool halve(struct session *session, struct partition_entry *entries, int count)
{
    int half = count / 2;

    if (count == 1)
        return bury(session, entries);
    return partition_decide_buys(session, entries, half) &&
           partition_decide_buys(session, entries + half, count - half);
}

bool partition_decide_buys(struct session *session, struct partition_entry *entries, int count)
{
    struct work work = {.entries = entries, .count = count};
    int64_t allowance_us = session->services->settings->work_timeout_ms * CLOCK_US_PER_MS;

    for (int attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        session->work_until_us = clock_mono_us() + allowance_us;
        if (!pg_connect(session->pg, session->work_until_us))
            return false;
        enum pg_status status = transact(session, &work);
        if (status == PG_OK)
            return true;
        pg_rollback(session->pg, session->work_until_us);
        if (status == PG_BUG || status == PG_UNIQUE)
            return halve(session, entries, count);
        if (status != PG_CONFLICT)
            return false;
        clock_sleep_until(clock_mono_us() + (int64_t)random_below(JITTER_US));
    }
    return false;
}
