#include "lib/t.h"

#include "lib/rivals.h"

#include "lib/redis_probe.h"
#include "lib/stack.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

struct rivals rivals;
static char database[64];
static char *conninfo;

void rivals_open(const char *name)
{
    snprintf(database, sizeof database, "seckill_%s", name);
    conninfo = stack_database_create(database);
    server_use_database(conninfo);
    struct server *schema = server_start(NULL);
    rivals.witness = witness_open(conninfo);
    server_stop(schema);
}

void rivals_close(void)
{
    witness_close(rivals.witness);
    stack_database_drop(database);
    free(conninfo);
}

/* Without redis-stock: its writer would reach the failpoints that are meant for a lock's session.
 */
struct server *rival_start(const char *failpoints, const char *lease_ms, const char *work_ms)
{
    server_use_failpoints(failpoints);
    struct server *server = server_start("--lock-ttl-ms", lease_ms, "--work-timeout-ms", work_ms,
                                         "--stock-redis", "unix:///nowhere");
    server_use_failpoints(NULL);
    return server;
}

void rivals_put(struct server *server, int64_t stock)
{
    redis_probe(NULL, 0, "FLUSHALL");
    shop_put(server, ++rivals.product, stock, NULL);
}

void look_again(int64_t begun_us)
{
    assert_true(clock_mono_us() - begun_us < RIVALS_PATIENCE_US);
    clock_sleep_until(clock_mono_us() + 5 * CLOCK_US_PER_MS);
}

struct buy rival_order(const char *strategy, int64_t user)
{
    return (struct buy){
        .strategy = strategy, .more = "&wait_ms=40000", .product = rivals.product, .user = user};
}

struct crowd *rival_begin(struct server *server, const char *strategy, int64_t user)
{
    struct crowd *crowd = crowd_create();
    struct buy buy = rival_order(strategy, user);

    shop_crowd_buy(crowd, server, &buy);
    crowd_send(crowd);
    return crowd;
}

void rival_finish(struct crowd *crowd, int status, const char *code)
{
    crowd_finish(crowd, RIVALS_PATIENCE_US);
    if (crowd_count(crowd, status, code) != 1)
        fail_msg("%s instead of %d %s", crowd_summary(crowd), status, code);
    crowd_destroy(crowd);
}

void rival_buys(struct server *server, const char *strategy, int64_t user)
{
    struct buy buy = rival_order(strategy, user);

    shop_expect_buy(server, &buy, 201, "", NULL);
}

void rival_waits_in_vain(struct server *server, const char *strategy, int64_t user)
{
    struct buy buy = rival_order(strategy, user);

    buy.more = "&wait_ms=600";
    shop_expect_buy(server, &buy, 503, "wait_timeout", NULL);
}

int64_t rivals_lock(const char *command, const char *lock)
{
    return redis_probe(NULL, 0, "%s seckill:lock:%s:%lld", command, lock,
                       (long long)rivals.product);
}

void rivals_expect_oversold(int64_t units)
{
    struct sale sale = witness_sale(rivals.witness, rivals.product);

    assert_int_equal(sale.sold - sale.initial_stock - sale.restocked, units);
}
