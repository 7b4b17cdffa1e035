/*
 * The scripts with which redis-stock loads a mirror and reserves from it, alone, over a real Redis:
 * each is one act, and what guards it against a call that comes late, twice or with old knowledge
 * is seen here without any timing.
 */
#include "stock_scripts_rig.h"

static int64_t correct(const char *generation, const char *units)
{
    int64_t done = -1;

    assert_int_equal(
        redis_script(rig_redis(), LUA_STOCK_CORRECT, 1, 6,
                     (const char *const[]){MIRROR, PREFIX, PRODUCT, generation, units, ""},
                     rig_soon(), &done),
        REDIS_OK);
    return done;
}

/* Nobody waits for its answer any more, and its order has been told that it was not done. */
static void a_call_that_was_given_up_never_runs(void **state)
{
    (void)state;
    assert_int_equal(rig_load("1", GENERATION, "5", ""), 1);
    assert_int_equal(rig_recall("1"), 0);
    assert_int_equal(rig_reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), GIVEN_UP);
    assert_int_equal(rig_stock(), 5);
    assert_int_equal(rig_ask("XLEN " ORDERS), 0);
    assert_int_equal(rig_reserve("2", "1", "100", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(rig_stock(), 3);
}

static void a_call_runs_once_and_its_answer_is_kept(void **state)
{
    (void)state;
    assert_int_equal(rig_load("1", GENERATION, "5", ""), 1);
    assert_int_equal(rig_reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(rig_recall("1"), RESERVED);
    assert_int_equal(rig_reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), GIVEN_UP);
    assert_int_equal(rig_stock(), 3);
    assert_int_equal(rig_ask("XLEN " ORDERS), 1);
}

/* A mirror that is older than what the caller knows, or newer; 0: it knows nothing. */
static void another_epoch_is_refused(void **state)
{
    (void)state;
    assert_int_equal(rig_reserve("1", "0", "100", FIRST " 31 2 1 \n", NULL), NOT_LOADED);
    assert_int_equal(rig_load("2", GENERATION, "5", ""), 1);
    assert_int_equal(rig_reserve("2", "3", "100", FIRST " 31 2 1 \n", NULL), OTHER_EPOCH);
    assert_int_equal(rig_reserve("3", "1", "100", FIRST " 31 2 1 \n", NULL), OTHER_EPOCH);
    assert_int_equal(rig_stock(), 5);
    assert_int_equal(rig_reserve("4", "0", "100", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(rig_stock(), 3);
}

static void no_more_wait_than_may(void **state)
{
    (void)state;
    assert_int_equal(rig_load("1", GENERATION, "5", ""), 1);
    assert_int_equal(rig_reserve("1", "1", "1", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(rig_reserve("2", "1", "1", SECOND " 32 1 1 \n", NULL), TOO_MANY);
    assert_int_equal(rig_stock(), 3);
}

static void each_order_is_judged_with_those_before_it(void **state)
{
    (void)state;
    int64_t codes[4] = {0};

    assert_int_equal(rig_load("1", GENERATION, "5", "4"), 1);
    assert_int_equal(rig_reserve("1", "1", "100",
                                 FIRST " 31 2 1 key\n" SECOND " 31 1 1 key\n" THIRD
                                       " 31 3 1 \n" FOURTH " 32 4 1 \n",
                                 codes),
                     DONE);
    assert_int_equal(codes[0], RESERVED);
    assert_int_equal(codes[1], KEY_TAKEN);
    assert_int_equal(codes[2], LIMIT);
    assert_int_equal(codes[3], SOLD_OUT);
    /* And with those of earlier calls. */
    assert_int_equal(rig_reserve("2", "1", "100",
                                 SECOND " 31 2 1 key\n" THIRD " 31 3 1 \n" FOURTH " 32 4 1 \n",
                                 codes),
                     DONE);
    assert_int_equal(codes[0], KEY_TAKEN);
    assert_int_equal(codes[1], LIMIT);
    assert_int_equal(codes[2], SOLD_OUT);
    assert_int_equal(rig_stock(), 3);
    assert_int_equal(rig_how_many_wait(), 1);
}

/* Nothing asks who buys, so a call that fits is not looked at order by order; this one does not
 * fit. */
static void who_fits_is_served_when_not_all_do(void **state)
{
    (void)state;
    int64_t codes[4] = {0};

    assert_int_equal(rig_load("1", GENERATION, "5", ""), 1);
    assert_int_equal(rig_reserve("1", "1", "100",
                                 FIRST " 31 2 1 \n" SECOND " 32 2 1 \n" THIRD " 33 2 1 \n" FOURTH
                                       " 34 1 1 \n",
                                 codes),
                     DONE);
    assert_int_equal(codes[0], RESERVED);
    assert_int_equal(codes[1], RESERVED);
    assert_int_equal(codes[2], SOLD_OUT);
    assert_int_equal(codes[3], RESERVED);
    assert_int_equal(rig_stock(), 0);
    assert_int_equal(rig_how_many_wait(), 3);
    assert_int_equal(rig_ask("HINCRBY " UNITS " " FIELD " 0"), 5);
    rig_expect_first_entry(FIRST " 31 2 1 \n" SECOND " 32 2 1 \n" FOURTH " 34 1 1 \n");
}

/* All fit, and yet each has to be looked at: for a limit, a key, a sale that has not begun. */
static void a_call_that_fits_is_judged_all_the_same(void **state)
{
    (void)state;
    int64_t codes[4] = {0};

    assert_int_equal(rig_load("1", GENERATION, "9", "1"), 1);
    assert_int_equal(rig_reserve("1", "1", "100", FIRST " 31 2 1 \n", codes), DONE);
    assert_int_equal(codes[0], LIMIT);
    assert_int_equal(rig_load("2", "4712", "9", ""), 1);
    assert_int_equal(rig_reserve("2", "2", "100", FIRST " 31 1 1 key\n", codes), DONE);
    assert_int_equal(codes[0], RESERVED);
    assert_int_equal(rig_reserve("3", "2", "100", SECOND " 31 1 1 key\n", codes), DONE);
    assert_int_equal(codes[0], KEY_TAKEN);
    rig_ask("HSET " MIRROR " opens 9000000000000000");
    assert_int_equal(rig_reserve("4", "2", "100", THIRD " 32 1 1 \n", codes), DONE);
    assert_int_equal(codes[0], NOT_OPEN);
    assert_int_equal(rig_stock(), 8);
}

/* A script is not rolled back, so a key of a wrong kind must be met before anything is written. */
static void a_call_that_must_fail_writes_nothing(void **state)
{
    (void)state;
    struct redis_reply *reply = NULL;

    assert_int_equal(rig_load("1", GENERATION, "5", ""), 1);
    rig_ask("SET " UNITS " nonsense");
    assert_int_equal(rig_call_reserve("1", "1", "100", FIRST " 31 2 1 \n", &reply), REDIS_REFUSED);
    assert_int_equal(rig_ask("XLEN " ORDERS), 0);
    assert_int_equal(rig_ask("HLEN " WAITING), 0);
    assert_int_equal(rig_stock(), 5);
}

/* Two instances load at once: the second one's figure is older than what the first has sold. */
static void a_loaded_mirror_is_left_alone(void **state)
{
    (void)state;
    assert_int_equal(rig_load("1", GENERATION, "5", ""), 1);
    assert_int_equal(rig_reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(rig_load("1", "4712", "5", ""), 0);
    assert_int_equal(rig_stock(), 3);
    assert_int_equal(rig_load("2", "4713", "9", ""), 1);
    assert_int_equal(rig_stock(), 9);
}

/* The mirror was loaded anew after the commit that is to be added: it has been counted in. */
static void a_correction_names_its_generation(void **state)
{
    (void)state;
    assert_int_equal(rig_load("1", GENERATION, "5", ""), 1);
    assert_int_equal(correct("4700", "3"), 0);
    assert_int_equal(rig_stock(), 5);
    assert_int_equal(correct(GENERATION, "3"), 1);
    assert_int_equal(rig_stock(), 8);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_was_given_up_never_runs),
        cmocka_unit_test(a_call_runs_once_and_its_answer_is_kept),
        cmocka_unit_test(another_epoch_is_refused),
        cmocka_unit_test(no_more_wait_than_may),
        cmocka_unit_test(each_order_is_judged_with_those_before_it),
        cmocka_unit_test(who_fits_is_served_when_not_all_do),
        cmocka_unit_test(a_call_that_fits_is_judged_all_the_same),
        cmocka_unit_test(a_call_that_must_fail_writes_nothing),
        cmocka_unit_test(a_loaded_mirror_is_left_alone),
        cmocka_unit_test(a_correction_names_its_generation),
    };

    return rig_run("stock_scripts", tests, sizeof tests / sizeof *tests);
}
