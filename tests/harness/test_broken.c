/*
 * The harness must be able to say BROKEN: of servers whose database forgets what `optimistic` has
 * written, of a sale that is tampered with under load, of a server that says "sold out" too early.
 */
#include "lib/t.h"

#include "harness/fixtures/program.h"
#include "loadtest/phase/phase.h"

#include <signal.h>
#include <stdlib.h>

static struct error error;

static int forget_no_more(void **state)
{
    program_untrigger("forget_sale");
    return program_end(state);
}

/* Its statements alone have the version in their condition. */
static const char *forgetful_run(const char *more)
{
    program_trigger("forget_sale", "BEFORE UPDATE ON seckill.product FOR EACH ROW",
                    "IF current_query() LIKE '%AND version = $%' THEN NEW.stock := OLD.stock;"
                    " END IF");
    return t_text("run --server %s --duration 1s --first-product 3000001 --reset %s",
                  program->servers[0].url, more);
}

TEST_WITH(a_strategy_without_its_guard_is_broken, program_one, forget_no_more)
{
    program_exits(1, forgetful_run("--strategies optimistic,conditional"));
    program_expect("optimistic", "truth", 1, "BROKEN");
    program_expect("conditional", "truth", 1, "kept");
    program_says("BROKEN");
}

/* Ctrl-C in the second phase of a strategy: half of one proves nothing, but that it is broken.
 * There is more stock than that phase sells, so it goes on until the signal comes. */
TEST_WITH(an_interrupt_hides_nothing, program_one, forget_no_more)
{
    struct process harness;
    program_start(forgetful_run("--strategies optimistic --stock 100000000"), &harness);
    program_read_until(&harness, "1 of 2: optimistic, 1 instance, round 1, speed");
    kill(harness.pid, SIGINT);
    assert_int_equal(program_finish(&harness), 1);
    program_expect("optimistic", "speed", 1, "BROKEN");
    assert_int_equal(json_array_size(program_json("results.json/runs")), 1);
    program_says("interrupted");
    program_says("Verdicts: 1 BROKEN.");
}

/* No generator is never late: the figures are worth nothing then, and what was oversold was. */
TEST_WITH(a_late_generator_hides_nothing, program_one, forget_no_more)
{
    program_exits(1,
                  forgetful_run("--strategies optimistic,conditional --rate 3000 --max-lag-ms 0"));
    program_expect("optimistic", "truth", 1, "BROKEN");
    program_expect("conditional", "truth", 1, "no run");
    program_says("could not keep up");
}

/* Somebody who does something to a sale, once, while it is under load. */
struct meddler {
    struct fleet fleet;
    int64_t done; /* so many */
};

enum { MEDDLED = 3000004 };

static void put_again(void *context, int64_t elapsed_ms)
{
    struct meddler *meddler = context;
    struct api_sale sale = {.first = MEDDLED, .count = 1, .stock = 100000000};
    if (elapsed_ms < 500 || meddler->done++ > 0)
        return;
    t_done(api_put_products(meddler->fleet.api, meddler->fleet.urls[0], &sale, &error), error);
}

/* The units go back, so that the books are right. */
static void fail_some(void *context, int64_t elapsed_ms)
{
    static const char sql[] =
        "SET search_path = seckill;"
        "WITH gone AS (UPDATE orders SET status = 3, reason = NULL WHERE id IN (SELECT id FROM "
        "orders WHERE product_id = 3000004 AND status = 1 LIMIT 30) RETURNING 1)"
        " UPDATE product SET stock = stock + (SELECT count(*) FROM gone) WHERE id = 3000004"
        " RETURNING (SELECT count(*) FROM gone)";
    struct meddler *meddler = context;
    if (elapsed_ms >= 500 && meddler->done == 0)
        meddler->done = program_ask(sql);
}

static void meddle(const char *name, void (*how)(void *, int64_t), struct meddler *meddler,
                   struct phase_result *result)
{
    *meddler = (struct meddler){.done = 0};
    program_open_fleet(program, &meddler->fleet);
    struct phase_plan plan = program_plan(&meddler->fleet, name, MEDDLED);
    plan.load.duration_s = 2;
    plan.watch = how;
    plan.watch_context = meddler;
    t_done(phase_run(&meddler->fleet, &plan, result, &error), error);
    program_close_fleet(&meddler->fleet);
    assert_true(meddler->done > 0);
}

/* The orders sold before are gone with their sale, and no server has lost them. */
TEST(a_sale_that_somebody_begins_again_is_no_run)
{
    struct meddler meddler;
    struct phase_result result;
    meddle("conditional", put_again, &meddler, &result);
    assert_string_equal(verdict_name(result.verdict), "no run");
    assert_string_equal(result.error, "product 3000004 was put on sale again meanwhile");
    assert_int_equal(books_violations(&result.audit), 0);
}

/* 202s whose orders fail later, for no reason that a buyer may be given. */
TEST(what_was_accepted_and_revoked_is_broken)
{
    struct meddler meddler;
    struct phase_result result;
    meddle("redis-stock", fail_some, &meddler, &result);
    assert_string_equal(verdict_name(result.verdict), "BROKEN");
    assert_int_equal(result.audit.missing, meddler.done);
}

#ifdef SECKILL_FAILPOINTS
/* In the middle of a sale some are told "sold out", and everything is sold afterwards: the rows are
 * right, and what was said is not. */
TEST_WITH(a_false_sold_out_is_seen, NULL, NULL)
{
    struct phase_result result;
    struct fleet fleet;
    setenv("SECKILL_FAILPOINTS", "drive.denied=fail@3", 1);
    struct program *denying = program_create(1);
    unsetenv("SECKILL_FAILPOINTS");
    program_open_fleet(denying, &fleet);
    struct phase_plan plan = program_plan(&fleet, "conditional", 3000003);
    plan.kind = PHASE_TRUTH;
    plan.load.connections = 64;
    plan.load.threads = 2;
    plan.stock = 1000;
    t_done(phase_run(&fleet, &plan, &result, &error), error);
    assert_string_equal(verdict_name(result.verdict), "BROKEN");
    assert_true(result.audit.resold > 0);
    assert_int_equal(result.audit.undersold, 0);
    assert_int_equal(result.audit.sold, 1000);
    assert_true(books_consistent(&result.audit));

    /* The same server, with its failpoint behind it. */
    t_done(phase_run(&fleet, &plan, &result, &error), error);
    assert_string_equal(verdict_name(result.verdict), "kept");
    assert_true(result.load.sold_out_us > 0);
    program_close_fleet(&fleet);
    program_destroy(denying);
}
#endif

TEST_EACH(program_one, program_end)
