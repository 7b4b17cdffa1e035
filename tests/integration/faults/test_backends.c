/*
 * Backends that die and come back, or are not there yet.
 *
 * After a kill -9 in the middle of purchases no 201 may be without its row, and no row beyond the
 * 201s and what was answered "unknown" or not at all. The server is not restarted: it finds the
 * backend again by itself.
 */
#include "lib/fixtures/cases.h"
#include "lib/stack.h"

#include "base/clock.h"
#include "postgres/pg_internal.h"
#include "redis/redis.h"
#include "strategies/strategies.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BUYERS = 40, STOCK = 1000, PATIENCE_US = 120000000 };

static struct {
    char *conninfo; /* owned */
} here;

static bool is_unsafe(const struct strategy *strategy)
{
    return !(strategy->guarantees & GUARANTEE_ONE);
}

/* Every strategy at once, each on a product of its own, numbered from 1. */
static struct crowd *send_everywhere(struct server *server)
{
    struct crowd *crowd = crowd_create();

    for (size_t i = 0; i < strategy_count(); i++)
        shop_put(server, (int64_t)i + 1, STOCK, NULL);
    for (int j = 0; j < BUYERS; j++)
        for (size_t i = 0; i < strategy_count(); i++) {
            struct buy buy = {.strategy = strategy_at(i)->name,
                              .product = (int64_t)i + 1,
                              .user = 1 + j,
                              .more = "&wait_ms=60000"};
            shop_crowd_buy(crowd, server, &buy);
        }
    crowd_send(crowd);
    return crowd;
}

static void expect_rows_to_fit(struct witness *witness, struct crowd *crowd)
{
    int count = (int)strategy_count();

    for (int i = 0; i < count; i++) {
        int sold = 0;
        int unknown = 0;
        for (int j = i; j < crowd_size(crowd); j += count) {
            const struct crowd_call *call = crowd_at(crowd, j);
            sold += call->reply.status == 201;
            unknown += call->result != HTTP_REPLY || call->reply.status == 504;
        }
        struct sale sale = witness_sale(witness, i + 1);
        if (sale.orders < sold || sale.orders > sold + unknown)
            fail_msg("%s: %lld rows, %d × 201, %d unknown", strategy_at((size_t)i)->name,
                     (long long)sale.orders, sold, unknown);
        if (!is_unsafe(strategy_at((size_t)i)))
            witness_expect_exact(witness, i + 1);
    }
}

static void expect_every_201_has_its_row(struct witness *witness, struct crowd *crowd)
{
    char id[SHOP_ID_SIZE];

    for (int i = 0; i < crowd_size(crowd); i++) {
        const struct crowd_call *call = crowd_at(crowd, i);
        if (call->reply.status != 201)
            continue;
        http_reply_text(&call->reply, "id", id, sizeof id);
        assert_int_equal(witness_number(witness,
                                        "SELECT count(*) FROM orders WHERE id = '%s'"
                                        " AND status = 1",
                                        id),
                         1);
    }
}

static void wait_status(struct server *server, const char *target, int status)
{
    int64_t until_us = clock_mono_us() + PATIENCE_US;

    while (server_status(server, "GET", target, NULL, NULL) != status) {
        if (clock_mono_us() >= until_us)
            fail_msg("%s is not %d", target, status);
        clock_sleep_until(clock_mono_us() + 10000);
    }
}

/* A folder in which a backend's socket appears once `link` is made. */
static void make_folder(char folder[32])
{
    strcpy(folder, "/tmp/seckill-absent.XXXXXX");
    assert_non_null(mkdtemp(folder));
}

/* A socket in the folder that nobody accepts from, until `link` to a real one stands in its place.
 */
static int listen_silently(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int listener = t_socket(AF_UNIX);

    strcpy(at.sun_path, path);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 8), 0);
    return listener;
}

/* The stack's, in the place of that. */
static void put_postgres(const char *path)
{
    char *sockets = stack_socket_folder();
    const char *real = t_text("%s/.s.PGSQL.5432", sockets);

    unlink(path);
    assert_int_equal(symlink(real, path), 0);
    free(sockets);
}

