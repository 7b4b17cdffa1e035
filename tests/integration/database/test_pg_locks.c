/* serializable and advisory-lock: what is special about either. */
#include "lib/fixtures/cases.h"

#include "lib/stack.h"

#include "base/clock.h"

#include <stdlib.h>

/* A wait may end late, but not as late as the work's allowance, which is two minutes. */
enum { PATIENCE_US = 60000000, WAIT_US = 300000, LATE_US = 20000000 };

static char *conninfo; /* owned */
static struct server *server;
static struct witness *witness;
static int64_t product;

static struct crowd *begin_buyers(const char *strategy, int count, const char *more)
{
    struct crowd *crowd = crowd_create();

    for (int i = 0; i < count; i++) {
        struct buy buy = {.strategy = strategy, .product = product, .user = 1 + i, .more = more};
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_send(crowd);
    return crowd;
}

static int64_t attempts(void)
{
    return server_metric(server, "seckill_attempts_total", "strategy=\"serializable\"");
}

/* A transaction that waits for the row when its change is committed has read an older version, and
 * is made again. */
TEST(a_serialization_failure_is_made_again)
{
    int64_t before = attempts();

    shop_put(server, product, 3, NULL);
    struct witness *holder = witness_hold(conninfo, product);
    witness_run(holder, "UPDATE product SET name = 'changed' WHERE id = %lld", (long long)product);
    struct crowd *crowd = begin_buyers("serializable", 4, "&wait_ms=60000");
    witness_wait_blocked(witness, 2);
    witness_run(holder, "COMMIT");
    witness_close(holder);
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, 201, "") != 3 || crowd_count(crowd, 409, "sold_out") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    assert_true(attempts() - before > 4);
    witness_expect_exact(witness, product);
}

/* Behind a view whose rows have another version each time that one looks. */
static void hide_product(bool hide)
{
    if (!hide) {
        witness_run(witness, "DROP VIEW product; DROP FUNCTION nobody_wins; DROP SEQUENCE looks;"
                             " ALTER TABLE shown RENAME TO product");
        return;
    }
    witness_run(witness,
                "CREATE SEQUENCE looks; ALTER TABLE product RENAME TO shown;"
                " DO $$ BEGIN EXECUTE (SELECT 'CREATE VIEW product AS SELECT '"
                " || string_agg(CASE attname WHEN 'version' THEN 'nextval(''looks'') AS version'"
                " ELSE quote_ident(attname) END, ', ' ORDER BY attnum) || ' FROM shown'"
                " FROM pg_attribute WHERE attrelid = 'shown'::regclass AND attnum > 0"
                " AND NOT attisdropped); END $$;"
                " CREATE FUNCTION nobody_wins() RETURNS trigger LANGUAGE plpgsql AS"
                " 'BEGIN RETURN NULL; END';"
                " CREATE TRIGGER nobody_wins INSTEAD OF UPDATE ON product"
                " FOR EACH ROW EXECUTE FUNCTION nobody_wins()");
}

/* Each compare-and-set finds the version changed: the order is tried two hundred times. The pauses
 * between them, even from 0 to 20 ms, add up to 2 s, and in a billion orders not once to less than
 * 1.4 s; the attempts alone take a tenth of that. */
TEST(a_race_that_is_always_lost_is_paused_for)
{
    enum { ATTEMPTS_MAX = 200, LEAST_US = 1400000 };
    struct server *fast = server_start(NULL); /* without --work-ms */
    struct crowd *crowd = crowd_create();
    struct buy buy = {
        .strategy = "optimistic", .product = product, .user = 1, .more = "&wait_ms=60000"};

    shop_put(server, product, 1, NULL);
    hide_product(true);
    shop_crowd_buy(crowd, fast, &buy);
    crowd_finish(crowd, PATIENCE_US);
    hide_product(false);
    if (crowd_count(crowd, 503, "cas_exhausted") != 1)
        fail_msg("%s", crowd_summary(crowd));
    assert_true(crowd_at(crowd, 0)->took_us >= LEAST_US);
    crowd_destroy(crowd);
    assert_int_equal(server_metric(fast, "seckill_attempts_total", "strategy=\"optimistic\""),
                     ATTEMPTS_MAX);
    server_stop(fast);
}

/* On a slow machine their time may be over before there is a race at all; so more than one round
 * may have to be made. */
