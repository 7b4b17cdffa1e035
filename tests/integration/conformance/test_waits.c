/* Waiting: an order's wait ends at its deadline and not before, whatever it waits for. */
#include "integration/conformance/conformance.h"

#include "lib/fixtures/cases.h"

#include "lib/stack.h"

#include "base/clock.h"

#include <string.h>

/* More than any lane works on at once, so that what comes later has to wait in line. An answer may
 * be late, but not as late as the blockers' work's allowance, which is two minutes. */
enum { BLOCKERS = 24, PATIENCE_US = 60000000, WAIT_US = 300000, LATE_US = 20000000 };

/* Fills the case's lanes with orders that can get no further while the row is held. */
static struct crowd *send_blockers(const struct test_case *the)
{
    struct crowd *crowd = crowd_create();

    for (int i = 0; i < BLOCKERS * the->instances; i++) {
        struct buy buy = case_buy(the, 1 + i);
        buy.more = "&wait_ms=60000";
        shop_crowd_buy(crowd, case_server(the, i), &buy);
    }
    crowd_send(crowd);
    for (int i = 0; i < the->instances; i++)
        T_UNTIL(server_metric(the->servers[i], "seckill_orders_in_flight", "") >= BLOCKERS);
    witness_wait_blocked(the->witness, 1);
    return crowd;
}

static void expect_took(const struct crowd_call *call, int64_t wait_us)
{
    if (call->took_us < wait_us || call->took_us > wait_us + LATE_US)
        fail_msg("the answer to a wait of %lld ms came after %lld ms", (long long)wait_us / 1000,
                 (long long)call->took_us / 1000);
}

static void expect_timeout(const struct crowd_call *call, int64_t wait_us)
{
    char phase[16];

    if (call->result != HTTP_REPLY || call->reply.status != 503 ||
        strcmp(call->code, "wait_timeout") != 0)
        fail_msg("%d %s", call->reply.status, call->code);
    http_reply_text(&call->reply, "phase", phase, sizeof phase);
    if (strcmp(phase, "queue") != 0 && strcmp(phase, "lock") != 0)
        fail_msg("phase %s", phase);
    expect_took(call, wait_us);
}

static void a_wait_ends_at_its_deadline(struct test_case *the)
{
    struct crowd *waiting = crowd_create();

    if (the->strategy->external_state) { /* nobody who is answered 202 waits for the row */
        crowd_destroy(waiting);
        return;
    }
    shop_put(the->servers[0], the->product, 500, NULL);
    struct witness *holder = witness_hold(cases_conninfo(), the->product);
    struct crowd *blockers = send_blockers(the);
    for (int i = 0; i < 2 * the->instances; i++) {
        struct buy buy = case_buy(the, 1000 + i);
        buy.more = i % 2 ? "&wait_ms=0" : "&wait_ms=300";
        shop_crowd_buy(waiting, case_server(the, i / 2), &buy);
    }
    crowd_answers(waiting, PATIENCE_US);
    for (int i = 0; i < crowd_size(waiting); i++) {
        const struct crowd_call *call = crowd_at(waiting, i);
        if (the->strategy->asynchronous && call->reply.status == 202)
            expect_took(call, i % 2 ? 0 : WAIT_US);
        else
            expect_timeout(call, i % 2 ? 0 : WAIT_US);
    }
    crowd_destroy(waiting);

    witness_release(holder);
    crowd_finish(blockers, PATIENCE_US);
    if (the->exact && crowd_count(blockers, 201, "") != crowd_size(blockers))
        fail_msg("%s", crowd_summary(blockers));
    /* An order answered 202 is sold by now as well. */
    case_expect_rows(the, the->strategy->asynchronous ? NULL : blockers);
    crowd_destroy(blockers);
}

