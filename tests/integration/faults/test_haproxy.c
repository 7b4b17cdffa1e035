/*
 * Three servers behind a real HAProxy, which has docker/haproxy.cfg with this test's addresses in
 * it: orders keep their promise when a server is killed or stopped in mid-sale, nobody notices a
 * rolling restart, and what comes through the proxy is not taken for a call from the machine
 * itself.
 *
 * Buyers send one order at a time and repeat it with its key as long as the answer is a 5xx, or
 * none. A server that goes costs what is in flight to it: an order of each buyer, and one more that
 * finds a connection which the end of its process has not come to yet.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "lib/fixtures/shop.h"
#include "lib/net/haproxy.h"
#include "lib/server.h"
#include "lib/stack.h"
#include "lib/witness.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SERVERS = 3,
    BUYERS = 8,
    ORDERS = 400,
    STOCK = 250,
    PRODUCT = 1,
    CHECK_S = 60,
    CONFIGURED = 3 + SERVERS, /* lines of the file that are changed */
    LOST_MAX = 2 * BUYERS
};

static struct server *servers[SERVERS];
static struct {
    int port, fd; /* fd: keeps it for the next server; 0: none */
} places[SERVERS];
static struct haproxy *proxy;
static struct witness *witness;

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* A line of docker/haproxy.cfg as it stands here; `seen` counts what had to be changed. */
static void write_line(FILE *to, char *line, const int ports[2], int *seen)
{
    int number = 0;

    if (begins(line, "  bind :8000")) {
        fprintf(to, "  bind 127.0.0.1:%d\n", ports[0]);
    } else if (begins(line, "  bind 127.0.0.1:8001")) {
        fprintf(to, "  bind 127.0.0.1:%d\n", ports[1]);
    } else if (begins(line, "  default-server ")) {
        line[strcspn(line, "\n")] = '\0';
        char *names = strstr(line, " resolvers "); /* Docker's names; here are addresses */
        assert_non_null(names);
        fprintf(to, "%.*s\n", (int)(names - line), line);
        fprintf(to, "  timeout check %ds\n", CHECK_S); /* slow is not gone, on a busy machine */
    } else if (sscanf(line, "  server server-%d ", &number) == 1) {
        if (number <= SERVERS)
            fprintf(to, "  server server-%d %s\n", number,
                    server_address(servers[number - 1]) + strlen("http://"));
    } else {
        fputs(line, to);
        return;
    }
    ++*seen;
}

static void write_configuration(const char *path, const int ports[2])
{
    FILE *from = t_open(HAPROXY_CONFIGURATION), *to = fopen(path, "w");
    char line[512];
    bool resolves = false;
    int seen = 0;

    assert_non_null(to);
    while (fgets(line, sizeof line, from)) {
        resolves = begins(line, "resolvers ") || (resolves && *line == ' ');
        if (!resolves)
            write_line(to, line, ports, &seen);
    }
    fclose(from);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(seen, CONFIGURED);
}

static struct http_client *connect_patiently(void)
{
    return http_client_open(haproxy_address(proxy), clock_mono_us() + t_patience_us());
}

static void start_proxy(void)
{
    const int ports[2] = {t_free_port(), t_free_port()};

    proxy = haproxy_create();
    write_configuration(haproxy_path(proxy, "haproxy.cfg"), ports);
    haproxy_start(proxy, ports[0]);
}

static void stop_proxy(void)
{
    haproxy_destroy(proxy);
    proxy = NULL;
}

static void call(const char *method, const char *target, const char *headers, const char *body,
                 int status, const char *code)
{
    struct http_client *client = connect_patiently();
    struct http_reply reply;
    char got[64];

    assert_non_null(client);
    assert_int_equal(http_client_call(client, method, target, headers, body,
                                      clock_mono_us() + t_patience_us(), &reply),
                     HTTP_REPLY);
    http_reply_code(&reply, got, sizeof got);
    if (reply.status != status || strcmp(got, code) != 0)
        fail_msg("%s %s: %s", method, target, reply.body);
    http_reply_fini(&reply);
    http_client_close(client);
}

struct buyer {
    pthread_t thread;
    int number;
    int sold, refused; /* orders, as they ended */
    int failed;        /* answers 5xx, or none */
    struct http_client *client;
};

static atomic_int answered;

