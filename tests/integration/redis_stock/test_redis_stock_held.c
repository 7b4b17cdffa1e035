/*
 * redis-stock's writer while somebody holds a product's row, or what one order needs besides it,
 * while PostgreSQL refuses everything for a moment, and with a long backlog: other products are
 * decided meanwhile, no accepted order dies, and the backlog goes at full speed.
 */
#include "lib/fixtures/stock_cluster.h"
#include "lib/stack.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ORDERS = 5, PAGE = 100, LISTEN_SIZE = 64 };

static int64_t other(void)
{
    return cluster.product + 5000;
}

static void accept_one(struct server *server, int64_t product, int64_t user, char id[SHOP_ID_SIZE])
{
    struct buy buy = cluster_buy(user, 1);

    buy.product = product;
    cluster_accept(server, &buy, id);
}

static int64_t rows(int64_t product)
{
    return witness_number(cluster.witness,
                          "SELECT count(*) FROM orders WHERE product_id = %lld AND status = 1",
                          (long long)product);
}

/* An administrator cancels each statement that waits for a row. */
static void cancel_who_waits(void)
{
    witness_wait_blocked(cluster.witness, 1);
    witness_number(cluster.witness,
                   "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity"
                   " WHERE datname = current_database() AND wait_event_type = 'Lock'");
}

static int64_t oldest(struct server *server)
{
    return server_metric(server, "seckill_redis_stock_oldest_undecided_seconds", "");
}

static void wait_oldest(int64_t least, int64_t most)
{
    for (int i = 0; i < cluster.count; i++)
        T_UNTIL(oldest(cluster.servers[i]) >= least && oldest(cluster.servers[i]) <= most);
}

/* Orders of both products; each of the other one is decided. */
static void buy_of_both(void)
{
    char id[SHOP_ID_SIZE];

    for (int i = 0; i < 2 * ORDERS; i++) {
        accept_one(cluster.servers[i % 2], cluster.product, 10 + i, NULL);
        accept_one(cluster.servers[i % 2], other(), 10 + i, id);
        cluster_wait_status(cluster.servers[i % 2], id, "confirmed");
    }
}

/* The writers of two instances: each has orders of the held product and of another one. */
TEST(a_held_row_is_in_nobody_elses_way)
{
    char held[2][SHOP_ID_SIZE];

    cluster.product++;
    for (int i = 0; i < 2; i++)
        cluster_start_working(NULL, NULL, "60000");
    shop_put(cluster.servers[0], cluster.product, 100, NULL);
    shop_put(cluster.servers[0], other(), 100, NULL);
    struct witness *holder = cluster_hold();
    for (int i = 0; i < 2; i++)
        accept_one(cluster.servers[i], cluster.product, 1 + i, held[i]);
    buy_of_both();
    /* Only a transaction that stands in line gets a row that others lock in turns. */
    cancel_who_waits();
    witness_wait_blocked(cluster.witness, 1);
    for (int i = 0; i < 2; i++)
        cluster_expect_status(cluster.servers[i], held[i], "queued");
    wait_oldest(1, INT64_MAX);
    assert_int_equal(cluster_claims("put_off"), 0);
    witness_release(holder);
    for (int i = 0; i < 2; i++)
        cluster_wait_status(cluster.servers[i], held[i], "confirmed");
    cluster_expect_reconciled();
    assert_int_equal(rows(cluster.product), 2 + 2 * ORDERS);
    wait_oldest(0, 0);
    cluster_stop_all();
}

#define MARKING "query LIKE '%%restock (id,%%' AND wait_event_type = 'Lock'"

/* The first order of a sale has PostgreSQL know where it waits; another instance does so, too, and
 * its commit takes longer than PostgreSQL lets anybody wait for a lock. */
