/*
 * Which flush proves which commit: orders that come to the flusher at a moment at which what it has
 * just done, or has now, proves nothing of them. A crash then takes them, and nobody may have been
 * told of them. test_early_release.c asks the same of a crowd.
 */
#include "lib/fixtures/shop.h"
#include "lib/postgres.h"

#include "lib/t.h"

#include "base/clock.h"

#include <signal.h>

enum { STOCK = 100000, BREATH_US = 5000 };

static const char *const settings[] = {
    "wal_writer_delay", "10s", "wal_writer_flush_after", "1GB", "wal_buffers", "16MB", NULL};

static struct {
    struct postgres *postgres;
    struct server *server; /* has a failpoint */
    struct witness *witness;
} here;

static int stop(void **state)
{
    witness_close(here.witness);
    here.witness = NULL;
    int failed = server_teardown(state);
    return postgres_teardown(state) | failed;
}

/* No WAL reaches the kernel but by a flush that somebody asks for: the WAL writer, which is woken
 * by whatever fills a page, a refusal's rollback too, is stopped. It lives until postgres_kill,
 * and may begin after the first connection. */
static void start_postgres(void)
{
    here.postgres = postgres_create(settings);
    struct witness *witness = witness_open(postgres_conninfo(here.postgres, "postgres", NULL));
    pid_t pid;

    T_UNTIL((pid = (pid_t)witness_number(witness, "SELECT coalesce(max(pid), 0) FROM"
                                                  " pg_stat_activity WHERE backend_type ="
                                                  " 'walwriter'")) > 0);
    witness_close(witness);
    assert_int_equal(kill(pid, SIGSTOP), 0);
}

/* What all of it rests on, in PostgreSQL's own words: the log is one sequence. */
TEST(one_flush_covers_what_was_committed_before)
{
    start_postgres();
    const char *conninfo = postgres_conninfo(here.postgres, "postgres", NULL);
    struct witness *seller = witness_open(conninfo);
    struct witness *flusher = witness_open(conninfo);

    witness_run(seller, "CREATE TABLE sold (n bigint)");
    witness_run(seller, "SET synchronous_commit = off");
    witness_run(seller, "INSERT INTO sold VALUES (1)");
    witness_run(flusher, "SELECT pg_logical_emit_message(true, 'seckill', '')");
    witness_run(seller, "INSERT INTO sold VALUES (2)");
    postgres_kill(here.postgres);
    witness_close(seller);
    witness_close(flusher);
    postgres_start(here.postgres);
    here.witness = witness_open(postgres_conninfo(here.postgres, "postgres", NULL));
    assert_int_equal(witness_number(here.witness, "SELECT count(*) FROM sold WHERE n = 1"), 1);
    assert_int_equal(witness_number(here.witness, "SELECT count(*) FROM sold WHERE n = 2"), 0);
}

/* Orders of one product, until one is released early and stands at the failpoint. It is the crowd's
 * last, and those before it are answered. */
static void sell_until_held(struct crowd *crowd, const char *failpoint)
{
    struct buy buy = {.strategy = "conditional", .more = "&flush=shared", .product = 1};
    int64_t until_us = clock_mono_us() + t_patience_us();
    char says[64];

    snprintf(says, sizeof says, "failpoint %s: hold", failpoint);
    shop_put(here.server, 1, STOCK, NULL);
    do {
        buy.user++;
        shop_crowd_buy(crowd, here.server, &buy);
        crowd_send(crowd);
        while (!crowd_wait(crowd, crowd_size(crowd), clock_mono_us() + BREATH_US) &&
               !server_says(here.server, says))
            if (clock_mono_us() >= until_us)
                fail_msg("nobody comes to %s", failpoint);
    } while (!server_says(here.server, says));
}

static int64_t confirmed(int64_t product)
{
    return witness_number(here.witness,
                          "SELECT count(*) FROM orders WHERE product_id = %lld AND status = 1",
                          (long long)product);
}

static void wait_committed(int64_t product, int64_t least)
{
    int64_t since_us = clock_mono_us();

    here.witness = witness_open(postgres_conninfo(here.postgres, "postgres", NULL));
    while (confirmed(product) < least)
        t_wait(since_us, "only %lld orders are committed", (long long)confirmed(product));
    witness_close(here.witness);
    here.witness = NULL;
}

/* The crowd's last order was committed, and is gone, and its buyer must not be told of it. */
static void expect_the_last_lost(struct crowd *crowd)
{
    int sent = crowd_size(crowd);

    server_let_go(here.server);
    crowd_answers(crowd, SERVER_PATIENCE_US);
    here.witness = witness_open(postgres_conninfo(here.postgres, "postgres", NULL));
    assert_int_equal(confirmed(1), sent - 1);
    if (crowd_at(crowd, sent - 1)->reply.status != 503)
        fail_msg("of %d orders the last is lost: %s", sent, crowd_summary(crowd));
    assert_int_equal(crowd_count(crowd, 201, NULL), sent - 1);
    crowd_destroy(crowd);
    server_stop(here.server);
}

