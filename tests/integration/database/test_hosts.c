/*
 * PostgreSQL on several hosts: one that accepts and says nothing keeps nobody from the next, and a
 * server whose host stops goes on with the other. A name server that is silent costs the host that
 * has a name, and no other.
 */
#include "lib/t.h"

#include "lib/fixtures/shop.h"
#include "lib/postgres.h"
#include "lib/stack.h"

#include "base/clock.h"
#include "loadtest/judge/connect.h"
#include "postgres/pg_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A socket that nobody accepts from: who connects gets no answer. */
static struct {
    char folder[40];
    char path[80];
    int listener;
} silent;

static struct {
    struct postgres *primary;
    struct postgres *standby;
} pair;

static int listen_silently(void **state)
{
    (void)state;
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    strcpy(silent.folder, "/tmp/seckill-silent.XXXXXX");
    assert_non_null(mkdtemp(silent.folder));
    snprintf(silent.path, sizeof silent.path, "%s/.s.PGSQL.5432", silent.folder);
    strcpy(at.sun_path, silent.path);
    silent.listener = t_socket(AF_UNIX);
    assert_int_equal(bind(silent.listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(silent.listener, 128), 0);
    return 0;
}

static int stop_listening(void **state)
{
    close(silent.listener);
    unlink(silent.path);
    rmdir(silent.folder);
    return server_teardown(state);
}

static int make_pair(void **state)
{
    (void)state;
    if (pair.primary)
        return 0;
    pair.primary = postgres_create(NULL);
    pair.standby = postgres_standby(pair.primary, "other");
    return 0;
}

static void expect_order(struct server *server, int64_t product, int64_t user)
{
    struct buy buy = {.strategy = "conditional", .product = product, .user = user};

    shop_expect_buy_soon(server, &buy, 201);
}

TEST_WITH(first_host_is_silent, listen_silently, stop_listening)
{
    char *folder = stack_socket_folder();
    char conninfo[512];

    snprintf(conninfo, sizeof conninfo, "host=%s,%s port=5432 dbname=seckill user=seckill",
             silent.folder, folder);
    struct server *server = server_start("--database", conninfo);
    server_wait_ready(server, 200, NULL);
    shop_put(server, 1, 1, NULL);
    expect_order(server, 1, 1);
    server_stop(server);
    free(folder);
}

/* How long a start takes; the server is stopped. */
static int64_t start_us(const char *conninfo)
{
    int64_t begun_us = clock_mono_us();
    struct server *server = server_start("--database", conninfo);
    int64_t took_us = clock_mono_us() - begun_us;

    server_stop(server);
    return took_us;
}

/* Where there is but one, its own time is over first: one of some starts is quicker than any could
 * be that waits for as long as a start may, five seconds. */
TEST_WITH(silent_host_has_its_connect_timeout, listen_silently, stop_listening)
{
    int64_t until_us = clock_mono_us() + t_patience_us();
    int64_t took_us;
    char conninfo[512];

    snprintf(conninfo, sizeof conninfo,
             "host=%s port=5432 dbname=seckill user=seckill connect_timeout=1", silent.folder);
    do {
        assert_true(clock_mono_us() < until_us);
        took_us = start_us(conninfo);
        assert_true(took_us >= 900000);
    } while (took_us >= 4900000);
}

/* No look-up is ever answered. */
static int silence_names(void **state)
{
    (void)state;
    server_use_failpoints("resolver.ask=hold");
    return 0;
}

static int let_names_be(void **state)
{
    server_use_failpoints(NULL);
    return server_teardown(state);
}

/* Every session of the server's ends; how long the next order takes. */
static int64_t buy_anew_us(struct server *server, struct witness *witness, int64_t user)
{
    witness_number(witness, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                            " WHERE application_name LIKE 'seckill%%'");
    int64_t begun_us = clock_mono_us();
    expect_order(server, 1, user);
    return clock_mono_us() - begun_us;
}

/* The start goes on to the next host when the name's share is over, and a session that is opened
 * later begins with the one that was reached: else it would wait for the name's share, two seconds
 * and a half, each time. */
TEST_WITH(name_server_is_silent, silence_names, let_names_be)
{
    int64_t user = 2;
    char *folder = stack_socket_folder();
    char conninfo[512];

    snprintf(conninfo, sizeof conninfo, "host=db.invalid,%s port=5432 dbname=seckill user=seckill",
             folder);
    struct server *server = server_start("--database", conninfo);
    server_wait_ready(server, 200, NULL);
    assert_true(server_says(server, "failpoint resolver.ask: hold"));
    shop_put(server, 1, 1000, NULL);
    expect_order(server, 1, 1);
    struct witness *witness = witness_open(stack_database());
    T_UNTIL(buy_anew_us(server, witness, user++) < 1500000);
    witness_close(witness);
    server_stop(server);
    free(folder);
}

/* Neither does a look-up that is under way, and has no end, keep the server from its own. */
TEST_WITH(only_host_has_a_name_nobody_knows, silence_names, let_names_be)
{
    struct server *server =
        server_start("--database", "host=db.invalid port=5432 dbname=seckill user=seckill");

    assert_int_equal(server_status(server, "GET", "/readyz", NULL, NULL), 503);
    assert_true(server_says(server, "no address of host name \"db.invalid\" in time"));
    server_stop(server);
}

static void pair_conninfo(char *out, size_t size, struct postgres *first, struct postgres *second,
                          const char *more)
{
    snprintf(out, size, "host=%s,%s dbname=seckill user=seckill%s", postgres_folder(first),
             postgres_folder(second), more);
}

/* The standby has what the primary has. */
static void wait_replayed(void)
{
    struct witness *primary = witness_open(postgres_conninfo(pair.primary, "postgres", NULL));

    T_UNTIL(witness_number(primary, "SELECT count(*) FROM pg_stat_replication"
                                    " WHERE replay_lsn >= pg_current_wal_lsn()") != 0);
    witness_close(primary);
}

/* The one that can be written to is found, wherever it stands, said or not. */
TEST(standby_stands_first)
{
    static const char *const asked[] = {"", " target_session_attrs=read-write",
                                        " target_session_attrs=primary"};
    char conninfo[512];

    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        pair_conninfo(conninfo, sizeof conninfo, pair.standby, pair.primary, asked[i]);
        struct server *server = server_start("--database", conninfo, "--redis", NULL);
        server_wait_ready(server, 200, NULL);
        shop_put(server, 1, 10, NULL);
        expect_order(server, 1, 1);
        server_stop(server);
    }
    snprintf(conninfo, sizeof conninfo, "%s target_session_attrs=standby",
             postgres_conninfo(pair.primary, NULL, NULL));
    struct server *server = server_start("--database", conninfo, "--redis", NULL);
    assert_int_equal(server_status(server, "GET", "/readyz", NULL, NULL), 503);
    assert_true(server_says(server, "not in hot standby mode"));
    server_stop(server);
}

