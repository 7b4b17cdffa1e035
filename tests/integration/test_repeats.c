/* A repeat of an Idempotency-Key while the first order with it is under way, which --work-ms makes
 * long. */
#include "lib/cases.h"

#include "base/clock.h"

#include <string.h>

enum { PATIENCE_US = 60000000 };

/* Does an order keep others of its product, also at other instances, from deciding before it is
 * written? */
static bool excludes(const struct test_case *the)
{
    if (the->strategy->asynchronous)
        return false; /* a queued order is there for its repeats to find */
    return (the->strategy->lock && the->exact) || the->body ||
           strcmp(the->name, "pessimistic") == 0 || strcmp(the->name, "conditional") == 0 ||
           strcmp(the->name, "advisory-lock") == 0 ||
           (the->instances == 1 && the->strategy->lane.in_flight_per_product == 1);
}

static bool row_is_free(const struct test_case *the)
{
    return witness_number(the->witness,
                          "SELECT count(*) FROM (SELECT 1 FROM product WHERE id = %lld"
                          " FOR UPDATE SKIP LOCKED) AS free",
                          (long long)the->product) > 0;
}

/* A plain body holds its transaction open between reading and writing, and no row. */
static bool is_reading(const struct test_case *the)
{
    return witness_number(
               the->witness,
               "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
               " AND datname = current_database() AND query LIKE 'SELECT stock,%%'") > 0;
}

/* The first order; returns when it is at work. */
static struct crowd *begin(const struct test_case *the, const struct buy *buy)
{
    int64_t until_us = clock_mono_us() + PATIENCE_US;
    struct crowd *crowd = crowd_create();
    const struct lane_rule *rule = &the->strategy->lane;
    bool by_lane = the->instances == 1 && rule->in_flight_per_product == 1 &&
                   (rule->max_batch == 1 || the->strategy->runs || the->strategy->asynchronous);
    int64_t before = server_accepted(case_server(the, 0));

    shop_put(the->servers[0], the->product, 5, NULL);
    shop_crowd_buy(crowd, case_server(the, 0), buy);
    crowd_send(crowd);
    while (server_accepted(case_server(the, 0)) == before ||
           (excludes(the) && !by_lane && row_is_free(the) && !is_reading(the)))
        assert_true(clock_mono_us() < until_us);
    return crowd;
}

static void a_repeat_waits_for_the_first(struct test_case *the)
{
    struct buy buy = case_buy(the, 1);

    buy.key = "patient";
    struct crowd *crowd = begin(the, &buy);
    for (int i = 0; i < 3; i++)
        shop_crowd_buy(crowd, case_server(the, i), &buy);
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, 201, "") != 1 || crowd_count(crowd, 200, "") != 3)
        fail_msg("%s", crowd_summary(crowd));
    assert_int_equal(crowd_distinct_orders(crowd), 1);
    case_expect_rows(the, crowd);
    crowd_destroy(crowd);
}

static void a_repeat_that_will_not_wait(struct test_case *the)
{
    struct buy buy = case_buy(the, 1);

    buy.key = "impatient";
    struct crowd *crowd = begin(the, &buy);
    buy.more = "&wait_ms=20";
    shop_crowd_buy(crowd, case_server(the, 1), &buy);
    crowd_finish(crowd, PATIENCE_US);
    const struct crowd_call *repeat = crowd_at(crowd, 1);
    bool refused = repeat->reply.status == 503 && strcmp(repeat->code, "wait_timeout") == 0;
    if (excludes(the) && !refused)
        fail_msg("%d %s after %lld ms", repeat->reply.status, repeat->code,
                 (long long)repeat->took_us / 1000);
    if (!refused) /* it was let in, and met the key at its end */
        assert_int_equal(crowd_count(crowd, 200, "") + crowd_count(crowd, 503, "cas_exhausted"), 1);
    assert_int_equal(crowd_count(crowd, 201, ""), 1);
    case_expect_rows(the, crowd);
    crowd_destroy(crowd);
}

int main(void)
{
    static const struct case_test tests[] = {
        {"a repeat waits for the first", a_repeat_waits_for_the_first},
        {"a repeat that will not wait", a_repeat_that_will_not_wait},
    };
    static const char *const flags[] = {"--work-ms", "500", "--lock-wait-ms", "30000", NULL};

    return cases_run("repeats", tests, sizeof tests / sizeof *tests, flags);
}
