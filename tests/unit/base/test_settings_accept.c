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
