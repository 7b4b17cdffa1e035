/*
 * The tables' owner, their schema, and a server's rights: a role that owns nothing sells from
 * tables that another one has made, a right that is missing is named with what gives it and may
 * come back at any time, and a schema of ours leaves everybody else's tables alone.
 */
#include "lib/fixtures/cases.h"
#include "lib/stack.h"

#include "base/clock.h"
#include "postgres/pg_internal.h"
#include "sql_text.h"
#include "strategies/strategies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DATABASE "seckill_rights"
#define ROLE     "shop"

enum { SCRIPT_SIZE = 65536, TOGETHER = 2 };

static struct {
    char *owner;         /* owned: the database's owner, which may make anything in it */
    char role[256];      /* conninfo of a role that owns nothing */
    char superuser[256]; /* conninfo */
    struct witness *witness;
    struct store *store; /* in this process, of the role */
    struct pg *pg;
} here;

/* Without the consumers of a queue, whose wait for a message a stop waits for. */
#define start_plain(...) server_start("--amqp", NULL, __VA_ARGS__)

static void drop_role(void)
{
    witness_run(here.witness, "DROP OWNED BY " ROLE);
    witness_run(here.witness, "DROP ROLE " ROLE);
}

static int fresh_database(void **state)
{
    (void)state;
    free(here.owner);
    here.owner = stack_database_create(DATABASE);
    snprintf(here.role, sizeof here.role, "%s user=" ROLE, here.owner);
    snprintf(here.superuser, sizeof here.superuser, "%s user=postgres", here.owner);
    here.witness = witness_open(here.superuser);
    if (witness_number(here.witness, "SELECT count(*) FROM pg_roles WHERE rolname = '" ROLE "'"))
        drop_role();
    witness_run(here.witness, "CREATE ROLE " ROLE " LOGIN");
    server_use_database(here.role);
    return 0;
}

static int teardown(void **state)
{
    int failed = server_teardown(state);

    witness_close(here.witness);
    here.witness = witness_open(here.superuser);
    drop_role();
    witness_close(here.witness);
    here.witness = NULL;
    return failed;
}

/* What --print-schema prints; owned. */
static char *print_schema(const char *name)
{
    char schema[128];
    const char *const flags[] = {schema, "--print-schema", NULL};
    char *script = malloc(SCRIPT_SIZE);

    assert_non_null(script);
    snprintf(schema, sizeof schema, "--schema=%s", name);
    assert_int_equal(server_wait(server_launch(flags), script, SCRIPT_SIZE), 0);
    return script;
}

/* Makes the schema as its owner does, twice, and gives the role the rights that are printed. */
static void apply_printed(const char *name)
{
    char *script = print_schema(name);
    struct witness *owner = witness_open(here.owner);

    witness_run(owner, "%s", script);
    witness_run(owner, "%s", script);
    for (char *at = script; (at = strstr(at, "-- GRANT "));) {
        at += 3;
        witness_run(owner, "%.*s", (int)strcspn(at, "\n"), at);
    }
    witness_close(owner);
    free(script);
}

/* Until it is ready, with `text` NULL, or is not and says so. */
static void wait_look(struct server *server, const char *text)
{
    int64_t since_us = clock_mono_us();

    for (;;) {
        struct server_backend is = server_backend(server, "postgresql");
        if (text ? is.status == 503 && strstr(is.detail, text) : is.status == 200)
            return;
        t_wait(since_us, "%d \"%s\", not \"%s\"", is.status, is.detail, text ? text : "");
    }
}

/* Orders, a repeat, a cancel and a restock. */
static void sell_by(struct server *server, const char *name, int64_t product)
{
    struct buy buy = {.strategy = name, .product = product, .user = 1, .key = name};
    struct buy more = {.strategy = name, .product = product, .quantity = 2};
    char id[SHOP_ID_SIZE];
    char target[SHOP_ID_SIZE + 32];

    shop_put(server, product, 5, product % 2 ? ", \"limit_per_user\": 3" : NULL);
    struct http_reply reply = shop_buy(server, &buy);
    int status = reply.status;
    if (status == 201)
        http_reply_text(&reply, "id", id, sizeof id);
    http_reply_fini(&reply);
    if (status == 503) /* its backend is not here */
        return;
    if (status != 201)
        fail_msg("%s: %d", name, status);
    shop_expect_buy(server, &buy, 200, "", NULL);
    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    shop_expect(server, "POST", target, NULL, NULL, 200, "");
    buy.key = NULL;
    shop_expect_buy_soon(server, &buy, 201);
    shop_expect_restock(server, &more, 200, "");
    shop_expect_consistent(server, product);
}

