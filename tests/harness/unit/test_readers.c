/* What the harness reads from others: wrk, pgbench, the metrics, a server's first line. */
#include "harness/fixtures/has.h"
#include "lib/t.h"

#include "bench/tools/pgbench.h"
#include "loadtest/engine/client.h"
#include "loadtest/fleet/instance.h"
#include "loadtest/fleet/scrape.h"
#include "loadtest/load/load.h"
#include "loadtest/report/document/apart.h"

static struct error error;

TEST(wrk_figures)
{
    struct load_result result;
    assert_true(wrk_parse("Running 1s test @ http://127.0.0.1:1\n"
                          "  2 threads and 64 connections\n"
                          "Requests/sec:   1000.00\n"
                          "seckill-wrk duration_us=1001000 requests=1001 connect=1 read=2 write=3 "
                          "status=900 timeout=4 p50=10 p90=20 p99=30 max=40 sold_out=50 resold=6 "
                          "repeats=7\n",
                          &result, &error));
    HAS(result, duration_us, 1001000, requests, 1001, not_2xx, 900, connect_errors, 1, read_errors,
        2, write_errors, 3, timeouts, 4, p50_us, 10, p99_us, 30, max_us, 40, sold_out_us, 50,
        resold, 6, repeats, 7);
}

/* Runs of one sale: what was first, and all that came after. */
TEST(wrk_runs_are_summed)
{
    struct load_result sum = {.requests = 1};
    load_add(&sum, &(struct load_result){.requests = 2});
    load_add(&sum, &(struct load_result){.sold_out_us = 70, .resold = 1, .repeats = 2});
    load_add(&sum, &(struct load_result){.sold_out_us = 80, .connect_errors = 3});
    load_add(&sum, &(struct load_result){.resold = 2, .repeats = 3, .connect_errors = 4});
    HAS(sum, requests, 3, connect_errors, 7, sold_out_us, 70, resold, 3, repeats, 5);
}

TEST(wrk_without_figures)
{
    struct load_result result;
    assert_false(
        wrk_parse("unable to connect to 127.0.0.1:1 Connection refused\n", &result, &error));
    t_says(error.text, "Connection refused");
    assert_false(wrk_parse("seckill-wrk duration_us=5 requests=1 connect=0\n", &result, &error));
    assert_false(wrk_parse("seckill-wrk duration_us=5 requests=1 connect=0 read=0 write=0 status=2 "
                           "timeout=0 p50=1 p90=1 p99=1 max=1 sold_out=0 resold=0 repeats=0\n",
                           &result, &error));
}

TEST(wrk_steps)
{
    struct latency latency;
    assert_true(wrk_parse_steps("seckill-wrk p50=1\nseckill-wrk-steps 1024:3 2000:1\nmore\n",
                                &latency, &error));
    HAS(latency, count, 4, max_us, 2000);
    assert_true(wrk_parse_steps("seckill-wrk p50=1\nseckill-wrk-steps \n", &latency, &error));
    assert_int_equal(latency.count, 0);
    assert_true(wrk_parse_steps("seckill-wrk p50=1\n", &latency, &error));
    assert_false(wrk_parse_steps("\nseckill-wrk-steps 1024\n", &latency, &error));
    t_says(error.text, "1024");
}

