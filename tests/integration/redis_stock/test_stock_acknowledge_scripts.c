/*
 * The scripts with which redis-stock lets go of what is decided, and finds what is not, alone, over
 * a real Redis: a reservation ends once, however often and by whomever it is ended.
 */
#include "scripts.h"

#include <stdio.h>

/* Lets go of the order's two units with this fate, `done` "1" with its entry; answers how many
 * credits missed. */
static int64_t acknowledge_of(const char *id, const char *fate, const char *entry, const char *done)
{
    char line[160];
    int64_t missed = -1;

    snprintf(line, sizeof line, "%s " PRODUCT " 1 31 2 %s \n", id, fate);
    assert_int_equal(redis_script(scripts_redis(), LUA_STOCK_ACKNOWLEDGE, 4, 11,
                                  (const char *const[]){ORDERS, WAITING, UNITS, PARTLY, PREFIX,
                                                        "writers", "60000", entry, "1", done, line},
                                  scripts_soon(), &missed),
                     REDIS_OK);
    return missed;
}

/* Lets go of the first call's entry with the first two orders, two units each; whether it could. */
static int64_t acknowledge_entry(const char *entry)
{
    int64_t done = -1;

    assert_int_equal(redis_script(scripts_redis(), LUA_STOCK_ACKNOWLEDGE_ENTRIES, 4, 10,
                                  (const char *const[]){ORDERS, WAITING, UNITS, PARTLY, "writers",
                                                        entry, "1", FIELD, "4", "2"},
                                  scripts_soon(), &done),
                     REDIS_OK);
    return done;
}

/* Whichever command Redis refuses, the reservation stands as before, and ends once when it is
 * obeyed again. */
TEST(a_command_that_is_refused_ends_nothing)
{
    static const char *const commands[] = {"-xack", "-xdel", "-hdel", "-hincrby"};
    int64_t ignored = 0;

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char entry[SCRIPTS_TEXT];
        char number[SCRIPTS_TEXT];
        scripts_ask("FLUSHALL");
        assert_int_equal(scripts_load("1", GENERATION, "9", ""), 1);
        snprintf(number, sizeof number, "%zu", i + 1);
        assert_int_equal(
            scripts_reserve(number, "1", "100", FIRST " 31 2 1 \n" SECOND " 32 2 1 \n", NULL),
            DONE);
        scripts_read_first_entry(entry);
        scripts_forbid(commands[i]);
        assert_int_equal(
            redis_script(scripts_redis(), LUA_STOCK_ACKNOWLEDGE_ENTRIES, 4, 10,
                         (const char *const[]){ORDERS, WAITING, UNITS, PARTLY, "writers", entry,
                                               number, FIELD, "4", "2"},
                         scripts_soon(), &ignored),
            REDIS_LOST);
        assert_int_equal(
            redis_script(scripts_redis(), LUA_STOCK_ACKNOWLEDGE, 4, 11,
                         (const char *const[]){ORDERS, WAITING, UNITS, PARTLY, PREFIX, "writers",
                                               "60000", entry, number, "1",
                                               FIRST " " PRODUCT " 1 31 2 kept \n" SECOND
                                                     " " PRODUCT " 1 32 2 kept \n"},
                         scripts_soon(), &ignored),
            REDIS_LOST);
        scripts_allow_all();
        assert_int_equal(scripts_ask("XLEN " ORDERS), 1);
        assert_int_equal(scripts_ask("HINCRBY " UNITS " " FIELD " 0"), 4);
        assert_int_equal(scripts_how_many_wait(), 2);
        /* And what somebody has made of a figure holds nobody up. */
        scripts_ask("HSET " UNITS " orders 5.5");
        assert_int_equal(acknowledge_entry(entry), 1);
        assert_int_equal(scripts_ask("XLEN " ORDERS), 0);
        assert_int_equal(scripts_ask("EXISTS " UNITS), 0);
    }
}

/* From where on others' entries are looked at, and where that goes on; the age of the oldest. */
static char from[SCRIPTS_TEXT] = "-";
static int64_t age_ms;

/* How many entries the member takes that have been as they are for so long. */
static int take_over(const char *member, const char *ms, const char *most)
{
    struct redis_reply *reply = NULL;

    assert_int_equal(
        redis_eval(scripts_redis(), LUA_STOCK_TAKE_OVER, 1, 8,
                   (const char *const[]){ORDERS, "writers", member, ms, most, from, "0", "1000000"},
                   scripts_soon(), &reply),
        REDIS_OK);
    const struct redis_reply *entries = redis_reply_at(reply, 2);
    int n = redis_reply_count(entries);
    for (int i = 0; i < n; i++)
        assert_int_equal(redis_reply_count(redis_reply_at(redis_reply_at(entries, i), 1)), 6);
    snprintf(from, sizeof from, "%s", redis_reply_text(redis_reply_at(reply, 0)));
    age_ms = redis_reply_number(redis_reply_at(reply, 1));
    redis_reply_free(reply);
    return n;
}

