/* What goes wrong without a lock, with one in each process, and with a row that is one. */
#include "loadtest/zoo/exhibits/exhibits.h"

static const struct zoo_step none_steps[] = {
    {.who = A, .verbs = {BEGIN, READ}},
    {.who = B, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {INSERT_SOLD, COMMIT}, .answer = "201"},
    {.who = B, .verbs = {INSERT_SOLD, COMMIT}, .answer = "201"},
};

static const struct zoo_step conditional_steps[] = {
    {.who = A, .verbs = {BEGIN, TAKE_STOCK}},
    {.who = B, .verbs = {BEGIN, TAKE_STOCK, ROLLBACK}, .waits = true},
    {.who = A, .verbs = {INSERT_ORDER, COMMIT}, .answer = "201"},
    {.who = B, .resumes = true, .answer = "409 sold_out"},
};

static const struct zoo_act none_safe = {
    .strategy = "conditional",
    .story = "The decision is the write. B's UPDATE waits for A's row, and tests the newest "
             "figure.",
    .stock = 1,
    .buyers = 2,
    ZOO_STEPS_OF(conditional_steps)};

const struct zoo_exhibit zoo_none = {
    .title = "Two read the same figure",
    .unsafe = {.strategy = "none",
               .story =
                   "Both read 1, both decide to sell, both write 0. The stock looks right: only "
                   "counting the orders shows it.",
               .stock = 1,
               .buyers = 2,
               .end = ZOO_OVERSOLD,
               ZOO_STEPS_OF(none_steps)},
    .safe = &none_safe,
};

static const struct zoo_step local_steps[] = {
    {.who = A, .note = "takes the lock of instance 1", .verbs = {BEGIN, READ}},
    {.who = B, .note = "takes the lock of instance 2", .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {INSERT_SOLD, COMMIT}, .answer = "201"},
    {.who = B, .verbs = {INSERT_SOLD, COMMIT}, .answer = "201"},
};

static const struct zoo_step pessimistic_steps[] = {
    {.who = A, .verbs = {BEGIN, READ_FOR_UPDATE}},
    {.who = B, .verbs = {BEGIN, READ_FOR_UPDATE, ROLLBACK}, .waits = true},
    {.who = A, .verbs = {INSERT_SOLD, COMMIT}, .answer = "201"},
    {.who = B, .resumes = true, .answer = "409 sold_out"},
};

static const struct zoo_act local_lock_safe = {
    .strategy = "pessimistic",
    .story = "The row's lock is everybody's, whatever instance they come from.",
    .stock = 1,
    .buyers = 2,
    ZOO_STEPS_OF(pessimistic_steps)};

const struct zoo_exhibit zoo_local_lock = {
    .title = "Each instance has a lock of its own",
    .unsafe = {.strategy = "local-lock",
               .story =
                   "A buys from instance 1, B from instance 2. Each is alone under its lock, and "
                   "neither lock is the other's.",
               .stock = 1,
               .buyers = 2,
               .end = ZOO_OVERSOLD,
               ZOO_STEPS_OF(local_steps)},
    .safe = &local_lock_safe,
};

static const struct zoo_step row_steps[] = {
    {.who = A, .verbs = {LOCK_ROW_INSERT}},
    {.who = A, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {LOCK_ROW_ENDS}},
    {.who = B, .verbs = {LOCK_ROW_INSERT, LOCK_ROW_TAKE_OVER}},
    {.who = B, .verbs = {BEGIN, READ}},
    {.who = A, .verbs = {INSERT_SOLD, COMMIT, LOCK_ROW_DELETE}, .answer = "201"},
    {.who = B, .verbs = {INSERT_SOLD, COMMIT, LOCK_ROW_DELETE}, .answer = "201"},
};

static const struct zoo_step advisory_steps[] = {
    {.who = A, .verbs = {BEGIN, ADVISORY_LOCK, READ}},
    {.who = A, .verbs = {PAUSED}},
    {.who = B, .verbs = {BEGIN, ADVISORY_LOCK, READ, ROLLBACK}, .waits = true},
    {.who = A, .verbs = {INSERT_SOLD, COMMIT}, .answer = "201"},
    {.who = B, .resumes = true, .answer = "409 sold_out"},
};

static const struct zoo_act lock_row_safe = {
    .strategy = "advisory-lock",
    .story = "The lock is the transaction's: a paused buyer keeps it, and one whose session "
             "ends loses its writes with it.",
    .stock = 1,
    .buyers = 2,
    ZOO_STEPS_OF(advisory_steps)};

const struct zoo_exhibit zoo_lock_row = {
    .title = "A lease in the database ends, too",
    .unsafe = {.strategy = "lock-row",
               .story =
                   "A is paused past its lease and does not know. B takes the row over by right. A "
                   "wakes, and writes.",
               .stock = 1,
               .buyers = 2,
               .end = ZOO_OVERSOLD,
               ZOO_STEPS_OF(row_steps)},
    .safe = &lock_row_safe,
};