/* Twice, so that there is an ended sale, and the purge deletes. */
static void sell(struct server *server)
{
    static const char *const names[] = {"conditional", "pessimistic", "buckets", "lock-row"};

    for (int64_t i = 0; i < 8; i++)
        sell_by(server, names[i % 4], 1 + i % 4);
}

/* The names that are looked for when a statement forgets to say where are not ours. */
TEST(a_printed_schema_is_enough)
{
    witness_run(here.witness, "CREATE TABLE public.orders (id int, product_id int)");
    witness_run(here.witness, "CREATE TABLE public.product (id int)");
    witness_run(here.witness, "INSERT INTO public.orders VALUES (7, 8)");
    apply_printed("seckill");
    struct server *server = server_start(NULL);

    wait_look(server, NULL);
    sell(server);
    for (size_t i = 0; i < strategy_count(); i++)
        sell_by(server, strategy_at(i)->name, (int64_t)i + 1);
    server_stop(server);
    struct server *never = server_start("--migrate", "never");
    wait_look(never, NULL);
    server_stop(never);
    assert_int_equal(witness_number(here.witness, "SELECT sum(id + product_id) FROM public.orders"),
                     15);
    assert_int_equal(witness_number(here.witness, "SELECT count(*) FROM public.product"), 0);
    assert_int_equal(witness_number(here.witness, "SELECT count(*) FROM seckill.seckill_schema"),
                     1);
}

static struct server *start_as(const char *conninfo)
{
    server_use_database(conninfo);
    struct server *server = start_plain("--migrate", "never");
    wait_look(server, NULL);
    return server;
}

/* One has a schema of its own name in its search_path, and the other has not: the stock's Redis is
 * told the same of both. */
TEST(both_roles_sell_from_one_stock_redis)
{
    apply_printed("seckill");
    struct server *servers[] = {start_as(here.owner), start_as(here.role)};

    for (int64_t i = 0; i < 2; i++) {
        struct buy buy = {.strategy = "redis-stock", .product = 1 + i, .user = 1};
        shop_put(servers[i], buy.product, 5, NULL);
        shop_expect_buy_soon(servers[i], &buy, 201);
    }
    server_stop(servers[1]);
    server_stop(servers[0]);
}

/* It would end what it stands in, an identifier, a literal or the text around it, and go on as SQL.
 */
TEST(a_name_is_quoted)
{
    static const char name[] = "\\'\";DROP TABLE witnessed;-- $seckill$ $seckill1$ {schema} :x";

    witness_run(here.witness, "CREATE TABLE public.witnessed ()");
    witness_run(here.witness, "ALTER DATABASE " DATABASE " SET standard_conforming_strings = off");
    apply_printed(name);
    struct server *server = start_plain("--schema", name);
    wait_look(server, NULL);
    sell(server);
    server_stop(server);
    /* And made by the server itself. */
    server = start_plain("--schema", "select", "--database", here.owner);
    wait_look(server, NULL);
    sell(server);
    server_stop(server);
    assert_int_equal(witness_number(here.witness, "SELECT count(*) FROM pg_class"
                                                  " WHERE relname = 'seckill_schema'"),
                     2);
    assert_int_equal(witness_number(here.witness, "SELECT count(*) FROM public.witnessed"), 0);
}

static void expect_refusal(const char *const flags[], const char *text)
{
    char log[4096];

    assert_int_equal(server_wait(server_launch(flags), log, sizeof log), 2);
    if (!strstr(log, text) || !strstr(log, "--print-schema"))
        fail_msg("it does not say \"%s\": %s", text, log);
}

TEST(never_makes_nothing)
{
    const char *const flags[] = {"--migrate", "never", "--database", here.owner, NULL};

    expect_refusal(flags, "there are no tables in the schema seckill");
    assert_int_equal(
        witness_number(here.witness, "SELECT count(*) FROM pg_namespace WHERE nspname = 'seckill'"),
        0);
}

