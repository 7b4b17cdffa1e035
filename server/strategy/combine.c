#include "strategy/combine.h"

#include "base/log.h"

/* The columns of what the transaction writes. */
struct columns {
    int count;
    struct uuid ids[COMBINE_MAX];
    int64_t products[COMBINE_MAX];
    int64_t epochs[COMBINE_MAX];
    int64_t users[COMBINE_MAX];
    int64_t quantities[COMBINE_MAX];
    const char *keys[COMBINE_MAX];
    int64_t created[COMBINE_MAX];
};

struct taken {
    int64_t products[COMBINE_MAX];
    int64_t epochs[COMBINE_MAX];
    int64_t units[COMBINE_MAX];
};

struct combine {
    struct session *session; /* borrowed */
    struct order **orders;   /* borrowed */
    int count;
    int64_t fence;
    bool fence_lost;
    bool waited;     /* for the rows, as long as the most impatient order may */
    bool keyed;      /* some orders have an Idempotency-Key */
    bool committing; /* a COMMIT was sent: a lost reply leaves it unknown */
    struct tally tally;
    struct columns columns;
    struct taken taken;
};

static void set_all(struct order **orders, int count, enum order_outcome outcome)
{
    for (int i = 0; i < count; i++)
        orders[i]->outcome = outcome;
}

static void leave_unsettled(struct order **orders, int count)
{
    for (int i = 0; i < count; i++)
        if (orders[i]->outcome == ORDER_PENDING) {
            orders[i]->outcome = ORDER_UNSETTLED;
            orders[i]->if_not_done = ORDER_BACKEND_UNAVAILABLE;
        }
}

static int64_t rows_deadline(const struct combine *combine)
{
    const struct order *first = combine->orders[0];

    for (int i = 1; i < combine->count; i++)
        if (combine->orders[i]->wait_until_us < first->wait_until_us)
            first = combine->orders[i];
    return purchase_row_deadline(combine->session, first);
}

static enum pg_status lock_rows(struct combine *combine)
{
    struct pg *pg = combine->session->pg;
    const struct pairs *products = &combine->tally.products;
    int64_t until_us = rows_deadline(combine);
    enum pg_status status =
        pg_exec(pg, SQL_BATCH_LOCK,
                PG_ARGS(pg_int8s(products->a, products->count), pg_int8(combine->fence)), until_us);

    combine->waited = status == PG_TIMEOUT && until_us < combine->session->work_until_us;
    combine->fence_lost = status == PG_OK && combine->fence && pg_rows(pg) == 0;
    for (int i = 0; status == PG_OK && i < pg_rows(pg); i++) {
        struct product_row row;
        purchase_row_at(pg, i, &row);
        tally_set_row(&combine->tally, pg_get_int8(pg, i, 6), &row);
    }
    return status;
}

/* Rows that are short and have buckets get them back; they are locked, so it can be done here. */
static enum pg_status fold_buckets(struct combine *combine)
{
    struct tally *tally = &combine->tally;
    struct pg *pg = combine->session->pg;
    enum pg_status status = PG_OK;

    for (int i = 0; status == PG_OK && i < tally->products.count; i++) {
        struct product_row *row = &tally->rows[i];
        if (!tally->known[i] || !row->split || tally->asked[i] <= row->stock)
            continue;
        status =
            pg_exec(pg, SQL_STOCK_FOLD, PG_ARGS(pg_int8(tally->products.a[i]), pg_int8(row->epoch)),
                    combine->session->work_until_us);
        if (status == PG_OK)
            row->stock = pg_get_int8(pg, 0, 0);
    }
    return status;
}

/* The rows are locked, so what these read about their sales cannot change before the commit. */
static enum pg_status find_keys(struct combine *combine)
{
    struct pg *pg = combine->session->pg;
    int64_t *users = combine->columns.users;
    const char **keys = combine->columns.keys;
    int positions[COMBINE_MAX];
    int n = 0;

    for (int i = 0; i < combine->count; i++)
        if (combine->orders[i]->key[0]) {
            users[n] = combine->orders[i]->user_id;
            keys[n] = combine->orders[i]->key;
            positions[n++] = i;
        }
    combine->keyed = n > 0;
    if (n == 0)
        return PG_OK;
    enum pg_status status =
        pg_exec(pg, SQL_BATCH_KEYS, PG_ARGS(pg_int8s(users, n), pg_texts(keys, n)),
                combine->session->work_until_us);
    for (int i = 0; status == PG_OK && i < pg_rows(pg); i++)
        combine->orders[positions[pg_get_int8(pg, i, 0) - 1]]->outcome = ORDER_KEY_TAKEN;
    return status;
}

