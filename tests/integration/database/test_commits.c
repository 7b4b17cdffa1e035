/*
 * The reply of a COMMIT is lost, in every strategy and at every moment.
 *
 * A proxy stands between the server and PostgreSQL (lib/pg_proxy.h). However the connection breaks,
 * an order ends 201 with exactly one row, or 503 without one: never both, never neither. The
 * statement that it breaks at is "commit", or the single one of conditional or a batch, which
 * commits by itself.
 */
#include "lib/fixtures/cases.h"

#include "lib/fixtures/proxied.h"
#include "lib/redis/redis_probe.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

enum { PATIENCE_US = 30000000, ANSWER_POLL_US = 1000, STOCK = 10, SLOW_ATTEMPTS = 100 };

/* One way to send the last word of an order. */
struct way {
    const char *strategy;
    const char *body;
    const char *key;
    const char *more;      /* of the PUT */
    const char *statement; /* that commits */
};

static const struct way ways[] = {
    {"none", NULL, NULL, NULL, "commit"},
    {"local-lock", NULL, NULL, NULL, "commit"},
    {"local-lock", "guarded", NULL, NULL, "conditional_buy"},
    {"pessimistic", NULL, NULL, NULL, "commit"},
    {"pessimistic", NULL, "p", NULL, "commit"},
    {"optimistic", NULL, NULL, NULL, "optimistic_buy"},
    {"conditional", NULL, NULL, NULL, "conditional_buy"},
    {"conditional", NULL, "c", NULL, "commit"},
    {"conditional", NULL, NULL, ", \"limit_per_user\": 2", "commit"},
    {"redis-queue", NULL, NULL, NULL, "batch_buy"},
    {"redis-queue", NULL, "r", ", \"limit_per_user\": 2", "commit"},
};
enum { WAYS = sizeof ways / sizeof *ways };

static struct {
    struct proxied db;
    struct server *server;
    int64_t product;
} here;

static int start(void **state)
{
    (void)state;
    proxied_open(&here.db, "seckill_commits");
    server_use_database(here.db.through);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    proxied_close(&here.db);
    return 0;
}

static int start_server(void **state)
{
    (void)state;
    here.server = server_start("--work-timeout-ms", "2000", "--lock-ttl-ms", "3000");
    return 0;
}

/* Where a test has to see something while the commit is under way. */
static int start_patient_server(void **state)
{
    (void)state;
    here.server = server_start("--work-timeout-ms", "60000", "--lock-ttl-ms", "90000");
    return 0;
}

static struct buy way_buy(const struct way *way)
{
    return (struct buy){.strategy = way->strategy,
                        .body = way->body,
                        .key = way->key,
                        .product = here.product,
                        .user = here.product};
}

/* Rows of the product's orders, by status; tombstones are failed ones. */
static int64_t rows(int status)
{
    return witness_number(here.db.witness,
                          "SELECT count(*) FROM orders WHERE product_id = %lld AND status = %d",
                          (long long)here.product, status);
}

static void expect_rows(const char *what, int confirmed, int tombstones)
{
    if (rows(1) != confirmed || rows(3) != tombstones)
        fail_msg("%s: %lld confirmed rows and %lld tombstones", what, (long long)rows(1),
                 (long long)rows(3));
    assert_int_equal(witness_sale(here.db.witness, here.product).stock, STOCK - confirmed);
    witness_expect_exact(here.db.witness, here.product);
    shop_expect_consistent(here.server, here.product);
}

/* Begins a sale that the server has seen, by an order that gets nothing: where one statement is all
 * of an order, the first order of a sale is not made by it. */
static void begin_sale(const struct way *way)
{
    here.product++;
    shop_put(here.server, here.product, STOCK, way->more);
    struct buy buy = way_buy(way);
    buy.key = NULL;
    buy.quantity = STOCK + 1;
    if (strcmp(way->statement, "conditional_buy") == 0)
        shop_expect_buy(here.server, &buy, 409, "sold_out", NULL);
}

/* Sends the one order that meets the fault. */
static struct crowd *begin(const struct way *way, enum pg_fault fault)
{
    struct crowd *crowd = crowd_create();

    begin_sale(way);
    struct buy buy = way_buy(way);
    shop_crowd_buy(crowd, here.server, &buy);
    pg_proxy_arm(here.db.proxy, way->statement, fault);
    crowd_send(crowd);
    pg_proxy_wait_fault(here.db.proxy);
    return crowd;
}

