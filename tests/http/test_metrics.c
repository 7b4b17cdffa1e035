/* GET /metrics: what Prometheus' own checker says of it, what is shown and what is not, its size.
 */
#include "lib/t.h"

#include "http/lib/expect.h"
#include "http/lib/one_server.h"
#include "lib/fixtures/crowd.h"
#include "lib/fixtures/shop.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEMO_MOST_BYTES = 60 * 1000, ALL_MOST_BYTES = 4 * DEMO_MOST_BYTES, TEXT_MAX = 512 * 1024 };
enum { NO_PROMTOOL = 127 };

/* Those of scripts/demo.sh. */
static const char *const demo[] = {"none",        "local-lock",  "pessimistic",
                                   "conditional", "redis-token", "redis-queue"};
enum { DEMO = sizeof demo / sizeof *demo };

static void read_page(struct server *from, char text[TEXT_MAX])
{
    struct http_reply reply = expect(from, 200, "GET", "/metrics", NULL, NULL);

    assert_true(strlen(reply.body) < TEXT_MAX);
    strcpy(text, reply.body);
    http_reply_fini(&reply);
}

static _Noreturn void run_promtool(FILE *page, FILE *said)
{
    dup2(fileno(page), STDIN_FILENO);
    dup2(fileno(said), STDOUT_FILENO);
    dup2(fileno(said), STDERR_FILENO);
    execlp("promtool", "promtool", "check", "metrics", (char *)NULL);
    _exit(NO_PROMTOOL);
}

/* Exit status 0 and not a word. */
static void expect_promtool_has_nothing_to_say(const char *text)
{
    FILE *page = tmpfile();
    FILE *said = tmpfile();
    char words[1024] = "";
    int status = 0;

    assert_true(page && said);
    fputs(text, page);
    t_rewind(page);
    pid_t child = fork();
    if (child == 0)
        run_promtool(page, said);
    assert_int_equal(waitpid(child, &status, 0), child);
    t_rewind(said);
    size_t length = fread(words, 1, sizeof words - 1, said);
    words[length] = '\0';
    fclose(page);
    fclose(said);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PROMTOOL)
        skip(); /* apt-get install prometheus */
    if (status != 0 || length > 0)
        fail_msg("promtool: status %d: %s", status, words);
}

/* A sale with each answer of a buy, a restock and a cancel. */
static void use(struct server *with, const char *strategy, int64_t product)
{
    struct buy buy = {.strategy = strategy, .product = product, .user = 1};
    char id[SHOP_ID_SIZE];

    shop_put(with, product, 2, ", \"limit_per_user\": 1");
    shop_expect_buy(with, &buy, 201, "", id);
    shop_expect_buy(with, &buy, 409, "limit_reached", NULL);
    buy.quantity = 2;
    shop_expect_restock(with, &buy, 200, "");
    char target[128];
    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    assert_int_equal(server_status(with, "POST", target, NULL, NULL), 200);
}

static bool shows(const char *text, const char *series)
{
    return strstr(text, series) != NULL;
}

TEST(promtool_finds_nothing)
{
    static char text[TEXT_MAX];
    struct server *fresh = server_start(NULL);

    read_page(fresh, text);
    expect_promtool_has_nothing_to_say(text);
    for (int i = 0; i < DEMO; i++)
        use(fresh, demo[i], 100 + i);
    read_page(fresh, text);
    expect_promtool_has_nothing_to_say(text);
    server_stop(fresh);
}

