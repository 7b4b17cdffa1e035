/*
 * A reader of the orders, by GET /orders with each page's `next` or by GET /orders/feed, misses
 * none: an order that commits late, by any strategy, comes behind those that were read before.
 */
#include "lib/fixtures/shop.h"
#include "lib/stack.h"
#include "lib/t.h"
#include "lib/witness.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 4000, POSITION_SIZE = 128, STATUS_SIZE = 16, TARGET_SIZE = 256 };

#define PATIENCE_US t_patience_us()

static char *conninfo; /* owned */
static struct witness *witness;

struct event {
    char id[SHOP_ID_SIZE];
    char status[STATUS_SIZE];
    int64_t epoch; /* the feed's alone */
};

/* Reads GET /orders, or the feed, from where it has stopped the last time. */
struct follower {
    const char *path;
    int limit;
    char next[POSITION_SIZE]; /* "": from the beginning */
    int count;
    struct event events[EVENTS_MAX];
};
static struct follower follower;

static void follow_from_the_beginning(const char *path, int limit)
{
    memset(&follower, 0, sizeof follower);
    follower.path = path;
    follower.limit = limit;
}

static bool is_feed(void)
{
    return strstr(follower.path, "feed") != NULL;
}

static void keep(const struct http_reply *page, int i)
{
    char path[64];

    assert_true(follower.count < EVENTS_MAX);
    struct event *event = &follower.events[follower.count++];
    snprintf(path, sizeof path, "orders.%d.id", i);
    http_reply_text(page, path, event->id, sizeof event->id);
    snprintf(path, sizeof path, "orders.%d.status", i);
    http_reply_text(page, path, event->status, sizeof event->status);
    snprintf(path, sizeof path, "orders.%d.epoch", i);
    event->epoch = is_feed() ? http_reply_int(page, path) : 0;
}

/* One page; whether another may follow. */
static bool follow_page(struct server *server)
{
    char target[TARGET_SIZE];

    snprintf(target, sizeof target, "%s?limit=%d%s%s", follower.path, follower.limit,
             follower.next[0] != '\0' ? "&after=" : "", follower.next);
    struct http_reply page = server_call(server, "GET", target, NULL, NULL);
    if (page.status != 200)
        fail_msg("%s: %d: %s", target, page.status, page.body);
    int count = http_reply_count(&page, "orders");
    bool more = is_feed() ? count > 0 : !http_reply_is_null(&page, "next");
    for (int i = 0; i < count; i++)
        keep(&page, i);
    if (is_feed() || more)
        http_reply_text(&page, "next", follower.next, sizeof follower.next);
    http_reply_fini(&page);
    return more;
}

static void follow_to_the_end(struct server *server)
{
    while (follow_page(server))
        ;
}

static int times_seen(const char *id, const char *status)
{
    int times = 0;

    for (int i = 0; i < follower.count; i++)
        times += strcmp(follower.events[i].id, id) == 0 &&
                 (!status || strcmp(follower.events[i].status, status) == 0);
    return times;
}

static void wait_seen(struct server *server, const char *id, const char *status)
{
    int64_t since_us = clock_mono_us();

    for (follow_to_the_end(server); times_seen(id, status) == 0; follow_to_the_end(server)) {
        t_wait(since_us, "%s never came: %s", status, id);
    }
}

static struct server *open_shop(void)
{
    struct server *server = server_start(NULL);

    shop_put(server, 1, 100000, NULL);
    shop_put(server, 2, 100000, NULL);
    return server;
}

static void buy_of(struct server *server, int64_t product, char id[SHOP_ID_SIZE])
{
    struct buy buy = {.strategy = "conditional", .product = product, .user = 1};

    shop_expect_buy(server, &buy, 201, "", id);
}

static void id_of(struct crowd *crowd, int i, char id[SHOP_ID_SIZE])
{
    const struct crowd_call *call = crowd_at(crowd, i);

    assert_int_equal(call->result, HTTP_REPLY);
    assert_int_equal(call->reply.status, 201);
    http_reply_text(&call->reply, "id", id, SHOP_ID_SIZE);
}