static void end(struct crowd *crowd, const char *what, int status, const char *code)
{
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, status, code) != 1)
        fail_msg("%s: %s", what, crowd_summary(crowd));
    crowd_destroy(crowd);
}

static void next_order_works(const struct way *way, int confirmed, int tombstones)
{
    struct buy buy = way_buy(way);

    buy.user += 50000;
    shop_expect_buy_soon(here.server, &buy, 201);
    expect_rows("the next order", confirmed + 1, tombstones);
}

TEST_WITH(a_lost_reply_is_a_sale, start_patient_server, server_teardown)
{
    for (int i = 0; i < WAYS; i++) {
        struct crowd *crowd = begin(&ways[i], PG_FAULT_LOSE_REPLY);
        end(crowd, ways[i].strategy, 201, "");
        expect_rows(ways[i].strategy, 1, 0);
        next_order_works(&ways[i], 1, 0);
    }
    server_stop(here.server);
}

TEST_WITH(a_lost_request_is_none, start_patient_server, server_teardown)
{
    for (int i = 0; i < WAYS; i++) {
        struct crowd *crowd = begin(&ways[i], PG_FAULT_LOSE_REQUEST);
        end(crowd, ways[i].strategy, 503, "backend_unavailable");
        expect_rows(ways[i].strategy, 0, 1);
        if (ways[i].key) { /* what was not done may be sent again under its key */
            struct buy buy = way_buy(&ways[i]);
            shop_expect_buy(here.server, &buy, 201, "", NULL);
            expect_rows("the repeat", 1, 1);
        }
        next_order_works(&ways[i], ways[i].key ? 1 : 0, 1);
    }
    server_stop(here.server);
}

/* The one statement arrives after the order was settled: it must fail on the tombstone. */
TEST_WITH(a_late_statement_meets_the_tombstone, start_patient_server, server_teardown)
{
    for (int i = 0; i < WAYS; i++) {
        if (strcmp(ways[i].statement, "commit") == 0)
            continue;
        struct crowd *crowd = begin(&ways[i], PG_FAULT_DELAY);
        end(crowd, ways[i].strategy, 503, "backend_unavailable");
        pg_proxy_release(here.db.proxy);
        pg_proxy_wait_answered(here.db.proxy);
        expect_rows(ways[i].strategy, 0, 1);
        next_order_works(&ways[i], 0, 1);
    }
    server_stop(here.server);
}

/* Whether a tombstone stands waiting for the transaction whose COMMIT is held back; or the order is
 * answered. */
