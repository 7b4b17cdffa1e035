/* See combine.h: the one statement; the steps of the transaction, and what becomes of the orders
 * when it fails. */
#include "sale/decide_many/combine.h"

#include "base/clock.h"
#include "base/log.h"
#include "postgres/fast_path.h"
#include "sale/decide_many/columns.h"
#include "sale/decide_many/decide_many.h"

/* For how long a batch is taken apart: nobody in it is answered before. */
enum { PARTS_US = 1000000 };

struct combine {
    struct session *session; /* borrowed */
    struct order **orders;   /* borrowed; by their places in the decision */
    int64_t fence;
    int64_t most_ms; /* the longest wait for one lock, where the orders are many */
    bool fence_lost;
    bool waited; /* for the rows, as long as the most impatient order may */
    int count;
    struct order *asked[COMBINE_MAX]; /* the attempt's orders */
    struct pairs keys;                /* (user, hash of key) of the orders let through */
    struct order_columns columns;
};

static void set_all(struct order **orders, int count, enum order_outcome outcome)
{
    for (int i = 0; i < count; i++)
        orders[i]->outcome = outcome;
}

static void commit_lost(const struct session *session, struct order **orders, int count)
{
    log_warn("a batch of %d orders: its COMMIT was lost: %s", count, pg_error(session->pg)->text);
    for (int i = 0; i < count; i++)
        if (orders[i]->outcome == ORDER_PENDING) {
            orders[i]->outcome = ORDER_UNSETTLED;
            orders[i]->if_not_done = ORDER_BACKEND_UNAVAILABLE;
        }
}

static bool begin(struct decision *decision)
{
    struct combine *combine = decision->context;
    struct session *session = combine->session;

    session_begin_work(session);
    pg_connect(session->pg, session->work_until_us); /* what failed before may have ended it */
    decision->until_us = session->work_until_us;
    combine->fence_lost = combine->waited = false;
    combine->count = decision->count;
    for (int n = 0; n < decision->count; n++)
        combine->asked[n] = combine->orders[decision->at[n]];
    pairs_init(&combine->keys);
    return true;
}

static enum pg_status lock_rows(struct decision *decision)
{
    struct combine *combine = decision->context;
    struct tally *tally = &decision->tally;
    const struct order *first =
        purchase_many_may_wait(combine->session, combine->asked, combine->count, combine->most_ms);
    int64_t until_us = purchase_row_deadline(combine->session, first);
    int found;

    tally->fence = combine->fence;
    enum pg_status status = tally_lock(tally, until_us, &found);
    combine->waited = status == PG_BUSY || (status == PG_TIMEOUT && until_us < tally->until_us);
    combine->session->has_row = status == PG_OK;
    combine->fence_lost = status == PG_OK && tally->fence && found == 0;
    return combine->fence_lost ? PG_FAILED : status;
}

/* An order with an earlier order's key is KEY_TAKEN. */
static enum pg_status find_keys(struct decision *decision)
{
    struct combine *combine = decision->context;
    int64_t *users = combine->columns.users;
    const char **keys = combine->columns.keys;
    int places[COMBINE_MAX];
    int n = 0;

    for (int i = 0; i < combine->count; i++)
        if (combine->asked[i]->key[0]) {
            users[n] = combine->asked[i]->user_id;
            keys[n] = combine->asked[i]->key;
            places[n++] = decision->at[i];
        }
    if (n == 0)
        return PG_OK;
    enum pg_status status =
        pg_exec(decision->pg, SQL_BATCH_KEYS, PG_ARGS(pg_int8s(users, n), pg_texts(keys, n)),
                decision->until_us);
    for (int row = 0; status == PG_OK && row < pg_rows(decision->pg); row++) {
        int i = places[pg_get_int8(decision->pg, row, 0) - 1];
        combine->orders[i]->outcome = ORDER_KEY_TAKEN;
        decision->orders[i].state = DECIDE_DECIDED;
    }
    return status;
}

/* FNV-1a. Two keys of a user with one hash cost the second order another batch, nothing else. */
static int64_t hash_key(const char *key)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * UINT64_C(0x100000001b3);
    return (int64_t)hash;
}

/* An order that repeats the key of one let through is KEY_TAKEN: looked up after it. */
static enum order_outcome fits(struct combine *combine, struct tally *tally,
                               const struct order *order, int product)
{
    int64_t hash = order->key[0] ? hash_key(order->key) : 0;
    int key;

    if (order->key[0] && tally->known[product] &&
        pairs_find(&combine->keys, order->user_id, hash) >= 0)
        return ORDER_KEY_TAKEN;
    enum order_outcome outcome = tally_judge(tally, product, order->user_id, order->quantity);
    if (order->key[0] && outcome == ORDER_PENDING)
        pairs_add(&combine->keys, order->user_id, hash, &key);
    return outcome;
}

