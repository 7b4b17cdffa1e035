/*
 * Servers of the harness's own, and each fault that it makes of them: seen from the outside, by
 * clients who know nothing of it, and beside what happens without it.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "loadtest/backends/backends.h"
#include "loadtest/backends/crowding.h"
#include "loadtest/backends/failover.h"
#include "loadtest/backends/forgetting.h"
#include "loadtest/judge/redis_link.h"
#include "loadtest/relay/relay.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    char folder[48], stack[64];
    struct backends *backends;
    const char *database, *locks, *stock;
    char superuser[512];
} here;

static void must(bool done, const struct error *error)
{
    if (!done)
        fail_msg("%s", error->text);
}

/* Whether it was done; `number` gets the first column of the first row. */
static bool sql(const char *conninfo, const char *text, int64_t *number)
{
    PGconn *connection = PQconnectdb(conninfo);
    PGresult *result = PQexec(connection, text);
    ExecStatusType status = PQresultStatus(result);
    bool done = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;

    if (number)
        *number = done && PQntuples(result) > 0 ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : -1;
    PQclear(result);
    PQfinish(connection);
    return done;
}

/* An integer, a number in a text; 1 for OK, 0 for nil, -1 for no answer. */
static int64_t redis(const char *url, const char *command)
{
    struct error error;
    redisContext *link = redis_link_open(url, &error);
    redisReply *reply = link ? redisCommand(link, command) : NULL;
    int64_t value = reply && reply->type != REDIS_REPLY_ERROR ? reply->integer : -1;

    if (reply && reply->type == REDIS_REPLY_STRING)
        value = strtoll(reply->str, NULL, 10);
    else if (reply && reply->type == REDIS_REPLY_STATUS)
        value = 1;
    freeReplyObject(reply);
    if (link)
        redisFree(link);
    return value;
}

static void wait_redis(const char *url, const char *command, int64_t wanted)
{
    int64_t until_us = clock_mono_us() + t_patience_us();

    while (redis(url, command) != wanted && clock_mono_us() < until_us)
        clock_sleep_until(clock_mono_us() + 1000);
    assert_int_equal(redis(url, command), wanted);
}

static void read_addresses(void)
{
    here.database = backends_address(here.backends, "DATABASE");
    here.locks = backends_address(here.backends, "REDIS");
    here.stock = backends_address(here.backends, "STOCK_REDIS");
    snprintf(here.superuser, sizeof here.superuser, "%s user=postgres", here.database);
}

static void add(const char *with, const char *standby_from)
{
    struct error error;

    must(backends_add(here.backends, with, standby_from, &error), &error);
    read_addresses();
}

static struct relay *relay_to(const char *name, int *port)
{
    char path[300];
    struct error error;

    assert_true(backends_socket(here.backends, name, path, sizeof path));
    struct relay *relay = relay_start(strstr(path, "PGSQL") ? RELAY_POSTGRES : RELAY_BYTES,
                                      "127.0.0.1:0", path, &error);
    must(relay != NULL, &error);
    *port = (int)strtol(strchr(relay_address(relay), ':') + 1, NULL, 10);
    return relay;
}

static void stall_downstream(struct relay *relay)
{
    struct error error;

    must(relay_set(relay, &(struct relay_toxic){.type = RELAY_STALL, .stream = RELAY_DOWNSTREAM},
                   &error),
         &error);
}

static void a_stopped_server_answers_when_it_goes_on(void **state)
{
    struct error error;
    const struct timeval while_us = {.tv_usec = 200000};

    (void)state;
    must(backends_signal(here.backends, "locks", BACKENDS_STOP, &error), &error);
    redisContext *link = redisConnectUnix(here.locks + strlen("unix://"));
    redisSetTimeout(link, while_us);
    assert_null(redisCommand(link, "PING"));
    redisFree(link);
    must(backends_signal(here.backends, "locks", BACKENDS_CONTINUE, &error), &error);
    assert_int_equal(redis(here.locks, "PING"), 1);
    assert_false(backends_signal(here.backends, "nobody", BACKENDS_STOP, &error));
    assert_non_null(strstr(error.text, "no server nobody"));
}

/* PostgreSQL keeps what was committed; the locks' Redis keeps nothing. */
static void what_was_killed_comes_back(void **state)
{
    struct error error;
    int64_t rows = 0;

    (void)state;
    assert_true(sql(here.database, "CREATE TABLE kept AS SELECT 7 AS n", NULL));
    assert_int_equal(redis(here.locks, "SET kept 7"), 1);
    must(backends_signal(here.backends, "postgres", BACKENDS_KILL, &error), &error);
    must(backends_signal(here.backends, "locks", BACKENDS_KILL, &error), &error);
    assert_false(sql(here.database, "SELECT n FROM kept", NULL));
    assert_int_equal(redis(here.locks, "PING"), -1);
    must(backends_restart(here.backends, "postgres", &error), &error);
    assert_int_equal(redis(here.locks, "PING"), -1); /* the other one alone */
    must(backends_restart(here.backends, "locks", &error), &error);
    assert_true(sql(here.database, "SELECT n FROM kept", &rows));
    assert_int_equal(rows, 7);
    assert_int_equal(redis(here.locks, "GET kept"), 0);
}

