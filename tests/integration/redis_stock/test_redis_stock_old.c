/*
 * --stock-redis-replicas and a Redis from before 7.2, which has no WAITAOF: it is refused, and said
 * why, at the start, in readiness and to buyers. Built where redis-server is one (CMakeLists.txt);
 * with a newer one there is integration.redis_stock_replicas.
 */
#include "lib/fixtures/shop.h"
#include "lib/redis/redis_own.h"
#include "lib/stack.h"

#include "lib/t.h"

#include <stdlib.h>

static int end(void **state)
{
    return server_teardown(state) | redis_own_teardown(state);
}

TEST_WITH(an_old_redis_is_refused_with_the_reason, NULL, end)
{
    struct redis_own *redis = redis_own_start((const char *const[]){"--appendonly", "yes", NULL});
    const struct buy buy = {.strategy = "redis-stock", .product = 1, .user = 1};
    char *conninfo = stack_database_create("seckill_redis_stock_old");

    server_use_database(conninfo);
    struct server *server =
        server_start("--stock-redis", t_text("redis://127.0.0.1:%d", redis_own_port(redis)),
                     "--stock-redis-replicas", "1");
    assert_true(server_says(server, "older than 7.2 and has no WAITAOF"));
    server_wait_ready(server, 200, "take Redis 7.2 or Valkey, or leave that at 0");
    shop_put(server, buy.product, 1, NULL);
    shop_expect_buy(server, &buy, 503, "strategy_unavailable", NULL);
    server_stop(server);
    server_use_database(NULL);
    stack_database_drop("seckill_redis_stock_old");
    free(conninfo);
}
