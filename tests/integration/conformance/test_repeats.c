/*
 * A repeat of an Idempotency-Key while the first order with it is under way: it has decided, and
 * stands still at the writing of its row, in a trigger, until the test lets go.
 */
#include "integration/conformance/conformance.h"

#include "lib/fixtures/cases.h"

#include "base/clock.h"

#include <string.h>

enum { PATIENCE_US = 60000000, GATE = 7 };

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

static void let_go(const struct test_case *the)
{
    witness_run(the->witness, "SELECT pg_advisory_unlock_all()");
}

/* From now on the INSERT of an order with one of the tests' keys stands still. */
static void hold(const struct test_case *the)
{
    static bool made;

    if (!made)
        witness_run(the->witness,
                    "CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
                    " PERFORM pg_advisory_xact_lock(%d); RETURN NEW; END$$;"
                    "CREATE TRIGGER stop BEFORE INSERT ON orders FOR EACH ROW"
                    " WHEN (NEW.idempotency_key IN ('patient', 'impatient'))"
                    " EXECUTE FUNCTION stop()",
                    GATE);
    made = true;
    let_go(the); /* what a test that failed has left */
    witness_run(the->witness, "SELECT pg_advisory_lock(%d)", GATE);
}

static void wait_until_it_stands(const struct test_case *the)
{

    T_UNTIL(witness_number(the->witness, "SELECT count(*) FROM pg_stat_activity WHERE"
                                         " wait_event = 'advisory'"
                                         " AND datname = current_database()") != 0);
}

static int64_t accepted(const struct test_case *the)
{
    int64_t sum = 0;

    for (int i = 0; i < the->instances; i++)
        sum += server_accepted(case_server(the, i));
    return sum;
}

/* Sends what was added, and waits until it has arrived. */
static void send_all(const struct test_case *the, struct crowd *crowd, int count)
{
    int64_t before = accepted(the);

    crowd_send(crowd);
    T_UNTIL(accepted(the) >= before + count);
}

/* The first order; returns when it is at work. One that is answered before it is written does not
 * stand in the way of its repeats, and is not held. */
static struct crowd *begin(const struct test_case *the, const struct buy *buy)
{
    struct crowd *crowd = crowd_create();

    shop_put(the->servers[0], the->product, 5, NULL);
    shop_crowd_buy(crowd, case_server(the, 0), buy);
    if (the->strategy->asynchronous) {
        send_all(the, crowd, 1);
        return crowd;
    }
    hold(the);
    crowd_send(crowd);
    wait_until_it_stands(the);
    return crowd;
}

static void a_repeat_waits_for_the_first(struct test_case *the)
{
    struct buy buy = case_buy(the, 1);

    buy.key = "patient";
    struct crowd *crowd = begin(the, &buy);
    for (int i = 0; i < 3; i++)
        shop_crowd_buy(crowd, case_server(the, i), &buy);
    send_all(the, crowd, 3);
    let_go(the);
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
    send_all(the, crowd, 1);
    if (excludes(the) && !crowd_wait(crowd, 1, clock_mono_us() + t_patience_us()))
        fail_msg("the repeat waits for as long as the first");
    let_go(the);
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

int conformance_repeats(void)
{
    static const struct case_test tests[] = {
        {"a repeat waits for the first", a_repeat_waits_for_the_first},
        {"a repeat that will not wait", a_repeat_that_will_not_wait},
    };
    static const char *const flags[] = {"--work-ms",
                                        "100",
                                        "--work-timeout-ms",
                                        "30000",
                                        "--lock-wait-ms",
                                        "30000",
                                        "--lock-ttl-ms",
                                        "60000",
                                        NULL};

    return cases_run("repeats", tests, sizeof tests / sizeof *tests, flags);
}
