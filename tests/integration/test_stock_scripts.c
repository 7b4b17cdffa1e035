/*
 * redis-stock's scripts alone, over a real Redis: each is one act, and what guards it against a
 * call that comes late, twice or with old knowledge is seen here without any timing.
 */
#include "lib/redis_probe.h"
#include "lib/stack.h"
#include "lib/t.h"

#include "base/clock.h"
#include "cache/redis.h"

#include <stdio.h>
#include <string.h>

#define PREFIX     "{scripts-test}:stock"
#define PRODUCT    "7"
#define GENERATION "4711"
#define MIRROR     "{scripts-test}:stock:mirror:7"
#define LOADED     "{scripts-test}:stock:loaded"
#define ORDERS     "{scripts-test}:stock:orders"
#define WAITING    "{scripts-test}:stock:waiting"
#define UNITS      "{scripts-test}:stock:units"
#define PARTLY     "{scripts-test}:stock:partly"
#define CALLER     "{scripts-test}:stock:call:me"
#define FIELD      "7:1"
#define FIRST      "018f0000-0000-7000-8000-000000000001"
#define SECOND     "018f0000-0000-7000-8000-000000000002"
#define THIRD      "018f0000-0000-7000-8000-000000000003"
#define FOURTH     "018f0000-0000-7000-8000-000000000004"

enum { DONE, NOT_LOADED, OTHER_EPOCH, TOO_MANY, GIVEN_UP };
enum { RESERVED = 1, KEY_TAKEN, LIMIT, SOLD_OUT };
enum { CODES = 3, ORDERS_MAX = 4, FIXED = 11, EACH = 5, TEXT = 64 };

static struct cache *cache;
static struct redis *redis;

static int64_t soon(void)
{
    return clock_mono_us() + 30 * CLOCK_US_PER_S;
}

static int open_redis(void **state)
{
    (void)state;
    struct error error = {ERROR_NONE, ""};

    cache = cache_create(stack_stock_redis(), &error);
    assert_non_null(cache);
    redis = redis_create(cache);
    assert_true(redis_connect(redis, soon()));
    return 0;
}

static int close_redis(void **state)
{
    (void)state;
    redis_probe_at(stack_stock_redis(), "FLUSHALL");
    redis_destroy(redis);
    cache_destroy(cache);
    return 0;
}

static int forget(void **state)
{
    (void)state;
    redis_probe_at(stack_stock_redis(), "FLUSHALL");
    return 0;
}

static int64_t load(const char *epoch, const char *generation, const char *stock, const char *limit)
{
    int64_t loaded = -1;

    assert_int_equal(
        redis_script(redis, LUA_STOCK_LOAD, 2, 11,
                     (const char *const[]){MIRROR, LOADED, PREFIX, PRODUCT, epoch, generation,
                                           stock, limit, "1700000000000000", "", ""},
                     soon(), &loaded),
        REDIS_OK);
    return loaded;
}

/* `lines` as the stream has them, "id user quantity created key\n": at most ORDERS_MAX. */
static enum redis_status call_reserve(const char *number, const char *epoch, const char *most,
                                      const char *lines, struct redis_reply **reply)
{
    char texts[ORDERS_MAX][EACH][TEXT] = {0};
    const char *arguments[FIXED + ORDERS_MAX * EACH] = {
        MIRROR, ORDERS, WAITING, UNITS, CALLER, PREFIX, PRODUCT, epoch, most, "60000", number};
    int count = FIXED;

    for (int i = 0; *lines; i++) {
        char(*order)[TEXT] = texts[i];
        int length = 0;
        assert_true(i < ORDERS_MAX);
        sscanf(lines, "%63s %63s %63s %*s%n", order[0], order[1], order[2], &length);
        sscanf(lines + length, " %63[^\n]", order[3]);
        length += (int)strcspn(lines + length, "\n") + 1;
        snprintf(order[4], TEXT, "%.*s", length, lines);
        for (int at = 0; at < EACH; at++)
            arguments[count++] = order[at];
        lines += length;
    }
    return redis_eval(redis, LUA_STOCK_RESERVE, 5, count, arguments, soon(), reply);
}

