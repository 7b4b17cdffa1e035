/* `run` on real servers: verdicts, exit statuses, files, and that nothing is left running. */
#include "lib/t.h"

#include "harness/fixtures/program.h"
#include "lib/redis/redis_own.h"

#include <libpq-fe.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct program *running; /* servers that the harness does not start; NULL in most tests */

/* The story of the project in one run: what is promised is kept, what is not goes wrong. */
TEST(promises_are_kept_and_dangers_shown)
{
    program_exits(0, "run --instances 1,3 --duration 3s "
                     "--strategies none,local-lock,conditional");
    program_expect("none", "truth", 1, "unsafe, as stated");
    program_expect("local-lock", "truth", 1, "kept");
    program_expect("local-lock", "speed", 1, "kept");
    program_expect("conditional", "truth", 3, "kept");
    assert_int_equal(json_array_size(program_json("results.json/runs")), 12);
    program_says("results.csv");
    program_says("durable: ");
}

#define REHEARSAL "\"Re hearsal\""

/* With a role that owns nothing, in a schema of its own that the owner has made; and what to do is
 * said where a right is missing. */
TEST(a_rehearsal_needs_rights_on_rows_alone)
{
    static char script[65536];
    char rehearser[512];
    struct error error;
    const char *const print[] = {SERVER, "--schema", "Re hearsal", "--print-schema", NULL};
    struct process_capture capture = {.output = script, .size = sizeof script, .limit_ms = 60000};
    static const char run[] = "run --instances 2 --duration 1s "
                              "--connections 8 --stock 20 --strategies conditional";

    assert_true(process_capture(print, &capture, &error));
    program_sql("seckill", "DROP SCHEMA IF EXISTS " REHEARSAL " CASCADE");
    program_sql("seckill", script);
    program_sql("postgres", "DROP ROLE IF EXISTS rehearser; CREATE ROLE rehearser LOGIN");
    program_sql("seckill", "GRANT USAGE ON SCHEMA " REHEARSAL " TO rehearser; GRANT SELECT, INSERT,"
                           " UPDATE, DELETE ON ALL TABLES IN SCHEMA " REHEARSAL " TO rehearser");
    snprintf(rehearser, sizeof rehearser, "%s user=rehearser", program_database());
    program->options.database = rehearser;
    program->options.schema = "Re hearsal";
    program_exits(0, run);
    program_tells(0, "audit", "1 of 1 products agree");
    program_exits(0, "record --duration 60s "
                     "--strategy conditional --operations 100");
    program_exits(0, t_text("check %s", program_path("ledger.jsonl")));

    program_sql("seckill", "REVOKE UPDATE ON " REHEARSAL ".product FROM rehearser");
    program_tells(2, run, "GRANT UPDATE ON " REHEARSAL ".product TO rehearser;");
    program_sql("seckill", "DROP SCHEMA " REHEARSAL " CASCADE");
    program_sql("postgres", "DROP OWNED BY rehearser; DROP ROLE rehearser");
}

/* wrk's every latency, in the same steps as the open loop's; it adds some for those that it could
 * not send while it waited. */
static void steps_are_wrks(const json_t *run)
{
    const json_t *figures = json_object_get(run, "latency_us");
    const char *text = json_string_value(json_object_get(figures, "steps"));
    struct latency latency = {.count = 0};
    assert_non_null(text);
    assert_true(latency_parse(text, &latency));
    assert_true(latency.count >= json_integer_value(json_object_get(run, "requests")));
    assert_int_equal(latency.max_us, json_integer_value(json_object_get(figures, "max")));
    static const struct {
        const char *name;
        double share;
    } quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}};
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        int64_t exact = json_integer_value(json_object_get(figures, quantiles[i].name));
        int64_t ours = latency_quantile_us(&latency, quantiles[i].share);
        /* A step wide, and one more: wrk rounds the rank another way. */
        assert_true(ours * 100 >= exact * 88 && ours * 100 <= exact * 114);
    }
}