static void who_comes_new_finds_no_room(void **state)
{
    struct error error;
    PGconn *before = PQconnectdb(here.database);

    (void)state;
    assert_true(sql(here.database, "SELECT 1", NULL));
    struct crowding *crowding = crowding_begin(here.database, &error);
    must(crowding != NULL, &error);
    assert_true(crowding_count(crowding) > 100);
    assert_false(sql(here.database, "SELECT 1", NULL));
    assert_true(crowding_holds(crowding));
    PGresult *result = PQexec(before, "SELECT 1"); /* who is there stays */
    assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
    PQclear(result);
    PQfinish(before);
    crowding_end(crowding);
    assert_null(crowding_begin("host=/nowhere", &error));
    assert_non_null(strstr(error.text, "cannot be exhausted"));
}

static void a_full_disk_takes_no_more(void **state)
{
    static const char grow[] = "INSERT INTO big SELECT repeat('x', 1000) FROM "
                               "generate_series(1, 40000)";
    struct error error;
    int64_t rows = 0;

    (void)state;
    assert_true(sql(here.database, "CREATE TABLE big (t text)", NULL));
    must(backends_limit_disk(here.backends, "postgres", 16 << 20, &error), &error);
    assert_false(sql(here.database, grow, NULL));
    assert_true(sql(here.database, "SELECT count(*) FROM big", &rows));
    assert_int_equal(rows, 0);
    must(backends_limit_disk(here.backends, "postgres", -1, &error), &error);
    assert_true(sql(here.database, grow, NULL));
    assert_false(backends_limit_disk(here.backends, "stock", 0, &error));
}

/* "always" leaves nothing behind its last sync. */
static void a_crash_loses_what_was_not_synced(void **state)
{
    struct forgetting_mark mark;
    struct error error;
    int64_t lost = -1;

    (void)state;
    must(forgetting_mark(&mark, here.stock, &error), &error);
    assert_int_equal(redis(here.stock, "SET always 1"), 1);
    must(forgetting_crash(here.backends, "stock", here.stock, &mark, &lost, &error), &error);
    assert_int_equal(lost, 0);
    assert_int_equal(redis(here.stock, "GET always"), 1);

    must(forgetting_set_sync(here.stock, "no", &error), &error);
    assert_int_equal(redis(here.stock, "SET synced 1"), 1);
    must(forgetting_mark(&mark, here.stock, &error), &error);
    assert_int_equal(redis(here.stock, "SET lost 1"), 1);
    must(forgetting_crash(here.backends, "stock", here.stock, &mark, &lost, &error), &error);
    assert_true(lost > 0);
    assert_int_equal(redis(here.stock, "GET synced"), 1);
    assert_int_equal(redis(here.stock, "GET lost"), 0);

    /* What is older than the setting allows is on the disk, whatever is cut off. */
    must(forgetting_set_sync(here.stock, "everysec", &error), &error);
    must(forgetting_mark(&mark, here.stock, &error), &error);
    mark.at_us -= 2 * CLOCK_US_PER_S;
    assert_int_equal(redis(here.stock, "SET kept 1"), 1);
    assert_false(forgetting_crash(here.backends, "stock", here.stock, &mark, &lost, &error));
    assert_non_null(strstr(error.text, "more than may be unsynced"));
    assert_int_equal(lost, 0);
    assert_int_equal(redis(here.stock, "GET kept"), 1);
    assert_false(forgetting_mark(&mark, here.locks, &error));
    assert_non_null(strstr(error.text, "keeps no append-only file"));
}

/* A lock has a lease and goes; what has none stays, and so do the settings. */
static void a_redis_without_memory_evicts(void **state)
{
    struct error error;
    int64_t evicted = -1;

    (void)state;
    assert_int_equal(redis(here.locks, "SET lock 1 PX 600000"), 1);
    assert_int_equal(redis(here.locks, "SET counter 1"), 1);
    must(forgetting_evict(here.locks, "volatile-ttl", 1, &evicted, &error), &error);
    assert_true(evicted >= 1);
    assert_int_equal(redis(here.locks, "GET lock"), 0);
    assert_int_equal(redis(here.locks, "GET counter"), 1);
    assert_int_equal(redis(here.locks, "SET more 1"), 1);
    must(forgetting_evict(here.locks, "allkeys-random", 1000, &evicted, &error), &error);
    assert_int_equal(evicted, 2);
    assert_int_equal(redis(here.locks, "DBSIZE"), 0);
    assert_false(forgetting_evict(here.locks, "no-such", 1, &evicted, &error));
}