/* The probe's commits would flush what is to be lost. */
static void start_held(const char *failpoint)
{
    char failpoints[128];

    start_postgres();
    snprintf(failpoints, sizeof failpoints, "%s,probe.commit=fail@1+", failpoint);
    server_use_failpoints(failpoints);
    here.server = server_start("--database", postgres_conninfo(here.postgres, NULL, NULL));
    server_use_failpoints(NULL);
}

/* One flush is over when the order comes, though its buyers are not yet answered. */
TEST(who_comes_during_a_flush_waits_for_the_next)
{
    struct crowd *crowd = crowd_create();
    struct buy late = {
        .strategy = "conditional", .more = "&flush=shared", .product = 1, .user = 100000};

    start_held("flusher.flushed=hold");
    sell_until_held(crowd, "flusher.flushed");
    shop_crowd_buy(crowd, here.server, &late);
    crowd_send(crowd);
    wait_committed(1, crowd_size(crowd));
    postgres_kill(here.postgres);
    postgres_start(here.postgres);
    expect_the_last_lost(crowd);
}

/* The order is committed; PostgreSQL crashes; the flusher has a session again, whose flush is as
 * good as any, and then hears of the order. */
TEST(a_session_proves_nothing_of_what_was_before_it)
{
    struct crowd *crowd = crowd_create();
    struct buy other = {
        .strategy = "conditional", .more = "&flush=shared", .product = 2, .user = 1};
    bool early = false;

    start_held("flusher.parking=hold");
    shop_put(here.server, 2, STOCK, NULL);
    sell_until_held(crowd, "flusher.parking");
    wait_committed(1, crowd_size(crowd));
    postgres_kill(here.postgres);
    postgres_start(here.postgres);
    for (int64_t until_us = clock_mono_us() + t_patience_us(); !early; other.user++) {
        if (clock_mono_us() >= until_us)
            fail_msg("the flusher has no session again");
        shop_expect_buy_soon(here.server, &other, 201);
        here.witness = witness_open(postgres_conninfo(here.postgres, "postgres", NULL));
        early = witness_number(here.witness, "SELECT early::int FROM product WHERE id = 2") == 1;
        witness_close(here.witness);
        here.witness = NULL;
    }
    expect_the_last_lost(crowd);
}

static bool is_early(int64_t product)
{
    return witness_number(here.witness, "SELECT early::int FROM product WHERE id = %lld",
                          (long long)product) == 1;
}

/* Sells all of the product, so that its last commits are released early. */
static void sell_out(const char *strategy, int64_t product, char id[SHOP_ID_SIZE])
{
    struct buy buy = {.strategy = strategy, .more = "&flush=shared", .product = product};

    shop_put(here.server, product, STOCK, NULL);
    here.witness = witness_open(postgres_conninfo(here.postgres, "postgres", NULL));
    do {
        if (++buy.user == STOCK)
            fail_msg("%s is never released early", strategy);
        shop_expect_buy(here.server, &buy, 201, "", id);
    } while (!is_early(product));
    buy.quantity = STOCK - buy.user++;
    shop_expect_buy(here.server, &buy, 201, "", NULL);
}

/* A refusal rests on what was flushed for the one before it; and PostgreSQL logs none of it. (It
 * may log something of its own in between.) */
TEST(who_is_refused_over_what_is_flushed_waits_for_nobody)
{
    static const char *const refusers[] = {"batch", "redis-queue", "pipelined", "conditional"};
    enum { COUNT = sizeof refusers / sizeof *refusers, REFUSALS = 10 };
    static const char logged[] = "SELECT pg_current_wal_insert_lsn() - '0/0'";
    int64_t until_us = clock_mono_us() + t_patience_us();
    char id[SHOP_ID_SIZE];

    here.postgres = postgres_create(settings);
    here.server = server_start("--database", postgres_conninfo(here.postgres, NULL, NULL));
    sell_out("conditional", 1, id);
    for (int i = 0; i < COUNT;) {
        struct buy buy = {.strategy = refusers[i], .more = "&flush=shared", .product = 1};
        buy.user = STOCK + 1;
        shop_expect_buy_soon(here.server, &buy, 409);
        shop_expect_buy_soon(here.server, &buy, 409);
        int64_t flushes = server_metric(here.server, "seckill_shared_flushes_total", "");
        int64_t before = witness_number(here.witness, logged);
        for (int refusal = 0; refusal < REFUSALS; refusal++)
            shop_expect_buy_soon(here.server, &buy, 409);
        assert_int_equal(server_metric(here.server, "seckill_shared_flushes_total", ""), flushes);
        i += witness_number(here.witness, logged) == before;
        if (clock_mono_us() >= until_us)
            fail_msg("%s: the log grows", refusers[i]);
    }
    server_stop(here.server);
}

