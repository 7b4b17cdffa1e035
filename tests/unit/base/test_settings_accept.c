/* The forms of settings that have a limit or a list in them. */
#include "lib/t.h"

#include "settings/settings_accept.h"

#include <string.h>

static void a_system_name_has_64_characters_at_most(void **state)
{
    (void)state;
    char name[64 + 2] = "";

    memset(name, 'n', 64);
    assert_true(settings_accepts_system_name(name));
    name[64] = 'n';
    assert_false(settings_accepts_system_name(name));
}

static void redlock_takes_three_or_five_servers(void **state)
{
    (void)state;
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

static void memcached_is_a_host_or_a_socket(void **state)
{
    (void)state;
    assert_true(settings_accepts_memcached(""));
    assert_true(settings_accepts_memcached("cache:11211"));
    assert_true(settings_accepts_memcached("unix:///run/m.sock"));
    assert_false(settings_accepts_memcached("unix://m.sock"));
    assert_false(settings_accepts_memcached("cache"));
}

static void a_schema_has_63_bytes_at_most(void **state)
{
    (void)state;
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

static void zookeeper_is_a_list_of_hosts(void **state)
{
    (void)state;
    assert_true(settings_accepts_zookeeper(""));
    assert_true(settings_accepts_zookeeper("a:2181"));
    assert_true(settings_accepts_zookeeper("a:2181,[::1]:2182,c:2183/shop"));
    assert_false(settings_accepts_zookeeper("a:2181,"));
    assert_false(settings_accepts_zookeeper("a:2181,,b:2181"));
    assert_false(settings_accepts_zookeeper("a:2181,b/shop"));
    assert_false(settings_accepts_zookeeper("/shop"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_system_name_has_64_characters_at_most),
        cmocka_unit_test(redlock_takes_three_or_five_servers),
        cmocka_unit_test(memcached_is_a_host_or_a_socket),
        cmocka_unit_test(a_schema_has_63_bytes_at_most),
        cmocka_unit_test(zookeeper_is_a_list_of_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