TEST(wrk_shapes_what_divides)
{
    /* connections, threads and instances; then connections and threads */
    static const int64_t cases[][5] = {{64, 2, 3, 66, 3}, {256, 2, 1, 256, 2}, {1, 0, 1, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t connections = cases[i][0], threads = cases[i][1];
        wrk_shape(&connections, &threads, cases[i][2]);
        assert_int_equal(connections, cases[i][3]);
        assert_int_equal(threads, cases[i][4]);
    }
}

TEST(urls)
{
    struct client_url url;
    assert_true(client_split_url("http://127.0.0.1:8080", &url, &error));
    HAS(url, host, "127.0.0.1", port, "8080", authority, "127.0.0.1:8080");
    assert_true(client_split_url("http://[::1]:81/", &url, &error));
    HAS(url, host, "::1", port, "81", authority, "[::1]:81");
    assert_true(client_split_url("http://shop", &url, &error));
    assert_string_equal(url.port, "80");
    assert_false(client_split_url("http://", &url, &error));
    assert_false(client_split_url("http://a:b", &url, &error));
    assert_false(client_split_url("http://a:1/path", &url, &error));
    assert_false(client_split_url("https://a:1", &url, &error));
}

static const char metrics[] =
    "# HELP seckill_orders_total Orders answered.\n"
    "# TYPE seckill_orders_total counter\n"
    "seckill_orders_total{strategy=\"none\",kind=\"buy\",outcome=\"confirmed\"} 100\n"
    "seckill_orders_total{strategy=\"none\",kind=\"buy\",outcome=\"sold_out\"} 40\n"
    "seckill_orders_total{strategy=\"none\",kind=\"buy\",outcome=\"limit_reached\"} 3\n"
    "seckill_orders_total{strategy=\"none\",kind=\"buy\",outcome=\"queue_full\"} 7\n"
    "seckill_orders_total{strategy=\"none\",kind=\"buy\",outcome=\"internal_error\"} 2\n"
    "seckill_orders_total{strategy=\"none\",kind=\"buy\",outcome=\"outcome_unknown\"} 1\n"
    "seckill_orders_total{strategy=\"none\",kind=\"restock\",outcome=\"restocked\"} 5\n"
    "seckill_orders_total{strategy=\"other\",kind=\"buy\",outcome=\"confirmed\"} 6\n"
    "seckill_attempts_total{strategy=\"none\"} 170\n"
    "seckill_attempts_total{strategy=\"other\"} 12\n"
    "seckill_orders_in_flight 4\n"
    "seckill_cost_statements_total{strategy=\"none\",ended=\"committed\",store=\"postgresql\"} "
    "500\n"
    "seckill_cost_bytes_total{strategy=\"none\",ended=\"committed\",store=\"postgresql\"} 90000\n"
    "seckill_cost_bytes_total{strategy=\"other\",ended=\"committed\",store=\"postgresql\"} 1\n"
    "seckill_cost_round_trips_total{strategy=\"none\",ended=\"refused\",store=\"redis\"} 60\n"
    "seckill_cost_orders_total{strategy=\"none\",ended=\"committed\"} 100\n"
    "seckill_cost_orders_total{strategy=\"none\",ended=\"refused\"} 40\n"
    "seckill_order_seconds_count{strategy=\"none\",phase=\"work\"} 9\n";

TEST(metrics_by_class)
{
    struct scrape scrape;
    assert_true(scrape_parse(metrics, "none", "buy", &scrape, &error));
    HAS(scrape, in_flight, 4, counts.total, 153, counts.committed, 100, counts.sold_out, 40,
        counts.refused, 43, counts.limited, 3, counts.failed, 9, counts.internal_errors, 2,
        counts.unknown, 1, counts.strangers, 11, counts.attempts, 170);
    assert_true(scrape_parse(metrics, "none", "restock", &scrape, &error));
    assert_int_equal(scrape.counts.committed, 5);

    struct counts later = scrape.counts;
    later.committed += 10;
    later.total += 11;
    struct counts delta = {0};
    counts_add(&delta, &later, &scrape.counts);
    HAS(delta, committed, 10, total, 11, strangers, 0);
}

TEST(costs_are_divided_by_orders)
{
    enum { COMMITTED, REFUSED, ACCEPTED };
    enum { POSTGRESQL, REDIS };
    enum { STATEMENTS, ROUND_TRIPS, FLUSHES, BYTES };
    struct scrape scrape;
    struct costs twice = {.orders = {0}};
    assert_true(scrape_parse(metrics, "none", "buy", &scrape, &error));
    costs_add(&twice, &scrape.costs, &(struct costs){.orders = {0}});
    costs_add(&twice, &scrape.costs, &(struct costs){.orders = {0}});
    assert_int_equal(twice.orders[COMMITTED], 200);
    assert_true(costs_each(&twice, COMMITTED, POSTGRESQL, STATEMENTS) == 5.0);
    assert_true(costs_each(&twice, COMMITTED, POSTGRESQL, BYTES) == 900.0);
    assert_true(costs_each(&twice, COMMITTED, REDIS, ROUND_TRIPS) == 0.0);
    assert_true(costs_each(&twice, REFUSED, REDIS, ROUND_TRIPS) == 1.5);
    assert_true(costs_each(&twice, ACCEPTED, REDIS, FLUSHES) == 0.0);
}

/* As behind a load balancer, or after a restart. */
TEST(metrics_of_another_server)
{
    struct scrape scrapes[3];
    for (int i = 0; i < 3; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "seckill_orders_in_flight 0\nprocess_start_time_seconds 17321.%d\n", 500 + i / 2);
        assert_true(scrape_parse(text, "none", "buy", &scrapes[i], &error));
    }
    assert_false(scrape_is_another(&scrapes[0], &scrapes[1]));
    assert_true(scrape_is_another(&scrapes[1], &scrapes[2]));
    scrapes[1].started_s = 0;
    assert_false(scrape_is_another(&scrapes[1], &scrapes[2]));
}