TEST(what_is_used_is_shown)
{
    static char text[TEXT_MAX];
    struct server *fresh = server_start(NULL);

    read_page(fresh, text);
    /* Costs may be shown: redis-stock's writer has some even before an order. */
    assert_false(shows(text, "seckill_orders_total"));
    assert_false(shows(text, "seckill_order_seconds"));
    assert_false(shows(text, "strategy=\"none\""));
    use(fresh, "conditional", 200);
    read_page(fresh, text);
    assert_true(shows(text, "{strategy=\"conditional\",kind=\"buy\",outcome=\"sold_out\"} 0\n"));
    assert_true(shows(text, "{strategy=\"conditional\",phase=\"work\",le=\"0.0001\"}"));
    assert_false(shows(text, "strategy=\"none\""));
    for (int i = 0; i < DEMO; i++)
        use(fresh, demo[i], 210 + i);
    read_page(fresh, text);
    if (strlen(text) > DEMO_MOST_BYTES)
        fail_msg("%zu bytes after the demo's strategies", strlen(text));
    assert_true(shows(text, "{strategy=\"none\",kind=\"cancel\",outcome=\"cancelled\"} 1\n"));
    struct http_reply strategies = expect(fresh, 200, "GET", "/strategies", NULL, NULL);
    for (int i = 0; i < http_reply_count(&strategies, ""); i++) {
        char path[32];
        char name[64];
        snprintf(path, sizeof path, "%d.name", i);
        http_reply_text(&strategies, path, name, sizeof name);
        struct buy buy = {.strategy = name, .product = 300 + i, .user = 1};
        shop_put(fresh, 300 + i, 1, NULL);
        struct http_reply reply = shop_buy(fresh, &buy);
        http_reply_fini(&reply);
    }
    http_reply_fini(&strategies);
    read_page(fresh, text);
    if (strlen(text) > ALL_MOST_BYTES)
        fail_msg("%zu bytes after all strategies", strlen(text));
    server_stop(fresh);
}

/* A page of a server that has no other connection any more. */
static bool is_read_alone(struct server *of, char *text)
{
    read_page(of, text);
    return shows(text, "\nseckill_http_connections 1\n");
}

TEST(the_process_and_its_backends_are_told_of)
{
    static char text[TEXT_MAX];
    static const char *const series[] = {
        "\nseckill_build_info{version=\"",
        "\nseckill_backend_up{backend=\"postgresql\"} 1\n",
        "\nseckill_backend_up{backend=\"redis\"} ",
        "\nseckill_backend_up{backend=\"stock-redis\"} ",
        "\nseckill_postgresql_sessions ",
        "\nseckill_postgresql_sessions_limit 24\n",
        "\nseckill_postgresql_snapshot_seconds ",
        "\nseckill_http_requests_in_flight 1\n",
        "\nprocess_cpu_seconds_total ",
        "\nprocess_resident_memory_bytes ",
        "\nprocess_open_fds ",
        "\nprocess_start_time_seconds ",
    };

    struct server *fresh = server_start(NULL);
    server_wait_ready(fresh, 200, NULL);
    T_UNTIL(is_read_alone(fresh, text));
    for (size_t i = 0; i < sizeof series / sizeof *series; i++)
        if (!shows(text, series[i]))
            fail_msg("no %s in:\n%s", series[i] + 1, text);
    assert_int_equal(server_metric(fresh, "process_max_fds", "") > 0, 1);
    /* The background's, and nobody else's yet. */
    assert_true(server_metric(fresh, "seckill_postgresql_sessions", "") >= 1);
    server_stop(fresh);
}

TEST(it_needs_no_postgresql)
{
    static char text[TEXT_MAX];
    struct server *lost = server_start("--database", "host=/nowhere", "--log-level", "error");

    read_page(lost, text);
    assert_true(shows(text, "\nseckill_backend_up{backend=\"postgresql\"} 0\n"));
    assert_true(shows(text, "\nseckill_postgresql_sessions "));
    server_stop(lost);
}

/* While one page is being made the loop serves everybody else, and then sends it. */
TEST(nobody_waits_for_it)
{
    struct crowd *crowd = crowd_create();

    server_use_failpoints("metrics.render=hold");
    struct server *held = server_start(NULL);
    server_use_failpoints(NULL);
    crowd_add(crowd, held, "GET", "/metrics", NULL, NULL);
    crowd_send(crowd);
    for (int i = 0; i < 10; i++)
        assert_int_equal(server_status(held, "GET", "/healthz", NULL, NULL), 200);
    assert_false(crowd_wait(crowd, 1, clock_mono_us()));
    server_let_go(held);
    crowd_finish(crowd, SERVER_PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 200, NULL), 1);
    crowd_destroy(crowd);
    server_stop(held);
}

TEST_EACH(NULL, server_teardown)

int main(void)
{
    return one_server_run_bare("metrics");
}
