/* Locks in Redis whose release frees somebody else's. */
#include "loadtest/zoo/exhibits/exhibits.h"

static const struct zoo_step expiry_steps[] = {
    {.who = A, .verbs = {SET_1, BEGIN, READ, INSERT_SOLD, COMMIT}, .answer = "201"},
    {.who = A, .verbs = {LEASE_ENDS}},
    {.who = B, .verbs = {SET_1, BEGIN, READ}},
    {.who = A, .verbs = {DEL_LOCK}, .note = "releases B's lock"},
    {.who = C, .verbs = {SET_1, BEGIN, READ}},
    {.who = B,
     .verbs = {INSERT_SOLD, COMMIT, DEL_LOCK},
     .note = "releases C's lock",
     .answer = "201"},
    {.who = C, .verbs = {INSERT_SOLD, COMMIT, DEL_LOCK}, .answer = "201"},
};

static const struct zoo_step uuid_steps[] = {
    {.who = A, .verbs = {SET_TOKEN, BEGIN, READ, INSERT_SOLD, COMMIT}, .answer = "201"},
    {.who = A, .verbs = {GET_TOKEN}, .note = "compares: it is its own"},
    {.who = A, .verbs = {LEASE_ENDS}},
    {.who = B, .verbs = {SET_TOKEN, BEGIN, READ}},
    {.who = A, .verbs = {DEL_LOCK}, .note = "releases B's lock"},
    {.who = C, .verbs = {SET_TOKEN, BEGIN, READ}},
    {.who = B, .verbs = {INSERT_SOLD, COMMIT, GET_TOKEN}, .answer = "201"},
    {.who = C, .verbs = {INSERT_SOLD, COMMIT, GET_TOKEN, DEL_LOCK}, .answer = "201"},
};

static const struct zoo_step fenced_steps[] = {
    {.who = A,
     .verbs = {SET_TOKEN, REGISTER_FENCE, BEGIN, READ, INSERT_SOLD_FENCED, COMMIT},
     .answer = "201"},
    {.who = A, .verbs = {LEASE_ENDS}},
    {.who = B, .verbs = {SET_TOKEN, REGISTER_FENCE, BEGIN, READ}},
    {.who = A, .verbs = {RELEASE_TOKEN}, .note = "compares and deletes in one step"},
    {.who = C, .verbs = {SET_TOKEN}, .note = "waits"},
    {.who = B, .verbs = {INSERT_SOLD_FENCED, COMMIT, RELEASE_TOKEN}, .answer = "201"},
    {.who = C,
     .verbs = {SET_TOKEN, REGISTER_FENCE, BEGIN, READ, ROLLBACK, RELEASE_TOKEN},
     .answer = "409 sold_out"},
};

static const struct zoo_act fenced_release = {
    .strategy = "redis-fenced",
    .story = "A's token is no longer in the lock, so A's release releases nothing: C waits for B.",
    .stock = 2,
    .buyers = 3,
    ZOO_STEPS_OF(fenced_steps)};

const struct zoo_exhibit zoo_redis_expiry = {
    .title = "A late DEL frees the next holder's lock",
    .needs = ZOO_NEEDS_REDIS,
    .unsafe = {.strategy = "redis-expiry",
               .story =
                   "The value is the same for everybody. A has sold and is late with its DEL: it "
                   "deletes B's lock, B deletes C's, and so on down the line.",
               .stock = 2,
               .buyers = 3,
               .end = ZOO_OVERSOLD,
               ZOO_STEPS_OF(expiry_steps)},
    .safe = &fenced_release,
};

const struct zoo_exhibit zoo_redis_uuid = {
    .title = "Compare, then delete: two steps",
    .needs = ZOO_NEEDS_REDIS,
    .unsafe =
        {.strategy = "redis-uuid",
         .story = "A looks whether the lock is still its own, and it is. The lease ends before the "
                  "DEL comes.",
         .stock = 2,
         .buyers = 3,
         .end = ZOO_OVERSOLD,
         ZOO_STEPS_OF(uuid_steps)},
    .safe = &fenced_release,
};

static const struct zoo_step wllock_steps[] = {
    {.who = A, .verbs = {WLLOCK_ACQUIRE}},
    {.who = A, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {LEASE_ENDS}},
    {.who = B, .verbs = {WLLOCK_ACQUIRE}},
    {.who = B, .verbs = {BEGIN, READ}},
    {.who = A,
     .verbs = {INSERT_SOLD, COMMIT, DEL_LOCK},
     .note = "releases B's lock",
     .answer = "201"},
    {.who = B, .verbs = {INSERT_SOLD, COMMIT, DEL_LOCK}, .answer = "201"},
};

static const struct zoo_step queue_steps[] = {
    {.who = A, .verbs = {QUEUE_ACQUIRE, REGISTER_FENCE}},
    {.who = A, .verbs = {LEASE_ENDS}},
    {.who = B, .verbs = {QUEUE_ACQUIRE, REGISTER_FENCE}},
    {.who = A,
     .verbs = {BATCH_BUY_FENCED, BEGIN, BATCH_LOCK_FENCED, ROLLBACK, QUEUE_RELEASE},
     .answer = "503 lease_lost"},
    {.who = B, .verbs = {BATCH_BUY_FENCED, QUEUE_RELEASE}, .answer = "201"},
};

static const struct zoo_act wllock_safe = {
    .strategy = "redis-queue",
    .story = "A token says whose the lock is, and a fence in the row refuses who comes late.",
    .stock = 1,
    .buyers = 2,
    ZOO_STEPS_OF(queue_steps)};

const struct zoo_exhibit zoo_wllock = {
    .title = "A lock that is nobody's",
    .needs = ZOO_NEEDS_REDIS,
    .unsafe = {.strategy = "wllock",
               .story =
                   "The lock's value is empty, so nobody can tell whose it is: A, paused past its "
                   "lease, sells beside B and then deletes B's lock.",
               .stock = 1,
               .buyers = 2,
               .end = ZOO_OVERSOLD,
               ZOO_STEPS_OF(wllock_steps)},
    .safe = &wllock_safe,
};