/* A buyer waits for a held row, another one of another product does not. */
static void a_waiter_is_not_passed(const char *path)
{
    struct server *server = open_shop();
    struct buy held = {
        .strategy = "conditional", .product = 1, .user = 2, .more = "&wait_ms=60000"};
    struct crowd *crowd = crowd_create();
    char first[SHOP_ID_SIZE];
    char quick[SHOP_ID_SIZE];
    char waiter[SHOP_ID_SIZE];

    buy_of(server, 2, first);
    follow_from_the_beginning(path, 1);
    struct witness *holder = witness_hold(conninfo, 1);
    shop_crowd_buy(crowd, server, &held);
    crowd_send(crowd);
    witness_wait_blocked(witness, 1);
    buy_of(server, 2, quick);
    follow_to_the_end(server);
    assert_int_equal(times_seen(first, NULL), 1);
    witness_release(holder);
    crowd_answers(crowd, PATIENCE_US);
    id_of(crowd, 0, waiter);
    assert_true(strcmp(waiter, quick) < 0);
    wait_seen(server, waiter, "confirmed");
    wait_seen(server, quick, "confirmed");
    if (is_feed())
        assert_int_equal(follower.count, 3);
    crowd_destroy(crowd);
    server_stop(server);
}

TEST(the_list_does_not_pass_a_waiter)
{
    a_waiter_is_not_passed("/orders");
}

TEST(the_feed_does_not_pass_a_waiter)
{
    a_waiter_is_not_passed("/orders/feed");
}

/* An order may be written long after its id was made, and PostgreSQL knows nothing of it before:
 * here its instance is stopped with the lock in its hands. */
TEST(the_list_comes_back_for_an_id_made_before)
{
    server_use_failpoints("lock.acquired=stop");
    struct server *stopped = /* for less than its lease */
        server_start("--lock-ttl-ms", "90000", "--work-timeout-ms", "60000");
    server_use_failpoints(NULL);
    struct server *server = open_shop();
    struct buy late = {.strategy = "redis-token", .body = "guarded", .product = 1, .user = 2};
    struct crowd *crowd = crowd_create();
    char quick[SHOP_ID_SIZE];
    char id[SHOP_ID_SIZE];

    shop_crowd_buy(crowd, stopped, &late);
    crowd_send(crowd);
    server_wait_stopped(stopped);
    buy_of(server, 2, quick);
    follow_from_the_beginning("/orders", 1);
    wait_seen(server, quick, "confirmed");
    assert_string_equal(follower.next, quick);
    server_resume(stopped);
    crowd_answers(crowd, PATIENCE_US);
    id_of(crowd, 0, id);
    assert_true(strcmp(id, quick) < 0);
    wait_seen(server, id, "confirmed");
    assert_int_equal(times_seen(quick, NULL), 1);
    crowd_destroy(crowd);
    server_stop(stopped);
    server_stop(server);
}

/* A page is in id order though an order in it was written later than its id says. */
TEST(a_page_is_in_id_order)
{
    static const char early[] = "01932d00-0000-7000-8000-000000000001";
    struct server *server = open_shop();
    char id[SHOP_ID_SIZE];

    buy_of(server, 1, id);
    witness_run(witness,
                "INSERT INTO orders SELECT '%s', id, epoch, 3, 1, 'conditional', 3, 'sold_out',"
                " NULL, now() FROM product WHERE id = 1",
                early);
    follow_from_the_beginning("/orders", 1000);
    follow_to_the_end(server);
    assert_int_equal(follower.count, 2);
    assert_string_equal(follower.events[0].id, early);
    assert_string_equal(follower.events[1].id, id);
    server_stop(server);
}