/* A connect that fails because it had little time keeps nobody else from trying. */
TEST_WITH(hurried_connect_closes_nothing, NULL, NULL)
{
    enum { HURRY_US = 20000 };
    struct error error = {ERROR_NONE, ""};
    char folder[32];
    char paths[2][64];
    char url[80];

    make_folder(folder);
    snprintf(paths[0], sizeof paths[0], "%s/.s.PGSQL.5432", folder);
    snprintf(paths[1], sizeof paths[1], "%s/redis.sock", folder);
    snprintf(url, sizeof url, "unix://%s", paths[1]);
    int listeners[] = {listen_silently(paths[0]), listen_silently(paths[1])};
    char *through = stack_database_through(here.conninfo, folder);
    struct store *store = store_create(through, (struct store_limits){60000, 60000, 0},
                                       (struct store_schema){.name = "seckill"}, &error);
    struct pg *pg = pg_create(store);
    struct redis_server *redis_server = redis_server_create(url, "", &error);
    struct redis *redis = redis_create(redis_server);
    int64_t until_us = clock_mono_us() + HURRY_US;
    assert_false(store_prepare(store, pg, until_us, until_us, &error));
    assert_false(redis_connect(redis, clock_mono_us() + HURRY_US));
    for (int i = 0; i < 2; i++)
        close(listeners[i]);
    put_postgres(paths[0]);
    unlink(paths[1]);
    assert_int_equal(symlink(stack_redis() + strlen("unix://"), paths[1]), 0);
    assert_true(redis_connect(redis, clock_mono_us() + PATIENCE_US));
    until_us = clock_mono_us() + PATIENCE_US;
    if (!store_prepare(store, pg, until_us, until_us, &error))
        fail_msg("%s", error.text);
    redis_destroy(redis);
    redis_server_destroy(redis_server);
    pg_destroy(pg);
    store_destroy(store);
    for (int i = 0; i < 2; i++)
        unlink(paths[i]);
    rmdir(folder);
    free(through);
}

static void *open_slowly(void *pg)
{
    static char failed;

    return pg_open(pg, clock_mono_us() + PATIENCE_US) ? NULL : &failed;
}

/* A connect that was under way when another one worked says nothing of now by its failing. */
TEST_WITH(late_failure_of_a_connect_closes_nothing, NULL, NULL)
{
    struct error error = {ERROR_NONE, ""};
    char folder[32];
    char path[64];
    pthread_t thread;
    void *failed;

    make_folder(folder);
    snprintf(path, sizeof path, "%s/.s.PGSQL.5432", folder);
    int listener = listen_silently(path);
    char *through = stack_database_through(here.conninfo, folder);
    struct store *store = store_create(through, (struct store_limits){60000, 60000, 0},
                                       (struct store_schema){.name = "seckill"}, &error);
    struct pg *sessions[] = {pg_create(store), pg_create(store), pg_create(store)};
    assert_int_equal(pthread_create(&thread, NULL, open_slowly, sessions[0]), 0);
    struct pollfd under_way = {.fd = listener, .events = POLLIN};
    assert_int_equal(poll(&under_way, 1, PATIENCE_US / 1000), 1);
    put_postgres(path);
    int64_t until_us = clock_mono_us() + PATIENCE_US;
    assert_true(store_prepare(store, sessions[1], until_us, until_us, &error));
    close(listener);
    pthread_join(thread, &failed);
    assert_non_null(failed);
    t_done(pg_open(sessions[2], until_us), *pg_error(sessions[2]));
    for (int i = 0; i < 3; i++)
        pg_destroy(sessions[i]);
    store_destroy(store);
    unlink(path);
    rmdir(folder);
    free(through);
}

TEST(postgresql_is_killed)
{
    struct server *server = server_start("--work-ms", "5");

    for (int round = 0; round < 2; round++) {
        struct crowd *crowd = send_everywhere(server);
        assert_true(crowd_wait(crowd, 30 + 40 * round, clock_mono_us() + PATIENCE_US));
        stack_kill("postgres", SIGKILL);
        wait_status(server, "/readyz", 503);
        for (size_t i = 0; i < strategy_count(); i++) {
            struct buy buy = {.strategy = strategy_at(i)->name,
                              .product = (int64_t)i + 1,
                              .user = 900,
                              .more = "&wait_ms=0"};
            struct http_reply reply = shop_buy(server, &buy);
            assert_int_equal(reply.status, 503);
            http_reply_fini(&reply);
        }
        assert_int_equal(server_status(server, "GET", "/healthz", NULL, NULL), 200);
        stack_up();
        crowd_finish(crowd, PATIENCE_US);
        assert_int_equal(crowd_lost(crowd), 0);
        if (crowd_count(crowd, 201, "") + crowd_count(crowd, 503, NULL) +
                crowd_count(crowd, 504, "outcome_unknown") !=
            crowd_size(crowd))
            fail_msg("%s", crowd_summary(crowd));
        wait_status(server, "/readyz", 200);
        struct witness *witness = witness_open(here.conninfo);
        expect_rows_to_fit(witness, crowd);
        expect_every_201_has_its_row(witness, crowd);
        witness_close(witness);
        for (size_t i = 0; i < strategy_count(); i++) {
            struct buy buy = {
                .strategy = strategy_at(i)->name, .product = (int64_t)i + 1, .user = 901};
            shop_expect_buy_soon(server, &buy, 201);
        }
        crowd_destroy(crowd);
    }
    server_stop(server);
}

