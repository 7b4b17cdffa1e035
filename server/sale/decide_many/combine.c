/* See combine.h: the one statement; the steps of the transaction, and what becomes of the orders
 * when it fails. */
#include "sale/decide_many/combine.h"

#include "base/clock.h"
#include "base/log.h"
#include "postgres/fast_path.h"
#include "sale/decide_many/columns.h"

/* For how long a batch is taken apart: nobody in it is answered before. */
enum { PARTS_US = 1000000 };

struct combine {
    struct session *session; /* borrowed */
    struct order **orders;   /* borrowed */
    int count;
    bool fence_lost;
    bool waited;                 /* for the rows, as long as the most impatient order may */
    int64_t most_ms;             /* the longest wait for one lock, where the orders are many */
    int product_of[COMBINE_MAX]; /* of each order, the tally's index */
    struct tally tally;
    struct pairs keys; /* (user, hash of key) of the orders let through */
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

static enum pg_status lock_rows(struct combine *combine)
{
    struct tally *tally = &combine->tally;
    const struct order *first =
        purchase_many_may_wait(combine->session, combine->orders, combine->count, combine->most_ms);
    int64_t until_us = purchase_row_deadline(combine->session, first);
    int found;

    for (int i = 0; i < combine->count; i++)
        combine->product_of[i] = tally_product(tally, combine->orders[i]->product_id);
    enum pg_status status = tally_lock(tally, until_us, &found);
    combine->waited = status == PG_BUSY || (status == PG_TIMEOUT && until_us < tally->until_us);
    combine->session->has_row = status == PG_OK;
    combine->fence_lost = status == PG_OK && tally->fence && found == 0;
    return status;
}

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
    if (n == 0)
        return PG_OK;
    enum pg_status status =
        pg_exec(pg, SQL_BATCH_KEYS, PG_ARGS(pg_int8s(users, n), pg_texts(keys, n)),
                combine->session->work_until_us);
    for (int i = 0; status == PG_OK && i < pg_rows(pg); i++)
        combine->orders[positions[pg_get_int8(pg, i, 0) - 1]]->outcome = ORDER_KEY_TAKEN;
    return status;
}

static enum pg_status read_wanted(struct combine *combine)
{
    for (int i = 0; i < combine->count; i++) {
        const struct order *order = combine->orders[i];
        if (order->outcome == ORDER_PENDING)
            tally_want(&combine->tally, combine->product_of[i], order->user_id, order->quantity);
    }
    return tally_read(&combine->tally);
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
static enum order_outcome judge(struct combine *combine, const struct order *order, int product)
{
    int64_t hash = order->key[0] ? hash_key(order->key) : 0;
    int key;

    if (order->key[0] && combine->tally.known[product] &&
        pairs_find(&combine->keys, order->user_id, hash) >= 0)
        return ORDER_KEY_TAKEN;
    enum order_outcome outcome =
        tally_judge(&combine->tally, product, order->user_id, order->quantity);
    if (order->key[0] && outcome == ORDER_PENDING)
        pairs_add(&combine->keys, order->user_id, hash, &key);
    return outcome;
}

/* In order of arrival, whoever fits: they stay pending. */
static void decide(struct combine *combine)
{
    for (int i = 0; i < combine->count; i++) {
        struct order *order = combine->orders[i];
        int product = combine->product_of[i];
        if (order->outcome != ORDER_PENDING)
            continue;
        if (combine->tally.known[product])
            purchase_saw(order, &combine->tally.rows[product]);
        if (combine->tally.known[product] &&
            !purchase_may_commit(combine->session, &combine->tally.rows[product]))
            purchase_waited(order); /* for whoever kept the mark away */
        else
            order->outcome = judge(combine, order, product);
        if (order->outcome == ORDER_PENDING)
            purchase_hold(combine->session, order, &combine->tally.rows[product]);
    }
}

static enum pg_status write_and_commit(struct combine *combine)
{
    struct order_columns *to = &combine->columns;

    columns_init(to);
    for (int i = 0; i < combine->count; i++)
        if (combine->orders[i]->outcome == ORDER_PENDING)
            columns_add_order(to, combine->orders[i],
                              combine->tally.rows[combine->product_of[i]].epoch);
    return columns_commit(to, &combine->tally, combine->orders[0]->strategy->name);
}

static bool sells(const struct combine *combine)
{
    for (int i = 0; i < combine->count; i++)
        if (combine->orders[i]->outcome == ORDER_PENDING)
            return true;
    return false;
}

/* The whole transaction; without a COMMIT when nobody gets anything, because refusals write
 * nothing. */
static enum pg_status transact(struct combine *combine)
{
    static enum pg_status (*const reads[])(struct combine *) = {lock_rows, find_keys, read_wanted};
    enum pg_status status = PG_OK;

