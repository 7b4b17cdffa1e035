/*
 * A claim's way: HELD if somebody else holds its product's row, KNOWN if its own row is there,
 * LOCKED if its sale is not in this database, and may be in another,
 * ENDED if its sale is not, LOST if that is known of it, REFUSED as the second of a key or where
 * the tally says no, else CONFIRMED. Statements that fail leave the claims as they are;
 * stock_write.c opens them again.
 */
#include "strategies/redis_stock/writer/stock_decide.h"

#include <stdio.h>
#include <string.h>

bool decide_ended(const struct work *work, int i)
{
    int product = work->product_of[i];

    return !work->tally.known[product] ||
           work->tally.rows[product].epoch != work->claims[i].order.epoch;
}

/* A sale that has not begun here: another database's, or this one's after a failover that this
 * process has not seen. Nobody may say of it that it has ended. */
static bool is_elsewhere(const struct work *work, int i)
{
    int64_t epoch = work->claims[i].order.epoch;
    int64_t base = pg_epoch_base(work->link->pg);
    int product = work->product_of[i];

    return epoch <= base || epoch >= base + PG_EPOCHS || !work->tally.known[product] ||
           work->tally.rows[product].epoch < epoch;
}

enum pg_status decide_lock(struct work *work, struct held *held, int64_t product_id)
{
    enum pg_status status = PG_OK;

    tally_init(&work->tally, work->link->pg, 0, work->link->until_us);
    for (int i = 0; i < work->count; i++)
        work->product_of[i] = tally_product(&work->tally, work->claims[i].order.product_id);
    if (product_id > 0)
        status = held_wait(held, work->link->pg, product_id, work->link->until_us);
    if (status == PG_OK)
        status = tally_lock_free(&work->tally);
    for (int i = 0; status == PG_OK && i < work->count; i++)
        if (work->tally.busy[work->product_of[i]])
            work->claims[i].fate = CLAIM_HELD;
    return status;
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
        if (claim && claim->fate == CLAIM_OPEN)
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
        pg, SQL_BATCH_KEYS, PG_ARGS(pg_int8s(users, n), pg_texts(keys, n)), work->link->until_us);
    for (int i = 0; status == PG_OK && i < pg_rows(pg); i++) {
        struct uuid first = pg_get_uuid(pg, i, 1);
        refuse_duplicate(keyed[pg_get_int8(pg, i, 0) - 1], &first);
    }
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

/* It is of the present sale, and has no fate yet. */
static bool is_to_be_decided(struct work *work, int i)
{
    struct claim *claim = &work->claims[i];

    if (work->tally.busy[work->product_of[i]])
        return false;
    if (decide_ended(work, i)) {
        claim->fate =
            claim->fate == CLAIM_OPEN && is_elsewhere(work, i) ? CLAIM_LOCKED : CLAIM_ENDED;
        return false;
    }
    return claim->fate == CLAIM_OPEN;
}

static void decide_one(struct work *work, int i)
{
    struct claim *claim = &work->claims[i];
    const struct waiting_order *order = &claim->order;

    if (!is_to_be_decided(work, i))
        return;
    const struct claim *first = order->key[0] ? earlier_with_key(work, claim) : NULL;
    if (first) {
        refuse_duplicate(claim, &first->order.id);
        return;
    }
    enum order_outcome outcome =
        tally_judge(&work->tally, work->product_of[i], order->user_id, order->quantity);
    claim->hold_until_us = purchase_hold_until(work->link->settings, claim->order.hold_s,
                                               &work->tally.rows[work->product_of[i]]);
    if (outcome == ORDER_PENDING)
        claim->fate = CLAIM_CONFIRMED;
    else
        refuse(claim, order_outcome_row(outcome)->name);
}

static enum pg_status read_wanted(struct work *work)
{
    for (int i = 0; i < work->count; i++) {
        const struct claim *claim = &work->claims[i];
        if (claim->fate == CLAIM_OPEN)
            tally_want(&work->tally, work->product_of[i], claim->order.user_id,
                       claim->order.quantity);
    }
    return tally_read(&work->tally);
}

enum pg_status decide_all(struct work *work)
{
    enum pg_status status = find_keys(work);

    if (status == PG_OK)
        status = read_wanted(work);
    for (int i = 0; status == PG_OK && i < work->count; i++)
        decide_one(work, i);
    return status;
}

void decide_lost(struct work *work)
{
    for (int i = 0; i < work->count; i++)
        if (is_to_be_decided(work, i)) {
            work->claims[i].fate = CLAIM_LOST;
            snprintf(work->claims[i].reason, sizeof work->claims[i].reason, "lost");
        }
}
