/* See sweeper.h: the statement, the orders made of its rows, and which products are under way. */
#include "dispatch/sweeper.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "postgres/pg.h"
#include "strategies/strategies.h"

#include <pthread.h>
#include <stdlib.h>

/* ROWS: of one sweep; ORDERS: under way at most. REST_US: for a product whose orders could not be
 * ended. TIMEOUT_US: for the statement, which waits for nobody. */
enum {
    ROWS = 200,
    ORDERS = 1000,
    PRODUCTS = ORDERS + 256,
    CLAIM_MS = 5000,
    WAIT_US = 2000000,
    SETTLE_US = 2000000,
    REST_US = 1000000,
    TIMEOUT_US = 2000000
};

/* One that has orders under way, or rests. */
struct swept_product {
    int64_t id;
    int orders;
    int64_t rests_until_us;
};

struct sweeper {
    const struct services *services; /* borrowed: app */
    void (*submit)(void *context, struct order *list);
    void *context;
    const char **names; /* owned: room for each strategy's; the sweeping thread's */
    bool fails;         /* that was logged */
    struct {
        pthread_mutex_t mutex;
        struct order *again; /* owned: to be submitted to a stand-in */
        int orders;          /* under way */
        int count;
        struct swept_product products[PRODUCTS];
    } shared;
};

struct sweeper *sweeper_create(const struct services *services,
                               void (*submit)(void *context, struct order *list), void *context)
{
    struct sweeper *sweeper = calloc(1, sizeof *sweeper);

    if (!sweeper)
        return NULL;
    sweeper->names = calloc(strategy_total(), sizeof *sweeper->names);
    if (!sweeper->names) {
        free(sweeper);
        return NULL;
    }
    sweeper->services = services;
    sweeper->submit = submit;
    sweeper->context = context;
    pthread_mutex_init(&sweeper->shared.mutex, NULL);
    return sweeper;
}

static void free_all(struct order *list)
{
    for (struct order *next; list; list = next) {
        next = list->next;
        free(list);
    }
}

void sweeper_destroy(struct sweeper *sweeper)
{
    if (!sweeper)
        return;
    free_all(sweeper->shared.again);
    pthread_mutex_destroy(&sweeper->shared.mutex);
    free(sweeper->names);
    free(sweeper);
}

/* --- what is under way; the mutex is held --- */

static struct swept_product *find_product(struct sweeper *sweeper, int64_t id)
{
    for (int i = 0; i < sweeper->shared.count; i++)
        if (sweeper->shared.products[i].id == id)
            return &sweeper->shared.products[i];
    return NULL;
}

/* Forgets those that need not be left out any more. */
static void forget_products(struct sweeper *sweeper, int64_t now_us)
{
    int left = 0;

    for (int i = 0; i < sweeper->shared.count; i++)
        if (sweeper->shared.products[i].orders > 0 ||
            sweeper->shared.products[i].rests_until_us > now_us)
            sweeper->shared.products[left++] = sweeper->shared.products[i];
    sweeper->shared.count = left;
}

/* There is room: those under way are ORDERS at the most, and no sweep begins while more than the
 * rest of the room is resting. */
static void add_order(struct sweeper *sweeper, int64_t product_id)
{
    struct swept_product *product = find_product(sweeper, product_id);

    if (!product) {
        product = &sweeper->shared.products[sweeper->shared.count++];
        *product = (struct swept_product){.id = product_id};
    }
    product->orders++;
    sweeper->shared.orders++;
}

/* --- one sweep --- */

/* One that keeps stock elsewhere needs an instance that can tell that stock. */
static bool can_end(const struct services *services, const struct strategy *strategy)
{
    return !strategy_unavailable_reason(strategy, services) ||
           (strategy_stand_in(strategy) && !strategy->external_state);
}

/* The strategies whose orders this instance can end. */
static int list_strategies(struct sweeper *sweeper)
{
    int count = 0;

    for (size_t i = 0; i < strategy_total(); i++)
        if (can_end(sweeper->services, strategy_at(i)))
            sweeper->names[count++] = strategy_at(i)->name;
    return count;
}

/* The products that are left out. -1: there is no room for more orders. */
static int list_products(struct sweeper *sweeper, int64_t *ids)
{
    int count = -1;

    pthread_mutex_lock(&sweeper->shared.mutex);
    forget_products(sweeper, clock_mono_us());
    if (sweeper->shared.orders + ROWS <= ORDERS && sweeper->shared.count + ROWS <= PRODUCTS) {
        count = sweeper->shared.count;
        for (int i = 0; i < count; i++)
            ids[i] = sweeper->shared.products[i].id;
    }
    pthread_mutex_unlock(&sweeper->shared.mutex);
    return count;
}

static void stamp(const struct sweeper *sweeper, struct order *order)
{
    const struct settings *settings = sweeper->services->settings;

    order->arrived_us = clock_mono_us();
    order->wait_until_us = order->arrived_us + WAIT_US;
    order->settle_until_us = order->wait_until_us + SETTLE_US +
                             (settings->work_timeout_ms + settings->work_ms) * CLOCK_US_PER_MS;
}