/* What the standby had not heard of is lost with the primary, unless commits waited for it. */
static void a_standby_that_was_behind_loses_commits(void **state)
{
    struct error error;
    char from[128], standby[600];
    int64_t rows = 0;
    int port = 0;

    (void)state;
    struct relay *relay = relay_to("DATABASE", &port);
    snprintf(from, sizeof from, "host=127.0.0.1 port=%d", port);
    add("standby", from);
    snprintf(standby, sizeof standby, "%s user=postgres",
             backends_address(here.backends, "STANDBY"));
    assert_true(sql(here.database, "CREATE TABLE sold AS SELECT 1 AS n", NULL));
    must(failover_set_synchronous(here.superuser, true, &error), &error);
    assert_true(sql(here.database, "INSERT INTO sold VALUES (2)", NULL));
    must(failover_set_synchronous(here.superuser, false, &error), &error);
    must(failover_wait_standby(here.superuser, t_patience_us(), &error), &error);
    stall_downstream(relay);
    assert_true(sql(here.database, "INSERT INTO sold VALUES (3)", NULL));
    assert_true(relay_wait(relay, RELAY_STALL, 1, t_patience_us()));
    assert_false(failover_wait_standby(here.superuser, 1000, &error));
    assert_false(sql(standby, "INSERT INTO sold VALUES (4)", NULL));
    must(backends_signal(here.backends, "postgres", BACKENDS_KILL, &error), &error);
    must(failover_promote_standby(standby, t_patience_us(), &error), &error);
    assert_true(sql(standby, "INSERT INTO sold VALUES (4)", NULL));
    assert_true(sql(standby, "SELECT sum(n) FROM sold", &rows));
    assert_int_equal(rows, 1 + 2 + 4);
    relay_stop(relay);
    must(backends_restart(here.backends, "postgres", &error), &error);
    assert_true(sql(here.database, "SELECT sum(n) FROM sold", &rows));
    assert_int_equal(rows, 1 + 2 + 3);
}

/* The same of a Redis, and Sentinel finds the new primary by itself. */
static void a_replica_that_was_behind_loses_writes(void **state)
{
    struct error error;
    int port = 0, own_port = 0;

    (void)state;
    add("replica,sentinel", NULL);
    const char *replica = backends_address(here.backends, "REPLICA");
    const char *sentinel = backends_address(here.backends, "SENTINEL");
    struct relay *relay = relay_to("REDIS", &port);
    struct relay *own = relay_to("REPLICA", &own_port);
    must(failover_follow(replica, own_port, port, t_patience_us(), &error), &error);
    assert_int_equal(redis(here.locks, "SET copied 1"), 1);
    wait_redis(replica, "GET copied", 1);
    stall_downstream(relay);
    assert_int_equal(redis(here.locks, "SET lost 1"), 1);
    assert_true(relay_wait(relay, RELAY_STALL, 1, t_patience_us()));
    must(failover_promote_replica(replica, &error), &error);
    assert_int_equal(redis(replica, "GET copied"), 1);
    assert_int_equal(redis(replica, "GET lost"), 0);

    relay_clear(relay, RELAY_TYPES);
    must(failover_follow(replica, own_port, port, t_patience_us(), &error), &error);
    assert_int_equal(redis(replica, "GET lost"), 1);
    /* A primary that a busy machine lets stand for a while is not to be given up before its end. */
    must(failover_watch(sentinel, "sale", port, 5000, t_patience_us(), &error), &error);
    assert_false(failover_wait_sentinel(sentinel, "sale", port, 1000, &error));
    must(backends_signal(here.backends, "locks", BACKENDS_KILL, &error), &error);
    must(failover_wait_sentinel(sentinel, "sale", port, t_patience_us(), &error), &error);
    assert_int_equal(redis(replica, "SET lost 2"), 1);
    relay_stop(relay);
    relay_stop(own);
    must(backends_restart(here.backends, "locks", &error), &error);
}

static int start(void **state)
{
    struct error error;

    (void)state;
    strcpy(here.folder, "/tmp/seckill-backends.XXXXXX");
    assert_non_null(mkdtemp(here.folder));
    assert_int_equal(chmod(here.folder, 0755), 0);
    snprintf(here.stack, sizeof here.stack, "%s/stack", here.folder);
    here.backends = backends_start(STACK_SH, here.stack, &error);
    must(here.backends != NULL, &error);
    read_addresses();
    assert_null(backends_address(here.backends, "STANDBY"));
    return 0;
}

/* Nothing runs any more, and nothing is left of it. */
static int stop(void **state)
{
    struct error error;
    struct stat found;

    (void)state;
    must(backends_stop(here.backends, &error), &error);
    assert_int_equal(stat(here.stack, &found), -1);
    return rmdir(here.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_server_answers_when_it_goes_on),
        cmocka_unit_test(what_was_killed_comes_back),
        cmocka_unit_test(who_comes_new_finds_no_room),
        cmocka_unit_test(a_full_disk_takes_no_more),
        cmocka_unit_test(a_crash_loses_what_was_not_synced),
        cmocka_unit_test(a_redis_without_memory_evicts),
        cmocka_unit_test(a_standby_that_was_behind_loses_commits),
        cmocka_unit_test(a_replica_that_was_behind_loses_writes),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
