/* Which slot a key is in, and what a cluster's nodes say of where the slots are. */
#include "lib/t.h"

#include "redis/cluster/map.h"

#include <hiredis/hiredis.h>

#include <stdlib.h>
#include <string.h>

TEST(a_key_has_the_slot_of_its_tag)
{
    static const struct {
        const char *key;
        int slot;
    } known[] = {
        {"123456789", 0x31C3}, /* the specification's example */
        {"foo", 12182},          {"bar", 5061},   {"hello", 866}, {"", 0},
        {"foo{bar}{zap}", 5061}, {"{bar}", 5061},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (redis_slot(known[i].key) != known[i].slot)
            fail_msg("%s: %d", known[i].key, redis_slot(known[i].key));
    assert_int_equal(redis_slot("{user1000}.following"), redis_slot("{user1000}.followers"));
    assert_int_equal(redis_slot("foo{{bar}}zap"), redis_slot("{bar"));
    assert_int_equal(redis_slot("s:lock-queue:{s:lock:redis-fair:7}"),
                     redis_slot("s:lock:redis-fair:7"));
    /* No tag: nothing between the braces, or no second one. */
    assert_int_not_equal(redis_slot("foo{}{bar}"), redis_slot("bar"));
    assert_int_not_equal(redis_slot("foo{bar"), redis_slot("bar"));
}

static struct redis_map *map; /* owned */
static struct error error;

/* The reply as it travels. */
static bool read_map(const char *text)
{
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    assert_int_equal(redisReaderFeed(reader, text, strlen(text)), 0);
    assert_int_equal(redisReaderGetReply(reader, &reply), 0);
    assert_non_null(reply);
    error = (struct error){ERROR_NONE, ""};
    bool read = redis_map_read(reply, "asked", map, &error);
    freeReplyObject(reply);
    redisReaderFree(reader);
    assert_int_equal(error.code != ERROR_NONE, !read);
    return read;
}

static void expect(int slot, const char *host, int port)
{
    int number = map->slots[slot];

    assert_true(number > 0 && number <= map->count);
    assert_string_equal(map->primaries[number - 1].host, host);
    assert_int_equal(map->primaries[number - 1].port, port);
}

TEST(a_map_says_who_has_which_slot)
{
    assert_true(
        read_map("*3\r\n"
                 "*4\r\n:0\r\n:5460\r\n*2\r\n$2\r\nn1\r\n:7000\r\n*2\r\n$2\r\nn4\r\n:7003\r\n"
                 "*3\r\n:5461\r\n:5461\r\n*3\r\n$3\r\n::2\r\n:7001\r\n$2\r\nid\r\n"
                 "*3\r\n:5463\r\n:16383\r\n*2\r\n$2\r\nn1\r\n:7000\r\n"));
    assert_int_equal(map->count, 2);
    expect(0, "n1", 7000);
    expect(5460, "n1", 7000);
    expect(5461, "::2", 7001);
    assert_int_equal(map->slots[5462], 0);
    expect(16383, "n1", 7000);
    assert_true(read_map("*0\r\n"));
    assert_int_equal(map->count, 0);
}

TEST(a_node_without_a_name_is_the_host_that_was_asked)
{
    static const char *const names[] = {"$0\r\n\r\n", "$-1\r\n", "$1\r\n?\r\n"};

    for (int i = 0; i < 3; i++) {
        assert_true(read_map(t_text("*1\r\n*3\r\n:7\r\n:7\r\n*2\r\n%s:7000\r\n", names[i])));
        expect(7, "asked", 7000);
    }
}

TEST(what_is_no_map_is_refused)
{
    static const char *const wrong[] = {
        "+OK\r\n",
        "*1\r\n:1\r\n",
        "*1\r\n*2\r\n:0\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*1\r\n$1\r\nh\r\n",
        "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\nh\r\n:1\r\n",
        "*1\r\n*3\r\n:-1\r\n:1\r\n*2\r\n$1\r\nh\r\n:1\r\n",
        "*1\r\n*3\r\n:2\r\n:1\r\n*2\r\n$1\r\nh\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\nh\r\n:0\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\nh\r\n:65536\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n:1\r\n:1\r\n",
    };
    enum { TOO_MANY = REDIS_PRIMARIES_MAX + 1, RANGE_SIZE = 64 };
    char *many = calloc(TOO_MANY, RANGE_SIZE);

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (read_map(wrong[i]))
            fail_msg("%s was read", wrong[i]);
    assert_non_null(many);
    int n = snprintf(many, RANGE_SIZE, "*%d\r\n", TOO_MANY);
    for (int i = 0; i < TOO_MANY; i++)
        n += snprintf(many + n, RANGE_SIZE, "*3\r\n:%d\r\n:%d\r\n*2\r\n$1\r\nh\r\n:%d\r\n", i, i,
                      i + 1);
    assert_false(read_map(many));
    assert_non_null(strstr(error.text, "more than"));
    free(many);
}

static void expect_direction(const char *words, enum redis_direction direction, const char *host,
                             int port)
{
    struct redis_place place = {"", 0};

    if (redis_direction_read(words, "asked", &place) != direction)
        fail_msg("%s", words);
    assert_string_equal(place.host, host);
    assert_int_equal(place.port, port);
}

TEST(an_error_says_where_to_go)
{
    expect_direction("MOVED 3999 127.0.0.1:6381", REDIS_MOVED, "127.0.0.1", 6381);
    expect_direction("ASK 3999 2001:db8::1:6381", REDIS_ASKED, "2001:db8::1", 6381);
    expect_direction("MOVED 3999 :6381", REDIS_MOVED, "asked", 6381);
    expect_direction("MOVED 3999 ?:6381", REDIS_MOVED, "asked", 6381);
    expect_direction("TRYAGAIN Multiple keys request", REDIS_AGAIN, "", 0);
    expect_direction("CROSSSLOT Keys in request", REDIS_CROSS, "", 0);
    expect_direction("CLUSTERDOWN Hash slot not served", REDIS_DOWN, "", 0);
    expect_direction("MOVED", REDIS_STAYS, "", 0);
    expect_direction("MOVED 3999 nowhere", REDIS_STAYS, "", 0);
    expect_direction("MOVED 3999 h:0", REDIS_STAYS, "", 0);
    expect_direction("MOVED 3999 h:65536", REDIS_STAYS, "", 0);
    expect_direction("MOVED 3999 h:1x", REDIS_STAYS, "", 0);
    expect_direction("ASKING is not", REDIS_STAYS, "", 0);
    expect_direction("ERR MOVED", REDIS_STAYS, "", 0);
    expect_direction("", REDIS_STAYS, "", 0);
    assert_int_equal(redis_direction_read("MOVED 1 h:1", "", NULL), REDIS_MOVED);
}

static int set_up(void **state)
{
    (void)state;
    map = malloc(sizeof *map);
    return map ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    free(map);
    return 0;
}

TEST_GROUP(set_up, tear_down)
