/*
 * The articles' experiments, made small, on real servers: what goes wrong there is seen to, what is
 * promised is kept, and what an experiment did not show is not claimed.
 */
#include "lib/t.h"

#include "harness/fixtures/has.h"
#include "harness/fixtures/program.h"
#include "loadtest/commands/articles/articles.h"
#include "loadtest/load/load.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct error error;

static struct harness *harness;
static struct phase_result result;
static char ours[ARTICLE_OURS_SIZE];

/* Servers with the experiment's settings, and one row of it. */
static void measure(const struct article_experiment *experiment, const char *strategy,
                    int instances, bool sheds)
{
    const struct article_row row = {strategy, instances, "what was done", "a figure", sheds};
    program->options.work_ms = experiment->work_ms;
    program->options.queue_capacity = experiment->queue_capacity;
    program->options.in_flight_per_product = experiment->in_flight;
    if (!harness_close_fleet(harness, &error) || !harness_open_fleet(harness, instances, &error) ||
        !article_measure(harness, experiment, &row, &result, ours, &error))
        fail_msg("%s", error.text);
    print_message("%s, %d: %s, %s %s\n", strategy, instances, ours, verdict_name(result.verdict),
                  result.error);
}

static void expect(enum verdict verdict, const char *words)
{
    assert_string_equal(verdict_name(result.verdict), verdict_name(verdict));
    if (words)
        assert_string_equal(ours, words);
}

static struct article_experiment experiment(const char *name, enum article_kind kind, int64_t calls,
                                            int64_t connections, int64_t products, int64_t stock,
                                            int64_t work_ms)
{
    return (struct article_experiment){.article = "000",
                                       .name = name,
                                       .kind = kind,
                                       .calls = calls,
                                       .connections = connections,
                                       .products = products,
                                       .stock = stock,
                                       .work_ms = work_ms};
}

TEST(increments_are_counted)
{
    const struct article_experiment counter =
        experiment("counter", ARTICLE_COUNTER, 1200, 30, 1, 0, 2);
    measure(&counter, "none", 1, false);
    expect(VERDICT_UNSAFE, NULL);
    assert_int_equal(result.audit.restock_rows, 1200);
    assert_int_equal(result.audit.stock + result.audit.lost_updates, 1200);
    measure(&counter, "local-lock", 1, false);
    expect(VERDICT_KEPT, "1,200");
    measure(&counter, "local-lock", 3, false);
    expect(VERDICT_UNSAFE, NULL);
    measure(&counter, "conditional", 3, false);
    expect(VERDICT_KEPT, "1,200");
    HAS(result, load.requests, 1200, counts.committed, 1200);
}

static struct article_experiment pairs(void)
{
    return experiment("balance", ARTICLE_PAIRS, 16, 16, 8, 100, 400);
}

TEST(two_at_once_pass_the_balance)
{
    const struct article_experiment balance = pairs();
    measure(&balance, "none", 1, false);
    expect(VERDICT_UNSAFE, NULL);
    assert_true(result.audit.oversold > 0);
    assert_int_equal(result.audit.oversold % 10, 0);
    measure(&balance, "local-lock", 3, false);
    expect(VERDICT_UNSAFE, NULL);
    measure(&balance, "optimistic", 3, false);
    expect(VERDICT_KEPT, "110 sold in 0 of 8");
    assert_int_equal(result.counts.sold_out, 8);
}

TEST(drawn_products_are_sold_once)
{
    const struct article_experiment spread =
        experiment("spread", ARTICLE_SPREAD, 300, 16, 60, 1, 20);
    measure(&spread, "none", 1, false);
    expect(VERDICT_UNSAFE, NULL);
    measure(&spread, "redis-token", 3, false);
    expect(VERDICT_KEPT, NULL);
    HAS(result, audit.oversold, 0, counts.total, 300);
}

/* Sixteen read the same row, one writes it: the others' turns were in vain. */
TEST(turns_are_counted)
{
    struct article_experiment turns = experiment("turns", ARTICLE_TURNS, 64, 16, 1, 1000, 20);
    turns.in_flight = 16;
    measure(&turns, "optimistic", 1, false);
    expect(VERDICT_KEPT, NULL);
    assert_true(result.counts.attempts > 64);
    turns.in_flight = 1;
    measure(&turns, "optimistic", 1, false);
    expect(VERDICT_KEPT, "1.0 turns on average");
}