/* Of a row of the statement; NULL without memory. */
static struct order *make_order(const struct sweeper *sweeper, const struct pg *pg, int row)
{
    struct order *order = calloc(1, sizeof *order);
    char name[ORDER_STRATEGY_MAX + 1];

    if (!order)
        return NULL;
    pg_get_text(pg, row, 4, name, sizeof name);
    order->kind = ORDER_EXPIRE;
    order->strategy = strategy_find(name);
    if (strategy_unavailable_reason(order->strategy, sweeper->services))
        order->strategy = strategy_stand_in(order->strategy);
    order->id = pg_get_uuid(pg, row, 0);
    order->product_id = pg_get_int8(pg, row, 1);
    order->user_id = pg_get_int8(pg, row, 2);
    order->quantity = pg_get_int8(pg, row, 3);
    order->created_us = pg_get_time(pg, row, 5);
    stamp(sweeper, order);
    return order;
}

/* Nobody waits for an expiry, so that only the log can tell. */
static void note_failure(struct sweeper *sweeper, bool failed, const struct pg *pg)
{
    if (failed && !sweeper->fails)
        log_warn("orders that nobody has paid are not ended for now: %s", pg_error(pg)->text);
    sweeper->fails = failed;
}

static bool withholds_one(const struct pg *pg)
{
    for (int row = 0; row < pg_rows(pg); row++)
        if (pg_is_null(pg, row, 0))
            return true;
    return false;
}

/* NULL: there is nothing to do, or no room. *more: there may be others. */
static struct order *take_on(struct sweeper *sweeper, struct pg *pg, bool *more)
{
    int64_t left_out[PRODUCTS];
    struct order *list = NULL;
    int names_count = list_strategies(sweeper);
    int left_out_count = list_products(sweeper, left_out);

    *more = left_out_count < 0;
    if (*more)
        return NULL;
    enum pg_status status = pg_exec(pg, SQL_HOLD_SWEEP,
                                    PG_ARGS(pg_int8(ROWS), pg_texts(sweeper->names, names_count),
                                            pg_int8s(left_out, left_out_count), pg_int8(CLAIM_MS)),
                                    clock_mono_us() + TIMEOUT_US);
    bool withheld = status == PG_OK && withholds_one(pg);
    if (withheld)
        pg_withheld(pg, "orders");
    note_failure(sweeper, withheld || status != PG_OK, pg);
    if (status != PG_OK)
        return NULL;
    pthread_mutex_lock(&sweeper->shared.mutex);
    for (int row = 0; row < pg_rows(pg); row++) {
        struct order *order = pg_is_null(pg, row, 0) ? NULL : make_order(sweeper, pg, row);
        if (!order)
            continue; /* it is due again soon */
        add_order(sweeper, order->product_id);
        order->next = list;
        list = order;
    }
    pthread_mutex_unlock(&sweeper->shared.mutex);
    *more = pg_rows(pg) == ROWS;
    return list;
}

bool sweeper_sweep(struct sweeper *sweeper, struct pg *pg)
{
    bool more;

    pthread_mutex_lock(&sweeper->shared.mutex);
    struct order *again = sweeper->shared.again;
    sweeper->shared.again = NULL;
    pthread_mutex_unlock(&sweeper->shared.mutex);
    if (again)
        sweeper->submit(sweeper->context, again);
    struct order *list = take_on(sweeper, pg, &more);
    if (list) {
        FAILPOINT("sweeper.taken-on");
        sweeper->submit(sweeper->context, list);
    }
    return more;
}

/* --- what comes back --- */

/* Whether there is nothing left to do for the order; else it is due again later. */
static bool has_ended(const struct order *order)
{
    return order->outcome == ORDER_EXPIRED || order->outcome == ORDER_NOT_CANCELLABLE ||
           order->outcome == ORDER_NOT_FOUND;
}

/* The backend of its own strategy is gone. */
static bool may_stand_in(struct order *order)
{
    const struct strategy *stand_in = strategy_stand_in(order->strategy);

    if (order->outcome != ORDER_BACKEND_UNAVAILABLE || !stand_in)
        return false;
    order->strategy = stand_in;
    order->outcome = ORDER_PENDING;
    order->attempts = 0;
    return true;
}

/* The mutex is held. */
static void take_one(struct sweeper *sweeper, struct order *order)
{
    struct swept_product *product = find_product(sweeper, order->product_id);

    if (may_stand_in(order)) {
        stamp(sweeper, order);
        order->next = sweeper->shared.again;
        sweeper->shared.again = order;
        return;
    }
    if (!has_ended(order))
        product->rests_until_us = clock_mono_us() + REST_US;
    product->orders--;
    sweeper->shared.orders--;
    free(order);
}

struct order *sweeper_take_back(struct sweeper *sweeper, struct order *list)
{
    struct order *others = NULL;
    struct order **end = &others;

    for (struct order *next; list; list = next) {
        next = list->next;
        list->next = NULL;
        if (list->kind != ORDER_EXPIRE) {
            *end = list;
            end = &list->next;
            continue;
        }
        pthread_mutex_lock(&sweeper->shared.mutex);
        take_one(sweeper, list);
        pthread_mutex_unlock(&sweeper->shared.mutex);
    }
    return others;
}
