/*
 * A relay in front of a real PostgreSQL: what is lost, held or swallowed is what was named, and the
 * database knows it otherwise than its client. Each test has a control: the same without the toxic.
 *
 * Clients come over TCP and ask for TLS first; PostgreSQL's "no" has no frame. Over a unix socket
 * nobody asks, as the servers of tests/integration do (lib/pg_proxy.h).
 */
#include "lib/t.h"

#include "lib/stack.h"
#include "lib/witness.h"
#include "loadtest/relay/relay.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

static struct error error;

#define DATABASE "relay"

static struct {
    char target[128], through[512];
    char *conninfo;
    struct witness *witness;
    struct relay *relay;
    PGconn *client;
} here;

static void set(const struct relay_toxic *toxic)
{
    t_done(relay_set(here.relay, toxic, &error), error);
}

static int64_t bitten(enum relay_type type)
{
    return relay_count(here.relay).bitten[type];
}

static int64_t rows(void)
{
    return witness_number(here.witness, "SELECT count(*) FROM bought");
}

/* Its tag, or "" when there is none; the connection is over then. */
static const char *run(const char *sql)
{
    static char tag[32];
    PGresult *result = PQexec(here.client, sql);
    ExecStatusType status = PQresultStatus(result);

    snprintf(tag, sizeof tag, "%s",
             status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? PQcmdStatus(result) : "");
    PQclear(result);
    return tag;
}

static void buy_in_steps(void)
{
    assert_string_equal(run("BEGIN"), "BEGIN");
    assert_string_equal(run("INSERT INTO bought VALUES (1)"), "INSERT 0 1");
}

static void connect_again(void)
{
    PQfinish(here.client);
    here.client = PQconnectdb(here.through);
    if (PQstatus(here.client) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(here.client));
}

static void expect_lost(void)
{
    assert_int_equal(PQstatus(here.client), CONNECTION_BAD);
    connect_again();
}

/* Committed, and its client does not know it. */
TEST(the_reply_of_the_third_commit_is_swallowed)
{
    set(&(struct relay_toxic){.type = RELAY_SWALLOW_REPLY, .what = "COMMIT", .nth = 3});
    for (int i = 0; i < 2; i++) {
        buy_in_steps();
        assert_string_equal(run("COMMIT"), "COMMIT");
    }
    buy_in_steps();
    assert_int_equal(bitten(RELAY_SWALLOW_REPLY), 0);
    assert_string_equal(run("COMMIT"), "");
    assert_int_equal(bitten(RELAY_SWALLOW_REPLY), 1);
    expect_lost();
    assert_int_equal(rows(), 3);
    buy_in_steps(); /* once, and no more */
    assert_string_equal(run("COMMIT"), "COMMIT");
}

/* COMMIT of a transaction that has failed commits nothing. */
TEST(a_commit_that_rolls_back_is_none)
{
    set(&(struct relay_toxic){.type = RELAY_SWALLOW_REPLY, .what = "COMMIT"});
    buy_in_steps();
    assert_string_equal(run("SELECT 1 / 0"), "");
    assert_string_equal(run("COMMIT"), "ROLLBACK");
    assert_string_equal(run("UPDATE bought SET n = 2"),
                        "UPDATE 0"); /* and this has written nothing */
    assert_int_equal(bitten(RELAY_SWALLOW_REPLY), 0);
    assert_string_equal(run("INSERT INTO bought VALUES (1)"), ""); /* this commits by itself */
    assert_int_equal(bitten(RELAY_SWALLOW_REPLY), 1);
    expect_lost();
    assert_int_equal(rows(), 1);
}

static void prepare(const char *name, const char *sql)
{
    PGresult *result = PQprepare(here.client, name, sql, 0, NULL);

    assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
    PQclear(result);
}

static void send_and_sync(const char *name)
{
    assert_int_equal(PQsendQueryPrepared(here.client, name, 0, NULL, NULL, NULL, 0), 1);
    assert_int_equal(PQpipelineSync(here.client), 1);
}

/* The next answer in a pipeline, with the end of its bundle; false: the connection is over. */
static bool answered(void)
{
    PGresult *result = PQgetResult(here.client);
    bool done = PQresultStatus(result) == PGRES_COMMAND_OK;

    PQclear(result);
    PQclear(PQgetResult(here.client));
    PQclear(PQgetResult(here.client)); /* the sync */
    return done;
}

