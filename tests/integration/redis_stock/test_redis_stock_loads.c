/*
 * Loading redis-stock's mirrors: loads that take long, fail, or need a row that somebody holds; and
 * the processes that may not load, so that no other product waits.
 */
#include "lib/fixtures/stock_bed.h"

#include "base/clock.h"

#include <signal.h>
#include <string.h>

/* An order that will not wait. Its time is also over when no worker has come to it yet; then
 * nothing was done, and it is sent again. */
static struct http_reply send_hasty(const struct buy *buy)
{
    int64_t until_us = clock_mono_us() + BED_PATIENCE_US;

    for (;;) {
        char code[32];
        char phase[16] = "";
        struct http_reply reply = shop_send(bed.servers[0], buy);
        http_reply_code(&reply, code, sizeof code);
        if (strcmp(code, "wait_timeout") == 0)
            http_reply_text(&reply, "phase", phase, sizeof phase);
        if (strcmp(phase, "queue") != 0 || clock_mono_us() >= until_us)
            return reply;
        http_reply_fini(&reply);
    }
}

/* Loading takes longer than a buyer waits, and than work may take: as with a product that has a
 * limit and a great many holders. It is loaded all the same, and the buyer for whom it is loaded
 * buys. */
static void a_mirror_that_takes_long_to_load(void **state)
{
    (void)state;
    bed.product++;
    bed_start("stock-loading=pause:700@2,stock-loaded=pause:700@2", NULL);
    shop_put(bed.servers[0], bed.product, 5, ", \"limit_per_user\": 3");
    struct buy buy = bed_buy(1, 3);
    buy.strategy = "conditional";
    shop_expect_buy(bed.servers[0], &buy, 201, "", NULL);
    bed_redis("DEL @mirror:%lld", (long long)bed.product);
    int64_t begun_us = clock_mono_us();
    buy = bed_buy(2, 1);
    buy.more = "&wait_ms=0";
    struct http_reply reply = send_hasty(&buy);
    settled_reply(bed.servers[0], &reply);
    if (reply.status != 201)
        fail_msg("%d: %s", reply.status, reply.body);
    http_reply_fini(&reply);
    assert_true(clock_mono_us() - begun_us >= 1400000);
    buy = bed_buy(1, 1);
    shop_expect_buy(bed.servers[0], &buy, 409, "limit_reached", NULL);
    bed_expect_settled();
    bed_stop_all();
}

static int64_t count_users(void)
{
    return bed_redis("EVAL return~#redis.call('KEYS',ARGV[1]) 0 @users:*");
}

/* What a load has sent before it failed is deleted. */
static void a_load_that_fails_leaves_nothing(void **state)
{
    (void)state;
    bed_start_three();
    shop_put(bed.servers[0], bed.product, 5, ", \"limit_per_user\": 3");
    struct buy buy = bed_buy(1, 3);
    buy.strategy = "conditional";
    shop_expect_buy(bed.servers[0], &buy, 201, "", NULL);
    bed_redis("DEL @mirror:%lld", (long long)bed.product);
    bed_redis("ACL SETUSER default -persist");
    buy = bed_buy(2, 1);
    struct http_reply reply = shop_send(bed.servers[0], &buy);
    assert_int_equal(reply.status, 503);
    http_reply_fini(&reply);
    assert_int_equal(count_users(), 0);
    bed_redis("ACL SETUSER default allcommands");
    shop_expect_buy_soon(bed.servers[0], &buy, 201);
    assert_int_equal(count_users(), 1);
    bed_expect_settled();
    bed_stop_all();
}

/* A product with a limit, of which user 1 holds some, and no mirror; the next load is the second.
 */
static void begin_unloaded(const char *failpoints, const char *work_ms)
{
    bed.product++;
    bed_start_working(failpoints, NULL, work_ms);
    shop_put(bed.servers[0], bed.product, 5, ", \"limit_per_user\": 3");
    struct buy buy = bed_buy(1, 3);
    buy.strategy = "conditional";
    shop_expect_buy(bed.servers[0], &buy, 201, "", NULL);
    bed_redis("DEL @mirror:%lld", (long long)bed.product);
}

static bool is_loaded(void)
{
    return bed_redis("EXISTS @mirror:%lld", (long long)bed.product) == 1;
}

/* There is no mirror and nothing of its users; the next order loads all of it. */
static void expect_unloaded(void)
{
    assert_false(is_loaded());
    assert_int_equal(count_users(), 0);
    struct buy buy = bed_buy(2, 1);
    shop_expect_buy_soon(bed.servers[0], &buy, 201);
    buy = bed_buy(1, 1);
    shop_expect_buy(bed.servers[0], &buy, 409, "limit_reached", NULL);
    bed_expect_settled();
    bed_stop_all();
}

/* The row is no longer locked, so somebody may have sold from it: no mirror is made of what was
 * read. */