static enum pg_status find_shares(struct combine *combine)
{
    struct tally *tally = &combine->tally;
    const struct pairs *shares = &tally->shares;
    struct pg *pg = combine->session->pg;
    int64_t *products = combine->columns.products;
    int64_t *epochs = combine->columns.epochs;

    tally_share(tally);
    if (shares->count == 0)
        return PG_OK;
    for (int i = 0; i < shares->count; i++) {
        products[i] = tally->products.a[shares->a[i]];
        epochs[i] = tally->rows[shares->a[i]].epoch;
    }
    enum pg_status status =
        pg_exec(pg, SQL_BATCH_UNITS,
                PG_ARGS(pg_int8s(products, shares->count), pg_int8s(epochs, shares->count),
                        pg_int8s(shares->b, shares->count)),
                combine->session->work_until_us);
    for (int i = 0; status == PG_OK && i < pg_rows(pg); i++)
        tally->held[pg_get_int8(pg, i, 0) - 1] = pg_get_int8(pg, i, 1);
    return status;
}

/* PG_CONFLICT when the statement matched fewer rows than were decided: somebody holds a key
 * elsewhere. */
static enum pg_status write(struct combine *combine, enum sql statement,
                            const struct pg_value *values, int count, int rows)
{
    struct pg *pg = combine->session->pg;
    enum pg_status status = pg_exec(pg, statement, values, count, combine->session->work_until_us);

    return status == PG_OK && pg_affected(pg) != rows ? PG_CONFLICT : status;
}

static enum pg_status write_shares(struct combine *combine)
{
    const struct tally *tally = &combine->tally;
    struct columns *to = &combine->columns;
    int n = 0;

    for (int i = 0; i < tally->shares.count; i++) {
        int64_t product = tally->shares.a[i];
        if (tally->added[i] == 0)
            continue;
        to->products[n] = tally->products.a[product];
        to->epochs[n] = tally->rows[product].epoch;
        to->users[n] = tally->shares.b[i];
        to->quantities[n++] = tally->added[i];
    }
    if (n == 0)
        return PG_OK;
    return write(combine, SQL_BATCH_PURCHASE_ADD,
                 PG_ARGS(pg_int8s(to->products, n), pg_int8s(to->epochs, n), pg_int8s(to->users, n),
                         pg_int8s(to->quantities, n)),
                 n);
}

/* The orders that are sold. How many. */
static int list_orders(struct combine *combine)
{
    const struct tally *tally = &combine->tally;
    struct columns *to = &combine->columns;
    int n = 0;

    for (int i = 0; i < combine->count; i++) {
        const struct order *order = combine->orders[i];
        if (order->outcome != ORDER_PENDING)
            continue;
        to->ids[n] = order->id;
        to->products[n] = order->product_id;
        to->epochs[n] = tally->rows[tally->product_of[i]].epoch;
        to->users[n] = order->user_id;
        to->quantities[n] = order->quantity;
        to->keys[n] = order->key[0] ? order->key : NULL;
        to->created[n++] = order->created_us;
    }
    return n;
}

/* What they take from each product. How many products. */
static int list_taken(struct combine *combine)
{
    const struct tally *tally = &combine->tally;
    struct taken *to = &combine->taken;
    int n = 0;

    for (int i = 0; i < tally->products.count; i++) {
        if (tally->taken[i] == 0)
            continue;
        to->products[n] = tally->products.a[i];
        to->epochs[n] = tally->rows[i].epoch;
        to->units[n++] = tally->taken[i];
    }
    return n;
}

/* The orders' rows, the stock and the COMMIT, in one round trip; but a key that somebody holds
 * elsewhere shows only in how many rows the INSERT has written, and then nothing may be committed.
 */
