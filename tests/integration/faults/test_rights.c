/*
 * Who owns the tables, where they are, and which rights a server needs: a role that owns nothing
 * sells from tables that another one has made, a right that is missing is named with what gives it
 * and may come back at any time, and a schema of ours leaves everybody else's tables alone.
 */
#include "lib/fixtures/cases.h"
#include "lib/stack.h"

#include "base/clock.h"
#include "sql_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATABASE "seckill_rights"
#define ROLE     "shop"

enum { SCRIPT_SIZE = 65536, DETAIL_SIZE = 1024, TOGETHER = 2 };

static struct {
    char *owner;         /* owned: the database's owner, which may make anything in it */
    char role[256];      /* conninfo of a role that owns nothing */
    char superuser[256]; /* conninfo */
    struct witness *witness;
} here;

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

/* What /readyz says of PostgreSQL. */
static int look(struct server *server, char detail[DETAIL_SIZE])
{
    struct http_reply reply = server_call(server, "GET", "/readyz", NULL, NULL);
    int status = reply.status;
    char path[64];
    char name[64] = "";

    detail[0] = '\0';
    for (int i = 0; strcmp(name, "postgresql") != 0 && i < http_reply_count(&reply, "backends");
         i++) {
        snprintf(path, sizeof path, "backends.%d.name", i);
        http_reply_text(&reply, path, name, sizeof name);
        snprintf(path, sizeof path, "backends.%d.detail", i);
        http_reply_text(&reply, path, detail, DETAIL_SIZE);
    }
    http_reply_fini(&reply);
    return status;
}

