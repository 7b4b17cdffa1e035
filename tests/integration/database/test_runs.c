/*
 * Runs of `pipelined`: orders of one product that one session makes one after the other, each its
 * own transaction, sent without waiting for the answer of the one before.
 *
 * To make one, the product's row is held while the first order waits for it and the others queue
 * behind; when it is let go they are one run. However it goes, each order gets its own answer, in
 * its own time, and what was answered stands in the rows.
 */
#include "lib/fixtures/proxied.h"
#include "lib/fixtures/shop.h"
#include "lib/t.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

enum { PATIENCE_US = 60000000, RUN = 8, STOCK = 100, TRIES = 100 };

static struct {
    const char *name;
    const char *last;    /* the statement that its transaction ends with */
    int64_t trips_alone; /* round trips of an order that is alone */
} strategies[] = {{"pipelined", "conditional_buy", 1}};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static struct {
    struct proxied db;
    struct server *server;
    int64_t product;
} here;

static int open_all(void **state)
{
    (void)state;
    proxied_open(&here.db, "seckill_runs");
    server_use_database(here.db.through);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    proxied_close(&here.db);
    return 0;
}

static int start(void **state)
{
    (void)state;
    here.server = server_start("--work-timeout-ms", "120000", "--lock-ttl-ms", "180000",
                               "--lock-wait-ms", "60000");
    return 0;
}

/* The product's row, held; one order stands at it, or has given up, and whatever is sent now queues
 * behind. */
static struct {
    struct witness *holder;
    struct crowd *first;
} jam;

static void begin_jam(const char *strategy, int64_t stock, const char *more)
{
    int64_t until_us = clock_mono_us() + PATIENCE_US;
    struct buy buy = {.strategy = strategy, .product = ++here.product, .user = 1, .more = more};

    shop_put(here.server, here.product, stock, NULL);
    jam.holder = witness_hold(here.db.conninfo, here.product);
    jam.first = crowd_create();
    shop_crowd_buy(jam.first, here.server, &buy);
    crowd_send(jam.first);
    while (!crowd_wait(jam.first, 1, clock_mono_us()) && witness_blocked(here.db.witness) == 0)
        assert_true(clock_mono_us() < until_us);
}

static void add(struct crowd *crowd, const char *strategy, int64_t user, const char *more)
{
    struct buy buy = {.strategy = strategy, .product = here.product, .user = user, .more = more};

    shop_crowd_buy(crowd, here.server, &buy);
}

static void send_all(struct crowd *crowd)
{
    int64_t before = server_accepted(here.server);

    crowd_send(crowd);
    T_UNTIL(server_accepted(here.server) >= before + crowd_size(crowd));
}

static void let_go(void)
{
    witness_release(jam.holder);
    crowd_finish(jam.first, PATIENCE_US);
}

/* The first order was sold, and is done with. */
static void end_jam(void)
{
    if (crowd_count(jam.first, 201, "") != 1)
        fail_msg("the first: %s", crowd_summary(jam.first));
    crowd_destroy(jam.first);
}

static struct crowd *run_of(const char *strategy, int count)
{
    struct crowd *crowd = crowd_create();

    for (int user = 10; user < 10 + count; user++)
        add(crowd, strategy, user, "&wait_ms=60000");
    send_all(crowd);
    return crowd;
}

static void expect_rows(int64_t confirmed)
{
    assert_int_equal(witness_sale(here.db.witness, here.product).orders, confirmed);
    witness_expect_exact(here.db.witness, here.product);
    shop_expect_consistent(here.server, here.product);
}

TEST(the_stock_ends_within_a_run)
{
    for (int i = 0; i < STRATEGIES; i++) {
        begin_jam(strategies[i].name, 4, NULL);
        struct crowd *crowd = run_of(strategies[i].name, RUN);
        let_go();
        crowd_finish(crowd, PATIENCE_US);
        /* On a slow machine the first one gives its wait for the row up, and stands behind the run.
         */
        int sold = 4 - crowd_count(jam.first, 201, "");
        if (crowd_count(crowd, 201, "") != sold ||
            crowd_count(crowd, 409, "sold_out") != RUN - sold)
            fail_msg("%s: %s", strategies[i].name, crowd_summary(crowd));
        assert_int_equal(crowd_distinct_orders(crowd), sold);
        crowd_destroy(crowd);
        crowd_destroy(jam.first);
        expect_rows(4);
    }
    server_stop(here.server);
}