static void a_load_whose_session_is_ended(void **state)
{
    struct crowd *crowd = crowd_create();

    (void)state;
    begin_unloaded("stock-loaded=hold@2", "1000");
    struct buy buy = bed_buy(2, 1);
    shop_crowd_buy(crowd, bed.servers[0], &buy);
    crowd_send(crowd);
    BED_WAIT(server_says(bed.servers[0], "failpoint stock-loaded: hold"));
    assert_int_equal(witness_number(bed.witness,
                                    "SELECT count(pg_terminate_backend(pid, 10000))"
                                    " FROM pg_stat_activity WHERE datname = current_database()"
                                    " AND state = 'idle in transaction'"),
                     1);
    server_let_go(bed.servers[0]);
    crowd_answers(crowd, BED_PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 503, "backend_unavailable"), 1);
    crowd_destroy(crowd);
    expect_unloaded();
}

/* The mirror may be there, and its users are about to be deleted: so it is deleted first. */
static void a_load_whose_answer_is_lost(void **state)
{
    (void)state;
    begin_unloaded("stock-load-reply=fail@2", "1000");
    struct buy buy = bed_buy(2, 1);
    struct http_reply reply = shop_send(bed.servers[0], &buy);
    assert_int_equal(reply.status, 503);
    http_reply_fini(&reply);
    expect_unloaded();
}

static void expect_hasty(const struct buy *buy, const char *expected)
{
    char code[32];
    struct http_reply reply = send_hasty(buy);

    http_reply_code(&reply, code, sizeof code);
    assert_string_equal(code, expected);
    http_reply_fini(&reply);
}

/* The order's time (a wait of 0, two seconds' work, two for settling) ends before the load does: it
 * is answered, and the mirror is loaded by the loader, without another order. */
static void a_load_that_is_longer_than_an_order_may_take(void **state)
{
    (void)state;
    begin_unloaded("stock-reserved=pause:1200,stock-loading=pause:1700@2,stock-loaded=pause:1700@2",
                   "2000");
    struct buy buy = bed_buy(2, 1);
    buy.more = "&wait_ms=0";
    struct http_reply reply = send_hasty(&buy);
    assert_int_equal(reply.status, 503);
    http_reply_fini(&reply);
    BED_WAIT(is_loaded());
    assert_int_equal(count_users(), 1);
    buy.more = NULL;
    shop_expect_buy(bed.servers[0], &buy, 201, "", NULL);
    buy = bed_buy(1, 1);
    shop_expect_buy(bed.servers[0], &buy, 409, "limit_reached", NULL);
    bed_expect_settled();
    bed_stop_all();
}

/* Each is decided while the mirror of the bed's product is to be loaded. */
static void buy_others(int count)
{
    char id[SHOP_ID_SIZE];

    for (int i = 0; i < count; i++) {
        struct buy other = bed_buy(1 + i, 1);
        other.product = BED_OTHER_PRODUCT;
        bed_accept(bed.servers[0], &other, id);
        bed_wait_status(bed.servers[0], id, "confirmed");
    }
}

/* Until it is loaded, orders leave the row to the loader, and wait; others are sold. */
static void a_load_that_is_left_to_the_loader(void **state)
{
    enum { OTHERS = 5 };

    (void)state;
    begin_unloaded("stock-loading=pause:3100@3,stock-loading=hold@4", "1000");
    shop_put(bed.servers[0], BED_OTHER_PRODUCT, OTHERS, NULL);
    struct buy buy = bed_buy(2, 1);
    buy.more = "&wait_ms=0";
    expect_hasty(&buy, "backend_unavailable");
    BED_WAIT(server_says(bed.servers[0], "failpoint stock-loading: hold"));
    shop_expect_buy(bed.servers[0], &buy, 503, "wait_timeout", NULL);
    buy_others(OTHERS);
    server_let_go(bed.servers[0]);
    buy.more = NULL;
    shop_expect_buy(bed.servers[0], &buy, 201, "", NULL);
    bed_expect_settled();
    bed_stop_all();
}

/* The row that is needed for it is held: it is tried again and again, and nobody has to ask. */
static void a_load_whose_row_is_held_is_in_nobody_elses_way(void **state)
{
    enum { OTHERS = 5, WORK_US = 1000000, LOOK_US = 5000 };
    struct crowd *crowd = crowd_create();

    (void)state;
    begin_unloaded("stock-loading=pause:3100@3", "1000");
    shop_put(bed.servers[0], BED_OTHER_PRODUCT, OTHERS, NULL);
    struct buy buy = bed_buy(2, 1);
    buy.more = "&wait_ms=0";
    int64_t until_us = clock_mono_us() + BED_PATIENCE_US;
    do { /* until one comes to a worker in its time */
        assert_true(clock_mono_us() < until_us);
        shop_crowd_buy(crowd, bed.servers[0], &buy);
        crowd_send(crowd);
        while (!server_says(bed.servers[0], "failpoint stock-loading: pause") &&
               !crowd_wait(crowd, crowd_size(crowd), clock_mono_us() + LOOK_US))
            assert_true(clock_mono_us() < until_us);
    } while (!server_says(bed.servers[0], "failpoint stock-loading: pause"));
    struct witness *holder = bed_hold(); /* behind the order, and before the loader */
    int64_t held_us = clock_mono_us();
    crowd_answers(crowd, BED_PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 503, "backend_unavailable"), 1);
    crowd_destroy(crowd);
    witness_wait_blocked(bed.witness, 1);
    buy_others(OTHERS);
    clock_sleep_until(held_us + 3 * (int64_t)WORK_US / 2); /* one wait has been in vain */
    witness_release(holder);
    BED_WAIT(is_loaded());
    buy.more = NULL;
    shop_expect_buy(bed.servers[0], &buy, 201, "", NULL);
    bed_expect_settled();
    bed_stop_all();
}