/* The verdict, and the orders' codes. */
static int64_t reserve(const char *number, const char *epoch, const char *most, const char *lines,
                       int64_t codes[ORDERS_MAX])
{
    struct redis_reply *reply = NULL;

    assert_int_equal(call_reserve(number, epoch, most, lines, &reply), REDIS_OK);
    int64_t verdict = redis_reply_number(redis_reply_at(reply, 0));
    const char *digits = redis_reply_text(redis_reply_at(reply, CODES));
    for (int i = 0; codes && digits && digits[i]; i++)
        codes[i] = digits[i] - '0';
    redis_reply_free(reply);
    return verdict;
}

/* The codes of the lost answer, as one number; 0: the call has not run. */
static int recall(const char *number)
{
    struct redis_reply *reply = NULL;
    int codes = 0;

    assert_int_equal(redis_eval(redis, LUA_STOCK_RECALL, 1, 2,
                                (const char *const[]){CALLER, number}, soon(), &reply),
                     REDIS_OK);
    if (redis_reply_count(reply) > 0) {
        assert_int_equal(redis_reply_number(redis_reply_at(reply, 0)), DONE);
        sscanf(redis_reply_text(redis_reply_at(reply, CODES)), "%d", &codes);
    }
    redis_reply_free(reply);
    return codes;
}

/* Lets go of the order's two units with this fate; answers how many credits missed. */
static int64_t settle_of(const char *id, const char *fate, const char *done, const char *not_done)
{
    char line[160];
    int64_t missed = -1;

    snprintf(line, sizeof line, "%s " PRODUCT " 1 31 2 %s \n", id, fate);
    assert_int_equal(redis_script(redis, LUA_STOCK_SETTLE, 4, 10,
                                  (const char *const[]){ORDERS, WAITING, UNITS, PARTLY, PREFIX,
                                                        "writers", "60000", line, done, not_done},
                                  soon(), &missed),
                     REDIS_OK);
    return missed;
}

static int64_t settle(const char *fate)
{
    return settle_of(FIRST, fate, "", "");
}

/* Lets go of an entry with the first two orders, two units each; answers whether it could. */
static int64_t settle_entry(const char *entry)
{
    int64_t done = -1;

    assert_int_equal(redis_script(redis, LUA_STOCK_SETTLE_ENTRIES, 4, 11,
                                  (const char *const[]){ORDERS, WAITING, UNITS, PARTLY, "writers",
                                                        entry, FIELD, "4", "2", FIRST, SECOND},
                                  soon(), &done),
                     REDIS_OK);
    return done;
}

static int64_t correct(const char *generation, const char *units)
{
    int64_t done = -1;

    assert_int_equal(
        redis_script(redis, LUA_STOCK_CORRECT, 1, 6,
                     (const char *const[]){MIRROR, PREFIX, PRODUCT, generation, units, ""}, soon(),
                     &done),
        REDIS_OK);
    return done;
}

static int64_t ask(const char *command)
{
    return redis_probe_at(stack_stock_redis(), command);
}

static int64_t stock(void)
{
    return ask("HINCRBY " MIRROR " stock 0");
}