/* The shape of results.json, member by member. */
TEST(the_files_have_their_shape)
{
    program_exits(0, "run --scenario spread --products 5 "
                     "--stock 3 --duration 1s --strategies conditional --seed 7");
    const json_t *run = program_json("results.json/runs/1");
    static const char *const members[] = {
        "strategy", "body",       "instances",      "scenario",  "phase",  "round",
        "threads",  "duration_s", "stock",          "products",  "failed", "connections",
        "requests", "unknown",    "requests_per_s", "committed", "audit",  "committed_per_s",
        "refused",  "latency_us", "promise",        "verdict"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (!json_object_get(run, members[i]))
            fail_msg("a run has no %s", members[i]);
    }
    assert_string_equal(json_string_value(json_object_get(run, "phase")), "truth");
    assert_null(program_json("results.json/runs/1/latency_us/steps"));
    steps_are_wrks(program_json("results.json/runs/0"));
    assert_int_equal(program_integer("results.json/runs/1/audit/sold"), 15);
    assert_true(json_is_true(program_json("results.json/runs/1/audit/consistent")));
    assert_int_equal(program_integer("results.json/runs/1/committed"), 15);
    assert_int_equal(program_integer("results.json/seed"), 7);
    assert_true(json_is_object(program_json("results.json/machine")));
    assert_true(json_is_object(program_json("results.json/versions")));
    assert_true(json_is_object(program_json("results.json/settings")));
    program_says(program_path("report.html"));
    assert_int_equal(access(program_path("report.html"), R_OK), 0);
}

TEST(counter_finds_lost_restocks)
{
    program_exits(0, "run --scenario counter "
                     "--duration 1s --strategies none,optimistic");
    program_expect("none", "load", 1, "unsafe, as stated");
    program_expect("optimistic", "load", 1, "kept");
}

/* No stock, nothing sold: a strategy without a promise has shown nothing. */
TEST(nothing_sold_proves_nothing)
{
    program_exits(2, "run --scenario soldout "
                     "--duration 1s --strategies none,conditional");
    program_expect("none", "load", 1, "proved nothing");
    program_expect("conditional", "load", 1, "kept");
    /* A refusal is the statement that matches nothing, and a look at why; the first ones learn
     * which sale it is, and cost one more. */
    double round_trips = 0;
    json_unpack(program_run_of("conditional", NULL, 0), "{s{s{s{sF}}}}", "cost_per_order",
                "refused", "postgresql", "round_trips", &round_trips);
    assert_true(round_trips >= 2.0 && round_trips < 2.5);
}

/* Nothing in the figures tells why they are low. */
TEST(an_old_snapshot_is_said)
{
    static const char run[] = "run --duration 1s --connections 8 "
                              "--strategies conditional";
    static const char begin[] = "BEGIN ISOLATION LEVEL REPEATABLE READ; "
                                "SELECT count(*) FROM pg_class";
    PGconn *holder = PQconnectdb(program_database());
    program_exits(0, run);
    assert_null(strstr(program->output, "snapshot"));
    PQclear(PQexec(holder, begin));
    assert_int_equal(PQtransactionStatus(holder), PQTRANS_INTRANS);
    program_tells(0, run, "An old snapshot was kept in the database in 1 of 1 measurements");
    program_file_says("results.json", "\"old_snapshot\": true");
    PQfinish(holder);
}

/* Whose lock is evicted nobody is told, and what is sold without it is a fault of no strategy's. */
TEST(an_eviction_is_said)
{
    static const char run[] = "run --duration 1s --connections 8 "
                              "--strategies redis-token";
    char url[64];
    const struct redis_own *own = redis_own_start((const char *const[]){NULL});
    snprintf(url, sizeof url, "redis://127.0.0.1:%d/0", redis_own_port(own));
    program->options.redis = url;
    program_exits(0, run);
    assert_null(strstr(program->output, "! Redis evicted"));
    /* Full of what has no lease, and more of it comes during the load. */
    redis_own_tell(own, NULL, "CONFIG SET maxmemory 8mb");
    redis_own_tell(own, NULL, "CONFIG SET maxmemory-policy allkeys-random");
    redis_own_tell(own, NULL, "EVAL %s 0",
                   "for i = 1, 100000 do redis.call('SET', i, string.rep('x', 100)) end");
    const char *const argv[] = {
        "/bin/sh", "-c",
        t_text("exec redis-benchmark -p %d -c 1 -l -q -r 1000000 SET __rand_int__ x > /dev/null",
               redis_own_port(own)),
        NULL};
    struct process writer;
    struct error error;
    assert_true(process_start(&writer, argv, NULL, NULL, &error));
    assert_true(program_run(run) < 2); /* it may well oversell */
    process_stop(&writer, SIGTERM, 10000, NULL);
    program_says("! Redis evicted ");
    assert_true(program_integer("results.json/runs/0/meanwhile/evicted_keys") +
                    program_integer("results.json/runs/1/meanwhile/evicted_keys") >
                0);
}

TEST(what_cannot_be_made)
{
    program_tells(2, "run --strategies magic", "magic");
    program_tells(2, "run --server-binary /nowhere/seckill-server", "--server-binary");
    /* A server that does not start: its last words are passed on. */
    program_tells(2, "run --server-binary /bin/false", "exit status 1");
    program_exits(2, "run --server http://127.0.0.1:1");
    program_tells(2, "run --stock many", "--stock");
}

