#include "lib/cases.h"

#include "lib/stack.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What holds for three instances holds for one, unless one alone promises more. ThreadSanitizer has
 * one, in which all orders contend. A sanitizer sees in the plain bodies and `conditional` what it
 * would see in the guarded ones. */
#if defined(__SANITIZE_THREAD__)
enum { SERVERS = 1, BODIES = 1 };
#elif defined(SECKILL_SANITIZE)
enum { SERVERS = CASES_INSTANCES, BODIES = 1 };
#else
enum { SERVERS = CASES_INSTANCES, BODIES = 2 };
#endif

enum { USERS_A_CASE = 100000, NAME_MAX_LENGTH = 120, FLAGS_MAX = 16 };

static struct {
    const char *group;
    const char *const *flags;
    char *conninfo; /* owned */
    struct server *servers[SERVERS];
    struct witness *witness;
    int64_t products;
    int64_t bugs; /* seen so far */
    bool failed;
} shared;

struct entry {
    struct test_case the;
    void (*run)(struct test_case *the);
    char name[NAME_MAX_LENGTH];
};

static int start(void **state)
{
    /* Eight workers each: a new strategy opens all of its sessions at once, and on a busy machine
     * of two cores more than that are not there within the server's patience of 2 s. */
    const char *flags[FLAGS_MAX] = {"--pg-sessions", "16"};
    char name[64];

    (void)state;
    for (int i = 0; shared.flags[i]; i++) {
        assert_true(i + 3 < FLAGS_MAX);
        flags[i + 2] = shared.flags[i];
    }
    snprintf(name, sizeof name, "seckill_%s", shared.group);
    shared.conninfo = stack_database_create(name);
    server_use_database(shared.conninfo);
    for (int i = 0; i < SERVERS; i++)
        shared.servers[i] = server_startv(flags);
    shared.witness = witness_open(shared.conninfo);
    return 0;
}

static int stop(void **state)
{
    char name[64];

    witness_close(shared.witness);
    for (int i = 0; !shared.failed && i < SERVERS && shared.servers[i]; i++)
        server_stop(shared.servers[i]);
    server_teardown(state);
    snprintf(name, sizeof name, "seckill_%s", shared.group);
    stack_database_drop(name);
    free(shared.conninfo);
    return 0;
}

static int64_t count_bugs(void)
{
    int64_t bugs = 0;

    for (int i = 0; i < SERVERS; i++)
        bugs += server_bugs(shared.servers[i]);
    return bugs;
}

static void run_entry(void **state)
{
    struct entry *entry = *state;
    bool failed_before = shared.failed;

    shared.failed = true; /* until it has come to its end */
    entry->the.product = ++shared.products;
    entry->the.servers = shared.servers;
    entry->the.witness = shared.witness;
    entry->run(&entry->the);
    int64_t earlier = shared.bugs;
    shared.bugs = count_bugs();
    if (shared.bugs != earlier)
        fail_msg("%lld orders or replies ended as internal_error",
                 (long long)(shared.bugs - earlier));
    shared.failed = failed_before;
}

/* A guarded body keeps its promise with any number of instances. */
static bool is_exact(const struct strategy *strategy, const char *body, int instances)
{
    return body || (strategy->guarantees & (instances == 1 ? GUARANTEE_ONE : GUARANTEE_MANY));
}

static bool is_worth_it(const struct strategy *strategy, const char *body, int instances)
{
    return instances == SERVERS ||
           (instances == 1 && is_exact(strategy, body, 1) != is_exact(strategy, body, SERVERS));
}

static void add(struct CMUnitTest *out, const struct case_test *test,
                const struct strategy *strategy, const char *body, int instances)
{
    struct entry *entry = calloc(1, sizeof *entry);

    if (!entry)
        abort();
    entry->run = test->run;
    entry->the = (struct test_case){
        .strategy = strategy,
        .name = strategy->name,
        .body = body,
        .instances = instances,
        .exact = is_exact(strategy, body, instances),
    };
    snprintf(entry->name, sizeof entry->name, "%s: %s%s, %d instance%s", test->name, strategy->name,
             body ? " guarded" : "", instances, instances == 1 ? "" : "s");
    out->name = entry->name;
    out->test_func = run_entry;
    out->initial_state = entry; /* lives as long as the program */
}