static bool settling_waits(struct crowd *crowd)
{
    int64_t until_us = clock_mono_us() + PATIENCE_US;

    while (!crowd_wait(crowd, 1, clock_mono_us())) {
        if (witness_number(here.db.witness,
                           "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                           " AND query LIKE '%%not_committed%%' AND datname = current_database()") >
            0)
            return true;
        assert_true(clock_mono_us() < until_us);
        clock_sleep_until(clock_mono_us() + 2000);
    }
    return false;
}

/* The COMMIT is under way for longer: settling waits for it, as its transaction stands in the way.
 * The INSERT travels with the COMMIT, so the tombstone may be the first of the two: then nothing
 * was done, and it is tried again until the other case is seen. */
static void commit_slowly(const struct way *way)
{
    for (int attempt = 0; attempt < SLOW_ATTEMPTS; attempt++) {
        struct crowd *crowd = begin(way, PG_FAULT_DELAY);
        bool waits = settling_waits(crowd);
        pg_proxy_release(here.db.proxy);
        pg_proxy_wait_answered(here.db.proxy);
        end(crowd, way->strategy, waits ? 201 : 503, waits ? "" : "backend_unavailable");
        expect_rows(way->strategy, waits ? 1 : 0, waits ? 0 : 1);
        if (waits)
            return;
    }
    fail_msg("%s: settling never had to wait", way->strategy);
}

TEST_WITH(a_slow_commit_is_waited_for, start_patient_server, server_teardown)
{
    for (int i = 0; i < WAYS; i++)
        if (strcmp(ways[i].statement, "commit") == 0 && !ways[i].key)
            commit_slowly(&ways[i]);
    server_stop(here.server);
}

static void wait_ready(void)
{

    T_UNTIL(server_status(here.server, "GET", "/readyz", NULL, NULL) == 200);
}

/* PostgreSQL stays away for longer than settling may take: the answer says that nobody knows. */
static void be_left_in_the_dark(const struct way *way, bool committed)
{
    char id[SHOP_ID_SIZE];
    char target[64];
    struct crowd *crowd = crowd_create();

    begin_sale(way);
    struct buy buy = way_buy(way);
    buy.more = "&wait_ms=4000"; /* in which a worker must come to life */
    shop_crowd_buy(crowd, here.server, &buy);
    pg_proxy_refuse_after_fault(here.db.proxy, true);
    pg_proxy_arm(here.db.proxy, way->statement,
                 committed ? PG_FAULT_LOSE_REPLY : PG_FAULT_LOSE_REQUEST);
    crowd_finish(crowd, PATIENCE_US);
    pg_proxy_refuse_after_fault(here.db.proxy, false);
    if (crowd_count(crowd, 504, "outcome_unknown") != 1)
        fail_msg("%s: %s", way->strategy, crowd_summary(crowd));
    /* The wait, and then the work's allowance (2 s). */
    assert_in_range(crowd_at(crowd, 0)->took_us, 5950000, 12000000);
    http_reply_text(&crowd_at(crowd, 0)->reply, "order_id", id, sizeof id);
    crowd_destroy(crowd);

    wait_ready();
    snprintf(target, sizeof target, "/orders/%s", id);
    shop_expect(here.server, "GET", target, NULL, NULL, committed ? 200 : 404,
                committed ? "" : "not_found");
    expect_rows(way->strategy, committed, 0);
    buy.more = NULL;
    if (way->key)
        shop_expect_buy_soon(here.server, &buy, committed ? 200 : 201);
    /* redis-queue: the lock was not given back, its lease ends it. */
    next_order_works(way, way->key ? 1 : committed, 0);
}

TEST_WITH(nobody_knows, start_server, server_teardown)
{
    static const int chosen[] = {3, 6, 8, 9, 10};

    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        be_left_in_the_dark(&ways[chosen[i]], i % 2 == 0);
    server_stop(here.server);
}

/* While nobody could look, the order that was to be paid has become something else. */
static void become(const struct way *way, int status, const char *name)
{
    struct crowd *crowd = crowd_create();

    begin_sale(way);
    struct buy buy = way_buy(way);
    buy.members = ", \"hold_s\": 3600";
    shop_crowd_buy(crowd, here.server, &buy);
    pg_proxy_refuse_after_fault(here.db.proxy, true);
    pg_proxy_arm(here.db.proxy, "commit", PG_FAULT_LOSE_REPLY);
    crowd_send(crowd);
    pg_proxy_wait_fault(here.db.proxy);
    T_UNTIL(rows(4) == 1);
    witness_run(here.db.witness,
                "WITH changed AS (UPDATE orders SET status = %d WHERE product_id = %lld AND"
                " status = 4) UPDATE product SET stock = stock + %d WHERE id = %lld",
                status, (long long)here.product, status != 1, (long long)here.product);
    pg_proxy_refuse_after_fault(here.db.proxy, false);
    crowd_answers(crowd, PATIENCE_US);
    assert_non_null(strstr(crowd_at(crowd, 0)->reply.body, name));
    end(crowd, way->strategy, 201, "");
    witness_expect_exact(here.db.witness, here.product);
}

TEST_WITH(what_became_of_it_since_is_told, start_patient_server, server_teardown)
{
    static const int chosen[] = {3, 7, 10};

    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        become(&ways[chosen[i]], 1, "confirmed");
        become(&ways[chosen[i]], 2, "cancelled");
        become(&ways[chosen[i]], 5, "expired");
    }
    server_stop(here.server);
}

