/*
 * Two cells of two servers each, on a database each, behind a real HAProxy that has
 * ops/haproxy/cells.cfg with this test's addresses in it: calls find the cell that has the product
 * or the order, none finds a second one, and what fails is sent again within the cell.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "lib/fixtures/cells.h"
#include "lib/fixtures/shop.h"
#include "lib/stack.h"
#include "lib/witness.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    STOCK = 100,
    HEAD_BYTES = 7000, /* with a key of 255 and what HAProxy adds, 8 KiB are not passed */
    BODY_BYTES = 16 * 1024,
};

/* Beyond what a double counts, and products of both cells (slots.map). */
static const int64_t products[] = {1, 2, 3, 4, 5, 1000001, INT64_C(9007199254740993), INT64_MAX};
enum { PRODUCTS = sizeof products / sizeof *products };

static const char token[] = "Authorization: Bearer secret\r\n";
static struct cell {
    char *database; /* owned */
    struct witness *witness;
} cells[CELLS];
static struct server *servers[CELLS][CELLS_EACH];
static struct haproxy *proxy;

/* `more`: lines of products.map. */
static void start_proxy(const char *more)
{
    proxy = cells_proxy(HAPROXY_FOLDER, servers, more);
}

static struct server *start_server(int cell, int of)
{
    return server_start("--cell", t_text("%d/%d", cell, of), "--system-name",
                        t_text("cell-%d-%d", cell, getpid()), "--database",
                        cells[cell - 1].database, "--admin-token", "secret");
}

static int start_servers(void **state)
{
    (void)state;
    for (int i = 0; i < CELLS; i++) {
        struct cell *cell = &cells[i];
        cell->database = stack_database_create(t_text("seckill_cell_%d", i + 1));
        for (int k = 0; k < CELLS_EACH; k++)
            servers[i][k] = start_server(i + 1, CELLS);
        for (int k = 0; k < CELLS_EACH; k++)
            server_wait_ready(servers[i][k], 200, NULL);
        cell->witness = witness_open(cell->database);
    }
    return 0;
}

static int start(void **state)
{
    start_servers(state);
    start_proxy("");
    return 0;
}

static int stop(void **state)
{
    haproxy_destroy(proxy);
    proxy = NULL;
    for (int i = 0; i < CELLS * CELLS_EACH; i++) {
        struct server **at = &servers[i / CELLS_EACH][i % CELLS_EACH];
        if (*at)
            server_stop(*at);
        *at = NULL;
    }
    server_teardown(state);
    for (int i = 0; i < CELLS; i++) {
        witness_close(cells[i].witness);
        stack_database_drop(t_text("seckill_cell_%d", i + 1));
        free(cells[i].database);
    }
    return 0;
}

static struct http_reply ask(const char *method, const char *target, const char *headers,
                             const char *body)
{
    return cells_ask(proxy, method, target, headers, body);
}

static void expect(int wanted, const char *method, const char *target, const char *headers,
                   const char *body)
{
    struct http_reply reply = ask(method, target, headers, body);

    if (reply.status != wanted)
        fail_msg("%s %s: %d instead of %d: %s", method, target, reply.status, wanted, reply.body);
    http_reply_fini(&reply);
}

static void put(int64_t product)
{
    expect(201, "PUT", t_text("/products/%" PRId64, product), token, "{\"stock\": 100}");
}

/* The cell that has the product, 1 or 2: one alone. */
static int home_of(int64_t product)
{
    int home = 0;

    for (int i = 0; i < CELLS; i++)
        if (witness_number(cells[i].witness, "SELECT count(*) FROM product WHERE id = %" PRId64,
                           product) == 1) {
            assert_int_equal(home, 0);
            home = i + 1;
        }
    assert_int_not_equal(home, 0);
    return home;
}

static int64_t orders_of(int cell)
{
    return witness_number(cells[cell - 1].witness, "SELECT count(*) FROM orders WHERE status = 1");
}

/* What stands around the product in an order. */
struct form {
    const char *before, *after;
};

