/* Where a Redis is: what URLs stand for, and that none is repeated in an error. */
#include "lib/t.h"

#include "redis/redis_url.h"

#include <stdio.h>
#include <string.h>

static struct redis_url url;
static struct error error;

static void a_place(const char *text, const char *host, int port, int database)
{
    if (!redis_url_parse(text, &url, &error))
        fail_msg("%s: %s", text, error.text);
    assert_int_equal(url.count, 1);
    assert_string_equal(url.places[0].host, host);
    assert_int_equal(url.places[0].port, port);
    assert_int_equal(url.database, database);
}

static void a_user(const char *text, const char *user, const char *password)
{
    if (!redis_url_parse(text, &url, &error))
        fail_msg("%s: %s", text, error.text);
    assert_string_equal(url.user, user);
    assert_string_equal(url.password, password);
    assert_string_equal(url.places[0].host, "h");
}

TEST(places_are_found)
{
    a_place("redis://", "127.0.0.1", 6379, 0);
    a_place("redis://h", "h", 6379, 0);
    a_place("redis://h/", "h", 6379, 0);
    a_place("redis://h:1/2", "h", 1, 2);
    a_place("redis://:65535", "127.0.0.1", 65535, 0);
    a_place("redis://[::1]", "::1", 6379, 0);
    a_place("redis://[2001:db8::1]:7/15", "2001:db8::1", 7, 15);
    assert_false(url.tls || url.is_unix || url.primary[0]);
    a_place("rediss://h:1/2", "h", 1, 2);
    assert_true(url.tls);
    a_place("unix:///run/redis@a,b.sock", "/run/redis@a,b.sock", 0, 0);
    assert_true(url.is_unix);
}

TEST(users_are_found)
{
    a_user("redis://u:p@h", "u", "p");
    a_user("redis://:p@h:1", "", "p");
    a_user("redis://p@h", "", "p");
    a_user("redis://u:p:q@h/1", "u", "p:q");
    a_user("redis://u:p@q@h", "u", "p@q");
    a_user("rediss://u%40x:%2f%2C%25@h", "u@x", "/,%");
    a_user("redis-sentinel://u:p@h,i/n", "u", "p");
}

TEST(sentinels_are_found)
{
    assert_true(redis_url_parse("redis-sentinel://a,b:7,[::1]:8,[::2]/shop/3", &url, &error));
    assert_int_equal(url.count, 4);
    assert_string_equal(url.primary, "shop");
    assert_int_equal(url.database, 3);
    assert_string_equal(url.places[0].host, "a");
    assert_int_equal(url.places[0].port, 26379);
    assert_string_equal(url.places[1].host, "b");
    assert_int_equal(url.places[1].port, 7);
    assert_string_equal(url.places[2].host, "::1");
    assert_int_equal(url.places[2].port, 8);
    assert_string_equal(url.places[3].host, "::2");
    assert_int_equal(url.places[3].port, 26379);
}

TEST(what_is_wrong_is_said_without_the_password)
{
    static const char *const wrong[] = {
        "",
        "http://secret@h",
        "redis:/secret@h",
        "REDIS://secret@h",
        "redis://u:secret@h:",
        "redis://u:secret@h:0",
        "redis://u:secret@h:65536",
        "redis://u:secret@h:1x",
        "redis://u:secret@h:6379:1",
        "redis://u:secret@::1:6379",
        "redis://u:secret@[::1",
        "redis://u:secret@[::1]6379",
        "redis://u:secret@h/x",
        "redis://u:secret@h/10000",
        "redis://u:secret@h/1/2",
        "redis://secret:@h",
        "redis://u:secret%@h",
        "redis://u:secret%0@h",
        "redis://u:secret%00@h",
        "redis://u:secret%zz@h",
        "redis-sentinel://u:secret@h",
        "redis-sentinel://u:secret@h/",
        "redis-sentinel://u:secret@h//1",
        "redis-sentinel://u:secret@h/n/x",
        "redis-sentinel://1,2,3,4,5,6,7,8,9/secret",
        "unix://secret",
    };
    char longest[700];

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        error.text[0] = '\0';
        if (redis_url_parse(wrong[i], &url, &error))
            fail_msg("%s was read", wrong[i]);
        assert_int_equal(error.code, ERROR_INVALID);
        assert_true(strlen(error.text) > 10);
        assert_null(strstr(error.text, "secret"));
    }
    snprintf(longest, sizeof longest, "redis://%0300d", 7);
    assert_false(redis_url_parse(longest, &url, &error));
    snprintf(longest, sizeof longest, "redis://:%0600d@h", 7);
    assert_false(redis_url_parse(longest, &url, &error));
    snprintf(longest, sizeof longest, "unix:///%0300d", 7);
    assert_false(redis_url_parse(longest, &url, &error));
}
