/* Which errors say that a Redis will not serve, and what is known of one. */
#include "lib/t.h"

#include "redis/redis_internal.h"

#include <string.h>

TEST(refusals_are_told_from_faulty_commands)
{
    /* As Redis 6 says it of a script. */
    static const char in_script[] = "ERR Error running script (call to f_2f): @user_script:3: "
                                    "@user_script: 3: -OOM command not "
                                    "allowed when used memory > 'maxmemory'. ";
    const char *const refusals[] = {
        "READONLY You can't write against a read only replica.",
        "READONLY You can't write against a read only replica. script: 2f, on @user_script:1.",
        in_script,
        "@user_script: 12: -READONLY You can't write against a read only slave.",
        "MISCONF Redis is configured to save RDB snapshots, but …",
        "NOAUTH Authentication required.",
        "NOPERM this user has no permissions to run the 'evalsha' command",
        "LOADING Redis is loading the dataset in memory",
        "OOM command not allowed when used memory > 'maxmemory'.",
        "CLUSTERDOWN Hash slot not served",
        "MOVED 3999 127.0.0.1:6381",
        "BUSY Redis is busy running a script.",
        "UNBLOCKED force unblock from blocking operation, instance state changed",
    };
    static const char *const others[] = {
        "ERR unknown command",
        "ERR Error running script (call to f_2f): @user_script:3: WRONGTYPE Operation against …",
        "WRONGTYPE Operation against a key holding the wrong kind of value",
        "NOSCRIPT No matching script.",
        "BUSYGROUP Consumer Group name already exists",
        "NOGROUP No such key",
        "",
    };

    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (!redis_is_refusal(refusals[i]))
            fail_msg("no refusal: %s", refusals[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (redis_is_refusal(others[i]))
            fail_msg("a refusal: %s", others[i]);
}

static void expect(struct redis_server *redis_server, const char *why)
{
    char is[REDIS_WHY_MAX];

    redis_server_why(redis_server, is);
    assert_string_equal(is, why);
    assert_int_equal(redis_server_up(redis_server), !*why);
}

/* That one can be read does not mean that it takes writes. */
TEST(a_session_that_opens_ends_no_refusal)
{
    struct error error;
    struct redis_server *redis_server = redis_server_create("redis://localhost:7000/1", "", &error);
    char place[32];

    assert_non_null(redis_server);
    expect(redis_server, "not asked yet");
    redis_server_note_unreached(redis_server, "Connection refused");
    expect(redis_server, "out of reach: Connection refused");
    redis_server_note_reached(redis_server);
    expect(redis_server, "");
    redis_server_note_refusal(redis_server, "READONLY no");
    redis_server_note_reached(redis_server);
    expect(redis_server, "READONLY no");
    redis_server_note_unreached(redis_server, "Connection refused");
    redis_server_note_reached(redis_server);
    expect(redis_server, "");
    redis_server_place(redis_server, place, sizeof place);
    assert_string_equal(place, "localhost:7000");
    redis_server_destroy(redis_server);
}