TEST(who_writes_the_same_mark_is_waited_for)
{
    struct crowd *crowd = crowd_create();
    struct witness *other_instance = witness_open(cluster.conninfo);

    cluster.product++;
    cluster_start_working(NULL, NULL, "60000");
    shop_put(cluster.servers[0], cluster.product, 1, NULL);
    shop_put(cluster.servers[0], other(), 1, NULL);
    accept_one(cluster.servers[0], other(), 1, NULL); /* its worker is there */
    witness_run(other_instance,
                "BEGIN; INSERT INTO restock (id, product_id, epoch, quantity, strategy,"
                " idempotency_key, created_at) SELECT gen_random_uuid(), id, epoch, 0,"
                " 'redis-stock', ' ', now() FROM product WHERE id = %lld",
                (long long)cluster.product);
    struct buy buy = cluster_buy(1, 1);
    buy.more = "&wait_ms=0";
    shop_crowd_buy(crowd, cluster.servers[0], &buy);
    crowd_send(crowd);
    witness_wait_blocked(cluster.witness, 1);
    int64_t first_us = witness_number(cluster.witness,
                                      "SELECT (extract(epoch FROM max(query_start)) * 1e6)::bigint"
                                      " FROM pg_stat_activity WHERE " MARKING);
    T_UNTIL(witness_number(cluster.witness,
                           "SELECT count(*) FROM pg_stat_activity WHERE " MARKING
                           " AND extract(epoch FROM query_start) * 1e6 > %lld + 1",
                           (long long)first_us) == 1);
    witness_run(other_instance, "COMMIT");
    crowd_finish(crowd, CLUSTER_PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 202, "") + crowd_count(crowd, 201, ""), 1);
    crowd_destroy(crowd);
    witness_close(other_instance);
    cluster_expect_reconciled();
    cluster_stop_all();
}

/* Orders of a product whose row is held are accepted, as many as may wait; the next is refused. */
static void fill(struct server *server, int64_t product, int share)
{
    struct buy buy = cluster_buy(1, 1);

    buy.product = product;
    for (int i = 0; i < share; i++, buy.user++)
        cluster_accept(server, &buy, NULL);
    shop_expect_buy(server, &buy, 503, "queue_full", NULL);
}

/* Redis hears of it after PostgreSQL: until then it waits, too. */
static void buy_beside(struct server *server, int64_t user, int waiting)
{
    char id[SHOP_ID_SIZE];

    accept_one(server, other(), user, id);
    cluster_wait_status(server, id, "confirmed");
    T_UNTIL(cluster_waiting() == waiting);
}

/* Ten orders may wait in all. However many rows are held, others are sold: one product has half of
 * the room, another of what is left no more than remains. */
TEST_WITH(held_rows_leave_room, NULL, cluster_teardown)
{
    static const int shares[] = {5, 3, 1};
    enum { STUCK = sizeof shares / sizeof *shares, ALL_STUCK = 5 + 3 + 1, OTHERS = 10 };
    struct witness *holders[STUCK];
    char id[SHOP_ID_SIZE];

    cluster.product++;
    struct server *server = cluster_start_queueing("1");
    shop_put(server, other(), 100, NULL);
    for (int i = 0; i < STUCK; i++)
        shop_put(server, cluster.product + i, 100, NULL);
    for (int i = 0; i < STUCK; i++) {
        holders[i] = witness_hold(cluster.conninfo, cluster.product + i);
        fill(server, cluster.product + i, shares[i]);
    }
    for (int i = 0; i < OTHERS; i++)
        buy_beside(server, 1 + i, ALL_STUCK);
    for (int i = 0; i < STUCK; i++)
        witness_release(holders[i]);
    T_UNTIL(cluster_waiting() == 0);
    for (int i = 0; i < STUCK; i++)
        assert_int_equal(rows(cluster.product + i), shares[i]);
    accept_one(server, cluster.product, OTHERS, id);
    cluster_wait_status(server, id, "confirmed");
    cluster_expect_settled();
    cluster.product += STUCK;
    cluster_stop_all();
}

/* What a user of the cluster's product has bought, and the key of another one. */
static struct witness *hold_user_and_key(int64_t user, int64_t keyed)
{
    struct witness *holder = witness_open(cluster.conninfo);

    witness_run(holder, "BEGIN");
    witness_run(holder,
                "SELECT 1 FROM purchase WHERE product_id = %lld AND user_id = %lld FOR UPDATE",
                (long long)cluster.product, (long long)cluster_buy(user, 1).user);
    witness_run(holder,
                "INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status,"
                " idempotency_key, created_at) SELECT gen_random_uuid(), id, epoch, %lld, 1,"
                " 'conditional', 1, 'held', now() FROM product WHERE id = %lld",
                (long long)cluster_buy(keyed, 1).user, (long long)other());
    return holder;
}