/* An empty database, and a role that may not do what is left to it. */
TEST(a_schema_cannot_be_made)
{
    struct server *server = start_plain(NULL);

    wait_look(server, "CREATE SCHEMA seckill AUTHORIZATION " ROLE ";");
    witness_run(here.witness, "CREATE SCHEMA seckill");
    /* Without USAGE they would be made in pg_temp. */
    witness_run(here.witness, "GRANT CREATE ON SCHEMA seckill TO " ROLE);
    wait_look(server, "GRANT USAGE, CREATE ON SCHEMA seckill TO " ROLE ";");
    witness_run(here.witness, "GRANT USAGE, CREATE ON SCHEMA seckill TO " ROLE);
    wait_look(server, NULL);
    sell(server);
    server_stop(server);
}

/* It owns nothing but its schema, and its instances start together. */
TEST(a_schema_is_all_it_owns)
{
    static const char *const flags[] = {"--amqp", NULL, NULL};
    struct server *servers[TOGETHER];

    witness_run(here.witness, "CREATE SCHEMA seckill AUTHORIZATION " ROLE);
    for (int i = 0; i < TOGETHER; i++)
        servers[i] = server_launch(flags);
    for (int i = 0; i < TOGETHER; i++) {
        server_wait_listening(servers[i]);
        wait_look(servers[i], NULL);
    }
    sell(servers[0]);
    assert_int_equal(witness_number(here.witness, "SELECT count(*) FROM seckill.seckill_schema"),
                     1);
    for (int i = 0; i < TOGETHER; i++)
        server_stop(servers[i]);
}

/* Everything is missing at first; what /readyz says gives all of it. */
TEST(all_rights_are_missing)
{
    server_stop(start_plain("--database", here.owner));
    struct server *server = start_plain(NULL);
    wait_look(server, "GRANT ");
    struct server_backend is = server_backend(server, "postgresql");
    assert_true(server_says(server, " error PostgreSQL: its role lacks rights: GRANT USAGE ON"));
    witness_run(here.witness, "%s", strstr(is.detail, "GRANT "));
    wait_look(server, NULL);
    sell(server);
    server_stop(server);
}

static int64_t soon(void)
{
    return clock_mono_us() + t_patience_us();
}

/* As the background thread looks, without its half second between two looks. */
static bool prepare(struct error *error)
{
    *error = (struct error){ERROR_NONE, ""};
    return store_prepare(here.store, here.pg, soon(), soon(), error);
}

static int fresh_store(void **state)
{
    struct error error;
    int failed = fresh_database(state);

    apply_printed("seckill");
    here.store = store_create(here.role, (struct store_limits){60000, 60000, 0},
                              (struct store_schema){.name = "seckill"}, &error);
    assert_non_null(here.store);
    here.pg = pg_create(here.store);
    return failed;
}

static int drop_store(void **state)
{
    pg_destroy(here.pg);
    store_destroy(here.store);
    return teardown(state);
}

/* How often the text stands in what `run` writes on stderr. */
static int count_said(void (*run)(void), const char *text)
{
    FILE *said = tmpfile();
    char line[1024];
    int count = 0;

    assert_non_null(said);
    int stderr_before = dup(STDERR_FILENO);
    assert_true(stderr_before >= 0);
    assert_true(dup2(fileno(said), STDERR_FILENO) >= 0);
    run();
    dup2(stderr_before, STDERR_FILENO);
    close(stderr_before);
    t_rewind(said);
    while (fgets(line, sizeof line, said))
        count += strstr(line, text) != NULL;
    fclose(said);
    return count;
}

static void look_twice(void)
{
    struct error error;

    assert_false(prepare(&error));
    assert_false(prepare(&error));
}

/* A minute after the last time, and again when another right is missing. */
TEST_WITH(what_is_missing_is_said_again, fresh_store, drop_store)
{
    static const char text[] = " error PostgreSQL: its role lacks rights: GRANT ";

    witness_run(here.witness, "REVOKE DELETE ON seckill.orders FROM " ROLE);
    assert_int_equal(count_said(look_twice, text), 1);
    here.store->flaw_told_us -= 59 * CLOCK_US_PER_S;
    assert_int_equal(count_said(look_twice, text), 0);
    here.store->flaw_told_us -= CLOCK_US_PER_S;
    assert_int_equal(count_said(look_twice, text), 1);
    witness_run(here.witness, "REVOKE DELETE ON seckill.bucket FROM " ROLE);
    assert_int_equal(count_said(look_twice, text), 1);
}

/* After the other test: it says more than the log takes in a second. Each alone is taken, named,
 * and given again in the words that name it. */
