/*
 * Cases: every strategy of the registry, with three instances, and with one where that promises
 * more (with ThreadSanitizer: with one), plain and guarded where it takes a body. A conformance
 * program names its tests once and main() runs each of them in every case.
 *
 * The servers are started once for the program, on a database of its own, and serve all cases in
 * turn; each test gets a product of its own. After each test no order may have ended as
 * internal_error.
 */
#ifndef SECKILL_TESTS_LIB_CASES_H
#define SECKILL_TESTS_LIB_CASES_H

#include "lib/shop.h"
#include "lib/t.h"
#include "lib/witness.h"

#include "strategy/strategy.h"

enum { CASES_INSTANCES = 3 };

struct test_case {
    const struct strategy *strategy;
    const char *name; /* of the strategy */
    const char *body; /* "guarded", or NULL */
    int instances;
    bool exact; /* promised here: what is sold never passes the stock, and no update is lost */
    int64_t product;
    struct server **servers; /* the first `instances` of them are the case's */
    struct witness *witness;
};

struct case_test {
    const char *name;
    void (*run)(struct test_case *the);
};

/* Runs the tests. `group` names the database too; `flags` are the servers'. Returns main()'s value.
 */
int cases_run(const char *group, const struct case_test *tests, size_t count,
              const char *const flags[]);

/* The conninfo of the program's database, for a session of a test's own. */
const char *cases_conninfo(void);

/* Any instance of the case, in turn. */
struct server *case_server(const struct test_case *the, int i);
/* An order as the case has it, by this user (below 100000) of the case's own: keys belong to users.
 */
struct buy case_buy(const struct test_case *the, int64_t user);
/* `count` buyers at once, each another user from `first_user` on, spread over the instances. */
struct crowd *case_buyers(const struct test_case *the, int count, int64_t first_user,
                          int64_t quantity);
/* `count` restocks at once, spread over the instances, all of which succeed. */
void case_restock(const struct test_case *the, int count, int64_t quantity);
/* Rows, stock and the server's own audit agree as far as the case promises; the rows are as many as
 * the 201s of `crowd` (NULL: not compared), none of it lost; a 202 is waited for, and may be a row
 * too. */
void case_expect_rows(const struct test_case *the, const struct crowd *crowd);

#endif
