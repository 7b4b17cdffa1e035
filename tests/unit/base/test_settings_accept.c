/* The forms of settings that have a limit or a list in them. */
#include "lib/t.h"

#include "settings/settings_accept.h"

#include <string.h>

TEST(a_system_name_has_64_characters_at_most)
{
    char name[64 + 2] = "";

    memset(name, 'n', 64);
    assert_true(settings_accepts_system_name(name));
    name[64] = 'n';
    assert_false(settings_accepts_system_name(name));
}

TEST(redlock_takes_three_or_five_servers)
{
    assert_true(settings_accepts_redlock("redis://a,redis://b,redis://c"));
    assert_true(settings_accepts_redlock("redis://a,redis://b,redis://c,unix:///d,unix:///e"));
    assert_true(settings_accepts_redlock(""));
    assert_false(settings_accepts_redlock("redis://a"));
    assert_false(settings_accepts_redlock("redis://a,redis://b"));
    assert_false(settings_accepts_redlock("redis://a,redis://b,redis://c,redis://d"));
    assert_false(settings_accepts_redlock("redis://a,redis://b,http://c"));
    assert_false(settings_accepts_redlock("redis://a,redis://b,"));
    assert_false(settings_accepts_redlock("redis://a,,redis://c"));
    /* Named twice it would have two votes. */
    assert_false(settings_accepts_redlock("redis://a,redis://b,redis://a"));
    assert_true(settings_accepts_redlock("redis://ab,redis://a,redis://b"));
}

TEST(a_cell_is_one_of_a_number)
{
    static const char *const wrong[] = {"0/0",
                                        "0/3",
                                        "65/65",
                                        "1/65",
                                        "3/2",
                                        "1",
                                        "/",
                                        "1/",
                                        "/1",
                                        "one/two",
                                        "1/2/3",
                                        "+1/2",
                                        "1/2 ",
                                        " 1/2",
                                        "01/2",
                                        "1/02",
                                        "-1/2",
                                        "1 / 2",
                                        "4294967297/4294967298"};
    static const struct {
        const char *text;
        unsigned number, cells;
    } right[] = {{"", 0, 0}, {"1/1", 1, 1}, {"2/3", 2, 3}, {"64/64", 64, 64}, {"1/64", 1, 64}};
    unsigned number;
    unsigned cells;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (settings_accepts_cell(wrong[i]))
            fail_msg("taken: %s", wrong[i]);
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_true(settings_read_cell(right[i].text, &number, &cells));
        assert_int_equal(number, right[i].number);
        assert_int_equal(cells, right[i].cells);
    }
}

TEST(memcached_is_a_host_or_a_socket)
{
    assert_true(settings_accepts_memcached(""));
    assert_true(settings_accepts_memcached("cache:11211"));
    assert_true(settings_accepts_memcached("unix:///run/m.sock"));
    assert_false(settings_accepts_memcached("unix://m.sock"));
    assert_false(settings_accepts_memcached("cache"));
}

TEST(a_schema_has_63_bytes_at_most)
{
    char name[65];

    memset(name, 'x', sizeof name);
    name[64] = '\0';
    assert_false(settings_accepts_schema(name));
    assert_true(settings_accepts_schema(name + 1));
    assert_true(settings_accepts_schema("Sho\"p 'of mine"));
    assert_false(settings_accepts_schema(""));
    assert_true(settings_accepts_schema("$users"));
    assert_false(settings_accepts_schema("$user"));
    assert_false(settings_accepts_schema("x\nDROP TABLE orders;"));
    assert_false(settings_accepts_schema("x\x7f"));
}

TEST(zookeeper_is_a_list_of_hosts)
{
    assert_true(settings_accepts_zookeeper(""));
    assert_true(settings_accepts_zookeeper("a:2181"));
    assert_true(settings_accepts_zookeeper("a:2181,[::1]:2182,c:2183/shop"));
    assert_false(settings_accepts_zookeeper("a:2181,"));
    assert_false(settings_accepts_zookeeper("a:2181,,b:2181"));
    assert_false(settings_accepts_zookeeper("a:2181,b/shop"));
    assert_false(settings_accepts_zookeeper("/shop"));
}