/* A refusal was told; a unit came back and is sold again by an early release, whose flush is the
 * fifth. A refusal now rests on that sale, which a crash undoes. */
static void expect_refusal_waits(const char *seller, const char *refuser)
{
    struct crowd *crowd = crowd_create();
    struct buy buy = {.strategy = seller, .more = "&flush=shared", .product = 1, .user = STOCK};
    struct buy refused = {.strategy = refuser, .more = "&flush=shared", .product = 1, .user = 1};
    int64_t until_us = clock_mono_us() + t_patience_us();
    char id[SHOP_ID_SIZE];
    char labels[64];

    snprintf(labels, sizeof labels, "strategy=\"%s\"", refuser);
    start_held("flusher.barrier=hold@5");
    sell_out(seller, 1, id);
    shop_expect_buy(here.server, &refused, 409, "sold_out", NULL);
    shop_crowd_cancel(crowd, here.server, id);
    crowd_finish(crowd, SERVER_PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 200, ""), 1);
    shop_crowd_buy(crowd, here.server, &buy);
    crowd_send(crowd);
    while (!server_says(here.server, "failpoint flusher.barrier: hold"))
        if (clock_mono_us() >= until_us)
            fail_msg("%s: no fifth flush: %s", seller, crowd_summary(crowd));
    int64_t attempts = server_metric(here.server, "seckill_attempts_total", labels);
    shop_crowd_buy(crowd, here.server, &refused);
    crowd_send(crowd);
    server_wait_metric(here.server, "seckill_attempts_total", labels, attempts + 1);
    witness_close(here.witness);
    here.witness = NULL;
    postgres_kill(here.postgres);
    postgres_start(here.postgres);
    server_let_go(here.server);
    crowd_answers(crowd, SERVER_PATIENCE_US);
    if (crowd_count(crowd, 503, NULL) != 2)
        fail_msg("%s, %s: the unit is there again: %s", seller, refuser, crowd_summary(crowd));
    crowd_destroy(crowd);
    server_stop(here.server);
}

TEST(who_is_refused_over_a_later_sale_waits)
{
    expect_refusal_waits("conditional", "pipelined");
}

/* A sale from a bucket makes no new version of the product's row. */
TEST(who_is_refused_over_buckets_waits)
{
    expect_refusal_waits("buckets", "batch");
}

/* Its one worker has nobody to share a flush with; in a crowd it has. */
TEST(who_comes_alone_to_batch_has_a_flush_of_their_own)
{
    enum { ALONE = 10, CROWD = 16 };
    static const char answered[] = "seckill_shared_flush_orders_total";
    struct buy buy = {.strategy = "batch", .product = 2, .user = 1};
    int64_t until_us = clock_mono_us() + t_patience_us();
    char id[SHOP_ID_SIZE];

    here.postgres = postgres_create(settings);
    here.server = server_start("--database", postgres_conninfo(here.postgres, NULL, NULL));
    sell_out("conditional", 1, id);
    shop_put(here.server, buy.product, STOCK, NULL);
    int64_t before = server_metric(here.server, answered, "");
    for (; buy.user <= ALONE; buy.user++)
        shop_expect_buy(here.server, &buy, 201, "", NULL);
    assert_int_equal(server_metric(here.server, answered, ""), before);
    assert_false(is_early(buy.product));
    while (!is_early(buy.product)) {
        struct crowd *crowd = crowd_create();
        if (clock_mono_us() >= until_us)
            fail_msg("a crowd shares no flush");
        for (int i = 0; i < CROWD; i++, buy.user++)
            shop_crowd_buy(crowd, here.server, &buy);
        crowd_send(crowd);
        crowd_finish(crowd, SERVER_PATIENCE_US);
        assert_int_equal(crowd_count(crowd, 201, ""), CROWD);
        crowd_destroy(crowd);
    }
    server_stop(here.server);
}