/* Orders that begin with another statement, or end with one, stand among those that do not. There
 * is enough for all, in whatever order they come. */
TEST(a_run_may_be_mixed)
{
    for (int i = 0; i < STRATEGIES; i++) {
        const char *name = strategies[i].name;
        begin_jam(name, 6, NULL);
        struct crowd *crowd = crowd_create();
        struct buy restock = {.strategy = name, .product = here.product, .quantity = 2};
        struct buy keyed = {
            .strategy = name, .product = here.product, .user = here.product * 1000, .key = "k"};
        struct buy many = {.strategy = name, .product = here.product, .user = 30, .quantity = 90};
        add(crowd, name, 10, NULL);
        shop_crowd_buy(crowd, here.server, &keyed);
        shop_crowd_buy(crowd, here.server, &many);
        shop_crowd_restock(crowd, here.server, &restock);
        shop_crowd_buy(crowd, here.server, &keyed);
        add(crowd, name, 11, NULL);
        add(crowd, name, 12, "&wait_ms=0");
        add(crowd, name, 13, NULL);
        crowd_send(crowd);
        crowd_wait(crowd, 1, clock_mono_us() + PATIENCE_US); /* who will not wait */
        let_go();
        crowd_finish(crowd, PATIENCE_US);
        if (crowd_count(crowd, 201, "") != 4 || crowd_count(crowd, 200, "") != 2 ||
            crowd_count(crowd, 409, "sold_out") != 1 ||
            crowd_count(crowd, 503, "wait_timeout") != 1)
            fail_msg("%s: %s", name, crowd_summary(crowd));
        crowd_destroy(crowd);
        end_jam();
        expect_rows(5);
        assert_int_equal(witness_sale(here.db.witness, here.product).stock, 3);
    }
    server_stop(here.server);
}

/* The first of the run can wait for a minute, and so can the third; not the second. Late is what
 * comes near the work's allowance, for which the first may keep the others waiting. */
TEST(an_impatient_order_behind_a_patient_one)
{
    enum { WAIT_US = 2000000, LATE_US = 20000000 };

    for (int i = 0; i < STRATEGIES; i++) {
        const char *name = strategies[i].name;
        begin_jam(name, STOCK, "&wait_ms=1000");
        struct crowd *patient = crowd_create();
        struct crowd *impatient = crowd_create();
        add(patient, name, 10, "&wait_ms=60000");
        send_all(patient);
        add(impatient, name, 11, "&wait_ms=2000");
        send_all(impatient);
        add(patient, name, 12, "&wait_ms=60000");
        crowd_send(patient);
        crowd_answers(impatient, PATIENCE_US);
        const struct crowd_call *call = crowd_at(impatient, 0);
        if (call->reply.status != 503 || strcmp(call->code, "wait_timeout") != 0)
            fail_msg("%s: %s", name, crowd_summary(impatient));
        assert_in_range(call->took_us, WAIT_US, WAIT_US + LATE_US);
        assert_false(crowd_wait(patient, 1, clock_mono_us()));
        let_go();
        crowd_finish(patient, PATIENCE_US);
        if (crowd_count(patient, 201, "") != 2)
            fail_msg("%s: %s", name, crowd_summary(patient));
        bool first_sold = crowd_count(jam.first, 201, "") == 1; /* optimistic's waited at a write */
        expect_rows(first_sold ? 3 : 2);
        crowd_destroy(jam.first);
        crowd_destroy(patient);
        crowd_destroy(impatient);
    }
    server_stop(here.server);
}

static int count_of_all(const struct crowd *crowd, int status, const char *code)
{
    return crowd_count(crowd, status, code) + crowd_count(jam.first, status, code);
}

/* The connection breaks in the middle of a run: the order that it happened to is settled, those
 * that were under way with it too, and the others go on with another session. The first may be
 * among them: it is attempted again where its row was held for long. */
