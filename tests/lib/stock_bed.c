#include "lib/stock_bed.h"

#include "lib/stack.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 2048 };

struct bed bed;

static struct {
    char system[64];
    redisContext *redis;
} here;

/* Another namespace for each test: what one leaves behind another never meets. */
static void take_name(void)
{
    static int serial;

    snprintf(here.system, sizeof here.system, "test-%d-%d", (int)getpid(), ++serial);
}

int bed_begin(const char *group)
{
    char name[64];

    signal(SIGPIPE, SIG_IGN); /* of a Redis that is killed */
    snprintf(name, sizeof name, "seckill_%s", group);
    bed.conninfo = stack_database_create(name);
    server_use_database(bed.conninfo);
    take_name();
    bed_start(NULL, NULL); /* makes the schema */
    bed_stop_all();
    bed.witness = witness_open(bed.conninfo);
    bed.product = 0;
    return 0;
}

void bed_end(const char *group)
{
    char name[64];

    snprintf(name, sizeof name, "seckill_%s", group);
    redisFree(here.redis);
    here.redis = NULL;
    witness_close(bed.witness);
    server_use_database(NULL);
    stack_database_drop(name);
    free(bed.conninfo);
}

int bed_teardown(void **state)
{
    server_use_failpoints(NULL);
    server_teardown(state);
    bed.count = 0;
    take_name();
    return 0;
}

static int64_t metric(struct server *server, const char *name)
{
    return server_metric(server, name, "");
}

static struct server *start(const char *failpoints, const char *listen, const char *wait_ms)
{
    server_use_failpoints(failpoints);
    struct server *server =
        server_start("--system-name", here.system, "--work-timeout-ms", "1000", "--lock-ttl-ms",
                     "5000", "--lock-wait-ms", wait_ms, "--listen", listen);
    server_use_failpoints(NULL);
    bed.servers[bed.count++] = server;
    if (!failpoints)
        BED_WAIT(metric(server, "seckill_redis_stock_rounds_total") > 0);
    return server;
}

struct server *bed_start(const char *failpoints, const char *listen)
{
    return start(failpoints, listen ? listen : "127.0.0.1:0", "20000");
}

struct server *bed_start_waiting(const char *wait_ms)
{
    return start(NULL, "127.0.0.1:0", wait_ms);
}

void bed_start_three(void)
{
    for (int i = 0; i < BED_INSTANCES; i++)
        bed_start(NULL, NULL);
    bed.product++;
}

void bed_stop_all(void)
{
    while (bed.count > 0)
        server_stop(bed.servers[--bed.count]);
}

void bed_bury(struct server *server)
{
    char log[256];
    int n = 0;

    server_wait(server, log, sizeof log);
    for (int i = 0; i < bed.count; i++)
        if (bed.servers[i] != server)
            bed.servers[n++] = bed.servers[i];
    bed.count = n;
}

struct buy bed_buy(int64_t user, int64_t quantity)
{
    return (struct buy){.strategy = "redis-stock",
                        .product = bed.product,
                        .user = bed.product * 100000 + user,
                        .quantity = quantity};
}

void bed_accept(struct server *server, const struct buy *buy, char id[SHOP_ID_SIZE])
{
    struct http_reply reply = shop_send(server, buy);
    char status[16];

    if (reply.status != 202)
        fail_msg("%d instead of 202: %s", reply.status, reply.body);
    http_reply_text(&reply, "status", status, sizeof status);
    assert_string_equal(status, "queued");
    if (id)
        http_reply_text(&reply, "id", id, SHOP_ID_SIZE);
    http_reply_fini(&reply);
}

void bed_status(struct server *server, const char *id, char status[16], char reason[64])
{
    char target[64];

    snprintf(target, sizeof target, "/orders/%s", id);
    struct http_reply reply = server_call(server, "GET", target, NULL, NULL);
    snprintf(status, 16, "%d", reply.status);
    if (reply.status == 200)
        http_reply_text(&reply, "status", status, 16);
    if (reason && strcmp(status, "failed") == 0)
        http_reply_text(&reply, "reason", reason, 64);
    http_reply_fini(&reply);
}

void bed_expect_status(struct server *server, const char *id, const char *expected)
{
    char status[16];

    bed_status(server, id, status, NULL);
    assert_string_equal(status, expected);
}

static bool has_status(struct server *server, const char *id, const char *expected)
{
    char status[16];

    bed_status(server, id, status, NULL);
    return strcmp(status, expected) == 0;
}

void bed_wait_status(struct server *server, const char *id, const char *expected)
{
    BED_WAIT(has_status(server, id, expected));
}