/* Behind an order that is none any more, its sale being over, the list begins anew. */
TEST(the_list_begins_anew_behind_an_ended_sale)
{
    struct server *server = open_shop();
    char gone[SHOP_ID_SIZE];
    char id[SHOP_ID_SIZE];

    buy_of(server, 2, id);
    buy_of(server, 1, gone);
    follow_from_the_beginning("/orders", 1);
    wait_seen(server, gone, "confirmed");
    assert_string_equal(follower.next, gone);
    shop_put(server, 1, 10, NULL);
    witness_run(witness, "DELETE FROM orders WHERE id = '%s'", gone); /* if it is not, yet */
    follow_to_the_end(server);
    assert_int_equal(times_seen(id, NULL), 2);
    server_stop(server);
}

static const char *const strategies[] = {"conditional", "pessimistic", "batch", "redis-stock",
                                         "partitioned-queue"};

static void send_buys(struct crowd *crowd, struct server *server, int round)
{
    enum { EACH = 12 };

    for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++) {
        if (strcmp(strategies[s], "partitioned-queue") == 0 && !stack_amqp())
            continue;
        for (int i = 0; i < EACH; i++) {
            struct buy buy = {.strategy = strategies[s],
                              .product = 1 + i % 2,
                              .user = round * EACH + i + 1,
                              .more = i % 3 == 0 ? "&wait_ms=20" : NULL};
            shop_crowd_buy(crowd, server, &buy);
        }
    }
    crowd_send(crowd);
}

/* Cancels every third order that was answered, in both products. */
static void send_cancels(struct crowd *cancels, struct server *server, const struct crowd *bought)
{
    for (int i = 0; i < crowd_size(bought); i += 3) {
        const struct crowd_call *call = crowd_at(bought, i);
        char id[SHOP_ID_SIZE];

        if (call->result != HTTP_REPLY || call->reply.status >= 300)
            continue;
        http_reply_text(&call->reply, "id", id, sizeof id);
        shop_crowd_cancel(cancels, server, id);
    }
    crowd_send(cancels);
}

/* The table as it ended: how many changes there must have been. */
static int64_t count_changes(void)
{
    return witness_number(
        witness,
        "SELECT sum(1 + (published_at IS NOT NULL AND status <> 0)::int + (status = 2)::int)"
        " FROM orders JOIN product ON product.id = product_id AND product.epoch = orders.epoch");
}

static int64_t count_orders(void)
{
    return witness_number(witness, "SELECT count(*) FROM orders JOIN product"
                                   " ON product.id = product_id AND product.epoch = orders.epoch");
}

static int rank(const char *status)
{
    if (strcmp(status, "queued") == 0)
        return 0;
    return strcmp(status, "cancelled") == 0 ? 2 : 1;
}

/* Every change once, an order's in their order, the last one as the table has it. */
static void expect_the_table(void)
{
    static const char *const names[] = {"queued", "confirmed", "cancelled", "failed"};
    int64_t last = 0;

    for (int i = 0; i < follower.count; i++) {
        const struct event *event = &follower.events[i];
        bool is_last = true;

        if (times_seen(event->id, event->status) != 1)
            fail_msg("not once: %s %s", event->id, event->status);
        for (int k = i + 1; k < follower.count; k++) {
            if (strcmp(follower.events[k].id, event->id) != 0)
                continue;
            is_last = false;
            assert_true(rank(follower.events[k].status) > rank(event->status));
        }
        last += is_last;
        if (is_last)
            assert_string_equal(
                event->status,
                names[witness_number(witness, "SELECT status FROM orders WHERE id = '%s'",
                                     event->id)]);
    }
    assert_int_equal(last, count_orders());
    assert_int_equal(follower.count, count_changes());
}

static void wait_decided(void)
{

    T_UNTIL(witness_number(witness, "SELECT count(*) FROM orders WHERE status = 0") == 0);
}