/* The status; 0: no answer. */
static int send_order(struct buyer *buyer, int order)
{
    char headers[64], body[80];
    struct http_reply reply;
    int64_t until_us = clock_mono_us() + t_patience_us();

    if (!buyer->client)
        buyer->client = http_client_open(haproxy_address(proxy), until_us);
    if (!buyer->client)
        return 0;
    snprintf(headers, sizeof headers, "Idempotency-Key: order-%d\r\n", order);
    snprintf(body, sizeof body, "{\"product_id\": %d, \"user_id\": %d}", PRODUCT, order);
    if (http_client_call(buyer->client, "POST", "/orders", headers, body, until_us, &reply) !=
        HTTP_REPLY)
        reply.status = 0;
    int status = reply.status;
    if (status == 0 || !reply.keeps_alive) {
        http_client_close(buyer->client);
        buyer->client = NULL;
    }
    if (status != 0)
        http_reply_fini(&reply);
    return status;
}

static void *buyer_main(void *argument)
{
    struct buyer *buyer = argument;

    for (int order = buyer->number; order <= ORDERS; order += BUYERS) {
        int64_t start_us = clock_mono_us();
        int status = send_order(buyer, order);
        while ((status == 0 || status >= 500) && clock_mono_us() < start_us + SERVER_PATIENCE_US) {
            buyer->failed++;
            status = send_order(buyer, order);
        }
        buyer->sold += status == 201 || status == 200; /* 200: it was sold when it was repeated */
        buyer->refused += status == 409;
        atomic_fetch_add(&answered, 1);
    }
    http_client_close(buyer->client);
    return NULL;
}

/* Sells, and has `leave` take a server away when a fifth of the orders has been answered. */
static void sell(void (*leave)(struct server *))
{
    struct buyer buyers[BUYERS] = {{.number = 0}};
    int sold = 0, refused = 0, failed = 0;

    shop_put(servers[1], PRODUCT, STOCK, NULL);
    atomic_store(&answered, 0);
    for (int i = 0; i < BUYERS; i++) {
        buyers[i].number = i + 1;
        assert_int_equal(pthread_create(&buyers[i].thread, NULL, buyer_main, &buyers[i]), 0);
    }
    T_UNTIL(atomic_load(&answered) >= ORDERS / 5);
    leave(servers[0]);
    servers[0] = NULL;
    for (int i = 0; i < BUYERS; i++) {
        pthread_join(buyers[i].thread, NULL);
        sold += buyers[i].sold;
        refused += buyers[i].refused;
        failed += buyers[i].failed;
    }
    fprintf(stderr, "%d sold, %d refused, %d answers lost\n", sold, refused, failed);
    assert_true(failed <= LOST_MAX);
    assert_int_equal(sold, STOCK);
    assert_int_equal(refused, ORDERS - STOCK);
    struct sale sale = witness_sale(witness, PRODUCT);
    assert_int_equal(sale.orders, STOCK);
    assert_int_equal(sale.stock, 0);
    witness_expect_exact(witness, PRODUCT);
    shop_expect_consistent(servers[1], PRODUCT);
}

TEST(a_server_is_killed_in_mid_sale)
{
    sell(server_kill);
}

TEST(a_server_is_stopped_in_mid_sale)
{
    sell(server_stop);
}

/* A buyer of a product of his own who never comes back: each order has one answer, and it must be a
 * sale. The first other one is kept. */
struct loyal_buyer {
    pthread_t thread;
    int number, sold;
    char complaint[400];
};

static atomic_bool restarted;

static void *loyal_buyer_main(void *argument)
{
    struct loyal_buyer *buyer = argument;
    struct http_client *client = connect_patiently();

    if (!client)
        snprintf(buyer->complaint, sizeof buyer->complaint, "no connection");
    while (!*buyer->complaint && !atomic_load(&restarted)) {
        char headers[64], body[80];
        struct http_reply reply = {.status = 0};
        snprintf(headers, sizeof headers, "Idempotency-Key: %d-%d\r\n", buyer->number, buyer->sold);
        snprintf(body, sizeof body, "{\"product_id\": %d, \"user_id\": %d}", buyer->number,
                 buyer->sold + 1);
        enum http_result result = http_client_call(client, "POST", "/orders?wait_ms=60000", headers,
                                                   body, clock_mono_us() + t_patience_us(), &reply);
        if (result != HTTP_REPLY || (reply.status != 201 && reply.status != 200))
            snprintf(buyer->complaint, sizeof buyer->complaint, "%d: %d %.300s", (int)result,
                     reply.status, result == HTTP_REPLY ? reply.body : "");
        else
            buyer->sold++;
        atomic_fetch_add(&answered, 1);
        if (result == HTTP_REPLY)
            http_reply_fini(&reply);
    }
    http_client_close(client);
    return NULL;
}