/* Buys in the cell that has the product; `id` gets the order's. */
static void buy(const struct form *form, int64_t product, char id[SHOP_ID_SIZE])
{
    const char *body = t_text("%s%" PRId64 "%s", form->before, product, form->after);
    int home = home_of(product);
    int64_t before = orders_of(home);

    struct http_reply reply = ask("POST", "/orders", NULL, body);
    if (reply.status != 201)
        fail_msg("%s: %d %s", body, reply.status, reply.body);
    http_reply_text(&reply, "id", id, SHOP_ID_SIZE);
    http_reply_fini(&reply);
    assert_int_equal(strtol((char[]){id[24], id[25], '\0'}, NULL, 16), home);
    assert_int_equal(orders_of(home), before + 1);
}

TEST(calls_find_the_cell_of_their_product_and_of_their_order)
{
    /* As JSON writers write a number; json_query takes those that a double counts. */
    static const struct form forms[] = {
        {"{\"product_id\": ", ", \"user_id\": 1}"},
        {"{\"user_id\":2,\"product_id\":", "}"},
        {"{\n \"product_id\" : \"", "\",\n \"user_id\": \"3\"\n}"},
    };
    char id[SHOP_ID_SIZE];
    int of[CELLS + 1] = {0};

    for (int i = 0; i < PRODUCTS; i++) {
        put(products[i]);
        of[home_of(products[i])]++;
        for (size_t form = 0; form < sizeof forms / sizeof *forms; form++)
            buy(&forms[form], products[i], id);
        expect(200, "GET", t_text("/products/%" PRId64, products[i]), NULL, NULL);
        expect(200, "GET", t_text("/products/%" PRId64 "/audit", products[i]), token, NULL);
        expect(200, "GET", t_text("/orders/%s", id), NULL, NULL);
        expect(200, "POST", t_text("/orders/%s/pay", id), NULL, NULL);
        for (char *c = id; *c; c++)
            *c = (char)(*c >= 'a' && *c <= 'f' ? *c - 'a' + 'A' : *c);
        expect(200, "POST", t_text("/orders/%s/cancel", id), NULL, NULL);
        struct http_reply page =
            ask("GET", t_text("/orders?product_id=%" PRId64, products[i]), NULL, NULL);
        assert_int_equal(http_reply_count(&page, "orders"), 3);
        http_reply_fini(&page);
    }
    assert_true(of[1] > 0 && of[2] > 0);
    for (int i = 0; i < PRODUCTS; i++)
        witness_expect_exact(cells[home_of(products[i]) - 1].witness, products[i]);
}

/* A head of nearly 8 KiB and a body of 16 KiB, whose product stands at its end. */
TEST(the_largest_order_finds_its_cell)
{
    static char headers[HEAD_BYTES + 32], body[BODY_BYTES + 1];

    for (int i = 0; i < PRODUCTS; i++) {
        put(products[i]);
        memset(body, ' ', BODY_BYTES);
        int length = snprintf(headers, sizeof headers, "X-Long: ");
        memset(headers + length, 'x', HEAD_BYTES);
        strcpy(headers + length + HEAD_BYTES, "\r\n");
        const char *order = t_text("\"user_id\": 1, \"product_id\": %" PRId64 "}", products[i]);
        body[0] = '{';
        strcpy(body + BODY_BYTES - strlen(order), order);
        expect(201, "POST", "/orders", headers, body);
    }
}

TEST_WITH(a_wrong_map_sells_nothing, start_servers, stop)
{
    char id[SHOP_ID_SIZE];

    start_proxy("");
    put(products[0]);
    int home = home_of(products[0]);
    haproxy_destroy(proxy);
    start_proxy(t_text("%" PRId64 " %02x\n", products[0], CELLS + 1 - home));
    struct http_reply reply = ask("POST", "/orders", NULL, "{\"product_id\": 1, \"user_id\": 1}");
    http_reply_code(&reply, id, sizeof id);
    assert_int_equal(reply.status, 421);
    assert_string_equal(id, "other_cell");
    http_reply_fini(&reply);
    expect(421, "GET", "/products/1", NULL, NULL);
    assert_int_equal(orders_of(1) + orders_of(2), 0);
    assert_int_equal(home_of(products[0]), home);
}

