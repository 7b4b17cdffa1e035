#include "queue_shop.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_SKIPPED = 77, POLL_US = 20000, SETS = 4 };

static const char database[] = "seckill_queue";

static void open_once(struct queue_shop *shop, const char *work_ms, int armed,
                      const char *failpoints)
{
    static int number;

    *shop = (struct queue_shop){.conninfo = stack_database_create(database)};
    snprintf(shop->system, sizeof shop->system, "test-%d-%d", (int)getpid(), ++number);
    server_use_database(shop->conninfo);
    for (int i = 0; i < QUEUE_INSTANCES; i++) {
        server_use_failpoints(i == armed ? failpoints : NULL);
        /* What says nothing of its wait, as a cancel cannot, waits for as long as a test holds it.
         */
        shop->servers[i] =
            server_start("--system-name", shop->system, "--work-ms", work_ms ? work_ms : "0",
                         "--work-timeout-ms", "2000", "--lock-wait-ms", "30000");
        /* An order that is decided: the consumers stand, and the lane has a worker. */
        struct buy buy = queue_buy(1, 1 + i);
        for (buy.product = 1; buy.product <= SETS; buy.product++) {
            if (i == 0)
                shop_put(shop->servers[0], buy.product, 100, NULL);
            if (i != armed || i == 0)
                shop_expect_buy_soon(shop->servers[i], &buy, 201);
        }
    }
    server_use_failpoints(NULL);
    shop->witness = witness_open(shop->conninfo);
}

/* Whether the first one has decided all there was: a consumer that fails, as where PostgreSQL was
 * slow, loses its sets to another instance for good. */
static bool first_decides(const struct queue_shop *shop)
{
    int64_t others = 0;

    for (int i = 1; i < QUEUE_INSTANCES; i++)
        others += server_metric(shop->servers[i], "seckill_cost_orders_total",
                                "strategy=\"partitioned-queue\",ended=\"committed\"");
    return others == 0;
}

void queue_shop_open(struct queue_shop *shop, const char *work_ms, int armed,
                     const char *failpoints)
{
    int64_t until_us = clock_mono_us() + QUEUE_PATIENCE_US;

    for (;;) {
        open_once(shop, work_ms, armed, failpoints);
        if (first_decides(shop))
            return;
        queue_shop_close(shop);
        if (clock_mono_us() >= until_us)
            fail_msg("the first instance does not keep its sets");
    }
}

void queue_shop_close(struct queue_shop *shop)
{
    witness_close(shop->witness);
    for (int i = 0; i < QUEUE_INSTANCES; i++)
        if (shop->servers[i])
            server_stop(shop->servers[i]);
    stack_database_drop(database);
    free(shop->conninfo);
}

struct buy queue_buy(int64_t product, int64_t user)
{
    return (struct buy){.strategy = "partitioned-queue", .product = product, .user = user};
}

/* An answer may come before the broker's confirm, and the lane is not free before that: such a
 * wait_timeout has done nothing, and is asked again. */
static struct http_reply buy_when_free(struct server *server, const struct buy *buy)
{
    int64_t until_us = clock_mono_us() + QUEUE_PATIENCE_US;

    for (;;) {
        char code[32];
        struct http_reply reply = shop_send(server, buy);
        http_reply_code(&reply, code, sizeof code);
        if (strcmp(code, "wait_timeout") != 0 || clock_mono_us() >= until_us)
            return reply;
        http_reply_fini(&reply);
    }
}

void queue_expect_accepted(struct server *server, const struct buy *buy, char id[SHOP_ID_SIZE])
{
    struct buy hasty = *buy;
    char status[16];
    char location[64];

    hasty.more = "&wait_ms=0";
    struct http_reply reply = buy_when_free(server, &hasty);
    if (reply.status != 202)
        fail_msg("%d instead of 202: %s", reply.status, reply.body);
    http_reply_text(&reply, "status", status, sizeof status);
    assert_string_equal(status, "queued");
    http_reply_text(&reply, "id", id, SHOP_ID_SIZE);
    assert_true(http_reply_header(&reply, "Location", location, sizeof location));
    assert_string_equal(location + strlen("orders/"), id);
    http_reply_fini(&reply);
}