/* An order that fits stays pending. */
static void judge(struct decision *decision, int i)
{
    struct combine *combine = decision->context;
    struct order *order = combine->orders[i];
    int product = decision->orders[i].product;
    const struct product_row *row = &decision->tally.rows[product];
    bool known = decision->tally.known[product];

    if (known)
        purchase_saw(order, row);
    if (known && !purchase_may_commit(combine->session, row))
        purchase_waited(order); /* for whoever kept the mark away */
    else
        order->outcome = fits(combine, &decision->tally, order, product);
    if (order->outcome == ORDER_PENDING)
        purchase_hold(combine->session, order, row);
}

static bool sells(const struct combine *combine)
{
    for (int i = 0; i < combine->count; i++)
        if (combine->asked[i]->outcome == ORDER_PENDING)
            return true;
    return false;
}

static enum pg_status write_and_commit(struct decision *decision)
{
    struct combine *combine = decision->context;
    struct order_columns *to = &combine->columns;
    enum pg_status status = tally_write_shares(&decision->tally);

    if (status != PG_OK)
        return status;
    columns_init(to);
    for (int i = 0; i < combine->count; i++)
        if (combine->asked[i]->outcome == ORDER_PENDING) {
            int product = decision->orders[decision->at[i]].product;
            columns_add_order(to, combine->asked[i], decision->tally.rows[product].epoch);
        }
    return columns_commit(to, &decision->tally, combine->asked[0]->strategy->name);
}

/* Without a COMMIT when nobody gets anything, because refusals write nothing. */
static enum pg_status write_orders(struct decision *decision)
{
    struct combine *combine = decision->context;
    struct session *session = combine->session;

    session_work_pause(session);
    if (!sells(combine)) {
        pg_rollback(session->pg, session->work_until_us);
        return PG_OK;
    }
    enum pg_status status = write_and_commit(decision);
    if (decision->tally.committing && (status == PG_TIMEOUT || status == PG_LOST)) {
        commit_lost(session, combine->asked, combine->count);
        return PG_OK;
    }
    for (int i = 0; status == PG_OK && i < combine->count; i++)
        if (combine->asked[i]->outcome == ORDER_PENDING)
            purchase_confirm(combine->asked[i]);
    return status;
}

static bool has_several_products(const struct decision *decision)
{
    return decision->tally.products.count > 1;
}

/* Nothing was committed: every order has its outcome, or there is one among them, or one product,
 * that the others must be parted from. */
static enum decide_next failed(struct decision *decision, enum pg_status status)
{
    struct combine *combine = decision->context;

    if (combine->fence_lost) {
        set_all(combine->asked, combine->count, ORDER_LEASE_LOST);
        return NEXT_DONE;
    }
    if (status == PG_BUSY && combine->waited && has_several_products(decision))
        return NEXT_PART;
    if (combine->waited) {
        for (int i = 0; i < combine->count; i++)
            purchase_waited(combine->asked[i]);
        return NEXT_DONE;
    }
    /* With PG_BUSY one of them waits for what its user has bought, or for its key. */
    if (status != PG_TIMEOUT && status != PG_LOST && combine->count > 1)
        return NEXT_PART;
    for (int i = 0; i < combine->count; i++)
        if (decision->tally.key_missed)
            purchase_missed(combine->session, combine->asked[i], MISSED_KEY, "orders");
        else
            purchase_failed(combine->session, combine->asked[i], status, false);
    return NEXT_DONE;
}

/* Whether one of them had a key's order before, settle.h finds, as of every refusal. */
static __attribute__((noinline)) void look(struct session *session, struct order **orders,
                                           int count)
{
    struct tally tally;
    int product_of[COMBINE_MAX];

    tally_init(&tally, session->pg, 0, session->work_until_us);
    for (int i = 0; i < count; i++) {
        product_of[i] = tally_product(&tally, orders[i]->product_id);
        tally_want(&tally, product_of[i], orders[i]->user_id, orders[i]->quantity);
    }
    if (tally_look(&tally) != PG_OK)
        return;
    for (int i = 0; i < count; i++) {
        const struct product_row *row = &tally.rows[product_of[i]];
        if (!tally.known[product_of[i]] || row->split)
            continue;
        purchase_saw(orders[i], row);
        if (!row->open)
            orders[i]->outcome = ORDER_SALE_NOT_OPEN;
        else if (row->stock < orders[i]->quantity)
            orders[i]->outcome = ORDER_SOLD_OUT;
    }
}

int combine_look(struct session *session, struct order **orders, int count)
{
    struct order *doomed[COMBINE_MAX];
    int64_t over = 0;
    int n = 0;
    int left = 0;

    for (int i = 0; i < count; i++) {
        if (i == 0 || orders[i]->product_id != orders[i - 1]->product_id)
            over = fast_path_over(session->pg, orders[i]->product_id);
        if (orders[i]->quantity >= over)
            doomed[n++] = orders[i];
    }
    if (n == 0)
        return count;
    look(session, doomed, n);
    for (int i = 0; i < count; i++)
        if (orders[i]->outcome == ORDER_PENDING)
            orders[left++] = orders[i];
    return left;
}

/* All want one product, and no order wants anything besides. */
static bool may_be_one_statement(const struct session *session, struct order **orders, int count)
{
    int64_t product = orders[0]->product_id;

    for (int i = 0; i < count; i++)
        if (!purchase_is_simple(session, orders[i]) || orders[i]->product_id != product)
            return false;
    return fast_path_fits(session->pg, product);
}