/* No part is taken for the whole. */
TEST(lists_and_pages_are_asked_of_a_cell)
{
    static const char *const lists[] = {"/orders", "/orders?user_id=1", "/orders/feed",
                                        "/products"};

    for (int i = 0; i < PRODUCTS; i++)
        put(products[i]);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        expect(404, "GET", lists[i], NULL, NULL);
        expect(200, "GET", t_text("/cells/02%s", lists[i]), NULL, NULL);
    }
    expect(404, "PUT", "/products", token, "{\"first_id\": 50, \"count\": 9, \"stock\": 1}");
    int listed = 0;
    for (int cell = 1; cell <= CELLS; cell++) {
        struct http_reply page = ask("GET", t_text("/cells/%02x/products", cell), NULL, NULL);
        for (int i = 0; i < http_reply_count(&page, "products"); i++, listed++)
            assert_int_equal(home_of(http_reply_int(&page, t_text("products.%d.id", i))), cell);
        http_reply_fini(&page);
        expect(200, "GET", t_text("/cells/%02x/", cell), NULL, NULL);
        struct http_reply ready = ask("GET", t_text("/cells/%02x/readyz", cell), NULL, NULL);
        assert_non_null(strstr(ready.body, t_text("\"cell\": \"%d/2\"", cell)));
        http_reply_fini(&ready);
    }
    assert_int_equal(listed, PRODUCTS);
    expect(200, "GET", "/", NULL, NULL);
    expect(200, "GET", "/strategies", NULL, NULL);
    expect(400, "POST", "/orders", NULL, "{\"user_id\": 1}");
    expect(404, "GET", "/orders/01900000-0000-7000-8000-7f0000000000", NULL, NULL);
    expect(404, "GET", "/cells/7f/orders", NULL, NULL);
}

/* Of a cell that is gone nothing is asked elsewhere, and the other one sells on. */
TEST(what_fails_is_sent_again_within_the_cell)
{
    int64_t stays = 0, goes = 0;

    for (int i = 0; i < PRODUCTS; i++) {
        put(products[i]);
        *(home_of(products[i]) == 1 ? &stays : &goes) = products[i];
    }
    server_kill(servers[1][0]);
    servers[1][0] = NULL;
    for (int i = 0; i < 20; i++)
        expect(201, "POST", "/orders", t_text("Idempotency-Key: %d\r\n", i),
               t_text("{\"product_id\": %" PRId64 ", \"user_id\": 1}", goes));
    server_kill(servers[1][1]);
    servers[1][1] = NULL;
    int64_t sold = orders_of(1);
    for (int i = 0; i < 5; i++) {
        expect(503, "POST", "/orders", t_text("Idempotency-Key: late-%d\r\n", i),
               t_text("{\"product_id\": %" PRId64 ", \"user_id\": 1}", goes));
        expect(201, "POST", "/orders", NULL,
               t_text("{\"product_id\": %" PRId64 ", \"user_id\": %d}", stays, i + 1));
    }
    assert_int_equal(orders_of(1), sold + 5);
    assert_int_equal(orders_of(2), 20);
}

/* One that is started as the other cell, on its database, where this file has the first one's. */
TEST_WITH(a_server_of_another_cell_gets_nothing, start_servers, stop)
{
    server_stop(servers[0][1]);
    servers[0][1] = start_server(2, CELLS);
    start_proxy("1 01\n");
    T_UNTIL(haproxy_says(proxy, "Server cell-01/shop-1b is DOWN"));
    put(1);
    for (int i = 0; i < 10; i++) {
        expect(200, "GET", "/products/1", NULL, NULL);
        expect(201, "POST", "/orders", NULL, t_text("{\"product_id\": 1, \"user_id\": %d}", i + 1));
    }
    assert_int_equal(orders_of(1), 10);
}