int cases_run(const char *group, const struct case_test *tests, size_t count,
              const char *const flags[])
{
    struct CMUnitTest *list = calloc(count * strategy_count() * BODIES * SERVERS, sizeof *list);
    size_t n = 0;

    if (!list)
        abort();
    shared.group = group;
    shared.flags = flags;
    /* A strategy's cases follow each other: a lane that has rested closes its sessions, and a new
     * one costs more than most cases do. */
    for (size_t i = 0; i < strategy_count(); i++)
        for (int variant = 0; variant < BODIES * SERVERS; variant++) {
            const struct strategy *strategy = strategy_at(i);
            const char *body = variant / SERVERS ? "guarded" : NULL;
            int instances = 1 + variant % SERVERS;
            if ((body && !strategy->bodies) || !is_worth_it(strategy, body, instances))
                continue;
            for (size_t j = 0; j < count; j++)
                add(&list[n++], &tests[j], strategy, body, instances);
        }
    int failed = t_run(group, list, n, start, stop);
    for (size_t i = 0; i < n; i++)
        free(list[i].initial_state);
    free(list);
    return failed != 0;
}

const char *cases_conninfo(void)
{
    return shared.conninfo;
}

struct server *case_server(const struct test_case *the, int i)
{
    return the->servers[i % the->instances];
}

struct buy case_buy(const struct test_case *the, int64_t user)
{
    return (struct buy){.strategy = the->name,
                        .body = the->body,
                        .product = the->product,
                        .user = the->product * USERS_A_CASE + user};
}

struct crowd *case_buyers(const struct test_case *the, int count, int64_t first_user,
                          int64_t quantity)
{
    struct crowd *crowd = crowd_create();

    for (int i = 0; i < count; i++) {
        struct buy buy = case_buy(the, first_user + i);
        buy.quantity = quantity;
        shop_crowd_buy(crowd, case_server(the, i), &buy);
    }
    return crowd;
}

void case_restock(const struct test_case *the, int count, int64_t quantity)
{
    struct crowd *crowd = crowd_create();
    struct buy restock = case_buy(the, 0);

    restock.quantity = quantity;
    for (int i = 0; i < count; i++)
        shop_crowd_restock(crowd, case_server(the, i), &restock);
    crowd_finish(crowd, SERVER_PATIENCE_US);
    if (crowd_count(crowd, 200, "") != count)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
}

/* Until nothing of the product is queued. */
static void wait_decided(const struct test_case *the)
{
    int64_t until_us = clock_mono_us() + SERVER_PATIENCE_US;

    while (witness_number(the->witness,
                          "SELECT count(*) FROM orders JOIN product ON product.id = product_id AND"
                          " product.epoch = orders.epoch WHERE product_id = %lld AND status = 0",
                          (long long)the->product) > 0) {
        if (clock_mono_us() >= until_us)
            fail_msg("orders are still queued");
        clock_sleep_until(clock_mono_us() + 5000);
    }
}

void case_expect_rows(const struct test_case *the, const struct crowd *crowd)
{
    if (the->strategy->asynchronous)
        wait_decided(the);
    struct sale sale = witness_sale(the->witness, the->product);
    int64_t sold = crowd ? crowd_count(crowd, 201, "") : sale.orders;
    int64_t accepted = crowd ? crowd_count(crowd, 202, "") : 0;

    if (sale.orders < sold || sale.orders > sold + accepted)
        fail_msg("%lld rows for %s", (long long)sale.orders, crowd_summary(crowd));
    assert_int_equal(sale.over_limit, 0);
    assert_int_equal(sale.repeated, 0);
    assert_true(sale.stock >= 0);
    if (!the->exact)
        return;
    witness_expect_exact(the->witness, the->product);
    shop_expect_consistent(the->servers[0], the->product);
}
