/*
 * Cells: two servers, each with a database of its own, that are two of three cells. An order's id
 * names the cell that has made it, whatever the strategy; what another cell has is 421, and nothing
 * is done about it. A server without --cell is what it was.
 */
#include "lib/t.h"

#include "http/lib/expect.h"
#include "http/lib/one_server.h"
#include "lib/fixtures/outcome.h"
#include "lib/fixtures/shop.h"
#include "lib/stack.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HERE = 1, ELSEWHERE = 2, PRODUCT = 1, OTHERS_PRODUCT = 2 };

static const char other_name[] = "seckill_http_cells_other";
static char *other_database;
static struct server *other;
static struct witness *other_witness;

static int start(void **state)
{
    (void)state;
    other_database = stack_database_create(other_name);
    server = server_start("--cell", "1/3", "--system-name", t_text("cell-1-%d", getpid()));
    other = server_start("--cell", "2/3", "--system-name", t_text("cell-2-%d", getpid()),
                         "--database", other_database);
    other_witness = witness_open(other_database);
    shop_put(server, PRODUCT, 100, NULL);
    shop_put(other, OTHERS_PRODUCT, 100, NULL);
    return 0;
}

static int stop(void **state)
{
    int result = one_server_clear(state);

    witness_close(other_witness);
    stack_database_drop(other_name);
    free(other_database);
    return result;
}

static void end(void)
{
    server_stop(server);
    server_stop(other);
}

/* One digit's is enough. */
static void name_cell(char *id, int cell)
{
    id[24] = '0';
    id[25] = (char)('0' + cell);
}

static int cell_of(const char *id)
{
    return (int)strtol((char[]){id[24], id[25], '\0'}, NULL, 16);
}

TEST(an_orders_id_names_its_cell_whatever_the_strategy)
{
    static const char *const strategies[] = {"conditional", "batch", "redis-stock",
                                             "partitioned-queue", "redis-queue"};
    char id[SHOP_ID_SIZE];

    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        const struct buy buy = {.strategy = strategies[i], .product = (int64_t)i + 10, .user = 1};
        if (!stack_amqp() && strcmp(strategies[i], "partitioned-queue") == 0)
            continue;
        for (int n = 0; n < 3; n++) {
            shop_put(other, buy.product, 5, NULL);
            struct http_reply reply = shop_send(other, &buy);
            assert_true(reply.status == 201 || reply.status == 202);
            http_reply_text(&reply, "id", id, sizeof id);
            http_reply_fini(&reply);
            assert_int_equal(cell_of(id), ELSEWHERE);
            shop_wait_status(other, id, "confirmed");
        }
    }
    end();
}

static void expect_other(struct server *at, const char *method, const char *target,
                         const char *body, const char *cell)
{
    struct http_reply reply = server_call(at, method, target, NULL, body);

    assert_problem(&reply, 421, "other_cell", NULL);
    assert_text(&reply, "title", "Misdirected Request");
    if (cell)
        assert_non_null(strstr(reply.body, cell));
    else
        assert_null(strstr(reply.body, "\"cell\""));
    http_reply_fini(&reply);
}

TEST(another_cells_order_is_named_and_left_alone)
{
    char id[SHOP_ID_SIZE];

    buy(other, OTHERS_PRODUCT, 1, id);
    expect_other(server, "GET", t_text("/orders/%s", id), NULL, "\"cell\": 2}");
    expect_other(server, "POST", t_text("/orders/%s/cancel", id), NULL, "\"cell\": 2}");
    expect_other(server, "POST", t_text("/orders/%s/pay", id), NULL, "\"cell\": 2}");
    expect_status(other, 200, "GET", t_text("/orders/%s", id), NULL, NULL);
    assert_int_equal(witness_number(other_witness, "SELECT status FROM orders"), 1);

    /* One of this cell that is not there, and one of a cell that there is not, are nobody's. */
    name_cell(id, 1);
    expect_problem(server, 404, "not_found", NULL, "GET", t_text("/orders/%s", id), NULL, NULL);
    name_cell(id, 4);
    expect_problem(server, 404, "not_found", NULL, "GET", t_text("/orders/%s", id), NULL, NULL);
    /* A path that no cell has is nobody's, whatever order stands in it. */
    name_cell(id, 2);
    expect_problem(server, 404, "not_found", NULL, "GET", t_text("/orders/%s/x", id), NULL, NULL);
    end();
}

TEST(another_cells_product_is_not_sold)
{
    static const char *const strategies[] = {"conditional", "pessimistic", "batch",
                                             "redis-stock", "redis-queue", "pipelined"};

    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
        expect_other(server, "POST", t_text("/orders?strategy=%s", strategies[i]),
                     "{\"product_id\": 2, \"user_id\": 1}", NULL);
    expect_other(server, "GET", "/products/2", NULL, NULL);
    expect_other(server, "PATCH", "/products/2", "{\"name\": \"two\"}", NULL);
    expect_other(server, "POST", "/products/2/restock", "{\"quantity\": 1}", NULL);
    expect_other(server, "GET", "/products/2/audit", NULL, NULL);
    assert_int_equal(witness_number(witness, "SELECT count(*) FROM orders"), 0);
    assert_int_equal(witness_number(witness, "SELECT count(*) FROM product WHERE id = 2"), 0);
    assert_int_equal(witness_sale(other_witness, OTHERS_PRODUCT).stock, 100);
    end();
}

TEST(a_row_that_is_here_is_served_whatever_its_id_names)
{
    char id[SHOP_ID_SIZE];

    buy(server, PRODUCT, 1, id);
    witness_run(witness,
                "UPDATE orders SET id = overlay(id::text placing '02' from 25 for 2)::uuid");
    name_cell(id, 2);
    expect_status(server, 200, "GET", t_text("/orders/%s", id), NULL, NULL);
    expect_status(server, 200, "POST", t_text("/orders/%s/cancel", id), NULL, NULL);
    end();
}

TEST(readiness_and_metrics_name_the_cell)
{
    struct http_reply reply = expect(server, 200, "GET", "/readyz", NULL, NULL);

    assert_text(&reply, "cell", "1/3");
    http_reply_fini(&reply);
    assert_int_equal(server_metric(other, "seckill_cell_info", "cell=\"2\",cells=\"3\""), 1);
    expect_other(server, "GET", "/products/2", NULL, NULL);
    server_wait_metric(server, "seckill_http_responses_total", "status=\"421\"", 1);
    end();
}

/* The one cell of one has no other that could have it. */
TEST_WITH(without_cells_what_is_missing_is_404, NULL, one_server_clear)
{
    static const char *const flags[] = {NULL, "1/1"};
    char id[SHOP_ID_SIZE] = "01900000-0000-7000-8000-020000000000";

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        server = server_start("--cell", flags[i]);
        server_wait_ready(server, 200, NULL);
        expect_problem(server, 404, "not_found", NULL, "GET", t_text("/orders/%s", id), NULL, NULL);
        expect_problem(server, 404, "unknown_product", NULL, "GET", "/products/2", NULL, NULL);
        struct http_reply reply = expect(server, 200, "GET", "/readyz", NULL, NULL);
        assert_int_equal(strstr(reply.body, "\"cell\"") != NULL, flags[i] != NULL);
        http_reply_fini(&reply);
        server_stop(server);
    }
}

TEST_EACH(start, stop)

int main(void)
{
    return one_server_run_bare("cells");
}