void queue_buy_briefly(struct server *server, const struct buy *buy)
{
    struct buy hasty = *buy;
    char code[32];

    hasty.more = "&wait_ms=20";
    struct http_reply reply = buy_when_free(server, &hasty);
    http_reply_code(&reply, code, sizeof code);
    if (reply.status != 201 && reply.status != 202 && strcmp(code, "sold_out") != 0)
        fail_msg("%d: %s", reply.status, reply.body);
    http_reply_fini(&reply);
}

void queue_wait_accepted(struct crowd *crowd)
{
    int64_t until_us = clock_mono_us() + QUEUE_PATIENCE_US;

    while (crowd_count(crowd, 202, "") == 0) {
        if (clock_mono_us() >= until_us)
            fail_msg("nothing was accepted: %s", crowd_summary(crowd));
        crowd_wait(crowd, crowd_size(crowd), clock_mono_us() + POLL_US);
    }
}

void queue_wait_decided(struct queue_shop *shop, int64_t product)
{
    int64_t since_us = clock_mono_us();

    while (witness_number(shop->witness,
                          "SELECT count(*) FROM orders WHERE product_id = %lld AND status = 0",
                          (long long)product) > 0)
        t_wait(since_us, "orders are still queued");
}

void queue_expect_status(struct server *server, const char *id, const char *status,
                         const char *reason)
{
    char target[64];
    char got[32];

    snprintf(target, sizeof target, "/orders/%s", id);
    struct http_reply reply = server_call(server, "GET", target, NULL, NULL);
    assert_int_equal(reply.status, 200);
    http_reply_text(&reply, "status", got, sizeof got);
    assert_string_equal(got, status);
    if (reason) {
        http_reply_text(&reply, "reason", got, sizeof got);
        assert_string_equal(got, reason);
    }
    http_reply_fini(&reply);
}

void queue_expect_cancel(struct server *server, const char *id, int status, const char *code)
{
    char target[96];

    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    shop_expect(server, "POST", target, NULL, NULL, status, code);
}

void queue_wait_shown(struct server *server, bool up, const char *detail)
{
    int64_t since_us = clock_mono_us();

    for (;;) {
        struct server_backend is = server_backend(server, "rabbitmq");
        assert_int_equal(is.status, 200);
        if (is.up == up && strstr(is.detail, detail))
            return;
        t_wait(since_us, "/readyz says %s of the broker, and not \"%s\": %s", is.up ? "up" : "down",
               detail, is.detail);
    }
}

void queue_wait_noticed(struct server *server)
{
    queue_wait_shown(server, false, "");
}

/* RabbitMQ's own tool: its status, and what it prints, malloc'ed. */
static int run_ctl(const char *words, char **printed)
{
    char command[1024];
    size_t length = 0;
    int c;

    snprintf(command, sizeof command, "'%s' --dir '%s' rabbitmqctl \"%s\"",
             getenv("SECKILL_TEST_STACK_SH"), getenv("SECKILL_TEST_STACK"), words);
    FILE *from = popen(command, "r"); /* NOLINT(cert-env33-c) */
    FILE *to = open_memstream(printed, &length);
    assert_non_null(from);
    assert_non_null(to);
    while ((c = fgetc(from)) != EOF)
        fputc(c, to);
    fclose(to);
    return pclose(from);
}

char *queue_ctl(const char *format, ...)
{
    char words[512];
    char *printed = NULL;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    if (run_ctl(words, &printed) != 0)
        fail_msg("rabbitmqctl %s: %s", words, printed);
    return printed;
}

/* In one call: each is a second of processor, and of a busy machine many. */
int queue_delete(const struct queue_shop *shop, const char *kind)
{
    char *printed = queue_ctl("eval length([rabbit_amqqueue:delete(Q,false,false,<<120>>)||"
                              "Q<-rabbit_amqqueue:list(<<47>>),lists:prefix(atom_to_list('%s.%s.'),"
                              "binary_to_list(element(4,amqqueue:get_name(Q))))]).",
                              shop->system, kind);
    int count = (int)strtol(printed, NULL, 10);

    free(printed);
    return count;
}

int queue_run(void)
{
    if (!stack_amqp()) {
        fprintf(stderr, "this stack has no RabbitMQ\n");
        return EXIT_SKIPPED;
    }
    return t_run_all(NULL, stack_restore);
}