static void wait_answered(int more)
{
    int until = atomic_load(&answered) + more;

    T_UNTIL(atomic_load(&answered) >= until);
}

/* Orders that take so long that a server which is told to stop has some to finish, and that may
 * take much longer on a busy machine. */
static void start_slow(int i)
{
    char listen[32];

    snprintf(listen, sizeof listen, "127.0.0.1:%d", places[i].port);
    servers[i] = server_start("--listen", listen, "--work-ms", "20", "--work-timeout-ms", "40000",
                              "--lock-ttl-ms", "60000");
}

/* Told to stop with orders under way, it ends when they are answered; started where it was, it gets
 * orders again before the next one goes. */
static void restart(int i)
{

    server_signal(servers[i], SIGTERM);
    assert_int_equal(server_wait(servers[i], NULL, 0), 0);
    servers[i] = NULL;
    wait_answered(2 * BUYERS);
    start_slow(i);
    T_UNTIL(server_accepted(servers[i]) != 0);
}

static int start_where_they_can_come_back(void **state)
{
    (void)state;
    for (int i = 0; i < SERVERS; i++) {
        places[i].fd = t_reserve_port(&places[i].port);
        start_slow(i);
    }
    start_proxy();
    return 0;
}

static int stop(void **state)
{
    stop_proxy();
    for (int i = 0; i < SERVERS; i++) {
        if (servers[i])
            server_stop(servers[i]);
        servers[i] = NULL;
        if (places[i].fd)
            close(places[i].fd);
        places[i].fd = 0;
    }
    return server_teardown(state);
}

/* While a server answers what it has, HAProxy still has connections to it: an order on one of them
 * is told 503 shutting_down, or nothing, and goes to another server. */
TEST_WITH(nobody_notices_a_rolling_restart, start_where_they_can_come_back, stop)
{
    struct loyal_buyer buyers[BUYERS] = {{.number = 0}};

    atomic_store(&answered, 0);
    atomic_store(&restarted, false);
    for (int i = 0; i < BUYERS; i++) {
        buyers[i].number = i + 1;
        shop_put(servers[0], i + 1, 1000000, NULL);
    }
    for (int i = 0; i < BUYERS; i++)
        assert_int_equal(pthread_create(&buyers[i].thread, NULL, loyal_buyer_main, &buyers[i]), 0);
    wait_answered(4 * BUYERS);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < SERVERS; i++)
            restart(i);
    atomic_store(&restarted, true);
    for (int i = 0; i < BUYERS; i++)
        pthread_join(buyers[i].thread, NULL);
    for (int i = 0; i < BUYERS; i++) {
        if (*buyers[i].complaint)
            fail_msg("buyer %d after %d orders: %s", i + 1, buyers[i].sold, buyers[i].complaint);
        assert_int_equal(witness_sale(witness, i + 1).orders, buyers[i].sold);
        witness_expect_exact(witness, i + 1);
    }
}

/* The servers take admin calls from the machine itself, from which the proxy's come too. */
TEST(admin_calls_through_the_proxy_are_refused)
{
    shop_put(servers[0], PRODUCT, 1, NULL);
    call("PUT", "/products/1", NULL, "{\"stock\": 5}", 403, "forbidden");
    call("POST", "/products/1/restock", NULL, "{\"quantity\": 1}", 403, "forbidden");
    call("GET", "/products/1/audit", NULL, NULL, 403, "forbidden");
    call("GET", "/products/1", NULL, NULL, 200, "");
}

static int start(const char *flag, const char *value)
{
    for (int i = 0; i < SERVERS; i++)
        servers[i] = server_start(flag, value);
    start_proxy();
    return 0;
}

static int start_open(void **state)
{
    (void)state;
    return start(NULL, NULL);
}

static int start_guarded(void **state)
{
    (void)state;
    return start("--admin-token", "secret");
}

TEST_WITH(the_token_passes_the_proxy, start_guarded, stop)
{
    call("PUT", "/products/1", NULL, "{\"stock\": 5}", 401, "unauthorized");
    call("PUT", "/products/1", "Authorization: Bearer secret\r\n", "{\"stock\": 5}", 200, "");
}

static int open_witness(void **state)
{
    (void)state;
    witness = witness_open(stack_database());
    return 0;
}

static int close_witness(void **state)
{
    witness_close(witness);
    return stack_restore(state);
}

TEST_GROUP(open_witness, close_witness)
TEST_EACH(start_open, stop)