/* Two orders that wait for somebody's transaction, among many that do not. */
TEST(what_one_order_needs_is_in_nobody_elses_way)
{
    enum { USER = 1, KEYED = 2, OTHERS = 50, WITHIN_US = 15000000 };
    char bought[SHOP_ID_SIZE];
    char held[2][SHOP_ID_SIZE];

    cluster.product++;
    /* Half a dozen waits as long as the work may take would be twice WITHIN_US. */
    struct server *server = cluster_start_working(NULL, NULL, "4900");
    shop_put(server, cluster.product, 100, ", \"limit_per_user\": 5");
    shop_put(server, other(), 100, NULL);
    accept_one(server, cluster.product, USER, bought);
    cluster_wait_status(server, bought, "confirmed");
    struct witness *holder = hold_user_and_key(USER, KEYED);
    struct witness *rows_of[] = {cluster_hold(), witness_hold(cluster.conninfo, other())};
    accept_one(server, cluster.product, USER, held[0]);
    struct buy keyed = cluster_buy(KEYED, 1);
    keyed.product = other();
    keyed.key = "held";
    cluster_accept(server, &keyed, held[1]);
    for (int i = 0; i < OTHERS; i++)
        accept_one(server, i % 2 ? cluster.product : other(), 10 + i, NULL);
    for (int i = 0; i < 2; i++)
        witness_release(rows_of[i]); /* so that they come to be written together */
    int64_t until_us = clock_mono_us() + WITHIN_US;
    T_UNTIL(rows(cluster.product) == 1 + OTHERS / 2 && rows(other()) == OTHERS / 2);
    assert_true(clock_mono_us() < until_us);
    /* Nor does it go slower now, while those two are tried again and again. */
    for (int i = 0; i < 2 * ORDERS; i++) {
        accept_one(server, i % 2 ? cluster.product : other(), 100 + i, bought);
        cluster_wait_status(server, bought, "confirmed");
    }
    for (int i = 0; i < 2; i++)
        cluster_expect_status(server, held[i], "queued");
    assert_int_equal(cluster_claims("put_off"), 0);
    assert_true(cluster_claims("lock_held") >= 2);
    witness_release(holder);
    for (int i = 0; i < 2; i++)
        cluster_wait_status(server, held[i], "confirmed");
    cluster_expect_reconciled();
    cluster_stop_all();
}

static void make_refusal(const char *sqlstate)
{
    witness_run(cluster.witness,
                "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS"
                " $$BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '%s'; END$$",
                sqlstate);
}

/* One user's orders. */
static void refuse_user(int64_t user, const char *sqlstate)
{
    make_refusal(sqlstate);
    witness_run(cluster.witness,
                "CREATE TRIGGER no BEFORE INSERT ON orders FOR EACH ROW"
                " WHEN (NEW.user_id = %lld AND NEW.status = 1) EXECUTE FUNCTION no()",
                (long long)cluster_buy(user, 1).user);
}

static void refuse_with(const char *sqlstate)
{
    make_refusal(sqlstate);
    /* A failed order's row could be written. */
    witness_run(cluster.witness, "CREATE TRIGGER no BEFORE INSERT ON orders FOR EACH ROW"
                                 " WHEN (NEW.status = 1) EXECUTE FUNCTION no()");
}

/* Orders that PostgreSQL refuses again and again are confirmed when it does not any more. */
static void outlive(struct server *server, const char *sqlstate, int64_t users)
{
    int64_t put_off = cluster_claims("put_off");
    char ids[ORDERS][SHOP_ID_SIZE];

    refuse_with(sqlstate);
    for (int n = 0; n < ORDERS; n++)
        accept_one(server, cluster.product, users + n, ids[n]);
    /* Each of them has been refused alone, and together with the others. */
    T_UNTIL(cluster_claims("put_off") >= put_off + (int64_t)4 * ORDERS);
    witness_run(cluster.witness, "DROP FUNCTION no() CASCADE");
    for (int n = 0; n < ORDERS; n++)
        cluster_wait_status(server, ids[n], "confirmed");
}

/* A full disk, no memory, cancelled, read-only, no privilege. */
TEST(no_order_dies_of_the_servers_state)
{
    static const char *const states[] = {"53100", "53200", "57014", "25006", "42501"};

    cluster.product++;
    struct server *server = cluster_start(NULL, NULL);
    shop_put(server, cluster.product, 1000, NULL);
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        outlive(server, states[i], (int64_t)(100 * i));
    assert_int_equal(cluster_claims("unwritable"), 0);
    cluster_expect_reconciled();
    cluster_stop_all();
}

