/* What no target's file may be: not there, not text, too large, and too much of anything. */
#include "loadtest/shop/target.h"
#include "shop_file.h"

#include <stdlib.h>
#include <string.h>

static const char good[] = "server: http://a\nstock: 5\nrequest: {path: /buy}\n";

static void is_refused(const char *path, const char *said)
{
    struct error error = {.code = ERROR_NONE};
    struct target target;

    assert_false(target_read(path, &target, &error));
    assert_int_equal(error.code, ERROR_INVALID);
    assert_string_equal(error.text, said);
    target_fini(&target);
}

TEST(what_is_no_file_is_refused)
{
    is_refused("nobody", "nobody: No such file or directory");
    is_refused("/", "/: a folder, no file");
    t_write(SHOP_FILE, "");
    is_refused(SHOP_FILE, "shop:1: an empty file: docs/JUDGING.md#the-target-file has one");
    t_write(SHOP_FILE, "# no more\n");
    is_refused(SHOP_FILE, "shop:1: an empty file: docs/JUDGING.md#the-target-file has one");
    t_write(SHOP_FILE, "- a\n");
    is_refused(SHOP_FILE,
               "shop:1: a list, and a map is wanted: with name, server, database, product, "
               "stock, limit, users, before, request, repeats, outcome, poll, reset, "
               "quiet, audit, claims");
}

TEST(what_is_no_text_is_refused)
{
    static const char *const bytes[] = {"a\n\xff",         "a\n\xc0\x80",     "a\n\xed\xa0\x80",
                                        "a\n\xf0\x80\x80", "a\n\xf4\x90\x80", "a\n\xe2\x82"};

    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        t_write(SHOP_FILE, bytes[i]);
        is_refused(SHOP_FILE, "shop:2: not text in UTF-8");
    }
    shop_file_write("a\0\n", 3);
    is_refused(SHOP_FILE, "shop:1: not text in UTF-8");
}

TEST(a_file_has_64_kib_at_most)
{
    enum { MOST = 64 * 1024 };
    struct error error = {.code = ERROR_NONE};
    struct target target;
    char *text = malloc(MOST + 1);

    assert_non_null(text);
    memset(text, '#', MOST + 1);
    int length = snprintf(text, MOST, "%soutcome: [{sold: 201}]\n", good);
    text[length] = '#';
    shop_file_write(text, MOST);
    assert_true(target_read(SHOP_FILE, &target, &error));
    target_fini(&target);
    shop_file_write(text, MOST + 1);
    is_refused(SHOP_FILE, "shop: too large: a target file has 65536 bytes at most");
    free(text);
}

/* The good file, the head, a counted piece so many times, and the tail. */
struct many {
    const char *head, *before_number, *behind_number;
    int count;
    const char *tail, *said;
};

static void write_many(const struct many *many, int count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    fprintf(to, "%s%s", good, many->head);
    for (int i = 0; i < count; i++)
        fprintf(to, "%s%d%s", many->before_number, 100 + i, many->behind_number);
    fputs(many->tail, to);
    assert_int_equal(fclose(to), 0);
    shop_file_write(text, size);
    free(text);
}

TEST(of_nothing_are_there_more_than_a_shop_needs)
{
    static const char sold[] = "outcome: [{sold: 201}]\n";
    static const struct many all[] = {
        {"before: [{path: /a, headers: {", "H", ": x, ", 32, "}}]\n",
         "shop:4: before[0].headers: too many headers: 32 at most"},
        {"before:\n", "  - path: /a", "\n", 16, "", "shop:4: before: too many steps: 16 at most"},
        {"before: [{path: /a, take: {", "t", ": /a, ", 16, "}}]\n",
         "shop:4: before[0].take: too many: 16 at most"},
        {"before:\n  - path: /a\n    outcome:\n", "      - shed: ", "\n", 64, "",
         "shop:71: before[0].outcome[64]: too many rules: 64 at most, one for each status"},
        {"users: {command: x, columns: [user, ", "c", ", ", 45, "]}\n",
         "shop:4: users.columns[46]: too many fields: 48 at most"},
        {"outcome: [{sold: [", "", ", ", 16, "]}]\n",
         "shop:4: outcome[0].sold[16]: too many: 16 at most"},
        {"outcome:\n", "  - sold: ", "\n", 64, "",
         "shop:69: outcome[64]: too many rules: 64 at most, one for each status"},
    };
    struct error error = {.code = ERROR_NONE};
    struct target target;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct many many = all[i];
        char tail[100];
        snprintf(tail, sizeof tail, "%s%s", many.tail, many.head[0] == 'o' ? "" : sold);
        many.tail = tail;
        write_many(&many, many.count);
        t_done(target_read(SHOP_FILE, &target, &error), error);
        target_fini(&target);
        write_many(&many, many.count + 1);
        is_refused(SHOP_FILE, many.said);
    }
}

/* libyaml ends what is nested too deep; nothing here goes deeper than the fields do. */
TEST(nests_are_refused)
{
    char text[4000];
    struct error error = {.code = ERROR_NONE};
    struct target target;

    memset(text, '[', sizeof text);
    shop_file_write(text, sizeof text);
    assert_false(target_read(SHOP_FILE, &target, &error));
    assert_int_equal(error.code, ERROR_INVALID);
}

TEST_GROUP(shop_file_setup, shop_file_teardown)