struct witness *bed_hold(void)
{
    return witness_hold(bed.conninfo, bed.product);
}

/* Splits at spaces; "@NAME" is the bed's key, and "~" a space within a word. */
static redisReply *ask(char *text)
{
    char space[TEXT_MAX];
    char *words[16];
    size_t lengths[16] = {4};
    int n = 0;

    char *to = space;
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        words[n] = to;
        if (*word == '@')
            to += sprintf(to, "{%s}:stock:%s", here.system, word + 1) + 1;
        else
            to += sprintf(to, "%s", word) + 1;
        for (char *c = words[n] + 1; *c; c++)
            if (*c == '~')
                *c = ' ';
        lengths[n] = strlen(words[n]);
        n++;
    }
    const char *arguments[16] = {"PING"};
    for (int i = 0; i < n; i++)
        arguments[i] = words[i];
    redisReply *reply = NULL;
    for (int tries = 0; !reply && tries < 2; tries++) {
        if (here.redis && tries > 0) { /* the Redis that it spoke to was killed */
            redisFree(here.redis);
            here.redis = NULL;
        }
        if (!here.redis)
            here.redis = redisConnectUnix(stack_stock_redis() + 7);
        reply = redisCommandArgv(here.redis, n, arguments, lengths);
    }
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("Redis: %s", reply ? reply->str : here.redis->errstr);
    return reply;
}

static __attribute__((format(printf, 1, 0))) redisReply *ask_formatted(const char *format,
                                                                       va_list values)
{
    char text[TEXT_MAX];

    vsnprintf(text, sizeof text, format, values);
    return ask(text);
}

int64_t bed_redis(const char *format, ...)
{
    va_list values;

    va_start(values, format);
    redisReply *reply = ask_formatted(format, values);
    va_end(values);
    int64_t number = reply->type == REDIS_REPLY_STRING ? atoll(reply->str) : reply->integer;
    freeReplyObject(reply);
    return number;
}

void bed_redis_text(char *out, size_t size, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    redisReply *reply = ask_formatted(format, values);
    va_end(values);
    snprintf(out, size, "%s", reply->type == REDIS_REPLY_STRING ? reply->str : "");
    freeReplyObject(reply);
}

int64_t bed_mirror(void)
{
    return bed_redis("HGET @mirror:%lld stock", (long long)bed.product);
}

int64_t bed_waiting(void)
{
    return bed_redis("HGET @units orders");
}

int64_t bed_claims(const char *fate)
{
    char label[48];
    int64_t sum = 0;

    snprintf(label, sizeof label, "fate=\"%s\"", fate);
    for (int i = 0; i < bed.count; i++)
        sum += server_metric(bed.servers[i], "seckill_redis_stock_claims_total", label);
    return sum;
}

void bed_expect_settled(void)
{
    BED_WAIT(bed_waiting() == 0 && bed_redis("XLEN @orders") == 0);
    assert_int_equal(bed_redis("HLEN @units"), 0);
    assert_int_equal(bed_redis("HLEN @waiting"), 0);
    assert_int_equal(bed_redis("HLEN @partly"), 0);
    witness_expect_exact(bed.witness, bed.product);
    shop_expect_consistent(bed.servers[0], bed.product);
    if (bed_redis("EXISTS @mirror:%lld", (long long)bed.product))
        assert_int_equal(bed_mirror(), witness_sale(bed.witness, bed.product).stock);
}

static int64_t rounds(void)
{
    int64_t sum = 0;

    for (int i = 0; i < bed.count; i++)
        sum += metric(bed.servers[i], "seckill_redis_stock_rounds_total");
    return sum;
}

/* What some writer writes makes it go a round when it is quiet again. */
static void cause_round(void)
{
    static int64_t user;
    int64_t before = rounds();
    struct buy buy = bed_buy(++user, 1);

    buy.product = BED_OTHER_PRODUCT;
    shop_expect_buy(bed.servers[0], &buy, 201, "", NULL);
    BED_WAIT(rounds() > before);
}

static void expect_no_drift(struct server *server)
{
    char sought[64];

    snprintf(sought, sizeof sought, "product %lld: Redis was off", (long long)bed.product);
    if (server_says(server, sought))
        fail_msg("%s", sought);
}

void bed_expect_reconciled(void)
{
    bed_expect_settled();
    shop_put(bed.servers[0], BED_OTHER_PRODUCT, 10, NULL);
    cause_round(); /* it may have begun before this */
    cause_round();
    for (int i = 0; i < bed.count; i++)
        expect_no_drift(bed.servers[i]);
}
