/*
 * The bug zoo on real servers: every exhibit breaks what it says and its counterpart does not, as
 * the live page has it; every strategy that lacks a letter has one; nothing is left behind, and
 * nothing of anybody else's is touched.
 */
#include "lib/t.h"

#include "harness/fixtures/program.h"
#include "lib/redis/redis_probe.h"
#include "loadtest/zoo/play.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static struct error error;

static struct zoo zoo;
static struct zoo_stage stage; /* zeroed: not open */

static const struct options *place(void)
{
    static struct options here;
    here = program->options;
    here.redlock = stack_redlock() ? stack_redlock() : "";
    here.memcached = stack_memcached() ? stack_memcached() : "";
    return &here;
}

static bool can_be_played(const struct zoo_exhibit *exhibit)
{
    const char *lacks = zoo_stage_lacks(place(), exhibit->nodes);
    if (lacks)
        print_message("%s: not played, without %s\n", exhibit->unsafe.strategy, lacks);
    return !lacks;
}

static void open_stage(void)
{
    t_done(zoo_stage_open(&stage, place(), &error), error);
}

/* Behind a test that has failed, too. */
static int close_stage(void **state)
{
    (void)state;
    bool closed = !stage.has_schema || zoo_stage_close(&stage, &error);
    if (!closed)
        print_error("%s\n", error.text);
    return closed ? 0 : -1;
}

static void play(const struct zoo_act *act, struct zoo_record *record)
{
    t_done(zoo_play(&stage, act, record, &error), error);
}

/* An exhibit of one act that matters, with the lines that the test has of it. */
#define EXHIBIT(lines)                                                                             \
    "title Of this test\n"                                                                         \
    "step take-stock sql stock_take 1 1\n"                                                         \
    "shows UPDATE product SET stock\n"                                                             \
    "step set-stock sql stock_set 1 {epoch} {left}\n"                                              \
    "safe conditional\nstory -\nsetup stock 1\nA begin\nends kept\n"                               \
    "unsafe none\nstory -\nsetup stock 1\nends oversold\n" lines

/* What an act says of itself that is not so; borrowed until the next call. */
static const char *refused_act(const struct zoo_act *act)
{
    struct zoo_record record;
    assert_false(zoo_play(&stage, act, &record, &error));
    zoo_record_drop(&record);
    return error.text;
}

static const char *refused(const char *text)
{
    static struct zoo_exhibit exhibit;
    t_done(zoo_exhibit_read(&exhibit, "test.zoo", text, &error), error);
    const char *why = refused_act(&exhibit.unsafe);
    zoo_exhibit_drop(&exhibit);
    return why;
}

static int64_t schemas(void)
{
    return program_ask("SELECT count(*) FROM pg_namespace WHERE nspname = '" ZOO_SCHEMA "'");
}

static int64_t keys(void)
{
    return redis_probe(NULL, 0, "EVAL %s 0", "return #redis.call('KEYS', '*seckill-zoo*')");
}

/* The live page's data ------------------------------------------------------------------------ */

/* Each exhibit on a line. */
static void is_in(const char *document, const struct zoo_pair *pair)
{
    zoo_print_json(t_print(), pair, 1);
    char *line = strchr(t_printed(), '\n') + 1;
    line[strcspn(line, "\n")] = '\0';
    if (!strstr(document, line))
        fail_msg("zoo.json has not this; write it anew (seckill-loadtest zoo --format json):\n%s",
                 line);
}

TEST_WITH(each_exhibit_is_as_its_page_says, NULL, close_stage)
{
    char *data = t_read_all(ZOO_JSON);
    open_stage();
    for (size_t i = 0; i < zoo.count; i++) {
        struct zoo_pair pair = {.exhibit = &zoo.exhibits[i]};
        if (!can_be_played(pair.exhibit))
            continue;
        play(&pair.exhibit->unsafe, &pair.unsafe);
        play(&pair.exhibit->safe, &pair.safe);
        assert_int_not_equal(zoo_end_of(&pair.unsafe.books), ZOO_KEPT);
        assert_int_equal(zoo_end_of(&pair.safe.books), ZOO_KEPT);
        is_in(data, &pair);
        zoo_record_drop(&pair.unsafe);
        zoo_record_drop(&pair.safe);
    }
    free(data);
    assert_int_equal(close_stage(state), 0);
    assert_int_equal(keys(), 0);
}

/* None of an exhibit that is gone. */
TEST(the_page_has_no_other_exhibits)
{
    char *data = t_read_all(ZOO_JSON);
    assert_int_equal(t_count(data, "\n\""), zoo.count);
    free(data);
}

static bool keeps_all(const struct promise *promise)
{
    return promise->one_instance && promise->many_instances && promise->paused_holder &&
           promise->redis_failover;
}

TEST(each_unsafe_strategy_has_one)
{
    struct api_strategy strategies[64];
    struct fleet fleet;
    program_open_fleet(program, &fleet);
    int found = api_strategies(fleet.api, fleet.urls[0], strategies, 64, &error);
    assert_true(found > 20);
    for (int i = 0; i < found; i++) {
        const char *name = strategies[i].name;
        bool safe = keeps_all(&strategies[i].promise);
        /* Its sessions speak no text, and what they show is redis-token's. */
        if (strcmp(name, "zookeeper-lock") != 0 && safe != !zoo_find(&zoo, name))
            fail_msg("%s is %s, and has %s exhibit", name, safe ? "safe" : "unsafe",
                     safe ? "an" : "no");
        for (size_t j = 0; j < zoo.count; j++)
            assert_true(safe || strcmp(zoo.exhibits[j].safe.strategy, name) != 0);
    }
    program_close_fleet(&fleet);
}