/* An order that is alone waits for its product's row no longer than it may, and knows it. */
static void a_wait_for_the_row_alone(struct test_case *the)
{
    struct crowd *crowd = crowd_create();

    if (the->strategy->asynchronous) { /* nobody who is answered 202 waits for the row */
        crowd_destroy(crowd);
        return;
    }
    shop_put(the->servers[0], the->product, 5, NULL);
    struct witness *holder = witness_hold(cases_conninfo(), the->product);
    struct buy buy = case_buy(the, 1);
    buy.more = "&wait_ms=0";
    shop_crowd_buy(crowd, case_server(the, 0), &buy);
    crowd_finish(crowd, PATIENCE_US);
    expect_timeout(crowd_at(crowd, 0), 0);
    buy.more = "&wait_ms=300";
    shop_crowd_buy(crowd, case_server(the, 1), &buy);
    crowd_finish(crowd, PATIENCE_US);
    expect_timeout(crowd_at(crowd, 1), WAIT_US);
    crowd_destroy(crowd);
    witness_release(holder);
    assert_int_equal(witness_sale(the->witness, the->product).orders, 0);
    case_expect_rows(the, NULL);
}

/* Just after an answer its worker may still be putting its things away, and then nothing is free
 * yet. */
static void expect_no_wait(struct server *server, struct buy buy, int status, const char *code)
{
    int64_t until_us = clock_mono_us() + PATIENCE_US;
    char got[32] = "wait_timeout";

    buy.more = "&wait_ms=0";
    while (strcmp(got, "wait_timeout") == 0) {
        assert_true(clock_mono_us() < until_us);
        struct http_reply reply = shop_buy(server, &buy);
        http_reply_code(&reply, got, sizeof got);
        if (strcmp(got, "wait_timeout") != 0 && (reply.status != status || strcmp(got, code) != 0))
            fail_msg("%d %s", reply.status, got);
        http_reply_fini(&reply);
    }
}

static void no_wait_takes_what_is_free(struct test_case *the)
{
    struct buy buy = case_buy(the, 1);

    if (the->strategy->asynchronous)
        return; /* it answers 202, and its own program tests what becomes of that */
    shop_put(the->servers[0], the->product, 2, ", \"limit_per_user\": 5");
    expect_no_wait(case_server(the, 0), buy, 201, "");
    buy.key = "a-key";
    expect_no_wait(case_server(the, 1), buy, 201, "");
    expect_no_wait(case_server(the, 2), buy, 200, "");
    buy.key = NULL;
    expect_no_wait(case_server(the, 2), buy, 409, "sold_out");
    case_expect_rows(the, NULL);
}

/* How many of them are sold to or accepted. */
static int send_who_will_not_wait(struct test_case *the)
{
    enum { BUYERS = 60 };
    struct crowd *crowd = crowd_create();

    shop_put(the->servers[0], the->product, BUYERS, NULL);
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = case_buy(the, 1 + i);
        buy.more = "&wait_ms=0";
        shop_crowd_buy(crowd, case_server(the, i), &buy);
    }
    crowd_finish(crowd, PATIENCE_US);
    int sold = crowd_count(crowd, 201, "") + crowd_count(crowd, 202, "");
    int busy = crowd_count(crowd, 503, "wait_timeout") + crowd_count(crowd, 503, "cas_exhausted");
    if (sold + busy != BUYERS)
        fail_msg("%s", crowd_summary(crowd));
    case_expect_rows(the, crowd);
    crowd_destroy(crowd);
    return sold;
}

/* A crowd that will not wait: some buy, the others are sent away at once, and nothing is lost. On a
 * slow machine a worker may come to life too late for all of them, so they may have to come again.
 */
static void a_crowd_that_will_not_wait(struct test_case *the)
{
    enum { TRIES = 10 };
    int sold = 0;

    for (int attempt = 0; attempt < TRIES && sold == 0; attempt++)
        sold = send_who_will_not_wait(the);
    assert_true(sold > 0);
}

int conformance_waits(void)
{
    static const struct case_test tests[] = {
        {"a wait ends at its deadline", a_wait_ends_at_its_deadline},
        {"a wait for the row alone", a_wait_for_the_row_alone},
        {"no wait takes what is free", no_wait_takes_what_is_free},
        {"a crowd that will not wait", a_crowd_that_will_not_wait},
    };
    static const char *const flags[] = {"--work-timeout-ms", "120000", "--lock-ttl-ms", "180000",
                                        NULL};

    return cases_run("waits", tests, sizeof tests / sizeof *tests, flags);
}