/* seckill-loadtest, with these databases; the second may be NULL. */
static void loadtest(int wanted, const char *says, const char *command, const char *first,
                     const char *second)
{
    const char *const databases[] = {first, second};
    struct cells_command launched = cells_launch(LOADTEST, command, databases, second ? 2 : 1);

    cells_finish(&launched, wanted, says);
}

static void judge(int wanted, const char *audit_says, const char *check_says)
{
    const char *one = cells[0].database, *two = cells[1].database;
    const char *check = t_text("check %s", haproxy_path(proxy, "ledger.jsonl"));

    loadtest(wanted, audit_says, "audit", one, two);
    loadtest(wanted, check_says, check, one, two);
}

static const char *record_text(int products_count, int64_t first)
{
    return t_text("record --server %s --admin-token secret --connections 4 --duration 60s"
                  " --operations 300 --products %d --first-product %" PRId64
                  " --stock 8 --limit 3 --users 40 --out %s",
                  haproxy_address(proxy), products_count, first, haproxy_path(proxy, ""));
}

/* A crowd that buys in both cells, whose ledger is judged by both databases. */
TEST(one_audit_over_all_cells)
{
    const char *one = cells[0].database, *two = cells[1].database;

    loadtest(0, "Ledger: ", record_text(PRODUCTS, INT64_C(1000001)), one, two);
    assert_true(orders_of(1) > 0 && orders_of(2) > 0);
    judge(0, "8 of 8 products agree\n2 cells: 0 wrong beside each other", "no violation found");
    /* Orders of any cell are somebody's. */
    int64_t elsewhere = INT64_C(1000001);
    while (home_of(elsewhere) != CELLS)
        elsewhere++;
    loadtest(2, "say --reset to wipe them out", record_text(1, elsewhere), one, two);
    loadtest(2, "the database has no product",
             t_text("check %s", haproxy_path(proxy, "ledger.jsonl")), one, NULL);
    loadtest(1, "and its id names cell 2", "audit", two, one);
    loadtest(1, "A18 wrong cell", t_text("check %s", haproxy_path(proxy, "ledger.jsonl")), two,
             one);

    /* A product that has moved away is in one cell alone. */
    int64_t product = INT64_C(1000001);
    int home = home_of(product);
    struct server *wrong = servers[CELLS - home][0];
    static const char target[] = "/products/1000001";
    assert_int_equal(server_status(wrong, "PUT", target, token, "{\"stock\": 0}"), 201);
    judge(0, "2 cells: 0 wrong", "no violation found");
    assert_int_equal(server_status(wrong, "PUT", target, token, "{\"stock\": 5}"), 200);
    judge(1, t_text("product %" PRId64 " is in cell 1, and in cell 2", product), "it is in cell");
    assert_int_equal(server_status(wrong, "PUT", target, token, "{\"stock\": 0}"), 200);

    witness_run(cells[0].witness, "UPDATE orders SET id = overlay(id::text placing '02' from 25 for"
                                  " 2)::uuid WHERE id = (SELECT max(id::text)::uuid FROM orders)");
    judge(1, "is in cell 1, and its id names cell 2", "is in cell 1, and its id names cell 2");
    witness_run(cells[0].witness, "UPDATE orders SET id = overlay(id::text placing '01' from 25 for"
                                  " 2)::uuid WHERE substr(id::text, 25, 2) = '02'");
    judge(0, "2 cells: 0 wrong", "no violation found");

    for (int i = 0; i < PRODUCTS - 3; i++) {
        put(products[i]);
        struct http_reply reply =
            ask("POST", "/orders", "Idempotency-Key: again\r\n",
                t_text("{\"product_id\": %" PRId64 ", \"user_id\": 7}", products[i]));
        http_reply_fini(&reply); /* of a cell all but the first are refused */
    }
    loadtest(1, "user 7: the key again has an order in cell 1, ", "audit", one, two);
}

static void run_all(int wanted, const char *says, const char *flags)
{
    const char *folder = haproxy_path(proxy, "run");

    loadtest(wanted, says,
             t_text("run --balancer %s --admin-token secret --scenario spread --products 8"
                    " --strategies conditional --connections 8 --duration 1s --out %s %s",
                    haproxy_address(proxy), folder, flags),
             cells[0].database, cells[1].database);
    t_remove_folder(folder);
}