TEST(a_serialization_failure_without_time_says_so)
{
    int64_t until_us = clock_mono_us() + t_patience_us();
    int exhausted = 0;

    while (exhausted == 0 && clock_mono_us() < until_us) {
        shop_put(server, product, 10, NULL);
        struct crowd *crowd = begin_buyers("serializable", 4, "&wait_ms=150");
        crowd_finish(crowd, PATIENCE_US);
        int sold = crowd_count(crowd, 201, "");
        exhausted = crowd_count(crowd, 503, "cas_exhausted");
        if ((exhausted > 0 && sold == 0) ||
            sold + exhausted + crowd_count(crowd, 503, "wait_timeout") != 4)
            fail_msg("%s", crowd_summary(crowd));
        crowd_destroy(crowd);
        witness_expect_exact(witness, product);
    }
    assert_true(exhausted > 0);
}

/* What another strategy wrote after the snapshot is refused, too. */
TEST(serializable_sees_what_others_wrote)
{
    shop_put(server, product, 4, NULL);
    struct crowd *crowd = crowd_create();
    for (int i = 0; i < 8; i++) {
        struct buy buy = {.strategy = i % 2 ? "serializable" : "conditional",
                          .product = product,
                          .user = 1 + i,
                          .more = "&wait_ms=30000"};
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, 201, "") != 4 || crowd_count(crowd, 409, "sold_out") != 4)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    witness_expect_exact(witness, product);
}

static void expect_wait_timeout(struct buy buy, const char *more, int64_t wait_us)
{
    struct crowd *crowd = crowd_create();

    buy.more = more;
    shop_crowd_buy(crowd, server, &buy);
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, 503, "wait_timeout") != 1)
        fail_msg("%s", crowd_summary(crowd));
    assert_in_range(crowd_at(crowd, 0)->took_us, wait_us, wait_us + LATE_US);
    crowd_destroy(crowd);
}

TEST(the_advisory_lock_is_asked_for)
{
    static const char *const bodies[] = {NULL, "guarded"};
    char id[SHOP_ID_SIZE];

    shop_put(server, product, 10, NULL);
    for (int i = 0; i < 2; i++) {
        struct buy buy = {
            .strategy = "advisory-lock", .body = bodies[i], .product = product, .user = 1};
        shop_expect_buy(server, &buy, 201, "", id);
        witness_run(witness, "SELECT pg_advisory_lock(1936024427, hashint8(%lld))",
                    (long long)product);
        expect_wait_timeout(buy, "&wait_ms=0", 0);
        expect_wait_timeout(buy, "&wait_ms=300", WAIT_US);
        struct crowd *crowd = crowd_create();
        shop_crowd_cancel(crowd, server, id); /* it changes the stock, so it waits as well */
        crowd_send(crowd);
        witness_wait_blocked(witness, 1);
        assert_false(crowd_wait(crowd, 1, clock_mono_us()));
        witness_run(witness, "SELECT pg_advisory_unlock_all()");
        crowd_finish(crowd, PATIENCE_US);
        assert_int_equal(crowd_count(crowd, 200, ""), 1);
        crowd_destroy(crowd);
        shop_expect_buy(server, &buy, 201, "", NULL);
    }
    witness_expect_exact(witness, product);
}

/* The schema's lock, as another instance's start holds it, is none of a product's. */
TEST(the_schemas_lock_is_another)
{
    shop_put(server, product, 10, NULL);
    witness_run(witness, "SELECT pg_advisory_lock(" SCHEMA_LOCK ")");
    struct buy buy = {
        .strategy = "advisory-lock", .product = product, .user = 1, .more = "&wait_ms=20000"};
    shop_expect_buy(server, &buy, 201, "", NULL);
    witness_run(witness, "SELECT pg_advisory_unlock_all()");
}

static int next_product(void **state)
{
    (void)state;
    product++;
    return 0;
}

TEST_EACH(next_product, NULL)

int main(void)
{
    conninfo = stack_database_create("seckill_pg_locks");
    server_use_database(conninfo);
    server = server_start("--work-ms", "300", "--lock-wait-ms", "60000", "--work-timeout-ms",
                          "120000", "--lock-ttl-ms", "180000");
    witness = witness_open(conninfo);
    int failed = t_run_all(NULL, NULL);
    witness_close(witness);
    if (!failed)
        server_stop(server);
    server_teardown(NULL);
    stack_database_drop("seckill_pg_locks");
    free(conninfo);
    return failed != 0;
}