/* One look at three servers takes its time: the first was asked before its last connection came,
 * and is asked again when others have closed theirs. */
TEST(connections_are_counted_server_by_server)
{
    const struct scrape looks[][3] = {
        {{.connections = 3}, {.connections = 4}, {.connections = 5}},
        {{.connections = 6}, {.connections = 1}, {.connections = 0}},
    };
    int64_t most[3] = {0};
    assert_int_equal(scrape_most_open(most, looks[0], 3), 2 + 3 + 4);
    assert_int_equal(scrape_most_open(most, looks[1], 3), 5 + 3 + 4);
    assert_int_equal(most[2], 4);
}

TEST(metrics_that_cannot_be_trusted)
{
    struct scrape scrape;
    assert_false(scrape_parse("seckill_up 1\n", "none", "buy", &scrape, &error));
    assert_false(scrape_parse("seckill_orders_in_flight 0\n"
                              "seckill_orders_total{strategy=\"none\"} 1\n",
                              "none", "buy", &scrape, &error));
    assert_false(
        scrape_parse("seckill_orders_in_flight 0\n"
                     "seckill_orders_total{strategy=\"none\",kind=\"buy\",outcome=\"stolen\"} 1\n",
                     "none", "buy", &scrape, &error));
    t_says(error.text, "stolen");
    /* No count that a server could have come to. */
    assert_false(scrape_parse("seckill_orders_in_flight -1\n", "none", "buy", &scrape, &error));
    assert_false(scrape_parse("seckill_orders_in_flight nan\n", "none", "buy", &scrape, &error));
    assert_false(scrape_parse("seckill_orders_in_flight 1e300\n", "none", "buy", &scrape, &error));
}

TEST(pgbench_figures)
{
    double transactions = 0, per_s = 0;
    static const char output[] = "pgbench (15.18)\n"
                                 "number of transactions actually processed: 5000\n"
                                 "number of failed transactions: 0 (0.000%)\n"
                                 "latency average = 0.4 ms\n"
                                 "tps = 2500.5 (without initial connection time)\n";
    assert_true(pgbench_parse(output, &transactions, &per_s, &error));
    assert_true(transactions == 5000 && per_s == 2500.5);
    assert_false(pgbench_parse("pgbench: error: no\n", &transactions, &per_s, &error));
    assert_false(pgbench_parse("client 0 aborted in command 2\n"
                               "number of transactions actually processed: 5\n"
                               "tps = 1.0\n",
                               &transactions, &per_s, &error));
}

TEST(a_servers_first_line)
{
    char url[64];
    assert_true(instance_read_url("listening on http://127.0.0.1:4711\n", url, sizeof url));
    assert_string_equal(url, "http://127.0.0.1:4711");
    assert_false(instance_read_url("listening on everything\n", url, sizeof url));
    assert_false(instance_read_url("hello\n", url, sizeof url));
}

TEST(medians)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 2, 3};
    struct span span = span_of(odd, 3);
    assert_true(span.median == 2 && span.least == 1 && span.most == 3);
    assert_true(span_of(even, 4).median == 2.5);
    assert_true(span_of(even, 0).median == 0);
}