/* What troubles one order alone stops nobody else, and is not its end. */
TEST(one_order_in_trouble_is_alone)
{
    enum { BAD = 3 };
    char ids[ORDERS][SHOP_ID_SIZE];

    cluster.product++;
    struct server *server = cluster_start(NULL, NULL);
    shop_put(server, cluster.product, 1000, NULL);
    refuse_user(BAD, "XX000");
    struct witness *holder = cluster_hold(); /* so that they come to be written together */
    for (int i = 0; i < ORDERS; i++)
        accept_one(server, cluster.product, 1 + i, ids[i]);
    witness_release(holder);
    for (int i = 0; i < ORDERS; i++)
        if (1 + i != BAD)
            cluster_wait_status(server, ids[i], "confirmed");
    cluster_expect_status(server, ids[BAD - 1], "queued");
    witness_run(cluster.witness, "DROP FUNCTION no() CASCADE");
    cluster_wait_status(server, ids[BAD - 1], "confirmed");
    cluster_expect_reconciled();
    cluster_stop_all();
}

/* One that cannot be written waits for somebody's transaction when it is to be written as failed:
 * it is put off like any other that waits, and the writer goes on. */
TEST(one_that_is_unwritable_and_waits_is_alone)
{
    enum { BAD = 1 };
    char id[SHOP_ID_SIZE];
    char other_id[SHOP_ID_SIZE];

    cluster.product++;
    struct server *server = cluster_start_working(NULL, NULL, "60000");
    shop_put(server, cluster.product, 100, NULL);
    refuse_user(BAD, "P0001");
    struct witness *row = cluster_hold();
    accept_one(server, cluster.product, BAD, id);
    struct witness *holder = witness_open(cluster.conninfo);
    witness_run(holder, "BEGIN");
    witness_run(holder,
                "INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status,"
                " created_at) SELECT '%s', id, epoch, 1, 1, 'redis-stock', 3, now() FROM product"
                " WHERE id = %lld",
                id, (long long)cluster.product);
    witness_release(row);
    T_UNTIL(cluster_claims("lock_held") >= 1);
    for (int i = 0; i < ORDERS; i++) {
        accept_one(server, cluster.product, 10 + i, other_id);
        cluster_wait_status(server, other_id, "confirmed");
    }
    cluster_expect_status(server, id, "queued");
    assert_int_equal(cluster_claims("put_off"), 0);
    witness_release(holder);
    cluster_wait_status(server, id, "failed");
    cluster_stop_all();
}

/* Puts entries of one order into the stream, as if they had lain there for long. */
static void add_entries(int64_t product, int count)
{
    static const char script[] =
        "for~i=tonumber(ARGV[3]),tonumber(ARGV[4])~do"
        "~redis.call('XADD',KEYS[1],'1-'..i,'product',ARGV[1],'epoch',ARGV[2],'orders',"
        "string.format('018f0000-0000-7000-8000-%012x~',i)..i..'~1~1700000000000000~\\n')~end";
    static int serial;

    cluster_redis("EVAL %s 1 @orders %lld %lld %d %d", script, (long long)product,
                  (long long)witness_sale(cluster.witness, product).epoch, serial + 1,
                  serial + count);
    serial += count;
}

/* Begins both products' sales and stops the server; `listen` is the next one's address. */
static void open_both(char listen[LISTEN_SIZE])
{
    cluster.product++;
    struct server *server = cluster_start(NULL, NULL);
    snprintf(listen, LISTEN_SIZE, "%s", strstr(server_address(server), "127."));
    shop_put(server, cluster.product, 100000, NULL);
    shop_put(server, other(), 100000, NULL);
    cluster_stop_all();
    cluster_redis("DEL @orders");
    cluster_redis("XGROUP CREATE @orders writers 0 MKSTREAM");
}

/* All entries are pending with the server at that address. */
static void give_to(const char *listen)
{
    char host[64] = "";

    gethostname(host, sizeof host - 1);
    cluster_redis("XREADGROUP GROUP writers %s/%s COUNT 1000000 STREAMS @orders >", host, listen);
}

/* Waits until nothing is left; whether some pages went faster than with a wait of `wait_us` behind
 * each. */
