/* The table of backends, and what the registry says of strategies whose backends are not there. */
#include "lib/t.h"

#include "strategies/strategies.h"
#include "strategy/backends.h"

#include <string.h>

static const struct settings settings = {.database = "host=/nonexistent",
                                         .redis = "unix:///nonexistent",
                                         .schema = "seckill",
                                         .migrate = "auto",
                                         .stock_redis = "",
                                         .redlock = "",
                                         .memcached = "",
                                         .zookeeper = "",
                                         .amqp = "",
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

TEST_GROUP(open_all, close_all)
