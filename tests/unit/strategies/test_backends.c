/* The table of backends, and what the registry says of strategies whose backends are not there. */
#include "lib/t.h"

#include "base/clock.h"
#include "lock/lock.h"
#include "strategies/strategies.h"
#include "strategy/backends.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct settings settings = {.database = "host=/nonexistent",
                                         .redis = "unix:///nonexistent",
                                         .schema = "seckill",
                                         .migrate = "auto",
                                         .stock_redis = "",
                                         .redlock = "",
                                         .memcached = "",
                                         .zookeeper = "",
                                         .amqp = "",
                                         .amqp_ca = "",
                                         .system_name = "seckill",
                                         .lock_ttl_ms = 1000,
                                         .work_timeout_ms = 5000};

static struct services services = {.settings = &settings, .strategies = &strategy_list};

static int open_all(void **state)
{
    struct error error = {ERROR_NONE, ""};

    (void)state;
    assert_true(backends_open(&services, &error));
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    backends_close(&services);
    return 0;
}

TEST(every_row_is_whole)
{
    for (int i = 0; i < BACKEND_COUNT; i++) {
        const struct backend *row = backend_at(i);
        assert_non_null(row->name);
        assert_non_null(row->absent);
        if (!row->open)
            continue; /* its client library was absent */
        assert_non_null(row->close);
        assert_true(row->up || row->health);
        assert_true((row->session_open == NULL) == (row->session_close == NULL));
        assert_true(row->session_open || (!row->connect && !row->probe));
    }
}

TEST(what_is_configured_is_open)
{
    for (int i = 0; i < BACKEND_COUNT; i++)
        assert_int_equal(services.backends[i] != NULL,
                         i == BACKEND_POSTGRESQL || i == BACKEND_REDIS || i == BACKEND_STOCK_REDIS);
    assert_null(strategy_unavailable_reason(strategy_find("redis-queue"), &services));
    assert_string_equal(strategy_unavailable_reason(strategy_find("redlock"), &services),
                        backend_redlock.absent);
    assert_string_equal(strategy_unavailable_reason(strategy_find("partitioned-queue"), &services),
                        backend_rabbitmq.absent);
}

static void count_name(void *to, const char *name, bool up, const char *detail)
{
    int *count = to;

    assert_non_null(strstr("postgresql redis stock-redis", name));
    assert_false(up);
    assert_true(*detail);
    ++*count;
}

TEST(what_is_open_is_reported)
{
    int count = 0;

    backends_report(&services, count_name, &count);
    assert_int_equal(count, 3);
}

/* Its Redis was too old at the start, and is replaced: nobody would write what it accepts. */
TEST(who_was_not_started_cannot_be_used)
{
    const struct strategy *strategy = strategy_find("redis-stock");
    void *instances[64] = {NULL};

    assert_true(strategy_total() <= sizeof instances / sizeof *instances);
    assert_null(strategy_unavailable_reason(strategy, &services));
    services.instances = instances;
    assert_non_null(strstr(strategy_unavailable_reason(strategy, &services), "start it again"));
    assert_null(strategy_unavailable_reason(strategy_find("redis-queue"), &services));
    instances[strategy_index(strategy)] = &services;
    assert_null(strategy_unavailable_reason(strategy, &services));
    services.instances = NULL;
}

/* A PostgreSQL that nobody has greeted yet is asked by that alone. */
static void ask(const struct backend *row, void *backend, void *session)
{
    enum { SHORT_US = 100000 };
    void *sessions[BACKEND_COUNT] = {[BACKEND_MEMCACHED] = session};
    struct lock_client client = {.settings = &settings, .sessions = sessions};
    struct error error = {ERROR_NONE, ""};
    struct lease lease;

    if (row == backend_at(BACKEND_POSTGRESQL))
        assert_true(row->greet(backend, &error));
    else if (row->connect)
        assert_false(row->connect(session, clock_mono_us() + SHORT_US, &error));
    else
        assert_int_equal(
            lock_acquire(&lock_memcached, &client, 1, true, clock_mono_us() + SHORT_US, &lease),
            LOCK_UNKNOWN);
}

/* Nobody listens at its port, then somebody does: whether the second ask did not even try. */
static bool is_kept_away(const struct backend *row)
{
    struct error error = {ERROR_NONE, ""};
    struct settings there = settings;
    int port;
    int socket = t_reserve_port(&port);

    there.database = t_text("host=127.0.0.1 port=%d dbname=shop user=shop", port);
    there.redis = there.stock_redis = t_text("redis://127.0.0.1:%d", port);
    there.memcached = t_text("127.0.0.1:%d", port);
    there.amqp = t_text("amqp://shop:shop@127.0.0.1:%d", port);
    void *backend = row->open(&there, &error);
    t_done(backend, error);
    void *session = row->session_open(backend);
    ask(row, backend, session);
    assert_int_equal(listen(socket, 8), 0);
    ask(row, backend, session);
    struct pollfd tried = {.fd = socket, .events = POLLIN};
    bool kept_away = poll(&tried, 1, 0) == 0;
    row->session_close(session);
    row->close(backend);
    close(socket);
    return kept_away;
}

/* More than once, for where the machine stands still for that moment the second one may try. */
TEST(a_failed_connect_keeps_the_next_one_away)
{
    enum { TIMES = 5 };
    static const int ids[] = {BACKEND_POSTGRESQL, BACKEND_REDIS, BACKEND_STOCK_REDIS,
                              BACKEND_MEMCACHED, BACKEND_RABBITMQ};

    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const struct backend *row = backend_at(ids[i]);
        bool kept_away = !row->open;
        for (int time = 0; time < TIMES && !kept_away; time++)
            kept_away = is_kept_away(row);
        if (!kept_away)
            fail_msg("%s is tried again at once", row->name);
    }
}

TEST_GROUP(open_all, close_all)