TEST_WITH(each_right_is_named, fresh_store, drop_store)
{
    static const char *const rights[] = {
        "USAGE ON SCHEMA seckill",
        "SELECT ON seckill.seckill_schema",
        "SELECT ON seckill.epoch_base",
        "SELECT ON seckill.product",
        "INSERT ON seckill.product",
        "UPDATE ON seckill.product",
        "SELECT, INSERT, UPDATE, DELETE ON seckill.orders",
        "DELETE ON seckill.orders",
        "INSERT ON seckill.orders, seckill.restock",
        "UPDATE ON seckill.purchase",
        "UPDATE ON seckill.restock",
        "DELETE ON seckill.retired",
        "DELETE ON seckill.bucket",
        "INSERT ON seckill.product_lock",
        "USAGE ON SEQUENCE seckill.restock_n_seq",
    };
    char grant[128];
    struct error error;

    /* A sequence, as a later version may have one. */
    witness_run(here.witness, "ALTER TABLE seckill.restock ADD COLUMN n bigserial");
    witness_run(here.witness, "GRANT USAGE ON SEQUENCE seckill.restock_n_seq TO " ROLE);
    for (size_t i = 0; i < sizeof rights / sizeof *rights; i++) {
        assert_true(prepare(&error));
        witness_run(here.witness, "REVOKE %s FROM " ROLE, rights[i]);
        snprintf(grant, sizeof grant, "its role lacks rights: GRANT %s TO " ROLE ";", rights[i]);
        assert_false(prepare(&error));
        assert_int_equal(error.code, ERROR_DENIED);
        assert_string_equal(error.text, grant);
        witness_run(here.witness, "%s", strstr(grant, "GRANT "));
    }
    assert_true(prepare(&error));
}

/* While the server sells. */
TEST(a_right_is_missing)
{
    static const char grant[] = "lacks rights: GRANT UPDATE ON seckill.product TO " ROLE ";";
    struct buy buy = {.strategy = "conditional", .product = 1, .user = 1};

    apply_printed("seckill");
    struct server *server = start_plain(NULL);
    shop_put(server, 1, 100, NULL);
    witness_run(here.witness, "REVOKE UPDATE ON seckill.product FROM " ROLE);
    wait_look(server, grant);
    assert_true(server_says(server, grant));
    shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
    witness_run(here.witness, "%s", strstr(grant, "GRANT "));
    shop_expect_buy_soon(server, &buy, 201);
    wait_look(server, NULL);
    server_stop(server);
}

/* What of its log follows `text`; owned. */
static char *find_in_log(const struct server *server, const char *text)
{
    FILE *log = t_open(server_log_path(server));
    char line[4096];
    char *found = NULL;

    while (!found && fgets(line, sizeof line, log)) {
        const char *at = strstr(line, text);
        if (at)
            found = strdup(at);
    }
    fclose(log);
    return found;
}

/* Servers before --schema made the tables where the search_path begins, beside the shop's own. */
TEST(an_older_install_goes_on)
{
    struct buy buy = {.strategy = "conditional", .product = 1, .user = 1};

    witness_run(here.witness, "CREATE TABLE public.shop_orders (id int)");
    server_use_database(here.owner);
    struct server *before = start_plain("--schema", "public");
    shop_put(before, 1, 3, NULL);
    shop_expect_buy(before, &buy, 201, "", NULL);
    server_stop(before);

    struct server *server = start_plain("--migrate", "never");
    buy.user = 2;
    shop_expect_buy(server, &buy, 201, "", NULL);
    assert_int_equal(witness_number(here.witness, "SELECT stock FROM public.product"), 1);
    char *move = find_in_log(server, "BEGIN; CREATE SCHEMA seckill;");
    if (!move)
        fail_msg("it does not say how to move the tables");
    /* Under the running server; no table but ours moves. */
    witness_run(here.witness, "%s", move);
    free(move);
    buy.user = 3;
    witness_run(here.witness, "ALTER SCHEMA seckill OWNER TO seckill");
    shop_expect_buy_soon(server, &buy, 201);
    wait_look(server, NULL);
    server_stop(server);
    server = start_plain(NULL);
    assert_false(server_says(server, "CREATE SCHEMA"));
    shop_expect_buy(server, &buy, 409, "sold_out", NULL);
    server_stop(server);
    assert_int_equal(witness_number(here.witness, "SELECT stock FROM seckill.product"), 0);
    assert_int_equal(witness_number(here.witness, "SELECT count(*) FROM seckill.orders"), 3);
    assert_int_equal(witness_number(here.witness, "SELECT count(*) FROM pg_tables"
                                                  " WHERE schemaname = 'public'"),
                     1);
}