TEST(redis_is_killed)
{
    struct server *server = server_start("--work-ms", "5");
    struct crowd *crowd = send_everywhere(server);
    struct buy queue = {.strategy = "redis-queue", .product = 1001, .user = 900};
    struct buy other = {.strategy = "conditional", .product = 1000, .user = 900};

    shop_put(server, 1000, STOCK, NULL);
    shop_put(server, 1001, STOCK, NULL);
    assert_true(crowd_wait(crowd, 30, clock_mono_us() + PATIENCE_US));
    stack_kill("locks", SIGKILL);
    crowd_finish(crowd, PATIENCE_US);
    assert_int_equal(crowd_lost(crowd), 0);
    shop_expect_buy(server, &queue, 503, "backend_unavailable", NULL);
    /* The others do not notice, and the server is ready. */
    shop_expect_buy(server, &other, 201, "", NULL);
    shop_put(server, 1002, 1, NULL);
    assert_int_equal(server_status(server, "GET", "/readyz", NULL, NULL), 200);
    struct witness *witness = witness_open(here.conninfo);
    for (int i = 0; i < crowd_size(crowd); i++)
        if (!(strategy_at((size_t)i % strategy_count())->needs & NEED_REDIS))
            assert_int_equal(crowd_at(crowd, i)->reply.status, 201);
    expect_rows_to_fit(witness, crowd);
    expect_every_201_has_its_row(witness, crowd);
    witness_close(witness);
    crowd_destroy(crowd);
    stack_up();
    shop_expect_buy_soon(server, &queue, 201);
    server_stop(server);
}

TEST(postgresql_comes_late)
{
    char folder[32];
    char link[64];
    char real[512];
    struct buy buy = {.strategy = "conditional", .product = 50, .user = 1};

    make_folder(folder);
    snprintf(link, sizeof link, "%s/.s.PGSQL.5432", folder);
    char *sockets = stack_socket_folder();
    snprintf(real, sizeof real, "%s/.s.PGSQL.5432", sockets);
    char *through = stack_database_through(here.conninfo, folder);
    struct server *server = server_start("--database", through);
    assert_int_equal(server_status(server, "GET", "/readyz", NULL, NULL), 503);
    assert_int_equal(server_status(server, "GET", "/healthz", NULL, NULL), 200);
    assert_int_equal(server_status(server, "GET", "/strategies", NULL, NULL), 200);
    shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
    shop_expect(server, "PUT", "/products/50", NULL, "{\"stock\": 3}", 503, "backend_unavailable");
    shop_expect(server, "GET", "/products/50", NULL, NULL, 503, "backend_unavailable");
    assert_int_equal(symlink(real, link), 0);
    wait_status(server, "/readyz", 200);
    shop_put(server, 50, 3, NULL);
    shop_expect_buy_soon(server, &buy, 201);
    server_stop(server);
    unlink(link);
    rmdir(folder);
    free(through);
    free(sockets);
}

TEST(redis_comes_late)
{
    char folder[32];
    char link[64];
    char url[80];
    struct buy buy = {.strategy = "redis-queue", .product = 51, .user = 1};

    make_folder(folder);
    snprintf(link, sizeof link, "%s/redis.sock", folder);
    snprintf(url, sizeof url, "unix://%s", link);
    struct server *server = server_start("--redis", url);
    shop_put(server, 51, 3, NULL);
    shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
    assert_int_equal(server_status(server, "GET", "/readyz", NULL, NULL), 200);
    assert_int_equal(symlink(stack_redis() + strlen("unix://"), link), 0);
    shop_expect_buy_soon(server, &buy, 201);
    server_stop(server);
    unlink(link);
    rmdir(folder);
}

TEST_EACH(NULL, server_teardown)

int main(void)
{
    t_raise_files();
    here.conninfo = stack_database_create("seckill_backends");
    server_use_database(here.conninfo);
    int failed = t_run_all(NULL, stack_restore);
    stack_database_drop("seckill_backends");
    free(here.conninfo);
    return failed != 0;
}
