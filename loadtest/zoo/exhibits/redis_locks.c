/* Locks in Redis whose holder is paused past its lease, dies, or has a clock of its own. */
#include "loadtest/zoo/exhibits/exhibits.h"

static const struct zoo_step fenced_paused_steps[] = {
    {.who = A, .verbs = {SET_TOKEN, REGISTER_FENCE}},
    {.who = A, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {LEASE_ENDS}},
    {.who = B, .verbs = {SET_TOKEN, REGISTER_FENCE}},
    {.who = B, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {INSERT_SOLD_FENCED, COMMIT, RELEASE_TOKEN}, .answer = "503 lease_lost"},
    {.who = B, .verbs = {INSERT_SOLD_FENCED, COMMIT, RELEASE_TOKEN}, .answer = "201"},
};

const struct zoo_act zoo_fenced_paused = {
    .strategy = "redis-fenced",
    .story = "B's fence stands in the row before B reads. A's write names an older one and matches "
             "no row.",
    .stock = 1,
    .buyers = 2,
    ZOO_STEPS_OF(fenced_paused_steps)};

static const struct zoo_step setnx_steps[] = {
    {.who = A, .verbs = {SETNX_1}},
    {.who = A, .verbs = {DIES}, .note = "has not sent its PEXPIRE"},
    {.who = B, .verbs = {SETNX_1}},
    {.who = B,
     .verbs = {SETNX_1},
     .note = "tries again until its wait is over",
     .answer = "503 wait_timeout"},
};

static const struct zoo_step fenced_dead_steps[] = {
    {.who = A, .verbs = {SET_TOKEN}},
    {.who = A, .verbs = {DIES}},
    {.who = B, .verbs = {SET_TOKEN}},
    {.who = A, .verbs = {LEASE_OVER}},
    {.who = B, .verbs = {SET_TOKEN, REGISTER_FENCE}},
    {.who = B, .verbs = {BEGIN, READ}},
    {.who = B, .verbs = {INSERT_SOLD_FENCED, COMMIT, RELEASE_TOKEN}, .answer = "201"},
};

static const struct zoo_act redis_setnx_safe = {
    .strategy = "redis-fenced",
    .story = "SET takes the lock and gives the lease in one command. B waits for its end, no "
             "longer.",
    .stock = 1,
    .buyers = 2,
    ZOO_STEPS_OF(fenced_dead_steps)};

const struct zoo_exhibit zoo_redis_setnx = {
    .title = "A death between two commands locks for ever",
    .needs = ZOO_NEEDS_REDIS,
    .unsafe = {.strategy = "redis-setnx",
               .story =
                   "The lock is taken by one command and given its lease by the next. Who dies in "
                   "between leaves a lock that never ends.",
               .stock = 1,
               .buyers = 2,
               .end = ZOO_STUCK,
               ZOO_STEPS_OF(setnx_steps)},
    .safe = &redis_setnx_safe,
};

static const struct zoo_step getset_steps[] = {
    {.who = A, .verbs = {SETNX_STAMP}, .note = "its clock says 1000000"},
    {.who = A, .verbs = {BEGIN, READ}},
    {.who = B, .verbs = {SETNX_STAMP, GET_STAMP, GETSET_STAMP}, .note = "its clock says 1060000"},
    {.who = B, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {INSERT_SOLD, COMMIT, DEL_LOCK}, .answer = "201"},
    {.who = B, .verbs = {INSERT_SOLD, COMMIT, DEL_LOCK}, .answer = "201"},
};

static const struct zoo_step fenced_busy_steps[] = {
    {.who = A, .verbs = {SET_TOKEN, REGISTER_FENCE}, .note = "its clock says 1000000"},
    {.who = A, .verbs = {BEGIN, READ}},
    {.who = B, .verbs = {SET_TOKEN}, .note = "its clock says 1060000"},
    {.who = A, .verbs = {INSERT_SOLD_FENCED, COMMIT, RELEASE_TOKEN}, .answer = "201"},
    {.who = B, .verbs = {SET_TOKEN, REGISTER_FENCE}},
    {.who = B, .verbs = {BEGIN, READ, ROLLBACK, RELEASE_TOKEN}, .answer = "409 sold_out"},
};

static const struct zoo_act redis_getset_safe = {
    .strategy = "redis-fenced",
    .story = "The lease is Redis's own clock for everybody: B finds the lock taken, and waits.",
    .stock = 1,
    .buyers = 2,
    ZOO_STEPS_OF(fenced_busy_steps)};