TEST(running_servers_are_reset_only_when_allowed)
{
    running = program_create(2);
    const char *arguments =
        t_text("run --server %s,%s --duration 1s --strategies conditional --first-product 2000001",
               running->servers[0].url, running->servers[1].url);
    program_exits(0, arguments);
    program_tells(2, arguments, "--reset");
    program_exits(0, t_text("%s --reset", arguments));
}

/* True when a process has `text` in its command line: a child of `parent`, or, for 0, anybody's. */
static bool somebody_runs(const char *text, pid_t parent)
{
    const char *whose = parent ? t_text("-P %d", (int)parent) : "";
    const char *const argv[] = {"sh", "-c", t_text("pgrep %s -f '^%s'", whose, text), NULL};
    char output[256];
    struct process_capture capture = {.output = output, .size = sizeof output, .limit_ms = 10000};
    struct error error;
    return process_capture(argv, &capture, &error);
}

/* Ctrl-C when one strategy is done and another half done. False: it was done with both before the
 * signal came. */
static bool interrupt_the_second(void)
{
    struct process harness;
    program_start("run --duration 1s --strategies none,conditional", &harness);
    program_read_until(&harness, "3 of 4: conditional, 1 instance, round 1, speed");
    kill(harness.pid, SIGINT);
    int status = program_finish(&harness);
    if (status == 0)
        return false;
    assert_int_equal(status, 2);
    return true;
}

/* The first is told, and only it. */
TEST(an_interrupt_keeps_what_is_complete)
{
    T_UNTIL(interrupt_the_second());
    program_says("interrupted");
    program_says("Verdicts: 1 oversold or wrong, promising nothing.");
    program_expect("none", "truth", 1, "unsafe, as stated");
    assert_int_equal(json_array_size(program_json("results.json/runs")), 2);
}

/* wrk's own connections, not what it was asked for, are what a figure speaks of. */
TEST(fewer_connections_are_no_run)
{
    setenv("SECKILL_MAX_CONNECTIONS", "40", 1);
    int status = program_run("run --duration 1s --connections 64 "
                             "--strategies conditional");
    unsetenv("SECKILL_MAX_CONNECTIONS");
    assert_int_equal(status, 2);
    program_says("of the 64 connections");
    program_expect("conditional", "speed", 1, "no run");
    program_expect("conditional", "truth", 1, "no run");
}

/* Only where wrk makes the load must it be there; and a run that comes to nothing leaves nothing.
 */
TEST(wrk_is_needed_where_it_is_used)
{
    char path[8192], folder[64];
    snprintf(path, sizeof path, "%s", getenv("PATH"));
    snprintf(folder, sizeof folder, "%s", program->folder);
    setenv("PATH", "/nonexistent", 1);
    int open_loop = program_run("run --duration 1s --rate 50 "
                                "--connections 8 --max-lag-ms 60000 --strategies conditional");
    strncat(program->folder, "/new", sizeof program->folder - strlen(program->folder) - 1);
    int with_wrk = program_run("run --duration 1s");
    setenv("PATH", path, 1);
    assert_int_equal(open_loop, 0);
    assert_int_equal(with_wrk, 2);
    program_says("wrk is needed");
    program_exits(2, "run --server-binary /nowhere/seckill-server");
    assert_int_not_equal(access(program->folder, F_OK), 0);
    snprintf(program->folder, sizeof program->folder, "%s", folder);
}

/* Ctrl-C in the middle of the load. */
TEST(an_interrupt_stops_everything)
{
    struct process harness;
    char wrk[64];
    int seconds = 60 + (int)(getpid() % 1000); /* a load that nobody else on the machine has */
    snprintf(wrk, sizeof wrk, "wrk -t[0-9]* -c64 -d%ds", seconds);
    /* What the harness leaves behind becomes a child of ours. Others run the same server: this one
     * is found by the path that it is given. */
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    program_start(
        t_text("run --server-binary " SERVER " --duration %ds --strategies none", seconds),
        &harness);
    T_UNTIL(somebody_runs(wrk, 0));
    assert_true(somebody_runs(SERVER, harness.pid));
    kill(harness.pid, SIGINT);
    assert_int_equal(program_finish(&harness), 2);
    program_says("interrupted");
    assert_false(somebody_runs(wrk, 0));
    assert_false(somebody_runs(SERVER, getpid()));
}

TEST_EACH(program_alone, NULL)

AFTER_EACH()
{
    if (running)
        program_destroy(running);
    running = NULL;
    redis_own_teardown(NULL);
    program_destroy(program);
}