static bool goes_without_waiting(int64_t wait_us)
{
    enum { PAGES = 5, ENTRIES = PAGES * PAGE };
    int64_t until_us = clock_mono_us() + CLUSTER_PATIENCE_US;
    int64_t from_us = 0;
    int64_t from = 0;
    int64_t left = 1;
    bool fast = false;

    while (left > 0) {
        int64_t asked_us = clock_mono_us();
        left = cluster_redis("XLEN @orders");
        int64_t took_us = clock_mono_us() - from_us;
        fast = fast || (from - left >= ENTRIES && took_us < (PAGES - 1) * wait_us);
        if (from - left >= ENTRIES || took_us >= (PAGES - 1) * wait_us) {
            from_us = asked_us;
            from = left;
        }
        if (asked_us >= until_us)
            fail_msg("%lld entries are left", (long long)left);
        clock_sleep_until(asked_us + 2000);
    }
    return fast;
}

static bool a_backlog_goes_at_full_speed(bool own, int entries, int64_t wait_us)
{
    char listen[LISTEN_SIZE];

    open_both(listen);
    add_entries(cluster.product, entries);
    if (own)
        give_to(listen);
    /* Nobody waits for its first round, and what is its own is nobody's to take over meanwhile. */
    cluster_start_working("stock-reply=fail@1000", own ? listen : NULL, own ? "60000" : "1000");
    bool fast = goes_without_waiting(wait_us);
    assert_int_equal(rows(cluster.product), entries);
    cluster_stop_all();
    return fast;
}

/* A machine that has so much else to do that a page takes as long as the wait gets several
 * backlogs. */
static void expect_full_speed(bool own, int entries, int64_t wait_us)
{
    enum { BACKLOGS = 5 };
    bool fast = false;

    for (int i = 0; i < BACKLOGS && !fast; i++)
        fast = a_backlog_goes_at_full_speed(own, entries, wait_us);
    if (!fast)
        fail_msg("no page came less than %lld ms after another",
                 (long long)(wait_us / CLOCK_US_PER_MS));
}

/* One that reads a page of its history and then waits for what nobody hands over does so for a
 * tenth of a second each time. */
TEST(its_own_backlog_goes_at_full_speed)
{
    expect_full_speed(true, 60 * PAGE, CLOCK_US_PER_S / 10);
}

/* One that takes a page over and then waits does so for half a second. */
TEST(a_backlog_of_others_goes_at_full_speed)
{
    expect_full_speed(false, 30 * PAGE, CLOCK_US_PER_S / 2);
}

/* Pages of entries whose row is held, and behind them one that can be decided. */
static void behind_what_is_held(bool own)
{
    char listen[LISTEN_SIZE];

    open_both(listen);
    add_entries(cluster.product, 3 * PAGE);
    add_entries(other(), 1);
    if (own)
        give_to(listen);
    struct witness *holder = cluster_hold();
    cluster_start("stock-reply=fail@1000", own ? listen : NULL);
    T_UNTIL(rows(other()) == 1);
    assert_int_equal(rows(cluster.product), 0);
    witness_release(holder);
    T_UNTIL(cluster_redis("XLEN @orders") == 0);
    assert_int_equal(rows(cluster.product), 3 * PAGE);
    cluster_stop_all();
}

TEST(what_is_behind_held_entries_of_its_own)
{
    behind_what_is_held(true);
}

TEST(what_is_behind_held_entries_of_others)
{
    behind_what_is_held(false);
}

/* An instance that has never seen PostgreSQL tells how old the orders are that wait for it. */
TEST(what_waits_for_postgresql_grows_old)
{
    char listen[LISTEN_SIZE];

    open_both(listen);
    add_entries(cluster.product, 1);
    witness_close(cluster.witness);
    cluster.witness = NULL;
    stack_kill("postgres", SIGKILL);
    cluster_start("stock-reply=fail@1000", NULL);
    wait_oldest(1, INT64_MAX);
    stack_up();
    cluster.witness = witness_open(cluster.conninfo);
    T_UNTIL(rows(cluster.product) == 1);
    wait_oldest(0, 0);
    cluster_stop_all();
}

static int teardown(void **state)
{
    if (cluster.witness) { /* a test that has failed may have left a transaction */
        witness_number(cluster.witness,
                       "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE"
                       " datname = current_database() AND state = 'idle in transaction'");
        witness_run(cluster.witness, "DROP FUNCTION IF EXISTS no() CASCADE");
    }
    return cluster_teardown(state);
}

TEST_EACH(NULL, teardown)

int main(void)
{
    cluster_begin("redis_stock_held");
    int failed = t_run_all(NULL, stack_restore);
    cluster_end("redis_stock_held");
    return failed != 0;
}
