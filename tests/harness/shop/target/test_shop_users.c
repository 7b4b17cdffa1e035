/*
 * Buyers from a table (RFC 4180): cells in quotes, with commas, quotes and line ends in them; lines
 * that end as Windows' do, or not at all; a table of a command; and files that are no table of
 * users, each with what is wrong.
 */
#include "shop_file.h"

#include "loadtest/shop/load/users.h"

#include <string.h>

static const char csv[] = "users.csv";
static struct shop_users users;
static struct error error;

static bool read_text(const char *text)
{
    const struct target target = {.users_csv = csv};
    t_write(csv, text);
    error.text[0] = '\0';
    return users_open(&users, &target, "/dev/null", &error);
}

static void expect_users(const char *text, int64_t count)
{
    t_done(read_text(text), error);
    assert_int_equal(users.count, count);
}

static void expect_cell(int64_t line, const char *name, const char *text)
{
    char number[24];
    const char *cell = users_value(&users, line, name, number);
    assert_non_null(cell);
    assert_string_equal(cell, text);
}

static void refuse(const char *text, const char *said)
{
    if (read_text(text))
        fail_msg("'%s' was taken", text);
    assert_string_equal(error.text, said);
    assert_null(users.text); /* nothing is left open */
}

TEST(plain_cells)
{
    char number[24];
    expect_users("user,token\n7,a b\n8,\n", 2);
    expect_cell(0, "user", "7");
    expect_cell(0, "token", "a b");
    expect_cell(1, "token", "");
    expect_cell(2, "user", "7"); /* they come again */
    assert_null(users_value(&users, 0, "name", number));
    users_close(&users);
}

TEST(quoted_cells)
{
    expect_users(
        "\"user\",name\n7,\"Wang, Li\"\n8,\"the \"\"first\"\"\"\n9,\"two\nlines\"\n10,\"\"\n", 4);
    expect_cell(0, "name", "Wang, Li");
    expect_cell(1, "name", "the \"first\"");
    expect_cell(2, "name", "two\nlines");
    expect_cell(3, "name", "");
    expect_cell(3, "user", "10");
    users_close(&users);
}

TEST(line_ends)
{
    expect_users("token,user\r\na,7\r\n\r\nb,8", 2); /* an empty line is no user */
    expect_cell(0, "user", "7");
    expect_cell(1, "token", "b");
    expect_cell(1, "user", "8");
    users_close(&users);
}

TEST(a_mark_before_a_quote)
{
    expect_users("\xef\xbb\xbf\"user\"\n\"41\"\n", 1);
    expect_cell(0, "user", "41");
    users_close(&users);
}

TEST(no_table_of_users)
{
    refuse("", "users.csv: its first line names no column \"user\"");
    refuse("\xef\xbb\xbf", "users.csv: its first line names no column \"user\"");
    refuse("User\n7\n", "users.csv: its first line names no column \"user\"");
    refuse("user\n", "users.csv: it has no users");
    refuse("user\n\n\r\n", "users.csv: it has no users");
    refuse("user,token\n7,a\n8\n", "users.csv: user 2 has 1 columns, the first line 2");
    refuse("user\n7,a\n", "users.csv: user 1 has 2 columns, the first line 1");
    refuse("user,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,"
           "32,33\n",
           "users.csv: more than 32 columns");
}

/* A user that is no text could stand in no ledger: nobody would know afterwards who bought. */
TEST(what_is_no_text_is_no_user)
{
    refuse("user\n7\nJos\xe9\n", "users.csv: line 3 is not text in UTF-8");
    refuse("\xef\xbb\xbfuser,na\xff\n", "users.csv: line 1 is not text in UTF-8");
    expect_users("user\nJos\xc3\xa9\n", 1);
    expect_cell(0, "user", "Jos\xc3\xa9");
    users_close(&users);
}

TEST(many_users)
{
    enum { USERS = 1000 };
    static char text[16384] = "user,twice\n";
    size_t used = strlen(text);
    for (int i = 0; i < USERS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d,%d\n", i, 2 * i);
    expect_users(text, USERS);
    expect_cell(USERS - 1, "twice", "1998");
    users_close(&users);
}

TEST(a_command_prints_them)
{
    struct target target = {.users_command = "printf 'user,token\\n7,\"a,b\"\\n'"};
    t_done(users_open(&users, &target, "/dev/null", &error), error);
    assert_int_equal(users.count, 1);
    expect_cell(0, "token", "a,b");
    users_close(&users);
    target.users_command = "echo user; exit 3";
    assert_false(users_open(&users, &target, "/dev/null", &error));
    t_says(error.text, "users, by a command: ");
    t_says(error.text, "exit status 3");
}

TEST(a_range_counts)
{
    char number[24];
    const struct target target = {.user_from = 7, .user_to = 9};
    assert_true(users_open(&users, &target, "/dev/null", &error));
    assert_int_equal(users.count, 3);
    assert_string_equal(users_value(&users, 2, "user", number), "9");
    assert_string_equal(users_value(&users, 3, "user", number), "7");
    assert_null(users_value(&users, 0, "token", number));
    users_close(&users);
}

TEST_GROUP(shop_file_setup, shop_file_teardown)
