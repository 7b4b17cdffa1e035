/*
 * A PostgreSQL that answers and cannot be written to, or whose sessions are not what they were: set
 * read-only, as a cloud provider does with a full disk, started anew as a standby and promoted, and
 * with a table that was changed. Orders keep coming all the time.
 */
#include "lib/fixtures/shop.h"
#include "lib/postgres.h"

#include "lib/t.h"

#include "base/clock.h"

#include <string.h>

enum { STOCK = 1000, FEW = 20 };

static struct {
    struct postgres *postgres;
    struct server *server;
    int64_t user;
} here;

/* Each its own product, by number. */
static const char *const strategies[] = {"conditional", "pessimistic", "batch", "buckets",
                                         "redis-queue"};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static int start(void **state)
{
    (void)state;
    here.postgres = postgres_create(NULL);
    server_use_database(postgres_conninfo(here.postgres, NULL, NULL));
    here.server = server_start(NULL);
    for (int i = 0; i < STRATEGIES; i++)
        shop_put(here.server, i + 1, STOCK, NULL);
    return 0;
}

static int stop(void **state)
{
    int failed = server_teardown(state);

    return postgres_teardown(state) | failed;
}

static int buy(int i)
{
    struct buy buy = {.strategy = strategies[i], .product = i + 1, .user = ++here.user};
    struct http_reply reply = shop_send(here.server, &buy);
    int status = reply.status;

    http_reply_fini(&reply);
    return status;
}

/* By each strategy, one after the other and without a pause, until that is the status of FEW in a
 * row. 500 never is. */
static void buy_until(int status)
{
    int64_t until_us = clock_mono_us() + t_patience_us();

    for (int n = 0, i = 0; n < FEW; i = (i + 1) % STRATEGIES) {
        int found = buy(i);
        if (found != status && found != 201 && found != 503)
            fail_msg("%s: %d", strategies[i], found);
        n = found == status ? n + 1 : 0;
        if (clock_mono_us() >= until_us)
            fail_msg("orders do not become %d", status);
    }
}

/* Buys until the server is not ready, with this reason. */
static void buy_until_not_ready(const char *detail)
{
    int64_t until_us = clock_mono_us() + t_patience_us();
    char text[160] = "";

    while (!strstr(text, detail)) {
        struct http_reply reply = server_call(here.server, "GET", "/readyz", NULL, NULL);
        http_reply_text(&reply, "backends.0.detail", text, sizeof text);
        if (strstr(text, detail))
            assert_int_equal(reply.status, 503);
        else if (clock_mono_us() >= until_us)
            fail_msg("%d, and the reason is \"%s\"", reply.status, text);
        http_reply_fini(&reply);
        buy(0);
    }
}

static void expect_books_to_fit(void)
{
    for (int i = 0; i < STRATEGIES; i++)
        shop_expect_consistent(here.server, i + 1);
}

TEST(read_only_and_back)
{
    buy_until(201);
    postgres_set(here.postgres, "default_transaction_read_only", "on");
    buy_until_not_ready("read-only");
    buy_until(503);
    assert_int_equal(server_status(here.server, "GET", "/products/1", NULL, NULL), 200);
    postgres_set(here.postgres, "default_transaction_read_only", NULL);
    buy_until(201);
    assert_int_equal(server_status(here.server, "GET", "/readyz", NULL, NULL), 200);
    expect_books_to_fit();
    server_stop(here.server);
}

TEST(demoted_and_promoted)
{
    struct buy first = {.strategy = "conditional", .product = 1, .user = ++here.user};
    char id[SHOP_ID_SIZE], order[64];

    shop_expect_buy(here.server, &first, 201, "", id);
    snprintf(order, sizeof order, "/orders/%s", id);
    buy_until(201);
    postgres_demote(here.postgres);
    postgres_stop(here.postgres);
    postgres_start(here.postgres);
    buy_until_not_ready("standby");
    buy_until(503);
    assert_int_equal(server_status(here.server, "GET", "/products/1", NULL, NULL), 200);
    /* A standby may be behind: what it has not may be there. */
    shop_expect(here.server, "GET", order, NULL, NULL, 503, "backend_unavailable");
    shop_expect(here.server, "GET", "/orders?product_id=1", NULL, NULL, 503, "backend_unavailable");
    /* One that starts now waits for the promotion, too. */
    struct server *late = server_start(NULL);
    assert_int_equal(server_status(late, "GET", "/readyz", NULL, NULL), 503);
    postgres_promote(here.postgres);
    buy_until(201);
    assert_int_equal(server_status(here.server, "GET", order, NULL, NULL), 200);
    struct buy buy = {.strategy = "conditional", .product = 1, .user = ++here.user};
    shop_expect_buy_soon(late, &buy, 201);
    expect_books_to_fit();
    server_stop(late);
    server_stop(here.server);
}

/* The statements that read a column of it have another result: their sessions are opened anew. */
TEST(a_table_is_changed)
{
    char ids[2][SHOP_ID_SIZE];
    char target[64];

    for (int i = 0; i < 2; i++)
        shop_expect_buy(here.server,
                        &(struct buy){.strategy = "conditional", .product = 1, .user = 1 + i}, 201,
                        "", ids[i]);
    for (int i = 0; i < 2; i++) {
        snprintf(target, sizeof target, "/orders/%s/cancel", ids[i]);
        shop_expect(here.server, "POST", target, NULL, NULL, 200, "");
        postgres_run(here.postgres, NULL, "ALTER TABLE orders ALTER reason TYPE varchar(50)");
    }
    buy_until(201);
    expect_books_to_fit();
    server_stop(here.server);
}

/* Waits until a statement that begins after this call stands before a lock. */
static void wait_blocked_from_now(struct witness *witness)
{
    int64_t since_us = clock_mono_us();
    int64_t now_us =
        witness_number(witness, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");

    while (witness_number(witness,
                          "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                          " AND extract(epoch FROM query_start) * 1000000 > %lld",
                          (long long)now_us) == 0)
        t_wait(since_us, "nobody stands before a lock");
}

/* PostgreSQL ends under the first of several orders that one worker has taken together. Those
 * behind it, each a transaction of several statements, find no connection, and are answered all the
 * same.
 */
TEST(the_orders_behind_a_lost_one_are_answered)
{
    struct crowd *crowd = crowd_create();
    const char *conninfo = postgres_conninfo(here.postgres, "postgres", NULL);
    struct witness *witness = witness_open(conninfo);
    struct buy buy = {.strategy = "pipelined", .key = "a-key", .product = 1};

    struct witness *holder = witness_hold(conninfo, buy.product);
    int64_t accepted = server_accepted(here.server);
    for (buy.user = 1; buy.user <= FEW; buy.user++)
        shop_crowd_buy(crowd, here.server, &buy);
    crowd_send(crowd);
    while (server_accepted(here.server) < accepted + FEW)
        clock_sleep_until(clock_mono_us() + CLOCK_US_PER_MS);
    wait_blocked_from_now(witness); /* with them all in its batch */
    postgres_quit(here.postgres);
    witness_close(holder);
    witness_close(witness);
    crowd_answers(crowd, SERVER_PATIENCE_US);
    assert_int_equal(crowd_lost(crowd), 0);
    assert_int_equal(crowd_count(crowd, 201, NULL), 0);
    crowd_destroy(crowd);
    postgres_start(here.postgres);
    buy_until(201);
    expect_books_to_fit();
    server_stop(here.server);
}

TEST_EACH(start, stop)
