#include "strategy/combine.h"

#include "base/log.h"
#include "strategy/purchase.h"

#include <string.h>

/* The columns of what the transaction writes, for the orders that were let through. */
struct columns {
    int count;
    int64_t units; /* the sum of their quantities */
    struct uuid ids[COMBINE_MAX];
    int64_t users[COMBINE_MAX];
    int64_t quantities[COMBINE_MAX];
    int64_t created[COMBINE_MAX];
    const char *keys[COMBINE_MAX];
};

/* Each user of the batch once: what they hold already, and what this batch adds. */
struct shares {
    int count;
    int64_t users[COMBINE_MAX];
    int64_t held[COMBINE_MAX];
    int64_t added[COMBINE_MAX];
};

static void leave_unsettled(struct order **orders, int count)
{
    for (int i = 0; i < count; i++)
        if (orders[i]->outcome == ORDER_PENDING) {
            orders[i]->outcome = ORDER_UNSETTLED;
            orders[i]->if_not_done = ORDER_BACKEND_UNAVAILABLE;
        }
}

static int share_of(const struct shares *shares, int64_t user)
{
    int i = 0;

    while (i < shares->count && shares->users[i] != user)
        i++;
    return i;
}

/* An earlier order of this batch with the same user and key? Then what became of it is looked up
 * after it. */
static bool key_is_earlier(struct order **orders, int i)
{
    for (int j = 0; j < i; j++)
        if (orders[j]->user_id == orders[i]->user_id && strcmp(orders[j]->key, orders[i]->key) == 0)
            return true;
    return false;
}

static enum pg_status lock_row(struct session *session, int64_t product_id, int64_t fence,
                               struct product_row *row)
{
    enum pg_status status =
        pg_exec(session->pg, SQL_BATCH_LOCK_FENCED, PG_ARGS(pg_int8(product_id), pg_int8(fence)),
                session->work_until_us);

    if (status == PG_OK && pg_rows(session->pg) == 1)
        purchase_row(session->pg, row);
    return status;
}

/* The row is locked, so what these read about this product cannot change before the commit. */
static enum pg_status find_keys(struct session *session, struct order **orders, int count)
{
    int64_t users[COMBINE_MAX];
    const char *keys[COMBINE_MAX];
    int positions[COMBINE_MAX];
    int n = 0;

    for (int i = 0; i < count; i++)
        if (orders[i]->key[0]) {
            users[n] = orders[i]->user_id;
            keys[n] = orders[i]->key;
            positions[n++] = i;
        }
    if (n == 0)
        return PG_OK;
    enum pg_status status =
        pg_exec(session->pg, SQL_BATCH_KEYS, PG_ARGS(pg_int8s(users, n), pg_texts(keys, n)),
                session->work_until_us);
    for (int row = 0; status == PG_OK && row < pg_rows(session->pg); row++)
        orders[positions[pg_get_int8(session->pg, row, 0) - 1]]->outcome = ORDER_KEY_TAKEN;
    for (int i = 0; status == PG_OK && i < n; i++)
        if (orders[positions[i]]->outcome == ORDER_PENDING && key_is_earlier(orders, positions[i]))
            orders[positions[i]]->outcome = ORDER_KEY_TAKEN;
    return status;
}

static enum pg_status find_shares(struct session *session, struct order **orders, int count,
                                  const struct product_row *row, struct shares *shares)
{
    shares->count = 0;
    if (row->limit_per_user == NO_LIMIT)
        return PG_OK;
    for (int i = 0; i < count; i++) {
        int at = share_of(shares, orders[i]->user_id);
        if (at == shares->count) {
            shares->users[at] = orders[i]->user_id;
            shares->held[at] = shares->added[at] = 0;
            shares->count++;
        }
    }
    enum pg_status status = pg_exec(session->pg, SQL_BATCH_UNITS,
                                    PG_ARGS(pg_int8(orders[0]->product_id), pg_int8(row->epoch),
                                            pg_int8s(shares->users, shares->count)),
                                    session->work_until_us);
    for (int i = 0; status == PG_OK && i < pg_rows(session->pg); i++)
        shares->held[share_of(shares, pg_get_int8(session->pg, i, 0))] =
            pg_get_int8(session->pg, i, 1);
    return status;
}

static enum order_outcome judge(const struct order *order, const struct product_row *row,
                                int64_t left, struct shares *shares)
{
    if (!row->open)
        return ORDER_SALE_NOT_OPEN;
    if (order->quantity > left)
        return ORDER_SOLD_OUT;
    if (row->limit_per_user != NO_LIMIT) {
        int at = share_of(shares, order->user_id);
        if (shares->held[at] + shares->added[at] + order->quantity > row->limit_per_user)
            return ORDER_LIMIT_REACHED;
        shares->added[at] += order->quantity;
    }
    return ORDER_PENDING;
}

