/*
 * wrk's script, asked by hand: wrk reads it, and it plays a few requests and answers before
 * anything is sent, by a clock of the test's.
 */
#include "lib/t.h"

#include "gen/load_lua.h"
#include "loadtest/base/process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char output[65536];

static void write_script(const char *path, const char *more, const char *acts)
{
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    fprintf(
        to,
        "P = {targets = {{host = 'h', port = '1', authority = 'h'}}, path = '/orders', token = '',"
        " user = 1000000000000, each = 1000, user_from = 5000000000000, product = 7,"
        " products = 1, %s}\n",
        more);
    fwrite(load_lua, 1, load_lua_length, to);
    fprintf(to, "\nnumber = 0\ninit({})\n%s\nos.exit(0)\n", acts);
    int closed = fclose(to);
    assert_int_equal(closed, 0);
}

/* What the acts print. `more`: of the table P. */
static char *play(const char *more, const char *acts)
{
    const char *path = t_text("%s/script", t_folder());
    struct error error = {.text = ""};
    struct process_capture capture = {.output = output, .size = sizeof output, .limit_ms = 60000};
    write_script(path, more, acts);
    const char *const argv[] = {"wrk", "-t1", "-c1", "-d1s", "-s", path, "http://127.0.0.1:1",
                                NULL};
    output[0] = '\0';
    if (!process_capture(argv, &capture, &error))
        fail_msg("%s: %s", error.text, output);
    return output;
}

/* The users of so many orders, a blank behind each. */
#define DRAW(count)                                                                                \
    "for i = 1, " count " do io.write(request():match('\"user_id\":(%d+)'), ' ') end"

TEST(without_users_each_order_has_its_own)
{
    assert_string_equal(play("users = 0, seed = 1", DRAW("3")),
                        "1000000000001 1000000000002 1000000000003 ");
}

TEST(the_same_seed_draws_the_same_users)
{
    static char first[1024];
    snprintf(first, sizeof first, "%s", play("users = 1000000, seed = 3", DRAW("20")));
    assert_int_equal(strlen(first), 20 * 14);
    assert_string_equal(play("users = 1000000, seed = 3", DRAW("20")), first);
    assert_string_not_equal(play("users = 1000000, seed = 4", DRAW("20")), first);
}

TEST(every_user_is_drawn_and_nobody_else)
{
    int64_t drawn[7] = {0};
    char *at = play("users = 7, seed = 1", DRAW("700"));
    for (int i = 0; i < 700; i++) {
        int64_t user = strtoll(at, &at, 10) - INT64_C(5000000000000);
        assert_in_range(user, 0, 6);
        drawn[user]++;
    }
    for (int i = 0; i < 7; i++)
        assert_in_range(drawn[i], 50, 150);
}

/* Two orders of one user are under way, and the answer may be any one's: a sale is never taken for
 * a later order than it was. */
TEST(a_sale_is_the_earliest_that_it_may_be)
{
    assert_string_equal(
        play("users = 1, seed = 1, watch = true",
             "local clock = 0\n"
             "function now_us() clock = clock + 1; return clock end\n"
             "local order = '{\"user_id\": 5000000000000}'\n"
             "request() request() response(201, {}, order) request() response(202, {}, order)\n"
             "response(409, {}, '\"sold_out\"')\n"
             "io.write(table.concat(sold, ' '), ', ', sold_out)"),
        "1 2, 4");
}

/* Every order twice: the first, third … at once, the others four requests later. */
TEST(a_share_is_sent_again)
{
    static const char acts[] = "local texts = {}\n"
                               "for i = 1, 8 do\n"
                               "  local text = request()\n"
                               "  local key = text:match('\\r\\nIdempotency%-Key: (%d+)\\r\\n')\n"
                               "  assert(texts[key] == nil or texts[key] == text)\n"
                               "  texts[key] = text\n"
                               "  io.write(key - 1000000000000, ' ')\n"
                               "end\n"
                               "io.write('repeats ', repeats)";
    assert_string_equal(play("users = 9, seed = 1, keys = true, repeats = 1, later = 4", acts),
                        "1 1 2 3 3 4 2 5 repeats 3");
    assert_string_equal(play("users = 9, seed = 1, keys = true, repeats = 0, later = 4", acts),
                        "1 2 3 4 5 6 7 8 repeats 0");
}

TEST(half_of_them_is_half)
{
    const char *said = play("users = 0, seed = 1, keys = true, repeats = 0.5, later = 64",
                            "for i = 1, 3000 do request() end io.write(repeats)");
    assert_in_range(strtol(said, NULL, 10), 900, 1100);
}

TEST(without_keys_there_is_none)
{
    assert_string_equal(play("users = 0, seed = 1", "io.write(tostring(request():match('Idem')))"),
                        "nil");
}