static void lose_connection(int i, enum pg_fault fault)
{
    begin_jam(strategies[i].name, STOCK, NULL);
    struct crowd *crowd = run_of(strategies[i].name, RUN);
    pg_proxy_arm_later(here.db.proxy, strategies[i].last, 4, fault);
    let_go();
    pg_proxy_wait_fault(here.db.proxy);
    crowd_finish(crowd, PATIENCE_US);
    int sold = count_of_all(crowd, 201, "");
    int lost = count_of_all(crowd, 503, "backend_unavailable");
    if (sold + lost != 1 + RUN || (fault == PG_FAULT_LOSE_REQUEST && lost == 0))
        fail_msg("%s: %s", strategies[i].name, crowd_summary(crowd));
    crowd_destroy(crowd);
    crowd_destroy(jam.first);
    expect_rows(sold);
}

TEST(a_connection_breaks_within_a_run)
{
    for (int i = 0; i < STRATEGIES; i++) {
        lose_connection(i, PG_FAULT_LOSE_REQUEST);
        lose_connection(i, PG_FAULT_LOSE_REPLY);
    }
    server_stop(here.server);
}

/* The first order's statement does not reach PostgreSQL before it is let go. A row that is held
 * would be given up after half a second, and its order would be attempted once more. */
static void send_first_held(const char *strategy)
{
    struct buy buy = {.strategy = strategy, .product = ++here.product, .user = 1};

    shop_put(here.server, here.product, STOCK, NULL);
    pg_proxy_arm(here.db.proxy, "stock_take", PG_FAULT_HOLD);
    jam.first = crowd_create();
    shop_crowd_buy(jam.first, here.server, &buy);
    crowd_send(jam.first);
    pg_proxy_wait_fault(here.db.proxy);
}

/* A run ends where it would keep an answer waiting: with work that takes this long, after each
 * order. Those that it leaves were not attempted, and are not written when the first is answered.
 */
TEST_WITH(an_answer_does_not_wait_for_slow_work, NULL, server_teardown)
{
    enum { ORDERS = 4 };

    here.server = server_start("--work-ms", "500", "--work-timeout-ms", "120000", "--lock-ttl-ms",
                               "180000", "--lock-wait-ms", "60000");
    for (int i = 0; i < STRATEGIES; i++) {
        char labels[64];
        snprintf(labels, sizeof labels, "strategy=\"%s\"", strategies[i].name);
        int64_t attempts = server_metric(here.server, "seckill_attempts_total", labels);
        send_first_held(strategies[i].name);
        struct crowd *crowd = run_of(strategies[i].name, ORDERS);
        pg_proxy_release(here.db.proxy);
        crowd_finish(jam.first, PATIENCE_US);
        assert_true(crowd_wait(crowd, 1, clock_mono_us() + PATIENCE_US));
        int64_t written = witness_sale(here.db.witness, here.product).orders;
        if (written > ORDERS)
            fail_msg("%s: the first answer came after the whole run", strategies[i].name);
        crowd_finish(crowd, PATIENCE_US);
        assert_int_equal(crowd_count(crowd, 201, ""), ORDERS);
        assert_int_equal(server_metric(here.server, "seckill_attempts_total", labels) - attempts,
                         1 + ORDERS);
        crowd_destroy(crowd);
        end_jam();
        expect_rows(1 + ORDERS);
    }
    server_stop(here.server);
}

/* What it is for. A run lasts for a moment alone, in which a slow machine may not begin a second
 * order; so more than one may have to be made. */
TEST(the_next_order_travels_with_the_one_before)
{
    for (int i = 0; i < STRATEGIES; i++) {
        char labels[96];
        bool travelled = false;
        snprintf(labels, sizeof labels, "strategy=\"%s\",ended=\"committed\",store=\"postgresql\"",
                 strategies[i].name);
        for (int attempt = 0; attempt < TRIES && !travelled; attempt++) {
            begin_jam(strategies[i].name, STOCK, NULL);
            int64_t before = server_metric(here.server, "seckill_cost_round_trips_total", labels);
            struct crowd *crowd = run_of(strategies[i].name, RUN);
            let_go();
            crowd_finish(crowd, PATIENCE_US);
            assert_int_equal(crowd_count(crowd, 201, ""), RUN);
            crowd_destroy(crowd);
            end_jam();
            int64_t trips =
                server_metric(here.server, "seckill_cost_round_trips_total", labels) - before;
            travelled = trips < (1 + RUN) * strategies[i].trips_alone;
        }
        if (!travelled)
            fail_msg("%s: each order paid for itself", strategies[i].name);
    }
    server_stop(here.server);
}

TEST_GROUP(open_all, close_all)
TEST_EACH(start, server_teardown)
