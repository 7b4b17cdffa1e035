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

static bool opens(const struct target *target)
{
    const struct shop_asker asker = {target, "/dev/null", QUERY_LIMIT_MS};
    error.text[0] = '\0';
    return users_open(&users, &asker, &error);
}

static bool read_text(const char *text)
{
    const struct target target = {.users_csv = csv};
    t_write(csv, text);
    return opens(&target);
}

/* The users, a line each, with '|' between the cells; and no other column. */
static void expect_table(const char *table)
{
    char number[24], again[24];
    FILE *to = t_print();
    for (int64_t i = 0; i < users.count; i++)
        for (size_t j = 0; j < users.columns; j++)
            fprintf(to, "%s%s", users_value(&users, i, users.names[j], number),
                    j + 1 < users.columns ? "|" : "\n");
    assert_string_equal(t_printed(), table);
    /* They come again. */
    assert_string_equal(users_value(&users, users.count, "user", again),
                        users_value(&users, 0, "user", number));
    assert_null(users_value(&users, 0, "other", number));
    users_close(&users);
}

static void takes(const char *text, const char *table)
{
    t_done(read_text(text), error);
    expect_table(table);
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
    takes("user,token\n7,a b\n8,\n", "7|a b\n8|\n");
}

TEST(quoted_cells)
{
    takes("\"user\",name\n7,\"Wang, Li\"\n8,\"the \"\"first\"\"\"\n9,\"two\nlines\"\n10,\"\"\n",
          "7|Wang, Li\n8|the \"first\"\n9|two\nlines\n10|\n");
}

/* An empty line is no user. */
TEST(line_ends)
{
    takes("token,user\r\na,7\r\n\r\nb,8", "a|7\nb|8\n");
}

TEST(a_mark_before_a_quote)
{
    takes("\xef\xbb\xbf\"user\"\n\"41\"\n", "41\n");
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
    takes("user\nJos\xc3\xa9\n", "Jos\xc3\xa9\n");
}

TEST(many_users)
{
    static char text[16384] = "user,twice\n", table[16384];
    size_t used = strlen(text), wanted = 0;
    for (int i = 0; i < 1000; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%d,%d\n", i, 2 * i);
        wanted += (size_t)snprintf(table + wanted, sizeof table - wanted, "%d|%d\n", i, 2 * i);
    }
    takes(text, table);
}

TEST(a_command_prints_them)
{
    struct target target = {.users_command = "printf 'user,token\\n7,\"a,b\"\\n'"};
    t_done(opens(&target), error);
    expect_table("7|a,b\n");
    target.users_command = "echo user; exit 3";
    assert_false(opens(&target));
    t_says(error.text, "users, by a command: ");
    t_says(error.text, "exit status 3");
}

TEST(a_range_counts)
{
    const struct target target = {.user_from = 7, .user_to = 9};
    t_done(opens(&target), error);
    expect_table("7\n8\n9\n");
}

TEST_GROUP(shop_file_setup, shop_file_teardown)