/* Nobody may work beside what may be written: the lock is left to its lease, a minute here. */
TEST(an_unknown_commit_keeps_its_lock)
{
    here.server = server_start("--work-timeout-ms", "2000", "--lock-ttl-ms", "60000");
    for (int i = 0; i < 2; i++) {
        struct way way = {.strategy = i ? "redis-queue" : "redis-token",
                          .statement = i ? "batch_buy" : "commit"};
        struct crowd *crowd = crowd_create();
        here.product++;
        shop_put(here.server, here.product, STOCK, NULL);
        struct buy buy = way_buy(&way);
        buy.more = "&wait_ms=4000"; /* in which a worker must come to life */
        shop_crowd_buy(crowd, here.server, &buy);
        pg_proxy_refuse_after_fault(here.db.proxy, true);
        pg_proxy_arm(here.db.proxy, way.statement, PG_FAULT_LOSE_REPLY);
        end(crowd, way.strategy, 504, "outcome_unknown");
        pg_proxy_refuse_after_fault(here.db.proxy, false);
        wait_ready();
        buy.user += 50000;
        buy.more = "&wait_ms=1000";
        shop_expect_buy(here.server, &buy, 503, "wait_timeout", NULL);
        redis_probe(NULL, 0, "FLUSHALL");
        next_order_works(&way, 1, 0);
    }
    server_stop(here.server);
}

/* When it is known what became of the commit the lease has ended, and the lock is another's: those
 * who delete it without asking whose it is leave it alone, too. */
TEST(a_lock_whose_lease_ended_meanwhile_is_another_s)
{
    static const char *const strategies[] = {"redis-expiry", "redis-setnx"};

    for (int i = 0; i < 2; i++) {
        here.server = server_start("--work-timeout-ms", "5000", "--lock-ttl-ms", "7000",
                                   "--lock-wait-ms", "60000");
        struct way way = {.strategy = strategies[i], .statement = "commit"};
        char lock[96];
        pg_proxy_refuse_after_fault(here.db.proxy, true);
        struct crowd *crowd = begin(&way, PG_FAULT_LOSE_REPLY);
        snprintf(lock, sizeof lock, "seckill:lock:%s:%lld", way.strategy, (long long)here.product);
        assert_int_equal(redis_probe(NULL, 0, "EXISTS %s", lock), 1);
        while (redis_probe(NULL, 0, "EXISTS %s", lock))
            clock_sleep_until(clock_mono_us() + ANSWER_POLL_US);
        redis_probe(NULL, 0, "SET %s another's", lock);
        pg_proxy_refuse_after_fault(here.db.proxy, false);
        end(crowd, way.strategy, 201, "");
        server_stop(here.server); /* whatever it frees is freed */
        assert_int_equal(redis_probe(NULL, 0, "DEL %s", lock), 1);
    }
}

/* Restocks are settled the same way; a cancel that was not done is made again. */
TEST_WITH(restocks_and_cancels, start_patient_server, server_teardown)
{
    for (int i = 0; i < WAYS; i++) {
        for (int lose_reply = 0; lose_reply < 2; lose_reply++) {
            enum pg_fault fault = lose_reply ? PG_FAULT_LOSE_REPLY : PG_FAULT_LOSE_REQUEST;
            char id[SHOP_ID_SIZE];
            here.product++;
            shop_put(here.server, here.product, STOCK, ways[i].more);
            struct buy buy = way_buy(&ways[i]);
            struct crowd *crowd = crowd_create();
            buy.quantity = 1;
            shop_crowd_restock(crowd, here.server, &buy);
            pg_proxy_arm(here.db.proxy, "commit", fault);
            end(crowd, "a restock", lose_reply ? 200 : 503,
                lose_reply ? "" : "backend_unavailable");
            assert_int_equal(witness_sale(here.db.witness, here.product).stock, STOCK + lose_reply);
            witness_expect_exact(here.db.witness, here.product);

            shop_expect_buy(here.server, &buy, 201, "", id);
            crowd = crowd_create();
            shop_crowd_cancel(crowd, here.server, id);
            pg_proxy_arm(here.db.proxy, "commit", fault);
            end(crowd, "a cancel", 200, "");
            assert_int_equal(witness_sale(here.db.witness, here.product).stock, STOCK + lose_reply);
            assert_int_equal(witness_sale(here.db.witness, here.product).cancelled, 1);
            witness_expect_exact(here.db.witness, here.product);
        }
    }
    server_stop(here.server);
}

/* Sends a cancel of a new order whose COMMIT meets the fault. */
static struct crowd *begin_cancel(const char *strategy, enum pg_fault fault)
{
    struct buy buy = {.strategy = strategy,
                      .product = ++here.product,
                      .user = here.product,
                      .more = "&wait_ms=30000"};
    char id[SHOP_ID_SIZE];