    pg_begin(combine->session->pg);
    for (size_t i = 0; status == PG_OK && i < sizeof reads / sizeof *reads; i++) {
        status = reads[i](combine);
        if (combine->fence_lost)
            return PG_FAILED;
    }
    if (status != PG_OK)
        return status;
    decide(combine);
    session_work_pause(combine->session);
    if (!sells(combine)) {
        pg_rollback(combine->session->pg, combine->session->work_until_us);
        return PG_OK;
    }
    status = tally_write_shares(&combine->tally);
    return status == PG_OK ? write_and_commit(combine) : status;
}

/* What comes of one transaction: every order has its outcome, or nothing was done and there is one
 * among them, or one product, that the others must be parted from. */
enum attempt { DECIDED, PART_ORDERS, PART_PRODUCTS };

static bool has_several_products(const struct combine *combine)
{
    return combine->tally.products.count > 1;
}

/* Nothing was committed. */
static enum attempt give_up(struct combine *combine, enum pg_status status)
{
    struct order **orders = combine->orders;

    pg_rollback(combine->session->pg, combine->session->work_until_us);
    if (combine->fence_lost) {
        set_all(orders, combine->count, ORDER_LEASE_LOST);
        return DECIDED;
    }
    if (status == PG_BUSY && combine->waited && has_several_products(combine))
        return PART_PRODUCTS;
    if (combine->waited) {
        for (int i = 0; i < combine->count; i++)
            purchase_waited(orders[i]);
        return DECIDED;
    }
    /* With PG_BUSY one of them waits for what its user has bought, or for its key. */
    if (status != PG_TIMEOUT && status != PG_LOST && combine->count > 1)
        return PART_ORDERS;
    for (int i = 0; i < combine->count; i++)
        if (combine->tally.key_missed)
            purchase_missed(combine->session, orders[i], MISSED_KEY, "orders");
        else
            purchase_failed(combine->session, orders[i], status, false);
    return DECIDED;
}

/* One transaction. Not inlined: its tables are large, and must be gone when the parts get theirs.
 */
static __attribute__((noinline)) enum attempt
attempt(struct session *session, struct order **orders, int count, int64_t fence, int64_t most_ms)
{
    struct combine combine;

    combine.session = session;
    combine.orders = orders;
    combine.count = count;
    combine.most_ms = most_ms;
    combine.fence_lost = combine.waited = false;
    tally_init(&combine.tally, session->pg, fence, session->work_until_us);
    pairs_init(&combine.keys);
    enum pg_status status = transact(&combine);
    if (combine.tally.committing && (status == PG_TIMEOUT || status == PG_LOST)) {
        commit_lost(session, orders, count);
        return DECIDED;
    }
    if (status != PG_OK)
        return give_up(&combine, status);
    for (int i = 0; i < count; i++)
        if (orders[i]->outcome == ORDER_PENDING)
            purchase_confirm(orders[i]);
    return DECIDED;
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
static int part_products(struct order **orders, int count)
{
    struct order *others[COMBINE_MAX] = {NULL};
    int64_t middle = orders[count / 2]->product_id;
    int64_t least = middle;
    int first = 0;
    int second = 0;

    for (int i = 0; i < count; i++)
        if (orders[i]->product_id < least)
            least = orders[i]->product_id;
    for (int i = 0; i < count; i++) {
        bool low = orders[i]->product_id < middle || orders[i]->product_id == least;
        if (low)
            orders[first++] = orders[i];
        else
            others[second++] = orders[i];
    }
    for (int i = 0; i < second; i++)
        orders[first + i] = others[i];
    return first;
}

/* Each part is work of its own. The second one of two does not begin after `parts_until_us`: its
 * orders stay PENDING and come with a later batch. */
static void sell_in_parts(struct session *session, struct order **orders, int count, int64_t fence,
                          int64_t most_ms, int64_t parts_until_us)
{
    session_begin_work(session);
    pg_connect(session->pg, session->work_until_us); /* what failed before may have ended it */
    enum attempt came = attempt(session, orders, count, fence, most_ms);

    if (came == DECIDED)
        return;
    int part = came == PART_ORDERS ? count / 2 : part_products(orders, count);
    set_all(orders, count, ORDER_PENDING);
    sell_in_parts(session, orders, part, fence, PURCHASE_FEWER_WAIT_MS, parts_until_us);
    if (clock_mono_us() < parts_until_us)
        sell_in_parts(session, orders + part, count - part, fence, PURCHASE_FEWER_WAIT_MS,
                      parts_until_us);
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