/* Until it is ready, with `text` NULL, or is not and says so. */
static void wait_look(struct server *server, const char *text)
{
    int64_t until_us = clock_mono_us() + t_patience_us();
    char detail[DETAIL_SIZE];

    for (;;) {
        int status = look(server, detail);
        if (text ? status == 503 && strstr(detail, text) : status == 200)
            return;
        if (clock_mono_us() >= until_us)
            fail_msg("%d \"%s\", not \"%s\"", status, detail, text ? text : "");
        clock_sleep_until(clock_mono_us() + 10 * CLOCK_US_PER_MS);
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
static void a_printed_schema_is_enough(void **state)
{
    (void)state;
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

static void a_name_is_quoted(void **state)
{
    (void)state;
    static const char name[] = "Sho\"p 'of {schema} mine";

    apply_printed(name);
    struct server *server = server_start("--schema", name);
    wait_look(server, NULL);
    sell(server);
    server_stop(server);
    /* And made by the server itself. */
    server = server_start("--schema", "select", "--database", here.owner);
    wait_look(server, NULL);
    sell(server);
    server_stop(server);
    assert_int_equal(witness_number(here.witness, "SELECT count(*) FROM pg_class"
                                                  " WHERE relname = 'seckill_schema'"),
                     2);
}

static void expect_refusal(const char *const flags[], const char *text)
{
    char log[4096];

    assert_int_equal(server_wait(server_launch(flags), log, sizeof log), 2);
    if (!strstr(log, text) || !strstr(log, "--print-schema"))
        fail_msg("it does not say \"%s\": %s", text, log);
}

static void never_makes_nothing(void **state)
{
    (void)state;
    const char *const flags[] = {"--migrate", "never", "--database", here.owner, NULL};

    expect_refusal(flags, "there are no tables in the schema seckill");
    assert_int_equal(
        witness_number(here.witness, "SELECT count(*) FROM pg_namespace WHERE nspname = 'seckill'"),
        0);
}

/* An empty database, and a role that may not do what is left to it. */
static void a_schema_cannot_be_made(void **state)
{
    (void)state;
    struct server *server = server_start(NULL);

    wait_look(server, "CREATE SCHEMA seckill AUTHORIZATION " ROLE ";");
    witness_run(here.witness, "CREATE SCHEMA seckill");
    wait_look(server, "GRANT CREATE ON SCHEMA seckill TO " ROLE ";");
    witness_run(here.witness, "GRANT CREATE, USAGE ON SCHEMA seckill TO " ROLE);
    wait_look(server, NULL);
    sell(server);
    server_stop(server);
}

/* It owns nothing but its schema, and its instances start together. */
static void a_schema_is_all_it_owns(void **state)
{
    (void)state;
    static const char *const flags[] = {NULL};
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
static void all_rights_are_missing(void **state)
{
    (void)state;
    char detail[DETAIL_SIZE];

    server_stop(server_start("--database", here.owner));
    struct server *server = server_start(NULL);
    wait_look(server, "GRANT ");
    look(server, detail);
    assert_true(server_says(server, " error PostgreSQL: its role lacks rights: GRANT USAGE ON"));
    witness_run(here.witness, "%s", strstr(detail, "GRANT "));
    wait_look(server, NULL);
    sell(server);
    server_stop(server);
}

/* Each alone is taken while the server sells, named, and given again in the words that name it. */
static void a_right_is_missing(void **state)
{
    (void)state;
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
    struct buy buy = {.strategy = "conditional", .product = 1};
    char grant[128];

    apply_printed("seckill");
    /* Of what a later version may number its rows with. */
    witness_run(here.witness, "ALTER TABLE seckill.restock ADD COLUMN n bigserial");
    witness_run(here.witness, "GRANT USAGE ON SEQUENCE seckill.restock_n_seq TO " ROLE);
    struct server *server = server_start(NULL);
    shop_put(server, 1, 100, NULL);
    for (size_t i = 0; i < sizeof rights / sizeof *rights; i++) {
        witness_run(here.witness, "REVOKE %s FROM " ROLE, rights[i]);
        snprintf(grant, sizeof grant, "lacks rights: GRANT %s TO " ROLE ";", rights[i]);
        wait_look(server, grant);
        assert_true(server_says(server, grant));
        buy.user = (int64_t)i + 1;
        shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
        witness_run(here.witness, "%s", strstr(grant, "GRANT "));
        wait_look(server, NULL);
        shop_expect_buy_soon(server, &buy, 201);
    }
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
static void an_older_install_goes_on(void **state)
{
    (void)state;
    struct buy buy = {.strategy = "conditional", .product = 1, .user = 1};

    witness_run(here.witness, "CREATE TABLE public.shop_orders (id int)");
    server_use_database(here.owner);
    struct server *before = server_start("--schema", "public");
    shop_put(before, 1, 3, NULL);
    shop_expect_buy(before, &buy, 201, "", NULL);
    server_stop(before);

    struct server *server = server_start("--migrate", "never");
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
    server = server_start(NULL);
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
static void an_older_install_is_left_alone(void **state)
{
    (void)state;
    server_use_database(here.owner);
    server_stop(server_start("--schema", "public"));
    struct server *server = server_start("--schema", "another");
    shop_put(server, 1, 3, NULL);
    server_stop(server);
    assert_int_equal(witness_number(here.witness, "SELECT count(*) FROM public.product"), 0);
    /* A default server that may not look into public must not make tables elsewhere. */
    witness_run(here.witness, "REVOKE USAGE ON SCHEMA public FROM PUBLIC");
    witness_run(here.witness, "GRANT CREATE ON DATABASE " DATABASE " TO " ROLE);
    server = server_start("--database", here.role);
    wait_look(server, "GRANT USAGE ON SCHEMA public TO " ROLE ";");
    server_stop(server);
    witness_run(here.witness, "REVOKE CREATE ON DATABASE " DATABASE " FROM " ROLE);
}

static void an_old_version_is_brought_up(void **state)
{
    (void)state;
    const char *const never[] = {"--migrate", "never", NULL};
    struct witness *owner = witness_open(here.owner);

    witness_run(owner, "CREATE SCHEMA seckill");
    witness_run(owner, "CREATE TABLE seckill_schema (version integer NOT NULL)");
    witness_run(owner, "%s", sql_schema[0]);
    witness_run(owner, "INSERT INTO seckill_schema VALUES (1)");
    witness_run(owner, "INSERT INTO product VALUES (1, 'old', 9, 9, NULL, NULL, NULL, 5, 1)");
    witness_run(owner, "GRANT USAGE ON SCHEMA seckill TO " ROLE);
    witness_run(owner, "GRANT ALL ON ALL TABLES IN SCHEMA seckill TO " ROLE);
    expect_refusal(never, "the schema seckill is version 1, not");
    struct server *server = server_start(NULL);
    wait_look(server, "must be owner of table product");
    apply_printed("seckill");
    wait_look(server, NULL);
    assert_int_equal(witness_number(owner, "SELECT stock FROM product WHERE name = 'old'"), 9);
    sell(server);
    server_stop(server);
    witness_close(owner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_printed_schema_is_enough, fresh_database, teardown),
        cmocka_unit_test_setup_teardown(a_name_is_quoted, fresh_database, teardown),
        cmocka_unit_test_setup_teardown(never_makes_nothing, fresh_database, teardown),
        cmocka_unit_test_setup_teardown(a_schema_cannot_be_made, fresh_database, teardown),
        cmocka_unit_test_setup_teardown(a_schema_is_all_it_owns, fresh_database, teardown),
        cmocka_unit_test_setup_teardown(all_rights_are_missing, fresh_database, teardown),
        cmocka_unit_test_setup_teardown(a_right_is_missing, fresh_database, teardown),
        cmocka_unit_test_setup_teardown(an_older_install_goes_on, fresh_database, teardown),
        cmocka_unit_test_setup_teardown(an_older_install_is_left_alone, fresh_database, teardown),
        cmocka_unit_test_setup_teardown(an_old_version_is_brought_up, fresh_database, teardown),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    stack_database_drop(DATABASE);
    free(here.owner);
    return failed != 0;
}