    shop_put(here.server, here.product, STOCK, NULL);
    shop_expect_buy(here.server, &buy, 201, "", id);
    pg_proxy_arm(here.db.proxy, "commit", fault);
    for (int64_t until_us = clock_mono_us() + PATIENCE_US; clock_mono_us() < until_us;) {
        struct crowd *crowd = crowd_create();
        shop_crowd_cancel(crowd, here.server, id);
        crowd_send(crowd);
        while (!pg_proxy_has_bitten(here.db.proxy) &&
               !crowd_wait(crowd, 1, clock_mono_us() + ANSWER_POLL_US))
            ;
        if (pg_proxy_has_bitten(here.db.proxy))
            return crowd;
        /* With no time to wait, it may be over before there is a session for it; with little for
         * the work, before its COMMIT. */
        assert_int_equal(crowd_count(crowd, 503, "wait_timeout") +
                             crowd_count(crowd, 503, "backend_unavailable"),
                         1);
        crowd_destroy(crowd);
    }
    fail_msg("%s: no cancel got a session", strategy);
    return NULL;
}

static void expect_cancelled(bool cancelled)
{
    struct sale sale = witness_sale(here.db.witness, here.product);

    assert_int_equal(sale.cancelled, cancelled);
    assert_int_equal(sale.stock, cancelled ? STOCK : STOCK - 1);
    witness_expect_exact(here.db.witness, here.product);
}

static const char *const cancellers[] = {"conditional", "pessimistic", "buckets", "redis-token",
                                         "redis-queue"};
enum { CANCELLERS = sizeof cancellers / sizeof *cancellers };

/* One that needs more than PostgreSQL has a stand-in (strategy_stand_in), which is asked after a
 * COMMIT that never came. With no time to wait it may find no session, and then nothing is done. */
static void expect_stand_in(const char *strategy)
{
    int64_t until_us = clock_mono_us() + PATIENCE_US;
    bool late;

    do {
        struct crowd *crowd = begin_cancel(strategy, PG_FAULT_LOSE_REQUEST);
        crowd_finish(crowd, PATIENCE_US);
        late = crowd_count(crowd, 503, "wait_timeout") == 1;
        if (!late && crowd_count(crowd, 200, "") != 1)
            fail_msg("%s: %s", strategy, crowd_summary(crowd));
        crowd_destroy(crowd);
        expect_cancelled(!late);
    } while (late && clock_mono_us() < until_us);
    assert_false(late);
}

/* There is no time to make it again, and there was no need. */
TEST(a_cancel_without_a_wait_is_looked_up)
{
    here.server = server_start("--lock-wait-ms", "0");
    for (int i = 0; i < CANCELLERS; i++) {
        end(begin_cancel(cancellers[i], PG_FAULT_LOSE_REPLY), cancellers[i], 200, "");
        expect_cancelled(true);
        if (strcmp(cancellers[i], "redis-queue") == 0) {
            expect_stand_in(cancellers[i]);
            continue;
        }
        end(begin_cancel(cancellers[i], PG_FAULT_LOSE_REQUEST), cancellers[i], 503,
            "backend_unavailable");
        expect_cancelled(false);
    }
    server_stop(here.server);
}

/* Its COMMIT is still under way: the look waits for it. */
TEST(a_cancels_slow_commit_is_waited_for)
{
    here.server =
        server_start("--lock-wait-ms", "0", "--work-timeout-ms", "20000", "--lock-ttl-ms", "30000");
    struct crowd *crowd = begin_cancel("conditional", PG_FAULT_DELAY);
    witness_wait_blocked(here.db.witness, 1);
    pg_proxy_release(here.db.proxy);
    end(crowd, "a slow cancel", 200, "");
    expect_cancelled(true);
    server_stop(here.server);
}

