/*
 * The scripts with which redis-stock loads a mirror and reserves from it, alone, over a real Redis:
 * each is one act, and what guards it against a call that comes late, twice or with old knowledge
 * is seen here without any timing.
 */
#include "scripts.h"

#include <stdio.h>

static int64_t correct(const char *generation, const char *units)
{
    int64_t done = -1;

    assert_int_equal(
        redis_script(scripts_redis(), LUA_STOCK_CORRECT, 1, 6,
                     (const char *const[]){MIRROR, PREFIX, PRODUCT, generation, units, ""},
                     scripts_soon(), &done),
        REDIS_OK);
    return done;
}

static int64_t forget(void)
{
    int64_t gone = -1;

    assert_int_equal(redis_script(scripts_redis(), LUA_STOCK_FORGET, 1, 3,
                                  (const char *const[]){LOADED, PREFIX, PRODUCT}, scripts_soon(),
                                  &gone),
                     REDIS_OK);
    return gone;
}

static bool is_told_to_two(void)
{
    assert_int_equal(scripts_load("1", GENERATION, "0", ""), 1);
    assert_int_equal(forget(), 1);
    return forget() == 1;
}

static bool is_told_after_a_close(void)
{
    int64_t batches = -1;

    assert_int_equal(scripts_load("1", GENERATION, "0", ""), 1);
    assert_int_equal(
        redis_script(scripts_redis(), LUA_STOCK_CLOSE, 4, 6,
                     (const char *const[]){UNITS, LOADED, ORDERS, WAITING, PREFIX, "1"},
                     scripts_soon(), &batches),
        REDIS_OK);
    return forget() == 1;
}

/* An instance may refuse for one lease more by what the mirror said: of two that bring units back
 * at the same time the one that finds it unloaded has to wait as well. */
TEST(who_finds_a_mirror_just_unloaded_is_told)
{
    assert_int_equal(forget(), 0);
    T_UNTIL(is_told_to_two());
    T_UNTIL(forget() == 0);
    T_UNTIL(is_told_after_a_close());
}

