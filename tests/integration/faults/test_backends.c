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
    int64_t since_us = clock_mono_us();

    while (server_status(server, "GET", target, NULL, NULL) != status)
        t_wait(since_us, "%s is not %d", target, status);
}

/* A folder in which a backend's socket appears once `link` is made. */
static void make_folder(char folder[32])
{
    strcpy(folder, "/tmp/seckill-absent.XXXXXX");
    assert_non_null(mkdtemp(folder));
}

/* A socket that nobody accepts from. */
static int listen_silently(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int listener = t_socket(AF_UNIX);

    strcpy(at.sun_path, path);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 8), 0);
    return listener;
}

enum { POSTGRESQL, REDIS, BOTH };

/* A PostgreSQL and a Redis that are silent until the stack's are put in their places. */
struct silent {
    char folder[32];
    char paths[BOTH][64];
    int listeners[BOTH];
    char *through;              /* owned */
    struct store *store;        /* owned */
    struct redis_server *redis; /* owned */
};

static void silent_open(struct silent *silent)
{
    struct error error = {ERROR_NONE, ""};
    const char *url;

    make_folder(silent->folder);
    snprintf(silent->paths[POSTGRESQL], sizeof *silent->paths, "%s/.s.PGSQL.5432", silent->folder);
    snprintf(silent->paths[REDIS], sizeof *silent->paths, "%s/redis.sock", silent->folder);
    for (int i = 0; i < BOTH; i++)
        silent->listeners[i] = listen_silently(silent->paths[i]);
    silent->through = stack_database_through(here.conninfo, silent->folder);
    silent->store = store_create(silent->through, (struct store_limits){60000, 60000, 0},
                                 (struct store_schema){.name = "seckill"}, &error);
    url = t_text("unix://%s", silent->paths[REDIS]);
    silent->redis = redis_server_create(url, "", &error);
    assert_true(silent->store && silent->redis);
}

static void silent_replace(struct silent *silent)
{
    char *sockets = stack_socket_folder();
    const char *const real[BOTH] = {t_text("%s/.s.PGSQL.5432", sockets),
                                    stack_redis() + strlen("unix://")};

    for (int i = 0; i < BOTH; i++) {
        unlink(silent->paths[i]);
        assert_int_equal(symlink(real[i], silent->paths[i]), 0);
    }
    free(sockets);
}

/* Those who had connected see the end. */
static void silent_hang_up(struct silent *silent)
{
    for (int i = 0; i < BOTH; i++)
        close(silent->listeners[i]);
}

static void silent_close(struct silent *silent)
{
    store_destroy(silent->store);
    redis_server_destroy(silent->redis);
    t_remove_folder(silent->folder);
    free(silent->through);
}

/* A connect that fails because it had little time keeps nobody else from trying. */
TEST_WITH(hurried_connect_closes_nothing, NULL, NULL)
{
    enum { HURRY_US = 20000 };
    struct error error = {ERROR_NONE, ""};
    struct silent silent;

    silent_open(&silent);
    struct pg *pg = pg_create(silent.store);
    struct redis *redis = redis_create(silent.redis);
    int64_t until_us = clock_mono_us() + HURRY_US;
    assert_false(store_prepare(silent.store, pg, until_us, until_us, &error));
    assert_false(redis_connect(redis, clock_mono_us() + HURRY_US));
    silent_hang_up(&silent);
    silent_replace(&silent);
    until_us = clock_mono_us() + PATIENCE_US;
    assert_true(redis_connect(redis, until_us));
    t_done(store_prepare(silent.store, pg, until_us, until_us, &error), error);
    redis_destroy(redis);
    pg_destroy(pg);
    silent_close(&silent);
}

static void *open_postgresql(void *session)
{
    return pg_open(session, clock_mono_us() + PATIENCE_US) ? NULL : session;
}

static void *open_redis(void *session)
{
    return redis_connect(session, clock_mono_us() + PATIENCE_US) ? NULL : session;
}

/* A connect that was under way when another one worked says nothing of now by its failing. */
TEST_WITH(late_failure_of_a_connect_closes_nothing, NULL, NULL)
{
    enum { FIRST, SECOND, THIRD, SESSIONS };
    struct silent silent;
    pthread_t threads[BOTH];
    struct pg *pg[SESSIONS];
    struct redis *redis[SESSIONS];
    void *failed;

    silent_open(&silent);
    for (int i = 0; i < SESSIONS; i++) {
        pg[i] = pg_create(silent.store);
        redis[i] = redis_create(silent.redis);
    }
    assert_int_equal(pthread_create(&threads[POSTGRESQL], NULL, open_postgresql, pg[FIRST]), 0);
    assert_int_equal(pthread_create(&threads[REDIS], NULL, open_redis, redis[FIRST]), 0);
    for (int i = 0; i < BOTH; i++) {
        struct pollfd under_way = {.fd = silent.listeners[i], .events = POLLIN};
        assert_int_equal(poll(&under_way, 1, PATIENCE_US / 1000), 1);
    }
    silent_replace(&silent);
    assert_null(open_postgresql(pg[SECOND]));
    assert_null(open_redis(redis[SECOND]));
    silent_hang_up(&silent);
    for (int i = 0; i < BOTH; i++) {
        pthread_join(threads[i], &failed);
        assert_non_null(failed);
    }
    assert_true(store_up(silent.store) && redis_server_up(silent.redis));
    t_done(!open_postgresql(pg[THIRD]), *pg_error(pg[THIRD]));
    t_done(!open_redis(redis[THIRD]), *redis_error(redis[THIRD]));
    for (int i = 0; i < SESSIONS; i++) {
        pg_destroy(pg[i]);
        redis_destroy(redis[i]);
    }
    silent_close(&silent);
}

/* A server is ready by a session that has lived on: then the next order's connect is let through.
 */
TEST_WITH(ready_store_lets_everybody_connect, NULL, NULL)
{
    struct error error = {ERROR_NONE, ""};
    int64_t until_us = clock_mono_us() + PATIENCE_US;
    struct silent silent;

    silent_open(&silent);
    struct pg *living = pg_create(silent.store);
    struct pg *other = pg_create(silent.store);
    silent_hang_up(&silent);
    silent_replace(&silent);
    t_done(store_prepare(silent.store, living, until_us, until_us, &error), error);
    unlink(silent.paths[POSTGRESQL]);
    assert_false(pg_open(other, until_us));
    assert_false(store_up(silent.store));
    silent_replace(&silent);
    t_done(store_prepare(silent.store, living, until_us, until_us, &error), error);
    assert_true(store_up(silent.store));
    t_done(pg_open(other, until_us), *pg_error(other));
    pg_destroy(living);
    pg_destroy(other);
    silent_close(&silent);
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