/* PostgreSQL is away after the COMMIT: for a moment, or for longer than anybody may wait. */
TEST(a_cancel_outlasts_an_absence)
{
    here.server =
        server_start("--lock-wait-ms", "500", "--work-timeout-ms", "1500", "--lock-ttl-ms", "3000");
    for (int i = 0; i < 4; i++) {
        bool committed = i % 2, comes_back = i / 2;
        pg_proxy_refuse_after_fault(here.db.proxy, true);
        struct crowd *crowd =
            begin_cancel("conditional", committed ? PG_FAULT_LOSE_REPLY : PG_FAULT_LOSE_REQUEST);
        if (comes_back) {
            /* Longer than the cancel's own wait. */
            assert_false(crowd_wait(crowd, 1, clock_mono_us() + 600000));
            pg_proxy_refuse_after_fault(here.db.proxy, false);
            end(crowd, "PostgreSQL is back", committed ? 200 : 503,
                committed ? "" : "backend_unavailable");
        } else {
            char id[SHOP_ID_SIZE];
            crowd_finish(crowd, PATIENCE_US);
            assert_int_equal(crowd_count(crowd, 504, "outcome_unknown"), 1);
            http_reply_text(&crowd_at(crowd, 0)->reply, "order_id", id, sizeof id);
            assert_in_range(crowd_at(crowd, 0)->took_us, 1900000, 20000000);
            crowd_destroy(crowd);
            pg_proxy_refuse_after_fault(here.db.proxy, false);
        }
        expect_cancelled(committed);
        wait_ready();
    }
    server_stop(here.server);
}

/* The cancel that stands in for it does not reach PostgreSQL, and cannot say that nothing was done.
 */
TEST(a_cancel_that_another_stands_in_for_outlasts_an_absence)
{
    here.server =
        server_start("--lock-wait-ms", "500", "--work-timeout-ms", "1000", "--lock-ttl-ms", "3000");
    pg_proxy_refuse_after_fault(here.db.proxy, true);
    end(begin_cancel("redis-queue", PG_FAULT_LOSE_REPLY), "redis-queue", 504, "outcome_unknown");
    pg_proxy_refuse_after_fault(here.db.proxy, false);
    expect_cancelled(true);
    wait_ready();
    server_stop(here.server);
}

/* All the time of an order that may not wait is its work's; what that leaves unclear is looked into
 * all the same. One that finds no session at once has done nothing, and is sent again. */
TEST(an_order_without_a_wait_is_looked_into)
{
    struct buy buy = {.strategy = "conditional", .more = "&wait_ms=0", .user = 1};
    int64_t until_us = clock_mono_us() + PATIENCE_US;
    char code[32];

    here.server = server_start("--work-timeout-ms", "1000", "--lock-ttl-ms", "3000");
    buy.product = ++here.product;
    shop_put(here.server, here.product, STOCK, NULL);
    pg_proxy_arm(here.db.proxy, "order_insert", PG_FAULT_HOLD);
    do {
        struct http_reply reply = shop_send(here.server, &buy);
        http_reply_code(&reply, code, sizeof code);
        http_reply_fini(&reply);
    } while (!pg_proxy_has_bitten(here.db.proxy) && clock_mono_us() < until_us);
    assert_string_equal(code, "backend_unavailable");
    pg_proxy_release(here.db.proxy);
    expect_rows("without a wait", 0, 1);
    server_stop(here.server);
}

/* A whole batch shares the COMMIT that was lost: every order of it ends the same way. */
TEST_WITH(a_batch_is_settled_together, start_patient_server, server_teardown)
{
    for (int i = 0; i < 4; i++) {
        bool lose_reply = i % 2, in_steps = i / 2;
        struct crowd *crowd = crowd_create();
        here.product++;
        shop_put(here.server, here.product, STOCK, in_steps ? ", \"limit_per_user\": 1" : NULL);
        for (int user = 100; user < 108; user++) {
            struct buy buy = {.strategy = "redis-queue", .product = here.product, .user = user};
            shop_crowd_buy(crowd, here.server, &buy);
        }
        pg_proxy_arm(here.db.proxy, in_steps ? "commit" : "batch_buy",
                     lose_reply ? PG_FAULT_LOSE_REPLY : PG_FAULT_LOSE_REQUEST);
        crowd_finish(crowd, PATIENCE_US);
        int lost = crowd_count(crowd, 503, "backend_unavailable");
        if (crowd_count(crowd, 201, "") + lost != 8 || (lose_reply ? lost != 0 : lost == 0))
            fail_msg("%s", crowd_summary(crowd));
        crowd_destroy(crowd);
        expect_rows("a batch", 8 - lost, lost);
    }
    server_stop(here.server);
}

TEST_GROUP(start, stop)
TEST_EACH(NULL, server_teardown)