/* A wrong mirror may take long to load, so who decides the orders of all products does not do it;
 * here the third load stands still. `drift`: by how much it is wrong. */
static void begin_wrong(int drift)
{
    bed.product++;
    bed_start("stock-loading=hold@3", NULL);
    shop_put(bed.servers[0], BED_OTHER_PRODUCT, 5, NULL);
    shop_put(bed.servers[0], bed.product, 2, NULL);
    /* The reconciler's first round is over, and the next one comes when somebody asks for it. */
    BED_WAIT(server_metric(bed.servers[0], "seckill_redis_stock_rounds_total", "") > 0);
    bed_redis("HINCRBY @mirror:%lld stock %d", (long long)bed.product, drift);
}

static void expect_others_sold(void)
{
    buy_others(3);
    assert_false(is_loaded());
    bed_expect_settled();
    bed_stop_all();
}

static void who_decides_loads_nothing(void **state)
{
    char id[SHOP_ID_SIZE];

    (void)state;
    begin_wrong(3);
    struct buy buy = bed_buy(1, 4);
    bed_accept(bed.servers[0], &buy, id);
    bed_wait_status(bed.servers[0], id, "failed");
    expect_others_sold();
}

static void who_reconciles_loads_nothing(void **state)
{
    (void)state;
    begin_wrong(-1);
    buy_others(1); /* the reconciler comes when it is quiet again */
    BED_WAIT(!is_loaded());
    expect_others_sold();
}

/* What the server left that an upgrade has ended, in the middle of a sale: a mirror that says
 * nothing of its terms, one of which has changed since, and an order that is counted in the old
 * way. Nothing is sold twice, and all that there is is sold. */
static void what_an_older_server_has_left(void **state)
{
    enum { STOCK = 5 };
    char waiting[SHOP_ID_SIZE];

    (void)state;
    bed.product++;
    bed_start("stock-writer-read=hold", NULL);
    shop_put(bed.servers[0], bed.product, STOCK, ", \"limit_per_user\": 1");
    struct buy buy = bed_buy(1, 1);
    bed_accept(bed.servers[0], &buy, waiting);
    server_signal(bed.servers[0], SIGKILL);
    bed_bury(bed.servers[0]);
    bed_redis("HDEL @mirror:%lld terms loaded", (long long)bed.product);
    bed_redis("HDEL @units %lld:%lld:orders", (long long)bed.product,
              (long long)witness_sale(bed.witness, bed.product).epoch);
    witness_run(bed.witness,
                "UPDATE product SET limit_per_user = 2, version = version + 1 WHERE id = %lld",
                (long long)bed.product);
    bed_start(NULL, NULL);
    for (int sold = 1; sold < STOCK; sold++) {
        shop_expect_buy(bed.servers[0], &buy, 201, "", NULL);
        buy.user += sold % 2;
    }
    shop_expect_buy(bed.servers[0], &buy, 409, "sold_out", NULL);
    bed_wait_status(bed.servers[0], waiting, "confirmed");
    bed_expect_reconciled();
    assert_int_equal(witness_sale(bed.witness, bed.product).sold, STOCK);
    bed_stop_all();
}

static int all_is_allowed(void **state)
{
    bed_redis("ACL SETUSER default allcommands");
    return bed_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_mirror_that_takes_long_to_load, bed_teardown),
        cmocka_unit_test_teardown(a_load_that_fails_leaves_nothing, all_is_allowed),
        cmocka_unit_test_teardown(a_load_whose_session_is_ended, bed_teardown),
        cmocka_unit_test_teardown(a_load_whose_answer_is_lost, bed_teardown),
        cmocka_unit_test_teardown(a_load_that_is_longer_than_an_order_may_take, bed_teardown),
        cmocka_unit_test_teardown(a_load_that_is_left_to_the_loader, bed_teardown),
        cmocka_unit_test_teardown(a_load_whose_row_is_held_is_in_nobody_elses_way, bed_teardown),
        cmocka_unit_test_teardown(who_decides_loads_nothing, bed_teardown),
        cmocka_unit_test_teardown(what_an_older_server_has_left, bed_teardown),
        cmocka_unit_test_teardown(who_reconciles_loads_nothing, bed_teardown),
    };

    bed_begin("redis_stock_loads");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bed_end("redis_stock_loads");
    return failed != 0;
}