/* How many entries are the member's. */
static int pending(const char *member)
{
    struct redis_reply *reply = NULL;

    assert_int_equal(
        redis_call(scripts_redis(), 7,
                   (const char *const[]){"XPENDING", ORDERS, "writers", "-", "+", "9", member},
                   scripts_soon(), &reply),
        REDIS_OK);
    int n = redis_reply_count(reply);
    redis_reply_free(reply);
    return n;
}

/* The line under which the order waits. */
static bool finds(const char *group, const char *id, const char *line)
{
    struct redis_reply *reply = NULL;

    assert_int_equal(redis_eval(scripts_redis(), LUA_STOCK_FIND, 3, 5,
                                (const char *const[]){ORDERS, WAITING, PARTLY, group, id},
                                scripts_soon(), &reply),
                     REDIS_OK);
    bool found = redis_reply_count(reply) == 3;
    if (found) {
        assert_string_equal(redis_reply_text(redis_reply_at(reply, 0)), PRODUCT);
        assert_string_equal(redis_reply_text(redis_reply_at(reply, 1)), "1");
        assert_string_equal(redis_reply_text(redis_reply_at(reply, 2)), line);
    }
    redis_reply_free(reply);
    return found;
}

TEST(a_reservation_is_credited_once)
{
    char entry[SCRIPTS_TEXT];

    assert_int_equal(scripts_load("1", GENERATION, "5", ""), 1);
    assert_int_equal(scripts_reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), DONE);
    scripts_read_first_entry(entry);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(acknowledge_of(FIRST, GENERATION, entry, "1"), 0);
        assert_int_equal(scripts_stock(), 5);
        assert_int_equal(scripts_ask("EXISTS " UNITS), 0);
        assert_int_equal(scripts_ask("EXISTS " WAITING), 0);
    }
}

/* Reserves two units for each of the first two orders, in an entry, and one in another. */
static void reserve_entry(char entry[SCRIPTS_TEXT])
{
    assert_int_equal(scripts_load("1", GENERATION, "9", ""), 1);
    assert_int_equal(scripts_reserve("1", "1", "100", FIRST " 31 2 1 \n" SECOND " 32 2 1 \n", NULL),
                     DONE);
    scripts_read_first_entry(entry);
    assert_int_equal(scripts_reserve("2", "1", "100", THIRD " 33 1 1 \n", NULL), DONE);
    assert_int_equal(scripts_ask("HINCRBY " UNITS " " FIELD " 0"), 5);
    assert_int_equal(scripts_how_many_wait(), 3);
}

TEST(an_entry_is_let_go_once)
{
    char entry[SCRIPTS_TEXT];

    reserve_entry(entry);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(acknowledge_entry(entry), 1);
        assert_int_equal(scripts_ask("XLEN " ORDERS), 1);
        assert_int_equal(scripts_ask("HLEN " WAITING), 2);
        assert_int_equal(scripts_how_many_wait(), 1);
        assert_int_equal(scripts_ask("HINCRBY " UNITS " " FIELD " 0"), 1);
    }
    /* And not again order by order. */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(acknowledge_of(SECOND, GENERATION, entry, i ? "1" : "0"), 0);
        assert_int_equal(scripts_how_many_wait(), 1);
        assert_int_equal(scripts_ask("HINCRBY " UNITS " " FIELD " 0"), 1);
        assert_int_equal(scripts_ask("EXISTS " PARTLY), 0);
    }
    assert_int_equal(scripts_stock(), 4);
}

/* One that was handed over, and read from the history before it was let go of. */
TEST(an_entry_that_is_named_twice_is_let_go_once)
{
    char entry[SCRIPTS_TEXT];
    int64_t done = -1;

    reserve_entry(entry);
    assert_int_equal(
        redis_script(scripts_redis(), LUA_STOCK_ACKNOWLEDGE_ENTRIES, 4, 15,
                     (const char *const[]){ORDERS, WAITING, UNITS, PARTLY, "writers", entry, "1",
                                           FIELD, "4", "2", entry, "1", FIELD, "4", "2"},
                     scripts_soon(), &done),
        REDIS_OK);
    assert_int_equal(done, 1);
    assert_int_equal(scripts_how_many_wait(), 1);
    assert_int_equal(scripts_ask("HINCRBY " UNITS " " FIELD " 0"), 1);
}

/* Whose first order was acknowledged when the second could not be decided yet. */
TEST(an_entry_acknowledged_in_part_is_not_let_go_whole)
{
    char entry[SCRIPTS_TEXT];

    reserve_entry(entry);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(acknowledge_of(FIRST, GENERATION, entry, "0"), 0);
        assert_int_equal(scripts_stock(), 6);
        assert_int_equal(scripts_how_many_wait(), 2);
        assert_int_equal(scripts_ask("HINCRBY " UNITS " " FIELD " 0"), 3);
    }
    assert_int_equal(acknowledge_entry(entry), 0);
    assert_int_equal(scripts_ask("HINCRBY " UNITS " " FIELD " 0"), 3);
    assert_int_equal(scripts_ask("XLEN " ORDERS), 2);
    /* The last time, all of its orders are told again; here the first, and then nothing is left. */
    assert_int_equal(acknowledge_of(FIRST, GENERATION, entry, "1"), 0);
    assert_int_equal(scripts_stock(), 6);
    assert_int_equal(scripts_ask("HINCRBY " UNITS " " FIELD " 0"), 3);
    assert_int_equal(scripts_ask("XLEN " ORDERS), 1);
    assert_int_equal(scripts_ask("EXISTS " PARTLY), 0);
}

