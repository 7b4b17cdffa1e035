/*
 * What an order needs besides its product's row is held: what its user has bought (the purchase
 * row), its Idempotency-Key (a first order that is not committed), the bought order at a cancel.
 *
 * In every strategy that wait is the order's own time, ends at its deadline as wait_timeout with
 * nothing done, and is nobody else's: other users buy the product meanwhile.
 */
#include "integration/conformance/conformance.h"

#include "lib/fixtures/cases.h"

#include "base/clock.h"

#include <string.h>

enum { PATIENCE_US = 60000000, WAIT_US = 300000, LATE_US = 20000000, GUILTY = 1, INNOCENT = 100 };

/* False: its time was over before anybody had taken it up, as it may be on a slow machine. */
static bool expect_timeout(const struct crowd_call *call, int64_t wait_us)
{
    char phase[16];

    if (call->result != HTTP_REPLY || call->reply.status != 503 ||
        strcmp(call->code, "wait_timeout") != 0)
        fail_msg("%d %s", call->reply.status, call->code);
    http_reply_text(&call->reply, "phase", phase, sizeof phase);
    if (strcmp(phase, "queue") != 0)
        assert_string_equal(phase, "lock");
    if (call->took_us < wait_us || call->took_us > wait_us + LATE_US)
        fail_msg("the answer to a wait of %lld ms came after %lld ms", (long long)wait_us / 1000,
                 (long long)call->took_us / 1000);
    return strcmp(phase, "lock") == 0;
}

/* Alone, and told the truth. */
static void expect_bounded(struct test_case *the, struct buy buy)
{
    static const struct {
        const char *more;
        int64_t us;
    } waits[] = {{"&wait_ms=300", WAIT_US}, {"&wait_ms=0", 0}};

    int64_t until_us = clock_mono_us() + PATIENCE_US;

    for (int i = 0; i < 2;) {
        struct crowd *crowd = crowd_create();
        buy.more = waits[i].more;
        shop_crowd_buy(crowd, case_server(the, 0), &buy);
        crowd_answers(crowd, PATIENCE_US);
        i += expect_timeout(crowd_at(crowd, 0), waits[i].us);
        crowd_destroy(crowd);
        assert_true(clock_mono_us() < until_us);
    }
}

/* It waits for as long as it likes, and others buy. */
static struct crowd *expect_alone(struct test_case *the, struct buy guilty)
{
    enum { OTHERS = 3 };
    struct crowd *waiting = crowd_create();

    guilty.more = "&wait_ms=60000";
    shop_crowd_buy(waiting, case_server(the, 0), &guilty);
    crowd_send(waiting);
    witness_wait_blocked(the->witness, 1);
    for (int i = 0; i < OTHERS; i++) {
        struct buy buy = case_buy(the, INNOCENT + i);
        buy.more = "&wait_ms=20000";
        shop_expect_buy(case_server(the, 0), &buy, 201, "", NULL);
    }
    assert_false(crowd_wait(waiting, 1, clock_mono_us()));
    return waiting;
}

static void expect_sold(struct test_case *the, struct crowd *waiting, int status)
{
    crowd_finish(waiting, PATIENCE_US);
    assert_int_equal(crowd_at(waiting, 0)->reply.status, status);
    crowd_destroy(waiting);
    case_expect_rows(the, NULL);
}

/* Those that have statements of their own, and one of the locks; nobody who is answered 202 waits
 * for PostgreSQL. */
static bool is_meant(const struct test_case *the)
{
    static const char *const names[] = {
        "none",  "pessimistic", "optimistic",  "conditional", "serializable", "buckets",
        "batch", "lock-row",    "redis-token", "redis-queue", "advisory-lock"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(the->name, names[i]) == 0)
            return !the->body;
    return false;
}

static void what_the_user_has_bought(struct test_case *the)
{
    struct buy buy = case_buy(the, GUILTY);

    if (!is_meant(the))
        return;
    shop_put(the->servers[0], the->product, 100, ", \"limit_per_user\": 5");
    buy.more = "&wait_ms=30000";
    shop_expect_buy(case_server(the, 0), &buy, 201, "", NULL);
    struct witness *holder = witness_open(cases_conninfo());
    witness_run(holder, "BEGIN");
    witness_run(holder,
                "UPDATE purchase SET units = units WHERE product_id = %lld AND user_id = %lld",
                (long long)the->product, (long long)buy.user);
    expect_bounded(the, buy);
    struct crowd *waiting = expect_alone(the, buy);
    witness_close(holder);
    expect_sold(the, waiting, 201);
}

static void its_key(struct test_case *the)
{
    struct buy buy = case_buy(the, GUILTY);

    if (!is_meant(the))
        return;
    shop_put(the->servers[0], the->product, 100, NULL);
    buy.key = "held";
    struct witness *holder = witness_open(cases_conninfo());
    witness_run(holder, "BEGIN");
    witness_run(holder,
                "INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status,"
                " idempotency_key, created_at) SELECT gen_random_uuid(), id, epoch, %lld, 1,"
                " 'conditional', 1, 'held', now() FROM product WHERE id = %lld",
                (long long)buy.user, (long long)the->product);
    expect_bounded(the, buy);
    struct crowd *waiting = expect_alone(the, buy);
    witness_close(holder);
    expect_sold(the, waiting, 201);
}

/* A cancel has --lock-wait-ms, in which a slow machine may do nothing: then it is sent again. */
static void expect_cancel(const struct test_case *the, const char *id, int status)
{
    int64_t until_us = clock_mono_us() + PATIENCE_US;

    for (bool done = false; !done;) {
        struct crowd *crowd = crowd_create();
        shop_crowd_cancel(crowd, case_server(the, 0), id);
        crowd_answers(crowd, PATIENCE_US);
        if (crowd_count(crowd, 503, "wait_timeout") == 1)
            done = expect_timeout(crowd_at(crowd, 0), WAIT_US) && status == 503;
        else if (crowd_count(crowd, status, "") == 1)
            done = true;
        else
            fail_msg("%s", crowd_summary(crowd));
        crowd_destroy(crowd);
        assert_true(clock_mono_us() < until_us);
    }
}

static void the_order_at_its_cancel(struct test_case *the)
{
    char id[SHOP_ID_SIZE];
    struct buy buy = case_buy(the, GUILTY);

    if (!is_meant(the))
        return;
    shop_put(the->servers[0], the->product, 100, NULL);
    buy.more = "&wait_ms=30000";
    shop_expect_buy(case_server(the, 0), &buy, 201, "", id);
    struct witness *holder = witness_open(cases_conninfo());
    witness_run(holder, "BEGIN");
    witness_run(holder, "SELECT 1 FROM orders WHERE id = '%s' FOR UPDATE", id);
    expect_cancel(the, id, 503);
    witness_close(holder);
    expect_cancel(the, id, 200);
    case_expect_rows(the, NULL);
}

int conformance_held(void)
{
    static const struct case_test tests[] = {
        {"what the user has bought", what_the_user_has_bought},
        {"its key", its_key},
        {"the order at its cancel", the_order_at_its_cancel},
    };
    /* Late is what comes near the work's allowance. */
    static const char *const flags[] = {
        "--lock-wait-ms", "300", "--work-timeout-ms", "120000", "--lock-ttl-ms", "180000", NULL};

    return cases_run("held", tests, sizeof tests / sizeof *tests, flags);
}
