/* Stock in Redis, when Redis forgets. */
#include "loadtest/zoo/exhibits/exhibits.h"

static const struct zoo_step stock_steps[] = {
    {.who = A, .verbs = {BEGIN, STOCK_ROW, LOAD_MIRROR, COMMIT}, .note = "buys from instance 1"},
    {.who = A, .verbs = {RESERVE}, .answer = "202 queued"},
    {.who = A, .verbs = {STOCK_REDIS_FORGETS}, .note = "instance 1 dies, and its writer with it"},
    {.who = B, .verbs = {BEGIN, STOCK_ROW, LOAD_MIRROR, COMMIT}, .note = "buys from instance 2"},
    {.who = B, .verbs = {RESERVE}, .answer = "202 queued"},
    {.who = B, .verbs = {BATCH_BUY}, .note = "the writer of instance 2"},
    {.who = A, .verbs = {FIND_ORDER}, .note = "asks for its order: 404"},
};

static const struct zoo_step queue_steps[] = {
    {.who = A, .verbs = {QUEUE_ACQUIRE, REGISTER_FENCE}},
    {.who = A, .verbs = {REDIS_FORGETS}},
    {.who = B, .verbs = {QUEUE_ACQUIRE, REGISTER_FENCE}},
    {.who = A,
     .verbs = {BATCH_BUY_FENCED, BEGIN, BATCH_LOCK_FENCED, ROLLBACK, QUEUE_RELEASE},
     .answer = "503 lease_lost"},
    {.who = B, .verbs = {BATCH_BUY_FENCED, QUEUE_RELEASE}, .answer = "201"},
};

static const struct zoo_act stock_safe = {
    .strategy = "redis-queue",
    .story = "Redis has the lock alone. Whoever is told yes has a row in PostgreSQL, and the fence "
             "there lets one of two holders write.",
    .stock = 1,
    .buyers = 2,
    ZOO_STEPS_OF(queue_steps)};

const struct zoo_exhibit zoo_redis_stock = {
    .title = "Accepted, and forgotten",
    .needs = ZOO_NEEDS_REDIS,
    .unsafe = {.strategy = "redis-stock",
               .story =
                   "A's reservation is in Redis alone when Redis loses it. The unit is sold to B: "
                   "PostgreSQL has the last word, so nothing is oversold, but A was told 202.",
               .stock = 1,
               .buyers = 2,
               .end = ZOO_LOST,
               ZOO_STEPS_OF(stock_steps)},
    .safe = &stock_safe,
};