/* Sold through the balancer, and counted by the servers of all cells, one by one. */
TEST(a_run_over_all_cells)
{
    const char *all =
        t_text("%s,%s,%s,%s", server_address(servers[0][0]), server_address(servers[0][1]),
               server_address(servers[1][0]), server_address(servers[1][1]));

    run_all(0, "800/800  kept", t_text("--server %s", all));
    assert_true(orders_of(1) > 0 && orders_of(2) > 0);
    assert_int_equal(orders_of(1) + orders_of(2), 8 * STOCK); /* of the truth, which comes last */
    run_all(2, "orders: say --reset", t_text("--server %s", all));
    run_all(0, "kept",
            t_text("--server %s --reset --rate 100 --max-lag-ms 60000 --keys 10%%", all));
    /* A server that is not named sells, too, and is not counted. */
    run_all(2, "the servers' metrics count",
            t_text("--server %s,%s --reset", server_address(servers[0][0]),
                   server_address(servers[1][0])));
}

/* What curl is to move-product.sh: the same, and at its turn it runs the hook before. So is what
 * has HAProxy read its map again. */
static const char curl_text[] = "#!/bin/sh\n"
                                "left=$(($(cat turn) - 1))\n"
                                "echo $left >turn\n"
                                "[ $left != 0 ] || sh ./hook\n"
                                "[ \"$1\" = reload ] || exec /usr/bin/curl \"$@\"\n";
#define MOVE                                                                                       \
    "bash '" HAPROXY_FOLDER                                                                        \
    "/move-product.sh' --map products.map --reload './curl reload' %s %" PRId64 " 01 02"

/* The script moves it from cell 1 to cell 2, and its curl runs the hook at its turn; 0: never. Its
 * exit status. */
static int move(int64_t product, int turn, const char *hook)
{
    char *shell = NULL;

    t_write(haproxy_path(proxy, "turn"), t_text("%d\n", turn));
    t_write(haproxy_path(proxy, "hook"), hook);
    assert_true(asprintf(&shell,
                         "cd '%s' && echo $$ >pid && export SECKILL_ADMIN_TOKEN=secret PATH=.:$PATH"
                         " && exec " MOVE " >moved 2>&1",
                         haproxy_path(proxy, ""), haproxy_address(proxy), product) > 0);
    int status = t_call((char *[]){(char[]){"bash"}, (char[]){"-c"}, shell, NULL});
    free(shell);
    return status;
}

static void expect_move(int64_t product)
{
    if (move(product, 0, "") != 0)
        fail_msg("%s", t_read_all(haproxy_path(proxy, "moved")));
}

/* How many of the cells sell a unit of it now, each asked itself. */
static int sellers_of(int64_t product)
{
    static int64_t user = 1;
    int sellers = 0;

    for (int i = 0; i < CELLS; i++) {
        struct buy order = {.strategy = "conditional", .product = product, .user = user + i};
        struct http_reply reply = shop_send(servers[i][0], &order);
        if (reply.status != 201 && reply.status != 409 && reply.status != 421)
            fail_msg("cell %d: %d %s", i + 1, reply.status, reply.body);
        sellers += reply.status == 201;
        http_reply_fini(&reply);
    }
    user += CELLS;
    return sellers;
}

/* Sold in both, and what is left in the new one, are what there was. */
static void expect_moved(int64_t product)
{
    int64_t units = 0;

    for (int i = 0; i < CELLS; i++)
        units += witness_number(cells[i].witness,
                                "SELECT coalesce(sum(quantity), 0)::bigint FROM orders"
                                " WHERE status IN (1, 4) AND product_id = %" PRId64,
                                product);
    units +=
        witness_number(cells[1].witness, "SELECT stock FROM product WHERE id = %" PRId64, product);
    assert_int_equal(units, STOCK);
    assert_int_equal(sellers_of(product), 1);
    char *map = t_read_all(haproxy_path(proxy, "products.map"));
    assert_non_null(strstr(map, t_text("\n%" PRId64 " 02\n", product)));
    free(map);
}