/* A server has said of a sale that its commits are early, and another begins the next one. */
TEST(a_sale_that_begins_behind_the_mark_is_marked)
{
    static const char *const strategies[] = {"pessimistic", "optimistic", "conditional",
                                             "pipelined",   "batch",      "serializable",
                                             "buckets"};
    enum { COUNT = sizeof strategies / sizeof *strategies, TRIES = 1000 };

    here.postgres = postgres_create(settings);
    here.server = server_start("--database", postgres_conninfo(here.postgres, NULL, NULL));
    struct server *other = server_start("--database", postgres_conninfo(here.postgres, NULL, NULL));
    shop_put(here.server, 1, STOCK, NULL);
    here.witness = witness_open(postgres_conninfo(here.postgres, "postgres", NULL));
    for (int i = 0; i < COUNT; i++) {
        struct buy buy = {.strategy = strategies[i], .more = "&flush=shared", .product = i + 1};
        shop_put(here.server, buy.product, STOCK, NULL);
        while (!is_early(buy.product)) {
            if (++buy.user == TRIES)
                fail_msg("%s is never released early", strategies[i]);
            shop_expect_buy(here.server, &buy, 201, "", NULL);
        }
        shop_put(other, buy.product, STOCK, NULL);
        assert_false(is_early(buy.product));
        buy.user++;
        shop_expect_buy(here.server, &buy, 201, "", NULL);
        if (!is_early(buy.product))
            fail_msg("%s: nobody is told that its commits are early", strategies[i]);
    }
    server_stop(other);
    server_stop(here.server);
}

/* A session that releases its commits early is told not to, and will not hear: what was sent behind
 * that has committed without a flush, and is looked up. */
TEST(who_will_not_wait_for_its_flush_is_not_believed)
{
    static const char function[] = "FUNCTION pg_catalog.set_config(text, text, boolean)";
    struct buy buy = {.strategy = "conditional", .more = "&flush=shared", .product = 1};
    struct crowd *crowd = crowd_create();
    int64_t until_us = clock_mono_us() + t_patience_us();

    here.postgres = postgres_create(settings);
    here.server = server_start("--database", postgres_conninfo(here.postgres, NULL, NULL));
    shop_put(here.server, 1, STOCK, NULL);
    here.witness = witness_open(postgres_conninfo(here.postgres, "postgres", NULL));
    for (bool early = false; !early; early = is_early(1)) {
        buy.user++;
        shop_expect_buy(here.server, &buy, 201, "", NULL);
    }
    witness_run(here.witness, "REVOKE EXECUTE ON %s FROM PUBLIC", function);
    buy.more = "&flush=own";
    do { /* not every session has committed ahead: those take it and sell */
        if (clock_mono_us() >= until_us)
            fail_msg("the session is believed: %s", crowd_summary(crowd));
        buy.user++;
        shop_crowd_buy(crowd, here.server, &buy);
        crowd_send(crowd);
        while (!server_says(here.server, "did not take the session's limits") &&
               !crowd_wait(crowd, crowd_size(crowd), clock_mono_us() + BREATH_US))
            ;
    } while (!server_says(here.server, "did not take the session's limits"));
    witness_run(here.witness, "GRANT EXECUTE ON %s TO PUBLIC", function);
    crowd_finish(crowd, SERVER_PATIENCE_US);
    /* A session that was to be opened meanwhile could not be, and its order is not there. */
    int sold = crowd_count(crowd, 201, "");
    assert_int_equal(sold + crowd_count(crowd, 503, "backend_unavailable"), crowd_size(crowd));
    if (sold == 0 || witness_number(here.witness, "SELECT count(*) FROM orders WHERE status = 1") !=
                         buy.user - crowd_size(crowd) + sold)
        fail_msg("it was committed: %s", crowd_summary(crowd));
    crowd_destroy(crowd);
    server_stop(here.server);
}

static bool is_durable(void)
{
    struct http_reply reply = server_call(here.server, "GET", "/readyz", NULL, NULL);
    bool durable = http_reply_bool(&reply, "durable");

    http_reply_fini(&reply);
    return durable;
}

/* The role is told not to wait any more, which only a session that is opened then obeys: it is the
 * one that proves the others' commits. */
TEST(what_its_session_does_not_wait_for_is_told)
{
    struct buy buy = {.strategy = "conditional", .more = "&flush=shared", .product = 1};
    int64_t until_us = clock_mono_us() + t_patience_us();

    here.postgres = postgres_create(settings);
    here.server = server_start("--database", postgres_conninfo(here.postgres, NULL, NULL));
    shop_put(here.server, 1, STOCK, NULL);
    here.witness = witness_open(postgres_conninfo(here.postgres, "postgres", NULL));
    for (bool early = false; !early; early = is_early(1)) {
        buy.user++;
        shop_expect_buy(here.server, &buy, 201, "", NULL);
    }
    assert_true(is_durable());
    witness_run(here.witness, "ALTER ROLE ALL SET synchronous_commit = off");
    assert_int_equal(
        witness_number(here.witness,
                       "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                       " WHERE query LIKE '%%pg_logical_emit_message%%'"
                       " AND query NOT LIKE '%%''probe''%%' AND pid <> pg_backend_pid()"),
        1);
    while (is_durable()) {
        if (clock_mono_us() >= until_us)
            fail_msg("/readyz says that a crash loses nothing");
        buy.user++;
        shop_expect_buy_soon(here.server, &buy, 201);
    }
    server_stop(here.server);
}

TEST_EACH(NULL, stop)
