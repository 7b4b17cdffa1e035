/* See scripts.h. */
#include "scripts.h"

#include "lib/redis/redis_probe.h"
#include "lib/stack.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

enum { CODES = 3, LINES = 5 };

static struct redis_server *redis_server;
static struct redis *redis;

int64_t scripts_soon(void)
{
    return clock_mono_us() + 30 * CLOCK_US_PER_S;
}

/* A refusal has it opened anew. */
struct redis *scripts_redis(void)
{
    assert_true(redis_connect(redis, scripts_soon()));
    return redis;
}

static int open_redis(void **state)
{
    (void)state;
    struct error error = {ERROR_NONE, ""};

    redis_server = redis_server_create(stack_stock_redis(), "", &error);
    assert_non_null(redis_server);
    redis = redis_create(redis_server);
    assert_true(redis_connect(redis, scripts_soon()));
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
    scripts_allow_all();
    redis_probe_at(stack_stock_redis(), "FLUSHALL");
    return 0;
}

int64_t scripts_load(const char *epoch, const char *generation, const char *stock,
                     const char *limit)
{
    int64_t loaded = -1;

    assert_int_equal(
        redis_script(scripts_redis(), LUA_STOCK_LOAD, 2, 11,
                     (const char *const[]){MIRROR, LOADED, PREFIX, PRODUCT, epoch, generation,
                                           stock, limit, "1700000000000000", "", ""},
                     scripts_soon(), &loaded),
        REDIS_OK);
    return loaded;
}

enum redis_status scripts_call_reserve(const char *number, const char *epoch, const char *most,
                                       const char *lines, struct redis_reply **reply)
{
    char counted[SCRIPTS_TEXT];
    char sum[SCRIPTS_TEXT];
    int count = 0;
    int units = 0;

    for (const char *line = lines; *line; line += strcspn(line, "\n") + 1, count++) {
        int quantity = 0;
        assert_int_equal(sscanf(line, "%*s %*s %d", &quantity), 1);
        units += quantity;
    }
    assert_true(count <= SCRIPTS_ORDERS_MAX);
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
    return redis_eval(scripts_redis(), LUA_STOCK_RESERVE, 5, sizeof arguments / sizeof *arguments,
                      arguments, scripts_soon(), reply);
}

int64_t scripts_reserve(const char *number, const char *epoch, const char *most, const char *lines,
                        int64_t codes[SCRIPTS_ORDERS_MAX])
{
    struct redis_reply *reply = NULL;

    assert_int_equal(scripts_call_reserve(number, epoch, most, lines, &reply), REDIS_OK);
    int64_t verdict = redis_reply_number(redis_reply_at(reply, 0));
    const char *digits = redis_reply_text(redis_reply_at(reply, CODES));
    for (int i = 0; codes && digits && digits[i]; i++)
        codes[i] = digits[i] - '0';
    redis_reply_free(reply);
    return verdict;
}

int scripts_recall(const char *number)
{
    struct redis_reply *reply = NULL;
    int codes = 0;

    assert_int_equal(redis_eval(scripts_redis(), LUA_STOCK_RECALL, 1, 2,
                                (const char *const[]){CALLER, number}, scripts_soon(), &reply),
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

int64_t scripts_ask(const char *command)
{
    return redis_probe_at(stack_stock_redis(), command);
}

void scripts_forbid(const char *command)
{
    char text[SCRIPTS_TEXT];

    snprintf(text, sizeof text, "ACL SETUSER default %s", command);
    scripts_ask(text);
}

void scripts_allow_all(void)
{
    scripts_ask("ACL SETUSER default allcommands");
}

int64_t scripts_how_many_wait(void)
{
    return scripts_ask("HINCRBY " UNITS " orders 0");
}

static struct redis_reply *read_entries(void)
{
    struct redis_reply *reply = NULL;

    assert_int_equal(redis_call(scripts_redis(), 4,
                                (const char *const[]){"XRANGE", ORDERS, "-", "+"}, scripts_soon(),
                                &reply),
                     REDIS_OK);
    assert_true(redis_reply_count(reply) > 0);
    return reply;
}

void scripts_read_first_entry(char entry[SCRIPTS_TEXT])
{
    struct redis_reply *reply = read_entries();

    snprintf(entry, SCRIPTS_TEXT, "%s",
             redis_reply_text(redis_reply_at(redis_reply_at(reply, 0), 0)));
    redis_reply_free(reply);
}

void scripts_expect_first_entry(const char *lines)
{
    struct redis_reply *reply = read_entries();
    const struct redis_reply *fields = redis_reply_at(redis_reply_at(reply, 0), 1);

    assert_string_equal(redis_reply_text(redis_reply_at(fields, LINES)), lines);
    redis_reply_free(reply);
}

int64_t scripts_stock(void)
{
    return scripts_ask("HINCRBY " MIRROR " stock 0");
}

int scripts_run(void)
{
    t_each(forget, NULL);
    return t_run_all(open_redis, close_redis);
}
