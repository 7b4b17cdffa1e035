#include "strategy/stock_decide.h"

#include "strategy/purchase.h"

#include <stdio.h>
#include <string.h>

struct product_state *decide_row(struct work *work, int64_t product_id)
{
    int low = 0;
    int high = work->rows_count; /* in id order, as they were locked */

    while (low < high) {
        int middle = (low + high) / 2;
        if (work->rows[middle].id < product_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < work->rows_count && work->rows[low].id == product_id ? &work->rows[low] : NULL;
}

enum pg_status decide_lock(struct work *work)
{
    struct pg *pg = work->link->pg;
    int64_t ids[WRITE_MAX];
    int n = 0;

    for (int i = 0; i < work->count; i++)
        if (i == 0 || work->claims[i].order.product_id != ids[n - 1])
            ids[n++] = work->claims[i].order.product_id;
    enum pg_status status =
        pg_exec(pg, SQL_BATCH_LOCK, PG_ARGS(pg_int8s(ids, n), pg_int8(0)), work->link->until_us);
    if (status != PG_OK)
        return status;
    work->rows_count = pg_rows(pg);
    for (int i = 0; i < work->rows_count; i++) {
        struct product_row row;
        purchase_row_at(pg, i, &row);
        work->rows[i] = (struct product_state){
            .id = pg_get_int8(pg, i, 6),
            .stock = row.stock,
            .epoch = row.epoch,
            .limit = row.limit_per_user,
            .open = row.open,
            .split = row.split,
        };
    }
    return PG_OK;
}

static struct claim *claim_of(struct work *work, const struct uuid *id)
{
    for (int i = 0; i < work->count; i++)
        if (uuid_equal(&work->claims[i].order.id, id))
            return &work->claims[i];
    return NULL;
}

enum pg_status decide_known(struct work *work)
{
    struct pg *pg = work->link->pg;
    struct uuid ids[WRITE_MAX];

    for (int i = 0; i < work->count; i++)
        ids[i] = work->claims[i].order.id;
    enum pg_status status =
        pg_exec(pg, SQL_STOCK_DECIDED, PG_ARGS(pg_uuids(ids, work->count)), work->link->until_us);
    for (int i = 0; status == PG_OK && i < pg_rows(pg); i++) {
        struct uuid id = pg_get_uuid(pg, i, 0);
        struct claim *claim = claim_of(work, &id);
        if (claim)
            claim->fate = CLAIM_KNOWN;
    }
    return status;
}

static void refuse(struct claim *claim, const char *reason)
{
    claim->fate = CLAIM_REFUSED;
    snprintf(claim->reason, sizeof claim->reason, "%s", reason);
}

/* A duplicate names the first order with its key. */
static void refuse_duplicate(struct claim *claim, const struct uuid *first)
{
    char id[UUID_TEXT_LENGTH + 1];

    uuid_format(first, id);
    claim->fate = CLAIM_REFUSED;
    snprintf(claim->reason, sizeof claim->reason, "duplicate %s", id);
}

static enum pg_status find_keys(struct work *work)
{
    struct pg *pg = work->link->pg;
    int64_t users[WRITE_MAX];
    const char *keys[WRITE_MAX];
    struct claim *keyed[WRITE_MAX];
    int n = 0;

    for (int i = 0; i < work->count; i++) {
        struct claim *claim = &work->claims[i];
        if (claim->fate != CLAIM_OPEN || !claim->order.key[0])
            continue;
        users[n] = claim->order.user_id;
        keys[n] = claim->order.key;
        keyed[n++] = claim;
    }
    if (n == 0)
        return PG_OK;
    enum pg_status status = pg_exec(
        pg, SQL_WRITER_KEYS, PG_ARGS(pg_int8s(users, n), pg_texts(keys, n)), work->link->until_us);
    for (int i = 0; status == PG_OK && i < pg_rows(pg); i++) {
        struct uuid first = pg_get_uuid(pg, i, 1);
        refuse_duplicate(keyed[pg_get_int8(pg, i, 0) - 1], &first);
    }
    return status;
}

static struct share *share_of(struct work *work, const struct waiting_order *order)
{
    for (int i = 0; i < work->shares_count; i++)
        if (work->shares[i].user_id == order->user_id &&
            work->shares[i].product_id == order->product_id)
            return &work->shares[i];
    return NULL;
}

static enum pg_status find_shares(struct work *work)
{
    struct pg *pg = work->link->pg;
    int64_t products[WRITE_MAX];
    int64_t users[WRITE_MAX];
    int n = 0;

    work->shares_count = 0;
    for (int i = 0; i < work->count; i++) {
        const struct waiting_order *order = &work->claims[i].order;
        const struct product_state *row = decide_row(work, order->product_id);
        if (!row || row->limit == NO_LIMIT || share_of(work, order))
            continue;
        work->shares[n] = (struct share){order->product_id, order->user_id, 0, 0};
        products[n] = order->product_id;
        users[n++] = order->user_id;
        work->shares_count = n;
    }
    if (n == 0)
        return PG_OK;
    enum pg_status status =
        pg_exec(pg, SQL_WRITER_UNITS, PG_ARGS(pg_int8s(products, n), pg_int8s(users, n)),
                work->link->until_us);
    for (int i = 0; status == PG_OK && i < pg_rows(pg); i++)
        work->shares[pg_get_int8(pg, i, 0) - 1].held = pg_get_int8(pg, i, 1);
    return status;
}

/* An order of this transaction that has taken the claim's key already. */
static const struct claim *earlier_with_key(const struct work *work, const struct claim *claim)
{
    for (const struct claim *at = work->claims; at < claim; at++)
        if (at->fate == CLAIM_CONFIRMED && at->order.user_id == claim->order.user_id &&
            strcmp(at->order.key, claim->order.key) == 0)
            return at;
    return NULL;
}

static void decide_one(struct work *work, struct claim *claim)
{
    const struct waiting_order *order = &claim->order;
    struct product_state *row = decide_row(work, order->product_id);
    const struct claim *first = order->key[0] ? earlier_with_key(work, claim) : NULL;

    if (!row || row->epoch != order->epoch) {
        claim->fate = CLAIM_ENDED;
        return;
    }
    struct share *share = row->limit == NO_LIMIT ? NULL : share_of(work, order);
    if (claim->fate != CLAIM_OPEN)
        return;
    if (first) {
        refuse_duplicate(claim, &first->order.id);
    } else if (!row->open) {
        refuse(claim, "sale_not_open");
    } else if (order->quantity > row->stock - row->units) {
        refuse(claim, "sold_out");
    } else if (share && share->held + share->added + order->quantity > row->limit) {
        refuse(claim, "limit_reached");
    } else {
        claim->fate = CLAIM_CONFIRMED;
        row->units += order->quantity;
        if (share)
            share->added += order->quantity;
    }
}

/* Rows that are short and have buckets get them back; they are locked, so it can be done here. */
static enum pg_status fold_buckets(struct work *work)
{
    struct pg *pg = work->link->pg;
    enum pg_status status = PG_OK;

    for (int i = 0; i < work->count; i++) {
        const struct claim *claim = &work->claims[i];
        struct product_state *row = decide_row(work, claim->order.product_id);
        if (row && claim->fate == CLAIM_OPEN)
            row->asked += claim->order.quantity;
    }
    for (int i = 0; status == PG_OK && i < work->rows_count; i++) {
        struct product_state *row = &work->rows[i];
        if (!row->split || row->asked <= row->stock)
            continue;
        status = pg_exec(pg, SQL_STOCK_FOLD, PG_ARGS(pg_int8(row->id), pg_int8(row->epoch)),
                         work->link->until_us);
        if (status == PG_OK)
            row->stock = pg_get_int8(pg, 0, 0);
    }
    return status;
}

enum pg_status decide_all(struct work *work)
{
    enum pg_status status = fold_buckets(work);

    if (status == PG_OK)
        status = find_keys(work);
    if (status == PG_OK)
        status = find_shares(work);
    for (int i = 0; status == PG_OK && i < work->count; i++)
        decide_one(work, &work->claims[i]);
    return status;
}
