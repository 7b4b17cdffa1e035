/* The experiments, as data: see articles.h. docs/ARTICLES.md tells what each one is about. */
#include "loadtest/commands/articles/articles.h"

#define ROWS(list) .rows = (list), .rows_count = sizeof(list) / sizeof(list)[0]

static const struct article_row turns_rows[] = {
    {"optimistic", 1, "compare and set, again until it fits", "at most 3 turns", false},
    {"conditional", 1, "its shorter form: one statement", "", false},
};

static const struct article_row threshold_rows[] = {
    {"wllock", 1, "the library's queue, as it says it is", "500 may wait", true},
    {"redis-queue", 1, "beside it: many orders a hold", "", false},
};

static const struct article_row timed_rows[] = {
    {"wllock", 1, "one process, as in its test", "none; 5 s / 100 ms = 50", true},
    {"wllock", 3, "the same in three instances", "", true},
    {"redis-queue", 1, "beside it: many orders a hold", "", false},
    {"redis-queue", 3, "the same in three instances", "", false},
};

static const struct article_row balance_rows[] = {
    {"none", 1, "read, compare, write", "110 sold", false},
    {"optimistic", 1, "its cure: write over the version that was read", "", false},
    {"partitioned-queue", 1, "its advice: a queue for what belongs together", "", false},
    {"local-lock", 1, "beside it: a lock in the process", "", false},
    {"local-lock", 3, "the same in three instances", "", false},
    {"optimistic", 3, "its cure, in three instances", "", false},
    {"partitioned-queue", 3, "its advice, in three instances", "", false},
    {"conditional", 3, "beside it: compare and write in one statement", "", false},
};

static const struct article_row counter_rows[] = {
    {"none", 1, "no lock", "114", false},
    {"local-lock", 1, "synchronized, one instance", "5,000", false},
    {"local-lock", 3, "synchronized, three instances", "2,360", false},
    {"redis-reentrant", 3, "its last lock in Redis, three instances", "", false},
    {"conditional", 3, "beside it: one statement, no lock", "", false},
    {"redis-queue", 3, "beside it: many orders a hold", "", false},
};

static const struct article_row spread_rows[] = {
    {"none", 1, "no lock", "", false},
    {"local-lock", 1, "synchronized, one instance", "", false},
    {"local-lock", 3, "synchronized, three instances", "", false},
    {"redis-token", 3, "a lock in Redis for each product", "", false},
    {"conditional", 3, "beside it: one statement, no lock", "", false},
};

const struct article_experiment article_experiments[] = {
    {.article = "000",
     .name = "turns",
     .title = "16 buyers at a time write a row over what they read; 300 orders",
     .kind = ARTICLE_TURNS,
     .calls = 300,
     .connections = 16,
     .products = 1,
     .stock = 10000,
     .work_ms = 5,
     .in_flight = 16,
     ROWS(turns_rows)},
    {.article = "000",
     .name = "threshold",
     .title = "a queue of 500 in front of the lock; 700 buyers at once",
     .kind = ARTICLE_THRESHOLD,
     .calls = 700,
     .connections = 700,
     .products = 1,
     .stock = 10000,
     .work_ms = 10,
     .queue_capacity = 500,
     ROWS(threshold_rows)},
    {.article = "000",
     .name = "timed",
     .title = "wllock's own test: 100 ms under the lock; 100 buyers who wait for as long as it "
              "takes, 100 of another product who wait 5 s",
     .kind = ARTICLE_TIMED,
     .calls = 200,
     .connections = 200,
     .products = 2,
     .stock = 10000,
     .work_ms = 100,
     ROWS(timed_rows)},
    {.article = "001",
     .name = "balance",
     .title = "100 in stock, 60 and 50 of them bought at once; 8 times",
     .kind = ARTICLE_PAIRS,
     .calls = 16, /* as many as `none` works on at once */
     .connections = 16,
     .products = 8,
     .stock = 100,
     .work_ms = 100,
     ROWS(balance_rows)},
    {.article = "003",
     .name = "counter",
     .title = "a counter, from 0: 5,000 times plus one",
     .kind = ARTICLE_COUNTER,
     .calls = 5000,
     .connections = 100,
     .products = 1,
     .stock = 0,
     .work_ms = -1,
     ROWS(counter_rows)},
    {.article = "003",
     .name = "spread",
     .title = "5,000 products with one unit each, 5,000 buyers who draw one of them",
     .kind = ARTICLE_SPREAD,
     .calls = 5000,
     .connections = 16, /* as many as `none` works on at once: who waits meets nobody */
     .products = 5000,
     .stock = 1,
     .work_ms = 5,
     ROWS(spread_rows)},
};

const size_t article_experiments_count = sizeof article_experiments / sizeof article_experiments[0];