/* The one statement of many orders, or under a fence. False: nothing is decided. */
static __attribute__((noinline)) bool at_once(struct session *session, struct order **orders,
                                              int count, int64_t fence, int64_t epoch)
{
    struct order_columns to;

    columns_init(&to);
    for (int i = 0; i < count; i++)
        columns_add_order(&to, orders[i], epoch);
    enum pg_status status =
        columns_buy(&to, session->pg, orders[0]->strategy->name, fence, session->work_until_us);
    if (status == PG_TIMEOUT || status == PG_LOST) {
        commit_lost(session, orders, count);
        return true;
    }
    if (status != PG_OK || pg_affected(session->pg) == 0)
        return false;
    for (int i = 0; i < count; i++)
        purchase_confirm(orders[i]);
    return true;
}

/* The one statement. False: nothing is decided. */
static bool sell_at_once(struct session *session, struct order **orders, int count, int64_t fence)
{
    int64_t epoch = purchase_epoch(session, orders[0]->product_id);

    if (epoch == 0 || !may_be_one_statement(session, orders, count))
        return false;
    purchase_many_may_wait(session, orders, count, PURCHASE_MANY_WAIT_MS);
    if (count == 1 && !fence)
        return purchase_at_once(session, orders[0], SQL_CONDITIONAL_BUY, epoch, NULL, 0);
    return at_once(session, orders, count, fence, epoch);
}

/* Puts the orders of some products before those of the others, each part in order of arrival. How
 * many they are: all, when they are of one product. */
static int part_products(struct combine *combine, int *at)
{
    int others[COMBINE_MAX] = {0};
    int64_t middle = combine->asked[combine->count / 2]->product_id;
    int64_t least = middle;
    int first = 0;
    int second = 0;

    for (int i = 0; i < combine->count; i++)
        if (combine->asked[i]->product_id < least)
            least = combine->asked[i]->product_id;
    for (int i = 0; i < combine->count; i++) {
        int64_t product_id = combine->asked[i]->product_id;
        if (product_id < middle || product_id == least)
            at[first++] = at[i];
        else
            others[second++] = at[i];
    }
    for (int i = 0; i < second; i++)
        at[first + i] = others[i];
    return first;
}

/* Those whose part does not begin in time stay PENDING. */
static int part(struct decision *decision, int *at)
{
    struct combine *combine = decision->context;

    set_all(combine->asked, combine->count, ORDER_PENDING);
    combine->most_ms = PURCHASE_FEWER_WAIT_MS;
    return combine->waited ? part_products(combine, at) : combine->count / 2;
}

static const struct decider combiner = {
    .name = "batch",
    .troubles_max = 1, /* a rule of its own says what follows */
    .begin = begin,
    .lock = lock_rows,
    .known = find_keys,
    .judge = judge,
    .write = write_orders,
    .failed = failed,
    .part = part,
};

/* Each part is work of its own. The second one of two does not begin after `parts_until_us`: its
 * orders stay PENDING and come with a later batch. Not inlined: its tables are large. */
static __attribute__((noinline)) void sell_in_parts(struct session *session, struct order **orders,
                                                    int count, int64_t fence, int64_t most_ms,
                                                    int64_t parts_until_us)
{
    struct combine combine;
    struct decision decision;

    combine.session = session;
    combine.orders = orders;
    combine.fence = fence;
    combine.most_ms = most_ms;
    decide_init(&decision, &combiner, &combine, session->pg, NULL);
    decision.parts_until_us = parts_until_us;
    for (int i = 0; i < count; i++)
        decide_add(&decision, &orders[i]->id, orders[i]->product_id, orders[i]->user_id,
                   orders[i]->quantity);
    decide_many(&decision);
}

/* Those that have waited for a lock before go to the end. How many have not. */
static int put_fresh_first(struct order **orders, int count)
{
    struct order *waited[COMBINE_MAX] = {NULL};
    int fresh = 0;
    int others = 0;

    for (int i = 0; i < count; i++)
        if (orders[i]->waited)
            waited[others++] = orders[i];
        else
            orders[fresh++] = orders[i];
    for (int i = 0; i < others; i++)
        orders[fresh + i] = waited[i];
    return fresh;
}

static void sell_together(struct session *session, struct order **orders, int count, int64_t fence,
                          int64_t most_ms, int64_t parts_until_us)
{
    if (count == 0)
        return;
    pg_connect(session->pg, session->work_until_us); /* what was before may have lost it */
    if (!sell_at_once(session, orders, count, fence))
        sell_in_parts(session, orders, count, fence, most_ms, parts_until_us);
}

void combine_buys(struct session *session, struct order **orders, int count, int64_t fence)
{
    int fresh = put_fresh_first(orders, count);
    int64_t parts_until_us = clock_mono_us() + PARTS_US;

    sell_together(session, orders, fresh, fence, PURCHASE_MANY_WAIT_MS, parts_until_us);
    session_begin_work(session);
    sell_together(session, orders + fresh, count - fresh, fence, PURCHASE_FEWER_WAIT_MS,
                  parts_until_us);
}