/* Nobody waits for its answer any more, and its order has been told that it was not done. */
TEST(a_call_that_was_given_up_never_runs)
{
    assert_int_equal(scripts_load("1", GENERATION, "5", ""), 1);
    assert_int_equal(scripts_recall("1"), 0);
    assert_int_equal(scripts_reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), GIVEN_UP);
    assert_int_equal(scripts_stock(), 5);
    assert_int_equal(scripts_ask("XLEN " ORDERS), 0);
    assert_int_equal(scripts_reserve("2", "1", "100", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(scripts_stock(), 3);
}

TEST(a_call_runs_once_and_its_answer_is_kept)
{
    assert_int_equal(scripts_load("1", GENERATION, "5", ""), 1);
    assert_int_equal(scripts_reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(scripts_recall("1"), RESERVED);
    assert_int_equal(scripts_reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), GIVEN_UP);
    assert_int_equal(scripts_stock(), 3);
    assert_int_equal(scripts_ask("XLEN " ORDERS), 1);
}

/* A mirror that is older than what the caller knows, or newer; 0: it knows nothing. */
TEST(another_epoch_is_refused)
{
    assert_int_equal(scripts_reserve("1", "0", "100", FIRST " 31 2 1 \n", NULL), NOT_LOADED);
    assert_int_equal(scripts_load("2", GENERATION, "5", ""), 1);
    assert_int_equal(scripts_reserve("2", "3", "100", FIRST " 31 2 1 \n", NULL), OTHER_EPOCH);
    assert_int_equal(scripts_reserve("3", "1", "100", FIRST " 31 2 1 \n", NULL), OTHER_EPOCH);
    assert_int_equal(scripts_stock(), 5);
    assert_int_equal(scripts_reserve("4", "0", "100", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(scripts_stock(), 3);
}

TEST(no_more_wait_than_may)
{
    assert_int_equal(scripts_load("1", GENERATION, "5", ""), 1);
    assert_int_equal(scripts_reserve("1", "1", "1", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(scripts_reserve("2", "1", "1", SECOND " 32 1 1 \n", NULL), TOO_MANY);
    assert_int_equal(scripts_stock(), 3);
}

/* Of other products. */
TEST(no_more_wait_in_all)
{
    const char *const others[] = {"HSET", UNITS, "orders", "2"};

    assert_int_equal(scripts_load("1", GENERATION, "5", ""), 1);
    assert_int_equal(redis_send(scripts_redis(), 4, others, scripts_soon()), REDIS_OK);
    assert_int_equal(scripts_reserve("1", "1", "2", FIRST " 31 2 1 \n", NULL), TOO_MANY);
    assert_int_equal(scripts_reserve("2", "1", "3", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(scripts_stock(), 3);
}

TEST(each_order_is_judged_with_those_before_it)
{
    int64_t codes[4] = {0};

    assert_int_equal(scripts_load("1", GENERATION, "5", "4"), 1);
    assert_int_equal(scripts_reserve("1", "1", "100",
                                     FIRST " 31 2 1 key\n" SECOND " 31 1 1 key\n" THIRD
                                           " 31 3 1 \n" FOURTH " 32 4 1 \n",
                                     codes),
                     DONE);
    assert_int_equal(codes[0], RESERVED);
    assert_int_equal(codes[1], KEY_TAKEN);
    assert_int_equal(codes[2], LIMIT);
    assert_int_equal(codes[3], SOLD_OUT);
    /* And with those of earlier calls. */
    assert_int_equal(scripts_reserve("2", "1", "100",
                                     SECOND " 31 2 1 key\n" THIRD " 31 3 1 \n" FOURTH " 32 4 1 \n",
                                     codes),
                     DONE);
    assert_int_equal(codes[0], KEY_TAKEN);
    assert_int_equal(codes[1], LIMIT);
    assert_int_equal(codes[2], SOLD_OUT);
    assert_int_equal(scripts_stock(), 3);
    assert_int_equal(scripts_how_many_wait(), 1);
}

/* Nothing asks who buys, so a call that fits is not looked at order by order; this one does not
 * fit. */
TEST(who_fits_is_served_when_not_all_do)
{
    int64_t codes[4] = {0};

    assert_int_equal(scripts_load("1", GENERATION, "5", ""), 1);
    assert_int_equal(scripts_reserve("1", "1", "100",
                                     FIRST " 31 2 1 \n" SECOND " 32 2 1 \n" THIRD
                                           " 33 2 1 \n" FOURTH " 34 1 1 \n",
                                     codes),
                     DONE);
    assert_int_equal(codes[0], RESERVED);
    assert_int_equal(codes[1], RESERVED);
    assert_int_equal(codes[2], SOLD_OUT);
    assert_int_equal(codes[3], RESERVED);
    assert_int_equal(scripts_stock(), 0);
    assert_int_equal(scripts_how_many_wait(), 3);
    assert_int_equal(scripts_ask("HINCRBY " UNITS " " FIELD " 0"), 5);
    scripts_expect_first_entry(FIRST " 31 2 1 \n" SECOND " 32 2 1 \n" FOURTH " 34 1 1 \n");
}

/* All fit, and yet each has to be looked at: for a limit, a key, a sale that has not begun. */
TEST(a_call_that_fits_is_judged_all_the_same)
{
    int64_t codes[4] = {0};

    assert_int_equal(scripts_load("1", GENERATION, "9", "1"), 1);
    assert_int_equal(scripts_reserve("1", "1", "100", FIRST " 31 2 1 \n", codes), DONE);
    assert_int_equal(codes[0], LIMIT);
    assert_int_equal(scripts_load("2", "4712", "9", ""), 1);
    assert_int_equal(scripts_reserve("2", "2", "100", FIRST " 31 1 1 key\n", codes), DONE);
    assert_int_equal(codes[0], RESERVED);
    assert_int_equal(scripts_reserve("3", "2", "100", SECOND " 31 1 1 key\n", codes), DONE);
    assert_int_equal(codes[0], KEY_TAKEN);
    scripts_ask("HSET " MIRROR " opens 9000000000000000");
    assert_int_equal(scripts_reserve("4", "2", "100", THIRD " 32 1 1 \n", codes), DONE);
    assert_int_equal(codes[0], NOT_OPEN);
    assert_int_equal(scripts_stock(), 8);
}

static void expect_nothing_reserved(void)
{
    assert_int_equal(scripts_ask("XLEN " ORDERS), 0);
    assert_int_equal(scripts_ask("HLEN " WAITING), 0);
    assert_int_equal(scripts_stock(), 5);
}

/* A script is not rolled back, so a key of a wrong kind must be met before anything is written. */
TEST(a_call_that_must_fail_writes_nothing)
{
    assert_int_equal(scripts_load("1", GENERATION, "5", ""), 1);
    scripts_ask("SET " UNITS " nonsense");
    assert_int_equal(scripts_reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), REFUSED);
    expect_nothing_reserved();
}

/* Whichever command Redis refuses: nothing is reserved, and the call knows it, also if its answer
 * is lost. With a limit and a key it uses all that it ever uses. */
TEST(a_command_that_is_refused_reserves_nothing)
{
    static const char *const commands[] = {"-hmget", "-hget", "-get",     "-time",
                                           "-set",   "-hset", "-hincrby", "-xadd"};
    int calls = 0;

    assert_int_equal(scripts_load("1", GENERATION, "5", "4"), 1);
    for (size_t i = 0; i < 2 * sizeof commands / sizeof *commands; i++) {
        char number[SCRIPTS_TEXT];
        snprintf(number, sizeof number, "%d", ++calls);
        scripts_forbid(commands[i / 2]);
        assert_int_equal(scripts_reserve(number, "1", "100",
                                         i % 2 ? FIRST " 31 2 1 key\n" : FIRST " 31 2 1 \n", NULL),
                         REFUSED);
        scripts_allow_all();
        expect_nothing_reserved();
        assert_int_equal(scripts_ask("HLEN " UNITS), 0);
        assert_int_equal(scripts_ask("HLEN " USERS), 0);
        assert_int_equal(scripts_ask("EXISTS " PREFIX ":key:31:key"), 0);
        assert_int_equal(scripts_recall(number), 0);
    }
    assert_int_equal(scripts_reserve("100", "1", "100", FIRST " 31 2 1 key\n", NULL), DONE);
    assert_int_equal(scripts_stock(), 3);
}

/* What HINCRBY would not take is no stock, and the mirror is loaded anew; what others may have made
 * of the figures beside it counts as nothing. */
TEST(what_is_no_figure_is_not_counted)
{
    static const char *const texts[] = {"5.5", "abc", "1e3", "007", "123456789012345678901"};

    assert_int_equal(scripts_load("1", GENERATION, "5", "4"), 1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char command[2 * SCRIPTS_TEXT];
        char number[SCRIPTS_TEXT];
        snprintf(number, sizeof number, "%zu", i + 1);
        snprintf(command, sizeof command, "HSET " MIRROR " stock %s", texts[i]);
        scripts_ask(command);
        assert_int_equal(scripts_reserve(number, "1", "100", FIRST " 31 2 1 \n", NULL), NOT_LOADED);
        assert_int_equal(scripts_load("1", GENERATION, "5", "4"), 1);
    }
    scripts_ask("HSET " UNITS " orders 5.5 " FIELD " abc");
    scripts_ask("HSET " USERS " 31 abc");
    assert_int_equal(scripts_reserve("50", "1", "100", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(scripts_stock(), 3);
    assert_int_equal(scripts_how_many_wait(), 1);
}

/* A script's error may come after it has written, unlike a command's. */
TEST(an_error_inside_a_script_is_unknown)
{
    int64_t left = 0;

    scripts_forbid("-pexpire");
    assert_int_equal(redis_script(scripts_redis(), LUA_REENTRANT_ACQUIRE, 1, 3,
                                  (const char *const[]){MIRROR, "me", "1000"}, scripts_soon(),
                                  &left),
                     REDIS_LOST);
    scripts_allow_all();
    assert_int_equal(scripts_ask("HLEN " MIRROR), 1);
    scripts_forbid("-evalsha");
    assert_int_equal(redis_script(scripts_redis(), LUA_REENTRANT_ACQUIRE, 1, 3,
                                  (const char *const[]){MIRROR, "me", "1000"}, scripts_soon(),
                                  &left),
                     REDIS_REFUSED);
    scripts_allow_all();
}

TEST(a_call_that_broke_off_is_unknown)
{
    assert_int_equal(
        redis_send(scripts_redis(), 3, (const char *const[]){"SET", CALLER, "7 ?"}, scripts_soon()),
        REDIS_OK);
    assert_int_equal(scripts_recall("7"), -1);
}

/* A load that is refused some command leaves no mirror, rather than half of one. */
TEST(a_load_that_is_refused_leaves_no_mirror)
{
    static const char *const commands[] = {"-del", "-sadd", "-persist", "-hset"};
    int64_t loaded = 0;

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        scripts_forbid(commands[i]);
        assert_int_equal(
            redis_script(scripts_redis(), LUA_STOCK_LOAD, 2, 11,
                         (const char *const[]){MIRROR, LOADED, PREFIX, PRODUCT, "1", GENERATION,
                                               "5", "", "1700000000000000", "", ""},
                         scripts_soon(), &loaded),
            REDIS_LOST);
        scripts_allow_all();
        assert_int_equal(scripts_ask("EXISTS " MIRROR), 0);
    }
}

/* Two instances load at once: the second one's figure is older than what the first has sold. */
TEST(a_loaded_mirror_is_left_alone)
{
    assert_int_equal(scripts_load("1", GENERATION, "5", ""), 1);
    assert_int_equal(scripts_reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(scripts_load("1", "4712", "5", ""), 0);
    assert_int_equal(scripts_stock(), 3);
    assert_int_equal(scripts_load("2", "4713", "9", ""), 1);
    assert_int_equal(scripts_stock(), 9);
}

/* The mirror was loaded anew after the commit that is to be added: it has been counted in. */
TEST(a_correction_names_its_generation)
{
    assert_int_equal(scripts_load("1", GENERATION, "5", ""), 1);
    assert_int_equal(correct("4700", "3"), 0);
    assert_int_equal(scripts_stock(), 5);
    assert_int_equal(correct(GENERATION, "3"), 1);
    assert_int_equal(scripts_stock(), 8);
}

int main(void)
{
    return scripts_run();
}