TEST(each_change_comes_once)
{
    enum { ROUNDS = 3, LAST = ROUNDS - 1 };
    struct server *server = open_shop();
    struct server *second = server_start(NULL);
    struct crowd *crowds[ROUNDS];
    struct crowd *cancels[ROUNDS];

    follow_from_the_beginning("/orders/feed", 3);
    for (int round = 0; round < ROUNDS; round++) {
        crowds[round] = crowd_create();
        cancels[round] = crowd_create();
        send_buys(crowds[round], round % 2 ? second : server, round);
        for (int pages = 0; pages < 10; pages++)
            follow_page(server);
        crowd_answers(crowds[round], PATIENCE_US);
        send_cancels(cancels[round], second, crowds[round]);
        follow_to_the_end(server);
    }
    for (int round = 0; round < ROUNDS; round++) {
        crowd_answers(cancels[round], PATIENCE_US);
        crowd_finish(crowds[round], PATIENCE_US);
    }
    wait_decided();
    for (int64_t until_us = clock_mono_us() + PATIENCE_US; follower.count < count_changes();) {
        follow_to_the_end(server);
        assert_true(clock_mono_us() < until_us);
    }
    expect_the_table();
    for (int round = 0; round < ROUNDS; round++) {
        crowd_destroy(crowds[round]);
        crowd_destroy(cancels[round]);
    }
    /* A reader that begins now, an order at a time, reads the same. */
    int all = follower.count;
    follow_from_the_beginning("/orders/feed", 1);
    follow_to_the_end(server);
    assert_int_equal(follower.count, all);
    expect_the_table();
    server_stop(second);
    server_stop(server);
}

/* The ended sale's orders that were not read are gone; what comes is the next one's. */
TEST(the_feed_goes_on_over_a_put)
{
    struct server *server = open_shop();
    char old[SHOP_ID_SIZE];
    char unread[SHOP_ID_SIZE];
    char id[SHOP_ID_SIZE];

    buy_of(server, 1, old);
    follow_from_the_beginning("/orders/feed", 1);
    wait_seen(server, old, "confirmed");
    int64_t epoch = follower.events[follower.count - 1].epoch;
    buy_of(server, 1, unread);
    shop_put(server, 1, 10, NULL);
    buy_of(server, 1, id);
    wait_seen(server, id, "confirmed");
    assert_int_equal(times_seen(unread, NULL), 0);
    assert_int_equal(follower.events[follower.count - 1].epoch, epoch + 1);
    assert_int_equal(follower.count, 2);
    /* And the changes of the ended sale are cleared away with it. */
    char target[96];
    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    shop_expect(server, "POST", target, NULL, NULL, 200, "");
    assert_int_equal(witness_number(witness, "SELECT count(*) FROM order_change"), 1);
    shop_put(server, 1, 10, NULL);
    T_UNTIL(witness_number(witness, "SELECT count(*) FROM order_change") == 0);
    server_stop(server);
}

/* What the feed has told of the order, in turn. */
static void expect_story(const char *id, const char *expected)
{
    char story[TARGET_SIZE] = "";

    for (int i = 0; i < follower.count; i++)
        if (strcmp(follower.events[i].id, id) == 0)
            snprintf(story + strlen(story), sizeof story - strlen(story), " %s",
                     follower.events[i].status);
    assert_string_equal(story, expected);
}

static void buy_held(struct server *server, const char *strategy, char id[SHOP_ID_SIZE])
{
    struct buy buy = {
        .strategy = strategy, .product = 1, .user = 1, .members = ", \"hold_s\": 600"};
    struct http_reply reply = shop_buy(server, &buy);

    assert_int_equal(reply.status, 201);
    http_reply_text(&reply, "id", id, SHOP_ID_SIZE);
    http_reply_fini(&reply);
}

/* A cancel waits for the product's row; it is paid meanwhile, which needs the order's row alone. */
TEST(a_cancel_comes_behind_what_was_paid_before)
{
    struct server *server = open_shop();

    for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++) {
        char id[SHOP_ID_SIZE];
        struct crowd *crowd = crowd_create();
        bool queued = strcmp(strategies[s], "partitioned-queue") == 0;

        if (queued && !stack_amqp())
            continue;
        buy_held(server, strategies[s], id);
        struct witness *holder = witness_hold(conninfo, 1);
        shop_crowd_cancel(crowd, server, id);
        crowd_send(crowd);
        witness_wait_blocked(witness, 1);
        shop_expect_pay(server, id, 200, "");
        witness_release(holder);
        crowd_answers(crowd, PATIENCE_US);
        assert_int_equal(crowd_at(crowd, 0)->reply.status, 200);
        crowd_destroy(crowd);
        follow_from_the_beginning("/orders/feed", 1);
        wait_seen(server, id, "cancelled");
        wait_seen(server, id, "confirmed");
        expect_story(id, queued ? " queued pending confirmed cancelled"
                                : " pending confirmed cancelled");
    }
    server_stop(server);
}