/* A schema that is named is meant: not where the search_path says, and not without rights there. */
TEST(an_older_install_is_left_alone)
{
    server_use_database(here.owner);
    server_stop(start_plain("--schema", "public"));
    struct server *server = start_plain("--schema", "another");
    shop_put(server, 1, 3, NULL);
    server_stop(server);
    assert_int_equal(witness_number(here.witness, "SELECT count(*) FROM public.product"), 0);
    /* A default server that may not look into public must not make tables elsewhere. */
    witness_run(here.witness, "REVOKE USAGE ON SCHEMA public FROM PUBLIC");
    witness_run(here.witness, "GRANT CREATE ON DATABASE " DATABASE " TO " ROLE);
    server = start_plain("--database", here.role);
    wait_look(server, "GRANT USAGE ON SCHEMA public TO " ROLE ";");
    server_stop(server);
    witness_run(here.witness, "REVOKE CREATE ON DATABASE " DATABASE " FROM " ROLE);
}

/* As the first version made them, in the schema where this session's search_path begins. */
static void make_first_version(struct witness *owner)
{
    witness_run(owner, "CREATE TABLE seckill_schema (version integer NOT NULL)");
    witness_run(owner, "%s", sql_schema[0]);
    witness_run(owner, "INSERT INTO seckill_schema VALUES (1)");
    witness_run(owner, "INSERT INTO product VALUES (1, 'old', 9, 9, NULL, NULL, NULL, 5, 1)");
}

TEST(an_old_version_is_brought_up)
{
    const char *const never[] = {"--migrate", "never", NULL};
    struct witness *owner = witness_open(here.owner);

    witness_run(owner, "CREATE SCHEMA seckill");
    make_first_version(owner);
    witness_run(owner, "GRANT USAGE ON SCHEMA seckill TO " ROLE);
    witness_run(owner, "GRANT ALL ON ALL TABLES IN SCHEMA seckill TO " ROLE);
    expect_refusal(never, "the schema seckill is version 1, not");
    witness_run(owner, "UPDATE product SET opens_at = '-infinity', closes_at = 'infinity'");
    struct server *server = start_plain(NULL);
    wait_look(server, "must be owner of table product");
    apply_printed("seckill");
    wait_look(server, NULL);
    assert_int_equal(witness_number(owner, "SELECT stock FROM product WHERE name = 'old'"
                                           " AND opens_at IS NULL AND closes_at IS NULL"),
                     9);
    witness_run(owner, "DO $$ BEGIN UPDATE product SET closes_at = 'infinity';"
                       " RAISE EXCEPTION 'it is taken';"
                       " EXCEPTION WHEN check_violation THEN NULL; END $$");
    sell(server);
    server_stop(server);
    witness_close(owner);
}

/* Found by the search_path, in a schema whose name needs quotes. */
TEST(an_old_version_is_brought_up_where_it_is)
{
    const char *const never[] = {"--migrate", "never", NULL};

    witness_run(here.witness, "CREATE SCHEMA \"My shop\" AUTHORIZATION " ROLE);
    witness_run(here.witness, "ALTER DATABASE " DATABASE " SET search_path = 'My shop', public");
    struct witness *owner = witness_open(here.role);
    witness_run(owner, "SET search_path = 'My shop'");
    make_first_version(owner);
    witness_close(owner);
    expect_refusal(never, "\"seckill-server --schema 'My shop' --print-schema\"");
    struct server *server = start_plain(NULL);
    wait_look(server, NULL);
    assert_true(server_says(server, "ALTER TABLE \"My shop\".product SET SCHEMA seckill;"));
    sell(server);
    server_stop(server);
    assert_int_equal(witness_number(here.witness, "SELECT max(version) FROM"
                                                  " \"My shop\".seckill_schema"),
                     SQL_SCHEMA_VERSION);
}

TEST_EACH(fresh_database, teardown)

int main(void)
{
    int failed = t_run_all(NULL, NULL);

    stack_database_drop(DATABASE);
    free(here.owner);
    return failed != 0;
}
