/*
 * Three cells behind HAProxy, each a primary with a synchronous standby and two servers, and crowds
 * that are recorded over all of them, while the primary of one is killed or frozen and its standby
 * promoted. The other cells notice nothing; its own buyers are told 503, and have their orders by
 * their keys afterwards; and nothing is lost, oversold or doubled anywhere. The control is a
 * product that two balancers send to two cells.
 *
 * SECKILL_TEST_FAILOVERS says how many there are.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "lib/fixtures/cells.h"
#include "lib/fixtures/shop.h"
#include "lib/postgres.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CELLS = 3,
    FAILOVERS = 2,
    STOCK = 1000000,
    FIRST = 1000001,
    EACH_CROWD = 6, /* products */
    BUYS = 10,      /* in each of the other cells, while one has no primary */
};

static const char *const strategies[] = {"conditional", "batch"};
enum { CROWDS = sizeof strategies / sizeof *strategies };

static const char token[] = "Authorization: Bearer secret\r\n";
static struct cell {
    struct postgres *primary, *standby;
    char database[240]; /* whichever of them takes writes */
} cells[CELLS];
static struct server *servers[CELLS][CELLS_EACH];
static struct haproxy *proxy;

static struct cells_command crowds[CROWDS];

/* A line of products.map for each product, dealt to the cells in turn; the products of this test
 * itself are 1 to 3. */
static char *map_text(void)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    for (int i = 0; i < CELLS; i++)
        fprintf(to, "%d %02x\n", i + 1, i + 1);
    for (int i = 0; i < CROWDS * EACH_CROWD; i++)
        fprintf(to, "%d %02x\n", FIRST + i, i % CELLS + 1);
    assert_int_equal(fclose(to), 0);
    return text;
}

static void start_cell(int i)
{
    struct cell *cell = &cells[i];
    char hosts[192];

    cell->primary = postgres_create(NULL);
    postgres_set(cell->primary, "synchronous_standby_names", "second"); /* the copies', too */
    cell->standby = postgres_standby(cell->primary, "second");
    snprintf(hosts, sizeof hosts, "%s", postgres_both(cell->primary, cell->standby));
    snprintf(cell->database, sizeof cell->database, "%s target_session_attrs=read-write", hosts);
    for (int k = 0; k < CELLS_EACH; k++)
        servers[i][k] = server_start("--cell", t_text("%d/%d", i + 1, CELLS), "--database", hosts,
                                     "--admin-token", "secret");
    for (int k = 0; k < CELLS_EACH; k++)
        server_wait_ready(servers[i][k], 200, NULL);
}

static int start(void **state)
{
    char *map = map_text();

    (void)state;
    server_use_redis(NULL);
    for (int i = 0; i < CELLS; i++)
        start_cell(i);
    proxy = cells_proxy(HAPROXY_FOLDER, servers, CELLS, map);
    free(map);
    return 0;
}

static int stop(void **state)
{
    for (int i = 0; i < CROWDS; i++) {
        if (crowds[i].said) {
            kill(crowds[i].pid, SIGKILL);
            pclose(crowds[i].said);
            crowds[i].said = NULL;
        }
        unlink(haproxy_path(proxy, t_text("crowd-%d/ledger.jsonl", i)));
        rmdir(haproxy_path(proxy, t_text("crowd-%d", i)));
    }
    haproxy_destroy(proxy);
    proxy = NULL;
    int failed = server_teardown(state);
    return postgres_teardown(state) | failed;
}

static int ask(const char *method, const char *target, const char *key, const char *body)
{
    const char *headers = key ? t_text("%sIdempotency-Key: %s\r\n", token, key) : token;
    struct http_reply reply = cells_ask(proxy, method, target, headers, body);
    int status = reply.status;

    http_reply_fini(&reply);
    return status;
}

static int buy(int cell, int64_t user, const char *key)
{
    return ask("POST", "/orders", key,
               t_text("{\"product_id\": %d, \"user_id\": %" PRId64 "}", cell + 1, user));
}

static struct cells_command launch(const char *command)
{
    const char *const databases[] = {cells[0].database, cells[1].database, cells[2].database};

    return cells_launch(LOADTEST, command, databases, CELLS);
}

static void judge(const char *command, int wanted, const char *says)
{
    struct cells_command launched = launch(command);

    cells_finish(&launched, wanted, says);
}

static void start_crowd(int i, const char *servers_text, int products, const char *more)
{
    crowds[i] = launch(t_text("record --server %s --admin-token secret --strategy %s"
                              " --connections 6 --duration 3600s --products %d --first-product %d"
                              " --users 200 --seed %d --out %s %s",
                              servers_text, strategies[i], products, FIRST + i * EACH_CROWD, i + 1,
                              haproxy_path(proxy, t_text("crowd-%d", i)), more));
}

static int64_t count_orders(int cell, const char *key)
{
    struct witness *witness =
        witness_open(postgres_conninfo(cells[cell].primary, "postgres", NULL));
    int64_t count = witness_number(
        witness, "SELECT count(*) FROM orders WHERE status = 1 AND idempotency_key LIKE '%s'", key);

    witness_close(witness);
    return count;
}