/* Nobody waits for its answer any more, and its order has been told that it was not done. */
static void a_call_that_was_given_up_never_runs(void **state)
{
    (void)state;
    assert_int_equal(load("1", GENERATION, "5", ""), 1);
    assert_int_equal(recall("1"), 0);
    assert_int_equal(reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), GIVEN_UP);
    assert_int_equal(stock(), 5);
    assert_int_equal(ask("XLEN " ORDERS), 0);
    assert_int_equal(reserve("2", "1", "100", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(stock(), 3);
}

static void a_call_runs_once_and_its_answer_is_kept(void **state)
{
    (void)state;
    assert_int_equal(load("1", GENERATION, "5", ""), 1);
    assert_int_equal(reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(recall("1"), RESERVED);
    assert_int_equal(reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), GIVEN_UP);
    assert_int_equal(stock(), 3);
    assert_int_equal(ask("XLEN " ORDERS), 1);
}

/* A mirror that is older than what the caller knows, or newer; 0: it knows nothing. */
static void another_epoch_is_refused(void **state)
{
    (void)state;
    assert_int_equal(reserve("1", "0", "100", FIRST " 31 2 1 \n", NULL), NOT_LOADED);
    assert_int_equal(load("2", GENERATION, "5", ""), 1);
    assert_int_equal(reserve("2", "3", "100", FIRST " 31 2 1 \n", NULL), OTHER_EPOCH);
    assert_int_equal(reserve("3", "1", "100", FIRST " 31 2 1 \n", NULL), OTHER_EPOCH);
    assert_int_equal(stock(), 5);
    assert_int_equal(reserve("4", "0", "100", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(stock(), 3);
}

static void no_more_wait_than_may(void **state)
{
    (void)state;
    assert_int_equal(load("1", GENERATION, "5", ""), 1);
    assert_int_equal(reserve("1", "1", "1", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(reserve("2", "1", "1", SECOND " 32 1 1 \n", NULL), TOO_MANY);
    assert_int_equal(stock(), 3);
}

static void each_order_is_judged_with_those_before_it(void **state)
{
    (void)state;
    int64_t codes[4] = {0};

    assert_int_equal(load("1", GENERATION, "5", "4"), 1);
    assert_int_equal(reserve("1", "1", "100",
                             FIRST " 31 2 1 key\n" SECOND " 31 1 1 key\n" THIRD " 31 3 1 \n" FOURTH
                                   " 32 4 1 \n",
                             codes),
                     DONE);
    assert_int_equal(codes[0], RESERVED);
    assert_int_equal(codes[1], KEY_TAKEN);
    assert_int_equal(codes[2], LIMIT);
    assert_int_equal(codes[3], SOLD_OUT);
    /* And with those of earlier calls. */
    assert_int_equal(reserve("2", "1", "100",
                             SECOND " 31 2 1 key\n" THIRD " 31 3 1 \n" FOURTH " 32 4 1 \n", codes),
                     DONE);
    assert_int_equal(codes[0], KEY_TAKEN);
    assert_int_equal(codes[1], LIMIT);
    assert_int_equal(codes[2], SOLD_OUT);
    assert_int_equal(stock(), 3);
    assert_int_equal(ask("HLEN " WAITING), 1);
}

/* A script is not rolled back, so a key of a wrong kind must be met before anything is written. */
static void a_call_that_must_fail_writes_nothing(void **state)
{
    (void)state;
    struct redis_reply *reply = NULL;

    assert_int_equal(load("1", GENERATION, "5", ""), 1);
    ask("SET " UNITS " nonsense");
    assert_int_equal(call_reserve("1", "1", "100", FIRST " 31 2 1 \n", &reply), REDIS_REFUSED);
    assert_int_equal(ask("XLEN " ORDERS), 0);
    assert_int_equal(ask("HLEN " WAITING), 0);
    assert_int_equal(stock(), 5);
}

/* Two instances load at once: the second one's figure is older than what the first has sold. */
static void a_loaded_mirror_is_left_alone(void **state)
{
    (void)state;
    assert_int_equal(load("1", GENERATION, "5", ""), 1);
    assert_int_equal(reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(load("1", "4712", "5", ""), 0);
    assert_int_equal(stock(), 3);
    assert_int_equal(load("2", "4713", "9", ""), 1);
    assert_int_equal(stock(), 9);
}

/* The mirror was loaded anew after the commit that is to be added: it has been counted in. */
static void a_correction_names_its_generation(void **state)
{
    (void)state;
    assert_int_equal(load("1", GENERATION, "5", ""), 1);
    assert_int_equal(correct("4700", "3"), 0);
    assert_int_equal(stock(), 5);
    assert_int_equal(correct(GENERATION, "3"), 1);
    assert_int_equal(stock(), 8);
}

static void a_reservation_is_credited_once(void **state)
{
    (void)state;
    assert_int_equal(load("1", GENERATION, "5", ""), 1);
    assert_int_equal(reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), DONE);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(settle(GENERATION), 0);
        assert_int_equal(stock(), 5);
        assert_int_equal(ask("EXISTS " UNITS), 0);
    }
}

/* Reserves two units for each of the first two orders, in an entry of which two others have one. */
static void reserve_entry(char entry[TEXT])
{
    struct redis_reply *reply = NULL;

    assert_int_equal(load("1", GENERATION, "9", ""), 1);
    assert_int_equal(reserve("1", "1", "100", FIRST " 31 2 1 \n" SECOND " 32 2 1 \n", NULL), DONE);
    assert_int_equal(
        redis_call(redis, 4, (const char *const[]){"XRANGE", ORDERS, "-", "+"}, soon(), &reply),
        REDIS_OK);
    snprintf(entry, TEXT, "%s", redis_reply_text(redis_reply_at(redis_reply_at(reply, 0), 0)));
    redis_reply_free(reply);
    assert_int_equal(reserve("2", "1", "100", THIRD " 33 1 1 \n", NULL), DONE);
    assert_int_equal(ask("HINCRBY " UNITS " " FIELD " 0"), 5);
}

static void an_entry_is_let_go_once(void **state)
{
    (void)state;
    char entry[TEXT];

    reserve_entry(entry);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(settle_entry(entry), 1);
        assert_int_equal(ask("XLEN " ORDERS), 1);
        assert_int_equal(ask("HLEN " WAITING), 1);
        assert_int_equal(ask("HINCRBY " UNITS " " FIELD " 0"), 1);
    }
    /* And not again order by order. */
    assert_int_equal(settle_of(SECOND, "kept", entry, ""), 0);
    assert_int_equal(ask("HINCRBY " UNITS " " FIELD " 0"), 1);
    assert_int_equal(stock(), 4);
}

/* Whose first order was settled when the second could not be decided yet. */
static void an_entry_settled_in_part_is_not_let_go_whole(void **state)
{
    (void)state;
    char entry[TEXT];

    reserve_entry(entry);
    assert_int_equal(settle_of(FIRST, "kept", "", entry), 0);
    assert_int_equal(ask("HINCRBY " UNITS " " FIELD " 0"), 3);
    assert_int_equal(settle_entry(entry), 0);
    assert_int_equal(ask("HINCRBY " UNITS " " FIELD " 0"), 3);
    assert_int_equal(ask("XLEN " ORDERS), 2);
    assert_int_equal(settle_of(SECOND, "kept", entry, ""), 0);
    assert_int_equal(ask("HINCRBY " UNITS " " FIELD " 0"), 1);
    assert_int_equal(ask("XLEN " ORDERS), 1);
    assert_int_equal(ask("EXISTS " PARTLY), 0);
}

static void a_credit_names_its_generation(void **state)
{
    (void)state;
    assert_int_equal(load("1", GENERATION, "5", ""), 1);
    assert_int_equal(reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), DONE);
    assert_int_equal(settle("4700"), 1);
    assert_int_equal(stock(), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_call_that_was_given_up_never_runs, forget),
        cmocka_unit_test_setup(a_call_runs_once_and_its_answer_is_kept, forget),
        cmocka_unit_test_setup(another_epoch_is_refused, forget),
        cmocka_unit_test_setup(no_more_wait_than_may, forget),
        cmocka_unit_test_setup(each_order_is_judged_with_those_before_it, forget),
        cmocka_unit_test_setup(a_call_that_must_fail_writes_nothing, forget),
        cmocka_unit_test_setup(a_loaded_mirror_is_left_alone, forget),
        cmocka_unit_test_setup(a_correction_names_its_generation, forget),
        cmocka_unit_test_setup(a_reservation_is_credited_once, forget),
        cmocka_unit_test_setup(a_credit_names_its_generation, forget),
        cmocka_unit_test_setup(an_entry_is_let_go_once, forget),
        cmocka_unit_test_setup(an_entry_settled_in_part_is_not_let_go_whole, forget),
    };

    return cmocka_run_group_tests(tests, open_redis, close_redis);
}
