/* Locks on several Redis servers, in memcached, and in ZooKeeper. */
#include "loadtest/zoo/exhibits/exhibits.h"

static const struct zoo_step redlock_steps[] = {
    {.who = A,
     .verbs = {SET_NODE_1, SET_NODE_2},
     .note = "does not reach node 3; two of three own it"},
    {.who = A, .verbs = {BEGIN, READ}},
    {.who = B, .verbs = {NODE_2_FORGETS}},
    {.who = B,
     .verbs = {SET_NODE_1, SET_NODE_2, SET_NODE_3},
     .note = "two of three: its own as well"},
    {.who = B, .verbs = {BEGIN, READ}},
    {.who = A,
     .verbs = {INSERT_SOLD, COMMIT, RELEASE_NODE_1, RELEASE_NODE_2, RELEASE_NODE_3},
     .answer = "201"},
    {.who = B,
     .verbs = {INSERT_SOLD, COMMIT, RELEASE_NODE_1, RELEASE_NODE_2, RELEASE_NODE_3},
     .answer = "201"},
};

static const struct zoo_step fenced_forgotten_steps[] = {
    {.who = A, .verbs = {SET_TOKEN, REGISTER_FENCE}},
    {.who = A, .verbs = {BEGIN, READ}},
    {.who = B, .verbs = {REDIS_FORGETS}},
    {.who = B, .verbs = {SET_TOKEN, REGISTER_FENCE}},
    {.who = B, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {INSERT_SOLD_FENCED, COMMIT, RELEASE_TOKEN}, .answer = "503 lease_lost"},
    {.who = B, .verbs = {INSERT_SOLD_FENCED, COMMIT, RELEASE_TOKEN}, .answer = "201"},
};

static const struct zoo_act redlock_safe = {
    .strategy = "redis-fenced",
    .story =
        "One Redis forgets the lock, and there are two holders here as well. The fence stands in "
        "PostgreSQL, which has not forgotten.",
    .stock = 1,
    .buyers = 2,
    ZOO_STEPS_OF(fenced_forgotten_steps)};

const struct zoo_exhibit zoo_redlock = {
    .title = "A node forgets, and two majorities meet in it",
    .needs = ZOO_NEEDS_REDIS | ZOO_NEEDS_REDLOCK,
    .unsafe = {.strategy = "redlock",
               .story =
                   "A owns two of three nodes. One of them starts again without its newest writes, "
                   "and B owns two of three. (A holder that is paused does the same.)",
               .stock = 1,
               .buyers = 2,
               .end = ZOO_OVERSOLD,
               ZOO_STEPS_OF(redlock_steps)},
    .safe = &redlock_safe,
};

static const struct zoo_step memcached_steps[] = {
    {.who = A, .verbs = {MEMCACHED_ADD}},
    {.who = A, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {MEMCACHED_LEASE_ENDS}},
    {.who = B, .verbs = {MEMCACHED_ADD}},
    {.who = B, .verbs = {BEGIN, READ}},
    {.who = A,
     .verbs = {INSERT_SOLD, COMMIT, MEMCACHED_GETS},
     .note = "finds another's token, too late",
     .answer = "201"},
    {.who = B, .verbs = {INSERT_SOLD, COMMIT, MEMCACHED_GETS, MEMCACHED_CAS}, .answer = "201"},
};

const struct zoo_exhibit zoo_memcached_lock = {
    .title = "The same in memcached",
    .needs = ZOO_NEEDS_REDIS | ZOO_NEEDS_MEMCACHED,
    .unsafe = {.strategy = "memcached-lock",
               .story =
                   "Token and compare-and-swap keep A from releasing B's lock. They do not keep A "
                   "from writing.",
               .stock = 1,
               .buyers = 2,
               .end = ZOO_OVERSOLD,
               ZOO_STEPS_OF(memcached_steps)},
    .safe = &zoo_fenced_paused,
};

static const struct zoo_step zookeeper_steps[] = {
    {.who = A, .verbs = {ZK_JOIN, ZK_LOOK}},
    {.who = A, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {SESSION_ENDS}},
    {.who = B, .verbs = {ZK_JOIN, ZK_LOOK}},
    {.who = B, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {INSERT_SOLD, COMMIT, ZK_LEAVE}, .answer = "201"},
    {.who = B, .verbs = {INSERT_SOLD, COMMIT, ZK_LEAVE}, .answer = "201"},
};

const struct zoo_exhibit zoo_zookeeper_lock = {
    .title = "A session is a lease as well",
    .needs = ZOO_NEEDS_REDIS | ZOO_NEEDS_ZOOKEEPER,
    .unsafe = {.strategy = "zookeeper-lock",
               .story =
                   "The node is A's for as long as its session lives, and that ends when the "
                   "servers hear nothing. A is told when it next asks, which is after it wrote.",
               .stock = 1,
               .buyers = 2,
               .end = ZOO_OVERSOLD,
               ZOO_STEPS_OF(zookeeper_steps)},
    .safe = &zoo_fenced_paused,
};