const struct zoo_exhibit zoo_redis_getset = {
    .title = "A clock that is ahead steals a live lock",
    .needs = ZOO_NEEDS_REDIS,
    .unsafe = {.strategy = "redis-getset",
               .story =
                   "A writes when its lock ends, by its own clock; B judges it by another, which "
                   "is a minute ahead. Nobody was paused.",
               .stock = 1,
               .buyers = 2,
               .end = ZOO_OVERSOLD,
               ZOO_STEPS_OF(getset_steps)},
    .safe = &redis_getset_safe,
};

static const struct zoo_step token_steps[] = {
    {.who = A, .verbs = {SET_TOKEN}},
    {.who = A, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {LEASE_ENDS}},
    {.who = B, .verbs = {SET_TOKEN}},
    {.who = B, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {INSERT_SOLD, COMMIT, RELEASE_TOKEN}, .answer = "201"},
    {.who = B, .verbs = {INSERT_SOLD, COMMIT, RELEASE_TOKEN}, .answer = "201"},
};

const struct zoo_exhibit zoo_redis_token = {
    .title = "A paused holder still writes",
    .needs = ZOO_NEEDS_REDIS,
    .unsafe = {.strategy = "redis-token",
               .story =
                   "A is paused past its lease and does not know. Its release finds that the lock "
                   "was no longer its own, too late.",
               .stock = 1,
               .buyers = 2,
               .end = ZOO_OVERSOLD,
               ZOO_STEPS_OF(token_steps)},
    .safe = &zoo_fenced_paused,
};

static const struct zoo_step reentrant_steps[] = {
    {.who = A, .verbs = {REENTRANT_ACQUIRE}},
    {.who = A, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {LEASE_ENDS}},
    {.who = B, .verbs = {REENTRANT_ACQUIRE}},
    {.who = B, .verbs = {BEGIN, READ}},
    {.who = B,
     .verbs = {SET_STOCK, REENTRANT_ACQUIRE, INSERT_ORDER, COMMIT, REENTRANT_RELEASE,
               REENTRANT_RELEASE},
     .answer = "201"},
    {.who = A,
     .verbs = {SET_STOCK, REENTRANT_ACQUIRE, INSERT_ORDER, COMMIT, REENTRANT_RELEASE,
               REENTRANT_RELEASE},
     .answer = "201"},
};

static const struct zoo_step fenced_late_steps[] = {
    {.who = A, .verbs = {SET_TOKEN, REGISTER_FENCE}},
    {.who = A, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {LEASE_ENDS}},
    {.who = B, .verbs = {SET_TOKEN, REGISTER_FENCE}},
    {.who = B, .verbs = {BEGIN, READ}},
    {.who = B, .verbs = {INSERT_SOLD_FENCED, COMMIT, RELEASE_TOKEN}, .answer = "201"},
    {.who = A, .verbs = {INSERT_SOLD_FENCED, COMMIT, RELEASE_TOKEN}, .answer = "503 lease_lost"},
};

static const struct zoo_act redis_reentrant_safe = {
    .strategy = "redis-fenced",
    .story = "The fence that A has registered is no longer the row's, whoever holds the lock.",
    .stock = 1,
    .buyers = 2,
    ZOO_STEPS_OF(fenced_late_steps)};

const struct zoo_exhibit zoo_redis_reentrant = {
    .title = "Taking the lock again does not show that it was lost",
    .needs = ZOO_NEEDS_REDIS,
    .unsafe =
        {.strategy = "redis-reentrant",
         .story =
             "A is paused past its lease, and B comes and goes. A takes \"its\" lock once more "
             "around the insert, and gets a new one: what it has read is old.",
         .stock = 1,
         .buyers = 2,
         .end = ZOO_OVERSOLD,
         ZOO_STEPS_OF(reentrant_steps)},
    .safe = &redis_reentrant_safe,
};

static const struct zoo_step watchdog_steps[] = {
    {.who = A, .verbs = {REENTRANT_ACQUIRE}},
    {.who = A, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {LEASE_ENDS}, .note = "its watchdog is stopped with it"},
    {.who = B, .verbs = {REENTRANT_ACQUIRE}},
    {.who = B, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {INSERT_SOLD, COMMIT, REENTRANT_RELEASE}, .answer = "201"},
    {.who = B, .verbs = {INSERT_SOLD, COMMIT, REENTRANT_RELEASE}, .answer = "201"},
};

const struct zoo_exhibit zoo_redis_watchdog = {
    .title = "Whoever stops the process stops its watchdog",
    .needs = ZOO_NEEDS_REDIS,
    .unsafe = {.strategy = "redis-watchdog",
               .story =
                   "A thread renews the lease while the work lasts, but a stopped container, or a "
                   "long pause of all threads, stops that too.",
               .stock = 1,
               .buyers = 2,
               .end = ZOO_OVERSOLD,
               ZOO_STEPS_OF(watchdog_steps)},
    .safe = &zoo_fenced_paused,
};