static enum pg_status write_and_commit(struct combine *combine)
{
    struct session *session = combine->session;
    const struct columns *orders = &combine->columns;
    const struct taken *taken = &combine->taken;
    int n = list_orders(combine);
    int products = list_taken(combine);
    const struct pg_value insert[] = {
        pg_text(combine->orders[0]->strategy->name),
        pg_uuids(orders->ids, n),
        pg_int8s(orders->products, n),
        pg_int8s(orders->epochs, n),
        pg_int8s(orders->users, n),
        pg_int8s(orders->quantities, n),
        pg_texts(orders->keys, n),
        pg_times(orders->created, n),
    };
    const struct pg_value take[] = {pg_int8s(taken->products, products),
                                    pg_int8s(taken->epochs, products),
                                    pg_int8s(taken->units, products), pg_int8(combine->fence)};
    const struct pg_command commands[] = {
        {SQL_BATCH_INSERT, insert, sizeof insert / sizeof *insert},
        {SQL_BATCH_TAKE, take, sizeof take / sizeof *take},
    };

    if (combine->keyed) {
        enum pg_status status = write(combine, SQL_BATCH_INSERT, insert, commands[0].count, n);
        if (status != PG_OK)
            return status;
    }
    combine->committing = true;
    return combine->keyed ? pg_exec_commit(session->pg, commands + 1, 1, session->work_until_us)
                          : pg_exec_commit(session->pg, commands, 2, session->work_until_us);
}

static bool sells(const struct combine *combine)
{
    for (int i = 0; i < combine->count; i++)
        if (combine->orders[i]->outcome == ORDER_PENDING)
            return true;
    return false;
}

/* The whole transaction; without a COMMIT when nobody gets anything, because refusals write
 * nothing.
 */
static enum pg_status transact(struct combine *combine)
{
    static enum pg_status (*const reads[])(struct combine *) = {lock_rows, fold_buckets, find_keys,
                                                                find_shares};
    enum pg_status status = PG_OK;

    tally_init(&combine->tally, combine->orders, combine->count);
    pg_begin(combine->session->pg);
    for (size_t i = 0; status == PG_OK && i < sizeof reads / sizeof *reads; i++) {
        status = reads[i](combine);
        if (combine->fence_lost)
            return PG_FAILED;
    }
    if (status != PG_OK)
        return status;
    tally_decide(&combine->tally);
    session_work_pause(combine->session);
    if (!sells(combine)) {
        pg_rollback(combine->session->pg, combine->session->work_until_us);
        return PG_OK;
    }
    status = write_shares(combine);
    return status == PG_OK ? write_and_commit(combine) : status;
}

/* Nothing was committed. False: the orders may be innocent, each half may try alone. */
static bool give_up(struct combine *combine, enum pg_status status)
{
    struct order **orders = combine->orders;

    pg_rollback(combine->session->pg, combine->session->work_until_us);
    if (combine->fence_lost) {
        set_all(orders, combine->count, ORDER_LEASE_LOST);
        return true;
    }
    if (combine->waited) {
        for (int i = 0; i < combine->count; i++)
            purchase_waited(orders[i]);
        return true;
    }
    if (status != PG_TIMEOUT && status != PG_LOST && combine->count > 1)
        return false;
    for (int i = 0; i < combine->count; i++)
        purchase_failed(combine->session, orders[i], status, false);
    return true;
}

/* One transaction. Not inlined: its tables are large, and must be gone when the halves get theirs.
 */
static __attribute__((noinline)) bool attempt(struct session *session, struct order **orders,
                                              int count, int64_t fence)
{
    struct combine combine;

    combine.session = session;
    combine.orders = orders;
    combine.count = count;
    combine.fence = fence;
    combine.fence_lost = combine.waited = combine.keyed = combine.committing = false;
    enum pg_status status = transact(&combine);
    if (combine.committing && (status == PG_TIMEOUT || status == PG_LOST)) {
        log_warn("a batch of %d orders: its COMMIT was lost: %s", count,
                 pg_error(session->pg)->text);
        leave_unsettled(orders, count);
        return true;
    }
    if (status != PG_OK)
        return give_up(&combine, status);
    for (int i = 0; i < count; i++)
        if (orders[i]->outcome == ORDER_PENDING)
            purchase_confirm(orders[i]);
    return true;
}

void combine_buys(struct session *session, struct order **orders, int count, int64_t fence)
{
    if (attempt(session, orders, count, fence))
        return;
    set_all(orders, count, ORDER_PENDING);
    combine_buys(session, orders, count / 2, fence);
    combine_buys(session, orders + count / 2, count - count / 2, fence);
}