/* The crowds sell in each cell. */
static void wait_for_sales(void)
{
    for (int i = 0; i < CELLS; i++) {
        int64_t before = count_orders(i, "%");
        T_UNTIL(count_orders(i, "%") > before);
    }
}

/* While the cell has no primary. Another's longest answer, in milliseconds. */
static int64_t buy_elsewhere(int broken, int round)
{
    int64_t longest_us = 0;

    for (int n = 0; n < BUYS; n++)
        for (int i = 0; i < CELLS; i++) {
            int64_t begun_us = clock_mono_us();
            if (i == broken)
                continue;
            assert_int_equal(buy(i, round * 100 + n + 1, NULL), 201);
            int64_t took_us = clock_mono_us() - begun_us;
            longest_us = took_us > longest_us ? took_us : longest_us;
        }
    return longest_us / CLOCK_US_PER_MS;
}

/* The primary of one cell is gone, and its standby is the primary then; and there is a new one. */
static void fail_over(int broken, int round, bool frozen)
{
    struct cell *cell = &cells[broken];
    struct postgres *old = cell->primary;
    char key[32];

    snprintf(key, sizeof key, "failover-%d", round);
    if (frozen)
        postgres_pause(old);
    else
        postgres_kill(old);
    int told = buy(broken, round, key);
    if (told != 503 && told != 504) /* 504: its commit may have been under way */
        fail_msg("a cell without a primary answers %d", told);
    int64_t longest_ms = buy_elsewhere(broken, round);
    postgres_promote(cell->standby);
    cell->primary = cell->standby;
    cell->standby = old;
    if (frozen) { /* it goes on beside the new one, and can commit nothing */
        postgres_resume(old);
        buy(broken, round, key);
        postgres_kill(old);
    }
    postgres_rejoin(old, cell->primary, "second");
    T_UNTIL((told = buy(broken, round, key)) == 201);
    assert_int_equal(count_orders(broken, key), 1);
    printf("# failover %d, cell %d %s: the longest order of another cell took %" PRId64 " ms\n",
           round, broken + 1, frozen ? "frozen" : "killed", longest_ms);
}

static void end_crowds(void)
{
    for (int i = 0; i < CROWDS; i++)
        assert_int_equal(kill(crowds[i].pid, SIGINT), 0);
    for (int i = 0; i < CROWDS; i++)
        cells_finish(&crowds[i], 0, "Ledger: ");
}

TEST_WITH(a_cell_fails_over_alone, start, stop)
{
    const char *wanted = getenv("SECKILL_TEST_FAILOVERS");
    int failovers = wanted ? atoi(wanted) : FAILOVERS;

    for (int i = 0; i < CELLS; i++)
        assert_int_equal(ask("PUT", t_text("/products/%d", i + 1), NULL, "{\"stock\": 1000000}"),
                         201);
    for (int i = 0; i < CROWDS; i++)
        start_crowd(i, haproxy_address(proxy), EACH_CROWD, "--stock 1000000");
    for (int round = 1; round <= failovers; round++) {
        wait_for_sales();
        fail_over(1, round, round % 2 == 0);
    }
    wait_for_sales();
    end_crowds();
    for (int i = 0; i < CROWDS; i++)
        judge(t_text("check %s/ledger.jsonl", haproxy_path(proxy, t_text("crowd-%d", i))), 0,
              "no violation found");
    judge("audit", 0, "3 cells: 0 wrong beside each other");
    for (int i = 0; i < CELLS * CELLS_EACH; i++)
        server_stop(servers[i / CELLS_EACH][i % CELLS_EACH]);
}

/* What one balancer sends to cell 1 another one sends to cell 2: there it is 421, until somebody
 * has put the product on sale there, too. */
TEST_WITH(a_product_in_two_cells_is_seen, start, stop)
{
    static const char body[] = "{\"product_id\": 1000001, \"user_id\": 1}";
    static const char target[] = "/products/1000001", product[] = "{\"stock\": 50}";
    struct haproxy *first = proxy;

    proxy = cells_proxy(HAPROXY_FOLDER, servers, CELLS, t_text("%d 02\n", FIRST));
    struct haproxy *second = proxy;
    assert_int_equal(server_status(servers[0][0], "PUT", target, token, product), 201);
    assert_int_equal(ask("POST", "/orders", NULL, body), 421);
    judge("audit", 0, "3 cells: 0 wrong beside each other");
    assert_int_equal(ask("PUT", target, NULL, product), 201);
    proxy = first;
    start_crowd(0, t_text("%s,%s", haproxy_address(first), haproxy_address(second)), 1,
                "--stock 50 --operations 400");
    cells_finish(&crowds[0], 0, "Ledger: ");
    judge(t_text("check %s/ledger.jsonl", haproxy_path(proxy, "crowd-0")), 1, "A18 wrong cell");
    judge("audit", 1, "product 1000001 is in cell 1, and in cell 2");
    haproxy_destroy(second);
    for (int i = 0; i < CELLS * CELLS_EACH; i++)
        server_stop(servers[i / CELLS_EACH][i % CELLS_EACH]);
}

TEST_GROUP(NULL, NULL)