/* Three transactions under way at once, as `pipelined` has them: the first one's answer arrives. */
TEST(in_a_pipeline_the_second_is_swallowed)
{
    prepare("buy", "INSERT INTO bought VALUES (1)");
    set(&(struct relay_toxic){.type = RELAY_SWALLOW_REPLY, .what = "COMMIT", .nth = 2});
    assert_int_equal(PQenterPipelineMode(here.client), 1);
    for (int i = 0; i < 3; i++)
        send_and_sync("buy");
    assert_true(answered());
    assert_false(answered());
    assert_int_equal(bitten(RELAY_SWALLOW_REPLY), 1);
    expect_lost();
    assert_true(rows() >= 2);
}

/* By the name of a prepared statement, whatever it does. */
TEST(the_reply_of_a_statement_is_swallowed)
{
    prepare("look", "SELECT count(*) FROM bought");
    prepare("buy", "INSERT INTO bought VALUES (1)");
    set(&(struct relay_toxic){.type = RELAY_SWALLOW_REPLY, .what = "look"});
    PQclear(PQexecPrepared(here.client, "buy", 0, NULL, NULL, NULL, 0));
    assert_int_equal(bitten(RELAY_SWALLOW_REPLY), 0);
    PQclear(PQexecPrepared(here.client, "look", 0, NULL, NULL, NULL, 0));
    assert_int_equal(bitten(RELAY_SWALLOW_REPLY), 1);
    expect_lost();
}

TEST(a_lost_request_never_arrives)
{
    set(&(struct relay_toxic){.type = RELAY_LOSE_REQUEST, .what = "COMMIT AND CHAIN"});
    buy_in_steps();
    assert_string_equal(run("COMMIT"), "COMMIT");
    buy_in_steps();
    assert_string_equal(run("COMMIT AND CHAIN"), "");
    assert_int_equal(bitten(RELAY_LOSE_REQUEST), 1);
    expect_lost();
    assert_int_equal(rows(), 1);
}

/* Its client is gone by then, and it is done all the same. */
TEST(a_held_request_arrives_when_it_is_let_go)
{
    prepare("buy", "INSERT INTO bought VALUES (1)");
    set(&(struct relay_toxic){.type = RELAY_HOLD_REQUEST, .what = "buy"});
    assert_int_equal(PQsendQueryPrepared(here.client, "buy", 0, NULL, NULL, NULL, 0), 1);
    assert_int_equal(PQflush(here.client), 0);
    T_UNTIL(bitten(RELAY_HOLD_REQUEST) == 1);
    connect_again(); /* others pass */
    assert_string_equal(run("INSERT INTO bought VALUES (2)"), "INSERT 0 1");
    assert_int_equal(rows(), 1);
    assert_int_equal(relay_count(here.relay).answered, 0);
    relay_clear(here.relay, RELAY_HOLD_REQUEST);
    T_UNTIL(rows() == 2);
    T_UNTIL(relay_count(here.relay).answered == 1);
}

/* Its client is told that all is over, and cannot come back until that is taken back. */
TEST(who_is_held_may_be_parted)
{
    set(&(struct relay_toxic){.type = RELAY_HOLD_REQUEST,
                              .what = "INSERT INTO bought",
                              .amount = 1,
                              .then_refuse = true});
    assert_string_equal(run("INSERT INTO bought VALUES (1)"), "");
    assert_int_equal(PQstatus(here.client), CONNECTION_BAD);
    PGconn *refused = PQconnectdb(here.through);
    assert_int_equal(PQstatus(refused), CONNECTION_BAD);
    PQfinish(refused);
    assert_int_equal(rows(), 0);
    relay_clear(here.relay, RELAY_HOLD_REQUEST);
    T_UNTIL(rows() == 1);
    relay_clear(here.relay, RELAY_REFUSE);
    connect_again();
}

BEFORE_EACH()
{
    witness_run(here.witness, "TRUNCATE bought");
    here.relay = relay_start(RELAY_POSTGRES, NULL, here.target, &error);
    t_done(here.relay, error);
    snprintf(here.through, sizeof here.through, "%s host=127.0.0.1 port=%s sslmode=prefer",
             here.conninfo, strchr(relay_address(here.relay), ':') + 1);
    here.client = NULL;
    connect_again();
}

AFTER_EACH()
{
    PQfinish(here.client);
    relay_stop(here.relay);
}

BEFORE_ALL()
{
    char *folder = stack_socket_folder();

    snprintf(here.target, sizeof here.target, "%s/.s.PGSQL.5432", folder);
    free(folder);
    here.conninfo = stack_database_create(DATABASE);
    here.witness = witness_open(here.conninfo);
    witness_run(here.witness, "CREATE TABLE bought (n integer)");
}

AFTER_ALL()
{
    witness_close(here.witness);
    stack_database_drop(DATABASE);
    free(here.conninfo);
}