/* In arrival order, whoever fits. */
static void decide(struct order **orders, int count, const struct product_row *row,
                   struct shares *shares, struct columns *sold)
{
    sold->count = 0;
    sold->units = 0;
    for (int i = 0; i < count; i++) {
        struct order *order = orders[i];
        if (order->outcome != ORDER_PENDING)
            continue;
        order->outcome = judge(order, row, row->stock - sold->units, shares);
        if (order->outcome != ORDER_PENDING)
            continue;
        sold->ids[sold->count] = order->id;
        sold->users[sold->count] = order->user_id;
        sold->quantities[sold->count] = order->quantity;
        sold->created[sold->count] = order->created_us;
        sold->keys[sold->count] = order->key[0] ? order->key : NULL;
        sold->units += order->quantity;
        sold->count++;
    }
}

/* The users who got something, moved together; their number. */
static int compact(struct shares *shares)
{
    int n = 0;

    for (int i = 0; i < shares->count; i++)
        if (shares->added[i] > 0) {
            shares->users[n] = shares->users[i];
            shares->added[n++] = shares->added[i];
        }
    return n;
}

/* PG_CONFLICT when a statement matched fewer rows than were decided: somebody holds a key
 * elsewhere. */
static enum pg_status expect(struct session *session, enum pg_status status, int64_t rows)
{
    return status == PG_OK && pg_affected(session->pg) != rows ? PG_CONFLICT : status;
}

static enum pg_status write_rows(struct session *session, const struct order *first,
                                 const struct product_row *row, struct shares *shares,
                                 const struct columns *sold, int64_t fence)
{
    struct pg *pg = session->pg;
    int64_t until_us = session->work_until_us;
    struct pg_value product = pg_int8(first->product_id);
    struct pg_value epoch = pg_int8(row->epoch);
    enum pg_status status = PG_OK;
    int users = compact(shares);

    if (users > 0)
        status =
            expect(session,
                   pg_exec(pg, SQL_BATCH_PURCHASE_ADD,
                           PG_ARGS(product, epoch, pg_int8s(shares->users, users),
                                   pg_int8s(shares->added, users), pg_int8(row->limit_per_user)),
                           until_us),
                   users);
    if (status == PG_OK)
        status = expect(
            session,
            pg_exec(pg, SQL_BATCH_INSERT,
                    PG_ARGS(product, epoch, pg_text(first->strategy->name),
                            pg_uuids(sold->ids, sold->count), pg_int8s(sold->users, sold->count),
                            pg_int8s(sold->quantities, sold->count),
                            pg_texts(sold->keys, sold->count),
                            pg_times(sold->created, sold->count)),
                    until_us),
            sold->count);
    if (status == PG_OK)
        status =
            expect(session,
                   pg_exec(pg, SQL_BATCH_TAKE_FENCED,
                           PG_ARGS(product, epoch, pg_int8(sold->units), pg_int8(fence)), until_us),
                   1);
    return status;
}

/* Everything up to the COMMIT. PG_BUSY stands for "the fence is another's". */
static enum pg_status prepare(struct session *session, struct order **orders, int count,
                              int64_t fence, struct columns *sold)
{
    struct product_row row = {.epoch = -1};
    struct shares shares;

    pg_begin(session->pg);
    enum pg_status status = lock_row(session, orders[0]->product_id, fence, &row);
    if (status == PG_OK && row.epoch < 0)
        return PG_BUSY;
    if (status == PG_OK)
        status = find_keys(session, orders, count);
    if (status == PG_OK)
        status = find_shares(session, orders, count, &row, &shares);
    if (status != PG_OK)
        return status;
    decide(orders, count, &row, &shares, sold);
    session_work_pause(session);
    return sold->count ? write_rows(session, orders[0], &row, &shares, sold, fence) : PG_OK;
}

/* Whatever was decided stood in a transaction that is gone. */
static void set_all(struct order **orders, int count, enum order_outcome outcome)
{
    for (int i = 0; i < count; i++)
        orders[i]->outcome = outcome;
}

/* A failed transaction of several orders: each half alone, in order. */
static void halve(struct session *session, struct order **orders, int count, int64_t fence)
{
    set_all(orders, count, ORDER_PENDING);
    combine_buys(session, orders, count / 2, fence);
    combine_buys(session, orders + count / 2, count - count / 2, fence);
}

void combine_buys(struct session *session, struct order **orders, int count, int64_t fence)
{
    struct columns sold;
    enum pg_status status = prepare(session, orders, count, fence, &sold);

    if (status == PG_OK && sold.count == 0) {
        pg_rollback(session->pg, session->work_until_us); /* refusals write nothing */
        return;
    }
    if (status == PG_OK) {
        status = pg_commit(session->pg, session->work_until_us);
        if (status == PG_TIMEOUT || status == PG_LOST) {
            log_warn("product %lld: a batch's COMMIT was lost: %s",
                     (long long)orders[0]->product_id, pg_error(session->pg)->text);
            leave_unsettled(orders, count);
            return;
        }
    }
    if (status == PG_OK) {
        for (int i = 0; i < count; i++)
            if (orders[i]->outcome == ORDER_PENDING)
                purchase_confirm(orders[i]);
        return;
    }
    pg_rollback(session->pg, session->work_until_us);
    if (status == PG_BUSY) {
        set_all(orders, count, ORDER_LEASE_LOST);
    } else if (status == PG_TIMEOUT || status == PG_LOST || count == 1) {
        for (int i = 0; i < count; i++)
            purchase_failed(session, orders[i], status, false);
    } else {
        halve(session, orders, count, fence);
    }
}