/* The judge asks the primary alone, whatever the connection string says. */
TEST(judge_reads_no_standby)
{
    struct error error = {.text = ""};
    char conninfo[512];

    pair_conninfo(conninfo, sizeof conninfo, pair.standby, pair.primary,
                  " target_session_attrs=any");
    PGconn *judge = connect_open(conninfo, "judge", &error);
    if (!judge)
        fail_msg("%s", error.text);
    PGresult *result = PQexec(judge, "SELECT pg_is_in_recovery()");
    assert_string_equal(PQgetvalue(result, 0, 0), "f");
    PQclear(result);
    PQfinish(judge);
    assert_null(connect_open(postgres_conninfo(pair.standby, NULL, NULL), "judge", &error));
    assert_non_null(strstr(error.text, "server is in hot standby mode"));
}

TEST(own_host_stops)
{
    char conninfo[512];

    pair_conninfo(conninfo, sizeof conninfo, pair.primary, pair.standby, "");
    struct server *server =
        server_start("--database", conninfo, "--redis", NULL, "--work-timeout-ms", "1000");
    shop_put(server, 2, 10, NULL);
    expect_order(server, 2, 1);
    wait_replayed();
    postgres_pause(pair.primary);
    server_wait_ready(server, 503, NULL);
    postgres_promote(pair.standby);
    server_wait_ready(server, 200, NULL);
    expect_order(server, 2, 2);
    struct witness *standby = witness_open(postgres_conninfo(pair.standby, NULL, NULL));
    assert_int_equal(witness_number(standby, "SELECT stock FROM product WHERE id = 2"), 8);
    witness_close(standby);
    server_stop(server);
    postgres_resume(pair.primary);
}

static void write_line(const char *path, const char *conninfo, const char *password)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fprintf(file, "%s password=%s\n", conninfo, password);
    fclose(file);
}

/* The password, and the file that the server has it from, while it runs. */
TEST_WITH(a_password_changes, NULL, NULL)
{
    struct postgres *postgres = postgres_create(NULL);
    const char *conninfo = postgres_conninfo(postgres, "keeper", NULL);
    int64_t until_us = clock_mono_us() + t_patience_us();
    char path[] = "/tmp/seckill-password.XXXXXX";
    char text[512];
    struct error error;

    close(mkstemp(path));
    postgres_run(postgres, NULL, "CREATE ROLE keeper LOGIN PASSWORD 'one'");
    postgres_run(postgres, NULL,
                 "DO $$ BEGIN EXECUTE format('COPY (VALUES (''local all keeper scram-sha-256''),"
                 " (''local all all trust'')) TO %%L', current_setting('hba_file')); END $$");
    postgres_run(postgres, NULL, "SELECT pg_reload_conf()");
    write_line(path, conninfo, "one");
    setenv("SECKILL_DATABASE_FILE", path, 1);
    snprintf(text, sizeof text, "%s password=one", conninfo);
    struct store *store = store_create(text, (struct store_limits){60000, 60000, 0},
                                       (struct store_schema){.name = "seckill"}, &error);
    struct pg *pg = pg_create(store);
    assert_true(pg_open(pg, until_us));
    postgres_run(postgres, NULL, "ALTER ROLE keeper PASSWORD 'two'");
    pg_close(pg);
    while (pg_open(pg, until_us)) /* until pg_hba.conf has been read again */
        pg_close(pg);
    assert_true(atomic_load(&store->login_refused));
    write_line(path, conninfo, "two");
    T_UNTIL(pg_open(pg, until_us));
    assert_false(atomic_load(&store->login_refused));
    unsetenv("SECKILL_DATABASE_FILE");
    unlink(path);
    pg_destroy(pg);
    store_destroy(store);
}

TEST_GROUP(NULL, postgres_teardown)
TEST_EACH(make_pair, server_teardown)