TEST(a_full_queue_refuses)
{
    struct article_experiment threshold =
        experiment("threshold", ARTICLE_THRESHOLD, 60, 60, 1, 1000, 50);
    threshold.queue_capacity = 10;
    measure(&threshold, "wllock", 1, true);
    expect(VERDICT_KEPT, NULL);
    assert_true(result.counts.failed > 0);
    assert_true(result.audit.sold >= 10);
    assert_int_equal(result.audit.sold + result.counts.failed, 60);
    t_says(ours, "refused within");
    /* A queue that nobody fills has shown nothing. */
    threshold.calls = threshold.connections = threshold.queue_capacity = 10;
    measure(&threshold, "wllock", 1, true);
    expect(VERDICT_PROVED_NOTHING, NULL);
}

/* 20 buyers of a second each: those who wait 5 s cannot all be served one by one, but together. */
TEST(who_may_not_wait_gives_up)
{
    const struct article_experiment timed =
        experiment("timed", ARTICLE_TIMED, 20, 20, 2, 1000, 1000);
    measure(&timed, "wllock", 1, true);
    expect(VERDICT_KEPT, NULL);
    assert_in_range(result.counts.failed, 1, 10);
    t_says(ours, "10 of 10 in ");
    measure(&timed, "redis-queue", 1, false);
    expect(VERDICT_KEPT, NULL);
    assert_int_equal(result.counts.failed, 0);
}

/* Calls that were shed where none should be: the row says nothing about the strategy. */
TEST(what_was_shed_proves_nothing)
{
    struct article_experiment crowded = pairs();
    crowded.products = 1;
    crowded.calls = crowded.connections = 16;
    crowded.kind = ARTICLE_COUNTER;
    crowded.stock = 0;
    crowded.queue_capacity = 1;
    crowded.work_ms = 50;
    measure(&crowded, "local-lock", 1, false);
    assert_true(result.counts.failed > 0);
    expect(VERDICT_PROVED_NOTHING, NULL);
}

/* Hangs up on whoever has connected. */
static void hang_up(void *context)
{
    const int *listener = context;
    for (int fd; (fd = accept4(*listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;)
        close(fd);
}

TEST_WITH(a_call_without_an_answer_ends_the_load, NULL, NULL)
{
    int port, listener = t_reserve_port(&port);
    assert_int_equal(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(listen(listener, 2), 0);
    const char *const nobody[] = {t_text("http://127.0.0.1:%d", port)};
    struct counted_call calls[3] = {{.product = 1, .user = 1, .quantity = 1}};
    struct counted counted = {.calls = calls, .count = 3};
    const struct load load = {.targets = nobody,
                              .targets_count = 1,
                              .path = "/orders?strategy=none",
                              .token = "",
                              .connections = 2,
                              .counted = &counted,
                              .tick = hang_up,
                              .context = &listener};
    struct load_result figures;
    assert_false(open_loop_run(&load, &figures, &error));
    t_says(error.text, "no answer");
    close(listener);
}

TEST(every_row_is_one_that_can_be_run)
{
    assert_true(harness_open_fleet(harness, 1, &error));
    for (size_t i = 0; i < article_experiments_count; i++) {
        const struct article_experiment *experiment = &article_experiments[i];
        struct counted counted;
        for (size_t j = 0; j < experiment->rows_count; j++)
            assert_non_null(harness_strategy(harness, experiment->rows[j].strategy));
        article_make_calls(experiment, &program->options, &counted);
        assert_true(counted.expected > 0 && counted.expected <= experiment->calls);
        assert_true(experiment->calls >= experiment->connections);
        free(counted.calls);
    }
}

BEFORE_EACH()
{
    program = program_create(0);
    program->options.out = program->folder;
    program->options.server_binary = SERVER;
    program->options.body = "";
    program->options.seed = 1;
    program->options.first_product = 1000001;
    harness = calloc(1, sizeof *harness);
    assert_non_null(harness);
    t_done(harness_init(harness, &program->options, &error), error);
}

AFTER_EACH()
{
    harness_fini(harness);
    free(harness);
    program_destroy(program);
}
