/*
 * A schema that is dropped, a database that is made again, a table that is away for a while: under
 * a running server, which sells nothing then and is not ready, says so, and comes back by itself.
 * What Redis knows of the sale that was lost is sold to nobody.
 */
#include "lib/fixtures/shop.h"
#include "lib/stack.h"
#include "lib/witness.h"

#include "lib/t.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define DATABASE "seckill_lost"
enum { STOCK = 5, LEFT = 2 };

static struct {
    char *conninfo; /* owned */
    struct server *server;
    int64_t user;
} here;

/* redis-stock first: before its reconciler has seen that the products are gone. */
static const char *const strategies[] = {"redis-stock", "conditional", "pessimistic",
                                         "batch",       "buckets",     "partitioned-queue"};

/* The last one's broker may not be installed. */
static int count_strategies(void)
{
    return (int)(sizeof strategies / sizeof *strategies) - !stack_amqp();
}

static struct buy next_buy(int i)
{
    return (struct buy){.strategy = strategies[i], .product = i + 1, .user = ++here.user};
}

static void make_database(void)
{
    free(here.conninfo);
    here.conninfo = stack_database_create(DATABASE);
    server_use_database(here.conninfo);
}

static int start(void **state)
{
    (void)state;
    make_database();
    here.server = server_start(NULL);
    for (int i = 0; i < count_strategies(); i++) {
        struct buy buy = next_buy(i);
        shop_put(here.server, i + 1, STOCK, NULL);
        /* A test before this one that failed may have left its lease in the stock Redis. */
        shop_expect_buy_soon(here.server, &buy, 201);
    }
    return 0;
}

static int stop(void **state)
{
    int failed = server_teardown(state);

    stack_database_drop(DATABASE);
    return failed;
}

static void run(const char *sql)
{
    struct witness *witness = witness_open(here.conninfo);

    witness_run(witness, "%s", sql);
    witness_close(witness);
}

/* Orders of all strategies in turn, until each finds that its product is not there; nothing is sold
 * meanwhile, and nothing is a bug. */
static void buy_until_gone(void)
{
    int64_t until_us = clock_mono_us() + t_patience_us();

    for (int gone = 0; gone < count_strategies();) {
        gone = 0;
        for (int i = 0; i < count_strategies(); i++) {
            struct buy buy = next_buy(i);
            struct http_reply reply = shop_send(here.server, &buy);
            int found = reply.status;
            http_reply_fini(&reply);
            if ((found != 503 && found != 404) || clock_mono_us() >= until_us)
                fail_msg("%s: %d", strategies[i], found);
            gone += found == 404;
        }
    }
}

/* As many as a new sale has, whatever was left of the old one. */
static void sell_anew(void)
{
    for (int i = 0; i < count_strategies(); i++) {
        shop_put(here.server, i + 1, LEFT, NULL);
        for (int n = 0; n <= LEFT; n++) {
            struct buy buy = next_buy(i);
            shop_expect_buy(here.server, &buy, n < LEFT ? 201 : 409, n < LEFT ? "" : "sold_out",
                            NULL);
        }
        shop_expect_consistent(here.server, i + 1);
    }
}

TEST(a_schema_is_dropped)
{
    /* Nobody makes the tables anew before it has been seen that they are gone. */
    struct witness *holder = witness_open(here.conninfo);
    witness_run(holder, "SELECT pg_advisory_lock(" SCHEMA_LOCK ")");
    run("DROP SCHEMA seckill CASCADE");
    server_wait_ready(here.server, 503, NULL);
    witness_close(holder);
    buy_until_gone();
    server_wait_ready(here.server, 200, NULL);
    sell_anew();
    server_stop(here.server);
}

TEST(a_database_is_made_again)
{
    make_database();
    buy_until_gone();
    server_wait_ready(here.server, 200, NULL);
    sell_anew();
    server_stop(here.server);
}

/* The same while nobody is there who could see it. */
TEST(a_database_is_made_again_between)
{
    server_stop(here.server);
    make_database();
    here.server = server_start(NULL);
    buy_until_gone();
    sell_anew();
    server_stop(here.server);
}

TEST(a_table_is_away)
{
    run("ALTER TABLE orders RENAME TO elsewhere");
    server_wait_ready(here.server, 503, NULL);
    run("ALTER TABLE elsewhere RENAME TO orders");
    server_wait_ready(here.server, 200, NULL);
    sell_anew();
    server_stop(here.server);
}

TEST_EACH(start, stop)

int main(void)
{
    int failed = t_run_all(NULL, NULL);

    free(here.conninfo);
    return failed != 0;
}
