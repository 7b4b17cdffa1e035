/* See stock_scripts_rig.h. */
#include "stock_scripts_rig.h"

#include "lib/redis/redis_probe.h"
#include "lib/stack.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

enum { CODES = 3, LINES = 5 };

static struct redis_server *redis_server;
static struct redis *redis;

int64_t rig_soon(void)
{
    return clock_mono_us() + 30 * CLOCK_US_PER_S;
}

/* A refusal has it opened anew. */
struct redis *rig_redis(void)
{
    assert_true(redis_connect(redis, rig_soon()));
    return redis;
}

static int open_redis(void **state)
{
    (void)state;
    struct error error = {ERROR_NONE, ""};

    redis_server = redis_server_create(stack_stock_redis(), "", &error);
    assert_non_null(redis_server);
    redis = redis_create(redis_server);
    assert_true(redis_connect(redis, rig_soon()));
    return 0;
}

static int close_redis(void **state)
{
    (void)state;
    redis_probe_at(stack_stock_redis(), "FLUSHALL");
    redis_destroy(redis);
    redis_server_destroy(redis_server);
    return 0;
}

static int forget(void **state)
{
    (void)state;
    rig_allow_all();
    redis_probe_at(stack_stock_redis(), "FLUSHALL");
    return 0;
}

int64_t rig_load(const char *epoch, const char *generation, const char *stock, const char *limit)
{
    int64_t loaded = -1;

    assert_int_equal(
        redis_script(rig_redis(), LUA_STOCK_LOAD, 2, 11,
                     (const char *const[]){MIRROR, LOADED, PREFIX, PRODUCT, epoch, generation,
                                           stock, limit, "1700000000000000", "", ""},
                     rig_soon(), &loaded),
        REDIS_OK);
    return loaded;
}

enum redis_status rig_call_reserve(const char *number, const char *epoch, const char *most,
                                   const char *lines, struct redis_reply **reply)
{
    char counted[RIG_TEXT];
    char sum[RIG_TEXT];
    int count = 0;
    int units = 0;

    for (const char *line = lines; *line; line += strcspn(line, "\n") + 1, count++) {
        int quantity = 0;
        assert_int_equal(sscanf(line, "%*s %*s %d", &quantity), 1);
        units += quantity;
    }
    assert_true(count <= RIG_ORDERS_MAX);
    snprintf(counted, sizeof counted, "%d", count);
    snprintf(sum, sizeof sum, "%d", units);
    const char *const arguments[] = {MIRROR,
                                     ORDERS,
                                     WAITING,
                                     UNITS,
                                     CALLER,
                                     PREFIX,
                                     PRODUCT,
                                     epoch,
                                     most,
                                     "60000",
                                     number,
                                     number,
                                     strstr(lines, "key") ? "1" : "0",
                                     counted,
                                     sum,
                                     lines,
                                     "writers",
                                     "me",
                                     "0",
                                     "67108864"};
    return redis_eval(rig_redis(), LUA_STOCK_RESERVE, 5, sizeof arguments / sizeof *arguments,
                      arguments, rig_soon(), reply);
}

int64_t rig_reserve(const char *number, const char *epoch, const char *most, const char *lines,
                    int64_t codes[RIG_ORDERS_MAX])
{
    struct redis_reply *reply = NULL;

    assert_int_equal(rig_call_reserve(number, epoch, most, lines, &reply), REDIS_OK);
    int64_t verdict = redis_reply_number(redis_reply_at(reply, 0));
    const char *digits = redis_reply_text(redis_reply_at(reply, CODES));
    for (int i = 0; codes && digits && digits[i]; i++)
        codes[i] = digits[i] - '0';
    redis_reply_free(reply);
    return verdict;
}

int rig_recall(const char *number)
{
    struct redis_reply *reply = NULL;
    int codes = 0;

    assert_int_equal(redis_eval(rig_redis(), LUA_STOCK_RECALL, 1, 2,
                                (const char *const[]){CALLER, number}, rig_soon(), &reply),
                     REDIS_OK);
    if (redis_reply_number(redis_reply_at(reply, 0)) == BROKEN_OFF) {
        codes = -1;
    } else if (redis_reply_count(reply) > 0) {
        assert_int_equal(redis_reply_number(redis_reply_at(reply, 0)), DONE);
        sscanf(redis_reply_text(redis_reply_at(reply, CODES)), "%d", &codes);
    }
    redis_reply_free(reply);
    return codes;
}

int64_t rig_ask(const char *command)
{
    return redis_probe_at(stack_stock_redis(), command);
}

void rig_forbid(const char *command)
{
    char text[RIG_TEXT];

    snprintf(text, sizeof text, "ACL SETUSER default %s", command);
    rig_ask(text);
}

void rig_allow_all(void)
{
    rig_ask("ACL SETUSER default allcommands");
}

int64_t rig_how_many_wait(void)
{
    return rig_ask("HINCRBY " UNITS " orders 0");
}

static struct redis_reply *read_entries(void)
{
    struct redis_reply *reply = NULL;

    assert_int_equal(redis_call(rig_redis(), 4, (const char *const[]){"XRANGE", ORDERS, "-", "+"},
                                rig_soon(), &reply),
                     REDIS_OK);
    assert_true(redis_reply_count(reply) > 0);
    return reply;
}

void rig_read_first_entry(char entry[RIG_TEXT])
{
    struct redis_reply *reply = read_entries();

    snprintf(entry, RIG_TEXT, "%s", redis_reply_text(redis_reply_at(redis_reply_at(reply, 0), 0)));
    redis_reply_free(reply);
}

void rig_expect_first_entry(const char *lines)
{
    struct redis_reply *reply = read_entries();
    const struct redis_reply *fields = redis_reply_at(redis_reply_at(reply, 0), 1);

    assert_string_equal(redis_reply_text(redis_reply_at(fields, LINES)), lines);
    redis_reply_free(reply);
}

int64_t rig_stock(void)
{
    return rig_ask("HINCRBY " MIRROR " stock 0");
}

int rig_run(const char *group, struct CMUnitTest *tests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tests[i].setup_func = forget;
    return _cmocka_run_group_tests(group, tests, count, open_redis, close_redis);
}
