/*
 * A claim's way: KNOWN if its own row is there; LOCKED if its sale is not in this database, and may
 * be in another, ENDED if its sale is not; LOST if that is known of it; REFUSED as the second of a
 * key or where the tally says no, else CONFIRMED.
 */
#include "strategies/redis_stock/writer/stock_decide.h"

#include <stdio.h>
#include <string.h>

/* The sale that this claim was made in is over, or was never there. */
static bool has_ended(const struct decision *decision, int i)
{
    const struct stock_work *work = decision->context;
    int product = decision->orders[i].product;

    return !decision->tally.known[product] ||
           decision->tally.rows[product].epoch != work->claims[i].order.epoch;
}

/* A sale that has not begun here: another database's, or this one's after a failover that this
 * process has not seen. Nobody may say of it that it has ended. */
static bool is_elsewhere(const struct decision *decision, int i)
{
    const struct stock_work *work = decision->context;
    int64_t epoch = work->claims[i].order.epoch;
    int64_t base = pg_epoch_base(decision->pg);
    int product = decision->orders[i].product;

    return epoch <= base || epoch >= base + PG_EPOCHS || !decision->tally.known[product] ||
           decision->tally.rows[product].epoch < epoch;
}

static void note_known(struct decision *decision, const struct uuid *id)
{
    struct stock_work *work = decision->context;

    for (int n = 0; n < decision->count; n++) {
        int i = decision->at[n];
        struct decide_order *order = &decision->orders[i];
        if (!uuid_equal(&order->id, id))
            continue;
        if (order->state == DECIDE_OPEN) {
            work->claims[i].fate = CLAIM_KNOWN;
            order->state = DECIDE_DECIDED;
        }
        return;
    }
}

/* Whoever wrote a row held the same product's lock, so what is not there now never was. */
static enum pg_status find_rows(struct decision *decision)
{
    struct pg *pg = decision->pg;
    struct uuid ids[WRITE_MAX];

    for (int n = 0; n < decision->count; n++)
        ids[n] = decision->orders[decision->at[n]].id;
    enum pg_status status =
        pg_exec(pg, SQL_STOCK_DECIDED, PG_ARGS(pg_uuids(ids, decision->count)), decision->until_us);
    for (int row = 0; status == PG_OK && row < pg_rows(pg); row++) {
        struct uuid id = pg_get_uuid(pg, row, 0);
        note_known(decision, &id);
    }
    return status;
}

/* A duplicate names the first order with its key. */
static void refuse_duplicate(struct claim *claim, const struct uuid *first)
{
    char id[UUID_TEXT_LENGTH + 1];

    uuid_format(first, id);
    claim->fate = CLAIM_REFUSED;
    snprintf(claim->reason, sizeof claim->reason, "duplicate %s", id);
}

static enum pg_status find_keys(struct decision *decision)
{
    struct stock_work *work = decision->context;
    struct pg *pg = decision->pg;
    int64_t users[WRITE_MAX];
    const char *keys[WRITE_MAX];
    int places[WRITE_MAX];
    int n = 0;

    for (int k = 0; k < decision->count; k++) {
        int i = decision->at[k];
        const struct claim *claim = &work->claims[i];
        if (decision->orders[i].state != DECIDE_OPEN || !claim->order.key[0])
            continue;
        users[n] = claim->order.user_id;
        keys[n] = claim->order.key;
        places[n++] = i;
    }
    if (n == 0)
        return PG_OK;
    enum pg_status status = pg_exec(
        pg, SQL_BATCH_KEYS, PG_ARGS(pg_int8s(users, n), pg_texts(keys, n)), decision->until_us);
    for (int row = 0; status == PG_OK && row < pg_rows(pg); row++) {
        int i = places[pg_get_int8(pg, row, 0) - 1];
        struct uuid first = pg_get_uuid(pg, row, 1);
        refuse_duplicate(&work->claims[i], &first);
        decision->orders[i].state = DECIDE_DECIDED;
    }
    return status;
}

/* Claims of another sale than the present one, whatever was found of them. */
static void find_ended(struct decision *decision)
{
    struct stock_work *work = decision->context;

    for (int n = 0; n < decision->count; n++) {
        int i = decision->at[n];
        struct decide_order *order = &decision->orders[i];
        if (decision->tally.busy[order->product] || !has_ended(decision, i))
            continue;
        bool locked = order->state != DECIDE_DECIDED && is_elsewhere(decision, i);
        work->claims[i].fate = CLAIM_ENDED;
        order->state = locked ? DECIDE_LOCKED : DECIDE_DECIDED;
    }
}

static void fail(struct claim *claim, enum claim_fate fate, const char *reason)
{
    claim->fate = fate;
    snprintf(claim->reason, sizeof claim->reason, "%s", reason);
}

static void lose_open(struct decision *decision)
{
    struct stock_work *work = decision->context;

    for (int n = 0; n < decision->count; n++) {
        int i = decision->at[n];
        if (decision->orders[i].state != DECIDE_OPEN)
            continue;
        fail(&work->claims[i], CLAIM_LOST, "lost");
        decision->orders[i].state = DECIDE_DECIDED;
    }
}

enum pg_status stock_decide_known(struct decision *decision)
{
    const struct stock_work *work = decision->context;
    enum pg_status status = decision->fresh ? PG_OK : find_rows(decision);

    if (status == PG_OK && !work->lost && !decision->burying)
        status = find_keys(decision);
    if (status != PG_OK)
        return status;
    find_ended(decision);
    if (work->lost && !decision->burying)
        lose_open(decision);
    return PG_OK;
}

/* An order of this transaction that has taken the claim's key already. */
static const struct claim *earlier_with_key(const struct decision *decision, int place)
{
    const struct stock_work *work = decision->context;
    const struct claim *claim = &work->claims[place];

    for (int n = 0; decision->at[n] != place; n++) {
        const struct claim *at = &work->claims[decision->at[n]];
        if (decision->orders[decision->at[n]].state == DECIDE_DECIDED &&
            at->fate == CLAIM_CONFIRMED && at->order.user_id == claim->order.user_id &&
            strcmp(at->order.key, claim->order.key) == 0)
            return at;
    }
    return NULL;
}

void stock_decide_one(struct decision *decision, int i)
{
    struct stock_work *work = decision->context;
    struct claim *claim = &work->claims[i];
    const struct waiting_order *order = &claim->order;
    int product = decision->orders[i].product;

    const struct claim *first = order->key[0] ? earlier_with_key(decision, i) : NULL;
    if (first) {
        refuse_duplicate(claim, &first->order.id);
        return;
    }
    enum order_outcome outcome =
        tally_judge(&decision->tally, product, order->user_id, order->quantity);
    claim->hold_until_us =
        purchase_hold_until(work->link->settings, order->hold_s, &decision->tally.rows[product]);
    if (outcome == ORDER_PENDING)
        claim->fate = CLAIM_CONFIRMED;
    else
        fail(claim, CLAIM_REFUSED, order_outcome_row(outcome)->name);
}

void stock_decide_unwritable(struct decision *decision, int i)
{
    struct stock_work *work = decision->context;

    fail(&work->claims[i], CLAIM_POISON, "unwritable");
}