static void start_move(int64_t product)
{
    const char *target = t_text("/products/%" PRId64, product);

    t_write(haproxy_path(proxy, "curl"), curl_text);
    assert_int_equal(chmod(haproxy_path(proxy, "curl"), 0700), 0);
    assert_int_equal(server_status(servers[0][0], "PUT", target, token,
                                   "{\"stock\": 100, \"name\": \"\\\"hold_s\\\": 7, }\","
                                   " \"closes_at\": \"2999-01-01T00:00:00Z\"}"),
                     201);
    assert_int_equal(sellers_of(product), 1);
}

/* Wherever it ends, no two cells sell the product, and the next one comes to the end. */
TEST(a_move_goes_on_where_it_was_killed)
{
    int64_t product = 100;
    int turn = 0, status;

    do {
        start_move(++product);
        status = move(product, ++turn, "kill -KILL $(cat pid)");
        assert_true(sellers_of(product) <= 1);
        if (status != 0)
            expect_move(product);
        expect_moved(product);
    } while (status != 0);
    assert_true(turn > 8);
    assert_int_equal(witness_number(cells[1].witness,
                                    "SELECT count(*) FROM product WHERE name = '\"hold_s\": 7, }'"
                                    " AND closes_at = '2999-01-01 00:00Z'"),
                     turn);
    loadtest(0, "2 cells: 0 wrong", "audit", cells[0].database, cells[1].database);
}

/* At each of its calls another one is begun, which ends this one if it is let in. */
TEST(two_moves_take_turns)
{
    char *hook = NULL;
    int64_t product = 200;

    for (int turn = 1; turn <= 8; turn++) {
        start_move(++product);
        assert_true(asprintf(&hook, "if " MOVE " >/dev/null 2>&1; then kill -KILL $(cat pid); fi",
                             haproxy_address(proxy), product) > 0);
        if (move(product, turn, hook) != 0)
            fail_msg("turn %d: %s", turn, t_read_all(haproxy_path(proxy, "moved")));
        free(hook);
        expect_moved(product);
    }
}

/* A PUT of somebody else, just before the units come. */
TEST(a_sale_begun_meanwhile_is_left_alone)
{
    static const char stock[] = "SELECT stock FROM product WHERE id = 250";

    start_move(250);
    move(250, 7,
         t_text("/usr/bin/curl -s -X PUT -H 'Authorization: Bearer secret' %s/products/250"
                " -d '{\"stock\": 7}' >/dev/null",
                server_address(servers[1][0])));
    assert_int_equal(witness_number(cells[1].witness, stock), 7);
}

/* A unit that waits to be paid goes along when nobody has paid it. */
TEST(what_is_held_comes_back_before_a_move)
{
    struct buy order = {
        .strategy = "conditional", .product = 301, .user = 1, .members = ", \"hold_s\": 2"};

    start_move(order.product);
    shop_expect_buy(servers[0][0], &order, 201, "", NULL);
    expect_move(order.product);
    assert_int_equal(
        witness_number(cells[0].witness, "SELECT count(*) FROM orders WHERE status = 4"), 0);
    expect_moved(order.product);
}

/* Orders that a new sale there would end. */
TEST(a_sale_of_the_other_cell_is_left_alone)
{
    static const char target[] = "/products/401";

    start_move(401);
    assert_int_equal(server_status(servers[1][0], "PUT", target, token, "{\"stock\": 1}"), 201);
    assert_int_not_equal(move(401, 0, ""), 0);
    assert_int_equal(sellers_of(401), CELLS);
    for (int ended = 0; ended < 2; ended++) {
        loadtest(1, "product 401 is in cell 1, and in cell 2", "audit", cells[0].database,
                 cells[1].database);
        for (int i = 0; i < CELLS; i++)
            assert_int_equal(server_status(servers[i][0], "PATCH", target, token,
                                           "{\"closes_at\": \"2020-01-01T00:00:00Z\"}"),
                             200);
    }
}

TEST_GROUP(NULL, stack_restore)
TEST_EACH(start, stop)