/* What the player does not believe --------------------------------------------------------------
 */

TEST_WITH(an_end_that_is_another_is_an_error, NULL, close_stage)
{
    struct zoo_act act = zoo_find(&zoo, "none")->unsafe;
    open_stage();
    act.end = ZOO_KEPT;
    assert_string_equal(refused_act(&act),
                        "none: it had to end with: nothing wrong; and ended with: it oversold");
    act = zoo_find(&zoo, "none")->safe;
    act.end = ZOO_OVERSOLD;
    assert_string_equal(
        refused_act(&act),
        "conditional: it had to end with: it oversold; and ended with: nothing wrong");
}

TEST_WITH(waiting_is_what_postgresql_says, NULL, close_stage)
{
    open_stage();
    t_says(refused(EXHIBIT("A begin take-stock\nB begin take-stock\n")),
           "step 2: 'UPDATE product SET stock");
    t_says(refused(EXHIBIT("A begin read waits\n")), "step 1: it does not wait for another buyer");
    t_says(refused(EXHIBIT("A begin take-stock\nB begin waits take-stock\n")),
           "step 2: it does not wait for another buyer");
    t_says(refused(EXHIBIT("A goes-on\n")), "step 1: nothing waits that could go on");
}

TEST_WITH(nobody_is_told_what_is_not_so, NULL, close_stage)
{
    open_stage();
    t_says(refused(EXHIBIT("A begin read set-stock insert-sold -> 201\n")),
           "cannot be told 201: it was sold nothing");
    t_says(refused(EXHIBIT("A begin read set-stock insert-sold commit -> 409 sold_out\n")),
           "cannot be told 409 sold_out");
}

TEST_WITH(what_happens_has_happened, NULL, close_stage)
{
    open_stage();
    assert_string_equal(refused(EXHIBIT("A lease-ends\n")),
                        "none: step 1: 'PEXPIRE @lock 0' gives '0', not '1'");
}

/* The program -----------------------------------------------------------------------------------
 */

TEST(a_table_ends_with_the_books)
{
    program_tells(0, "zoo redis-token", "redis-token: A paused holder still writes");
    program_says("\n1   SET lock token-A NX PX 10000 → OK\n");
    program_says("(is paused past its lease)");
    program_says("The rows say: 2 sold of 1, 0 left");
    program_says("The same with redis-fenced");
    program_says("is told 503 lease_lost");
    program_says("The rows say: 1 sold of 1, 0 left");
    assert_int_equal(schemas(), 0);
    assert_int_equal(keys(), 0);
}

TEST(without_a_name_it_lists_them)
{
    program_exits(0, "zoo");
    for (size_t i = 0; i < zoo.count; i++)
        program_says(zoo.exhibits[i].unsafe.strategy);
    program_says("(needs --redlock, with three nodes)");
}

TEST(a_wrong_name_is_told_the_nearest)
{
    program_tells(2, "zoo none redis-tokn",
                  "there is no exhibit 'redis-tokn' (zoo lists them): did you mean redis-token?");
    assert_int_equal(schemas(), 0);
}

TEST(what_is_missing_is_named)
{
    program_tells(2, "zoo memcached-lock", "zoo: memcached-lock needs --memcached");
    program_tells(2, "zoo redlock --redlock unix:///a,unix:///b",
                  "zoo: redlock needs --redlock, with three nodes");
    program_tells(2, "zoo redlock --redlock unix:///a,unix:///b,unix:///c",
                  "redlock: step 1: --redlock: Redis: ");
    program_tells(2, "zoo memcached-lock --memcached unix:///nowhere",
                  "memcached-lock: step 1: memcached (--memcached): No such file or directory");
    assert_int_equal(schemas(), 0);
}

TEST(a_database_out_of_reach_is_an_error)
{
    const char *database = program->options.database;
    program->options.database = "host=/nowhere";
    int status = program_run("zoo none");
    program->options.database = database;
    assert_int_equal(status, 2);
    program_says("PostgreSQL (--database): ");
}

TEST(a_schema_that_is_there_is_not_touched)
{
    program_ask("CREATE SCHEMA " ZOO_SCHEMA);
    program_ask("CREATE TABLE " ZOO_SCHEMA ".product AS SELECT 42 AS id");
    int status = program_run("zoo none");
    int64_t kept = program_ask("SELECT id FROM " ZOO_SCHEMA ".product");
    program_ask("DROP SCHEMA " ZOO_SCHEMA " CASCADE");
    assert_int_equal(status, 2);
    assert_int_equal(kept, 42);
    program_says("the schema seckill_zoo is there already");
    program_says("DROP SCHEMA seckill_zoo CASCADE");
}

/* It plays on and on; the signal comes in the middle of something. */
TEST(an_interrupted_one_leaves_nothing)
{
    struct process process;
    program_start("zoo redis-token redis-expiry redis-uuid redis-getset wllock redis-reentrant",
                  &process);
    program_read_until(&process, "The rows say");
    assert_int_equal(kill(process.pid, SIGINT), 0);
    int status = program_finish(&process);
    assert_true(status == 2 || status == 0);
    assert_int_equal(schemas(), 0);
    assert_int_equal(keys(), 0);
}

BEFORE_ALL()
{
    t_done(zoo_open(&zoo, &error), error);
    program = program_create(1);
}

AFTER_ALL()
{
    zoo_close(&zoo);
    program_destroy(program);
}