/* With a group and without one; until it is let go of. */
TEST(an_entry_is_its_members_from_the_start)
{
    char first[SCRIPTS_TEXT];

    reserve_entry(first);
    assert_int_equal(pending("me"), 2);
    assert_int_equal(acknowledge_entry(first), 1);
    assert_int_equal(pending("me"), 1);
}

TEST(only_what_lies_for_long_is_taken_over)
{
    char first[SCRIPTS_TEXT];

    reserve_entry(first);
    assert_int_equal(take_over("other", "60000", "9"), 0);
    assert_string_equal(from, "");
    assert_in_range(age_ms, 0, 60000);
    snprintf(from, sizeof from, "-");
    assert_int_equal(take_over("other", "0", "1"), 1);
    assert_int_equal(pending("other"), 1);
    assert_int_equal(pending("me"), 1);
    /* Behind what was looked at is the other one. */
    assert_int_equal(take_over("other", "0", "1"), 1);
    assert_int_equal(pending("other"), 2);
    snprintf(from, sizeof from, "-");
    /* An hour old, and the other's for a moment. */
    scripts_ask("DEL " ORDERS);
    scripts_ask("XGROUP CREATE " ORDERS " writers 0 MKSTREAM");
    scripts_ask("XADD " ORDERS " 1-1 product 7 epoch 1 orders old");
    assert_int_equal(take_over("me", "60000", "9"), 1); /* it was nobody's */
    assert_true(age_ms > 60000);
    snprintf(from, sizeof from, "-");
    assert_int_equal(take_over("other", "60000", "9"), 0);
    assert_int_equal(pending("me"), 1);
}

TEST(an_order_is_found_while_it_waits)
{
    char entry[SCRIPTS_TEXT];

    reserve_entry(entry);
    assert_true(finds("1", FIRST, FIRST " 31 2 1 \n"));
    assert_true(finds("1", SECOND, SECOND " 32 2 1 \n"));
    assert_true(finds("2", THIRD, THIRD " 33 1 1 \n"));
    assert_false(finds("1", THIRD, ""));
    assert_false(finds("3", THIRD, ""));
    assert_int_equal(acknowledge_of(FIRST, "kept", entry, "0"), 0);
    assert_false(finds("1", FIRST, ""));
    assert_true(finds("1", SECOND, SECOND " 32 2 1 \n"));
    scripts_ask("DEL " ORDERS);
    assert_true(finds("1", SECOND, SECOND " 32 2 1 \n"));
    scripts_ask("DEL " WAITING);
    assert_false(finds("1", SECOND, ""));
}

/* Somebody's key is another order's id. */
TEST(an_id_is_not_found_in_a_key)
{
    assert_int_equal(scripts_load("1", GENERATION, "9", ""), 1);
    assert_int_equal(
        scripts_reserve("1", "1", "100", FIRST " 31 2 1 " SECOND "\n" SECOND " 32 2 1 \n", NULL),
        DONE);
    assert_true(finds("1", SECOND, SECOND " 32 2 1 \n"));
}

TEST(a_credit_names_its_generation)
{
    char entry[SCRIPTS_TEXT];

    assert_int_equal(scripts_load("1", GENERATION, "5", ""), 1);
    assert_int_equal(scripts_reserve("1", "1", "100", FIRST " 31 2 1 \n", NULL), DONE);
    scripts_read_first_entry(entry);
    assert_int_equal(acknowledge_of(FIRST, "4700", entry, "1"), 1);
    assert_int_equal(scripts_stock(), 3);
}

static void acknowledge_both(const char *entry)
{
    acknowledge_of(FIRST, "kept", entry, "0");
    acknowledge_of(SECOND, "kept", entry, "1");
}

/* The stream has lost the entry: its reservation ends all the same, and once. */
TEST(what_the_stream_has_lost_is_let_go_once)
{
    char entry[SCRIPTS_TEXT];

    for (int whole = 0; whole < 2; whole++) {
        scripts_ask("FLUSHALL");
        assert_int_equal(scripts_load("1", GENERATION, "9", ""), 1);
        assert_int_equal(
            scripts_reserve("1", "1", "100", FIRST " 31 2 1 \n" SECOND " 32 2 1 \n", NULL), DONE);
        scripts_read_first_entry(entry);
        scripts_ask("XTRIM " ORDERS " MAXLEN 0");
        for (int again = 0; again < 2; again++) {
            if (whole)
                assert_int_equal(acknowledge_entry(entry), 1);
            else
                acknowledge_both(entry);
            assert_int_equal(scripts_how_many_wait(), 0);
            assert_int_equal(scripts_ask("HINCRBY " UNITS " " FIELD " 0"), 0);
        }
        assert_int_equal(scripts_ask("EXISTS " WAITING), 0);
    }
}

int main(void)
{
    return scripts_run();
}