/* Rows that a dump has brought from a PostgreSQL that had counted further come once more. */
TEST(restored_orders_are_not_lost)
{
    struct server *server = open_shop();
    char id[SHOP_ID_SIZE];
    char paid[SHOP_ID_SIZE];
    char later[SHOP_ID_SIZE];
    char target[96];

    buy_held(server, stack_amqp() ? "partitioned-queue" : "conditional", paid);
    shop_expect_pay(server, paid, 200, "");
    buy_of(server, 1, id);
    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    shop_expect(server, "POST", target, NULL, NULL, 200, "");
    witness_run(witness, "BEGIN");
    witness_run(witness, "UPDATE orders SET entered = '1000000000000'");
    witness_run(witness, "UPDATE order_change SET entered = '1000000000001'");
    witness_run(witness, "COMMIT");
    buy_of(server, 1, later);
    follow_from_the_beginning("/orders/feed", 1);
    wait_seen(server, later, "confirmed");
    wait_seen(server, id, "confirmed");
    wait_seen(server, id, "cancelled");
    wait_seen(server, paid, "confirmed");
    expect_story(paid, stack_amqp() ? " queued pending confirmed" : " pending confirmed");
    follow_from_the_beginning("/orders", 1);
    wait_seen(server, later, "confirmed");
    wait_seen(server, id, "cancelled");
    server_stop(server);
}

TEST(a_position_is_one_of_ours)
{
    static const char *const bad[] = {
        "",
        "1",
        "0123456789abcdef.5",
        "0123456789abcdef.5.1.",
        "0123456789abcdef.-5.1.00000000-0000-0000-0000-000000000000",
        "0123456789abcdef.05.1.00000000-0000-0000-0000-000000000000",
        "+123456789abcdef.5.1.00000000-0000-0000-0000-000000000000",
        "0123456789ABCDEF.5.1.00000000-0000-0000-0000-000000000000",
        "0123456789abcdef.5.1.00000000-0000-0000-0000-00000000000x",
        "0123456789abcdef.99999999999999999999.1.00000000-0000-0000-0000-000000000000"};
    struct server *server = open_shop();
    char target[TARGET_SIZE];
    char id[SHOP_ID_SIZE];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(target, sizeof target, "/orders/feed?after=%s", bad[i]);
        shop_expect(server, "GET", target, NULL, NULL, 400, "invalid_field");
    }
    shop_expect(server, "GET", "/orders/feed?limit=1001", NULL, NULL, 400, "invalid_field");
    shop_expect(server, "GET", "/orders/feed?product_id=1", NULL, NULL, 400, "invalid_field");
    /* Another database's; or this one's, before it has failed over. */
    buy_of(server, 1, id);
    follow_from_the_beginning("/orders/feed", 1);
    wait_seen(server, id, "confirmed");
    follower.next[0] = follower.next[0] == '0' ? '1' : '0';
    snprintf(target, sizeof target, "/orders/feed?after=%s", follower.next);
    shop_expect(server, "GET", target, NULL, NULL, 410, "position_gone");
    server_stop(server);
}

static int setup(void **state)
{
    (void)state;
    conninfo = stack_database_create("seckill_feed");
    server_use_database(conninfo);
    witness = NULL;
    struct server *server = server_start(NULL); /* makes the tables */
    server_stop(server);
    witness = witness_open(conninfo);
    return 0;
}

static int teardown(void **state)
{
    int left = server_teardown(state);

    server_use_failpoints(NULL);
    witness_close(witness);
    stack_database_drop("seckill_feed");
    free(conninfo);
    return left;
}

TEST_EACH(setup, teardown)
