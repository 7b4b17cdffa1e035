#include "lib/t.h"

#include "metrics/metrics.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *page;
static struct metrics *metrics;

static const char *render(void)
{
    size_t length;
    free(page);
    FILE *to = open_memstream(&page, &length);
    assert_non_null(to);
    metrics_render(metrics, to);
    fclose(to);
    return page;
}

/* The value of the series written exactly so; fails when it is not there. */
static double value_of(const char *series)
{
    size_t length = strlen(series);
    for (const char *line = page; line != NULL && *line != '\0';
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, series, length) == 0 && line[length] == ' ')
            return strtod(line + length, NULL);
    }
    fail_msg("no series %s in:\n%s", series, page);
    return 0;
}

static int forget(void **state)
{
    (void)state;
    metrics_destroy(metrics);
    metrics = metrics_create();
    free(page);
    page = NULL;
    return 0;
}

TEST(an_empty_page_is_empty)
{
    assert_string_equal(render(), "");
}

static int64_t read_depth(void *context)
{
    return *(int64_t *)context;
}

TEST(counters_and_gauges_render)
{
    int64_t depth = -7;
    struct metric sold =
        metrics_counter(metrics, METRICS_ALWAYS, "orders_total", "Orders.", "strategy=\"none\"");
    struct metric refused =
        metrics_counter(metrics, METRICS_ALWAYS, "orders_total", "Orders.", "strategy=\"batch\"");
    struct metric bugs = metrics_counter(metrics, METRICS_ALWAYS, "bugs_total", "Bugs.", "");
    metrics_gauge(metrics, METRICS_ALWAYS, "depth", "Waiting.", "", read_depth, &depth);

    metrics_add(sold, 3);
    metrics_add(refused, UINT64_C(1) << 40);
    metrics_add(sold, 4);
    assert_int_equal(metrics_read(sold), 7);
    assert_int_equal(metrics_read(bugs), 0);
    assert_string_equal(render(), "# HELP orders_total Orders.\n"
                                  "# TYPE orders_total counter\n"
                                  "orders_total{strategy=\"none\"} 7\n"
                                  "orders_total{strategy=\"batch\"} 1099511627776\n"
                                  "# HELP bugs_total Bugs.\n"
                                  "# TYPE bugs_total counter\n"
                                  "bugs_total 0\n"
                                  "# HELP depth Waiting.\n"
                                  "# TYPE depth gauge\n"
                                  "depth -7\n");
}

TEST(labels_are_copied)
{
    char labels[] = "a=\"1\"";
    metrics_counter(metrics, METRICS_ALWAYS, "copied_total", "Copied.", labels);
    memset(labels, 'x', sizeof labels - 1);
    render();
    assert_int_equal((int)value_of("copied_total{a=\"1\"}"), 0);
}

TEST(histograms_render)
{
    struct metric wait =
        metrics_histogram(metrics, METRICS_ALWAYS, "wait_seconds", "Waits.", "strategy=\"none\"");
    metrics_histogram(metrics, METRICS_ALWAYS, "work_seconds", "Works.", "");

    metrics_observe(wait, 16);
    metrics_observe(wait, 100);
    metrics_observe(wait, 1000000);
    metrics_observe(wait, INT64_C(1) << 40);
    metrics_observe(wait, -5);
    render();

    assert_non_null(strstr(page, "# HELP wait_seconds Waits.\n# TYPE wait_seconds histogram\n"));
#define BUCKET(le) value_of("wait_seconds_bucket{strategy=\"none\",le=\"" le "\"}")
    assert_int_equal((int)BUCKET("0.0001"), 3);
    assert_int_equal((int)BUCKET("0.00025"), 3);
    assert_int_equal((int)BUCKET("0.5"), 3);
    assert_int_equal((int)BUCKET("1"), 4);
    assert_int_equal((int)BUCKET("2.5"), 4);
    assert_int_equal((int)BUCKET("60"), 4);
    assert_int_equal((int)BUCKET("+Inf"), 5);
#undef BUCKET
    assert_int_equal((int)value_of("wait_seconds_count{strategy=\"none\"}"), 5);
    assert_non_null(strstr(page, "wait_seconds_sum{strategy=\"none\"} 1099512.627892\n"));

    assert_int_equal((int)value_of("work_seconds_bucket{le=\"0.0001\"}"), 0);
    assert_int_equal((int)value_of("work_seconds_bucket{le=\"+Inf\"}"), 0);
    assert_int_equal((int)value_of("work_seconds_count"), 0);
    assert_non_null(strstr(page, "work_seconds_sum 0.000000\n"));
}

/* The lines of the first histogram of the page, without what was counted. */
static void bucket_names(char *out, size_t size)
{
    size_t length = 0;

    for (const char *at = page; (at = strstr(at, "_bucket{")) != NULL; at++)
        length +=
            (size_t)snprintf(out + length, size - length, "%.*s\n", (int)strcspn(at, "}"), at);
}

/* Whatever was observed, so that those of several instances can be summed. */
TEST(buckets_are_fixed)
{
    char before[4096];
    char after[4096];
    struct metric wait = metrics_histogram(metrics, METRICS_ALWAYS, "wait_seconds", "Waits.", "");

    render();
    bucket_names(before, sizeof before);
    for (int64_t us = 1; us < INT64_C(1) << 36; us += us / 7 + 1)
        metrics_observe(wait, us);
    render();
    bucket_names(after, sizeof after);
    assert_string_equal(before, after);
}

/* Series of a group come together, with the first that is not 0. */
TEST(what_is_not_used_is_not_shown)
{
    int64_t depth = 0;
    int here = metrics_group(metrics);
    int there = metrics_group(metrics);
    struct metric sold =
        metrics_counter(metrics, here, "orders_total", "Orders.", "strategy=\"none\"");
    metrics_counter(metrics, there, "orders_total", "Orders.", "strategy=\"batch\"");
    metrics_gauge(metrics, there, "depth", "Waiting.", "strategy=\"batch\"", read_depth, &depth);
    struct metric wait =
        metrics_histogram(metrics, here, "wait_seconds", "Waits.", "strategy=\"none\"");

    assert_string_equal(render(), "");
    depth = 1;
    assert_string_equal(render(), "# HELP orders_total Orders.\n"
                                  "# TYPE orders_total counter\n"
                                  "orders_total{strategy=\"batch\"} 0\n"
                                  "# HELP depth Waiting.\n"
                                  "# TYPE depth gauge\n"
                                  "depth{strategy=\"batch\"} 1\n");
    metrics_observe(wait, 5);
    render();
    assert_int_equal((int)value_of("orders_total{strategy=\"none\"}"), 0);
    assert_int_equal((int)value_of("wait_seconds_count{strategy=\"none\"}"), 1);
    metrics_add(sold, 1);
    render();
    const char *help = strstr(page, "# HELP orders_total");
    assert_non_null(help);
    assert_null(strstr(help + 1, "# HELP orders_total"));
}

TEST(microseconds_are_shown_in_seconds)
{
    int64_t cpu_us = 61000001;
    struct metric rested = metrics_counter_of(metrics, METRICS_MICROSECONDS, METRICS_ALWAYS,
                                              "rest_seconds_total", "Rested.", "");

    metrics_reading(metrics, METRICS_COUNTER, METRICS_MICROSECONDS, "cpu_seconds_total", "Used.",
                    read_depth, &cpu_us);
    metrics_add(rested, 1500000);
    render();
    assert_non_null(strstr(page, "\nrest_seconds_total 1.500000\n"));
    assert_non_null(
        strstr(page, "# TYPE cpu_seconds_total counter\ncpu_seconds_total 61.000001\n"));
}

TEST(the_process_is_told_of)
{
    metrics_process_init(metrics);
    render();
    assert_true(value_of("process_resident_memory_bytes") > 1000000);
    assert_true(value_of("process_virtual_memory_bytes") > 1000000);
    assert_true(value_of("process_open_fds") >= 3);
    assert_true(value_of("process_max_fds") >= value_of("process_open_fds"));
    assert_true(value_of("process_threads") >= 1);
    assert_true(value_of("process_start_time_seconds") > 1e9);
    value_of("process_cpu_seconds_total");
}

/* Ends rise, counts never fall, and the last is the count. */
TEST(buckets_are_cumulative)
{
    struct metric wait = metrics_histogram(metrics, METRICS_ALWAYS, "wait_seconds", "Waits.", "");
    for (int64_t us = 1; us < INT64_C(1) << 36; us += us / 7 + 1)
        metrics_observe(wait, us);
    render();

    double last_end = -1;
    double last_count = -1;
    int buckets = 0;
    for (const char *at = page; (at = strstr(at, "le=\"")) != NULL; buckets++) {
        at += strlen("le=\"");
        double end = strtod(at, NULL); /* +Inf as well */
        double count = strtod(strstr(at, "} ") + 2, NULL);
        assert_true(end > last_end);
        assert_true(count >= last_count);
        last_end = end;
        last_count = count;
    }
    assert_true(buckets > 10);
    assert_true(value_of("wait_seconds_count") >= last_count);
    assert_true(value_of("wait_seconds_count") <= last_count);
}

enum { THREADS = 16, EACH = 20000, WAVES = 20 };

static struct metric shared_counter;
static struct metric shared_histogram;
static atomic_bool stop_reading;

static void *count_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < EACH; i++) {
        metrics_add(shared_counter, 1);
        metrics_observe(shared_histogram, i);
    }
    return NULL;
}

/* Reads while others write: what it sees only ever grows. */
static void *read_all_the_time(void *arg)
{
    (void)arg;
    uint64_t last = 0;
    FILE *nowhere = fopen("/dev/null", "w");
    while (nowhere != NULL && !atomic_load(&stop_reading)) {
        uint64_t now = metrics_read(shared_counter);
        if (now < last)
            return &stop_reading;
        last = now;
        metrics_render(metrics, nowhere);
    }
    if (nowhere == NULL)
        return &stop_reading;
    fclose(nowhere);
    return NULL;
}

static void run_threads(int threads, void *(*body)(void *))
{
    pthread_t running[THREADS];
    for (int i = 0; i < threads; i++)
        assert_int_equal(pthread_create(&running[i], NULL, body, NULL), 0);
    for (int i = 0; i < threads; i++)
        assert_int_equal(pthread_join(running[i], NULL), 0);
}

TEST(sums_are_exact)
{
    shared_counter = metrics_counter(metrics, METRICS_ALWAYS, "shared_total", "Shared.", "");
    shared_histogram = metrics_histogram(metrics, METRICS_ALWAYS, "shared_seconds", "Shared.", "");

    pthread_t reader;
    void *went_back;
    atomic_store(&stop_reading, false);
    assert_int_equal(pthread_create(&reader, NULL, read_all_the_time, NULL), 0);
    run_threads(THREADS, count_many);
    atomic_store(&stop_reading, true);
    assert_int_equal(pthread_join(reader, &went_back), 0);
    assert_null(went_back);

    assert_int_equal(metrics_read(shared_counter), THREADS * EACH);
    render();
    assert_int_equal((int)value_of("shared_seconds_count"), THREADS * EACH);
    char sum[64];
    int64_t sum_us = (int64_t)THREADS * EACH * (EACH - 1) / 2;
    snprintf(sum, sizeof sum, "shared_seconds_sum %" PRId64 ".%06" PRId64 "\n", sum_us / 1000000,
             sum_us % 1000000);
    assert_non_null(strstr(page, sum));
}

static pthread_barrier_t all_here;

static void *count_one_together(void *arg)
{
    (void)arg;
    metrics_add(shared_counter, 1);
    pthread_barrier_wait(&all_here);
    return NULL;
}

TEST(threads_that_come_again_reuse_shards)
{
    shared_counter = metrics_counter(metrics, METRICS_ALWAYS, "shared_total", "Shared.", "");
    assert_int_equal(pthread_barrier_init(&all_here, NULL, THREADS), 0);

    /* Each wave's threads all run at once: THREADS shards, and never one more. */
    for (int i = 0; i < WAVES; i++) {
        run_threads(THREADS, count_one_together);
        assert_int_equal(metrics_shards(metrics), THREADS);
        assert_int_equal(metrics_read(shared_counter), (i + 1) * THREADS);
    }
    pthread_barrier_destroy(&all_here);
}

static pthread_key_t late_key;

/* Runs after the dying thread has left its shard, and lets another thread take it before it counts
 * again. */
static void count_late(void *arg)
{
    pthread_t other;

    (void)arg;
    if (pthread_create(&other, NULL, count_one_together, NULL) != 0)
        abort();
    while (metrics_read(shared_counter) < 2)
        sched_yield();
    metrics_add(shared_counter, 1);
    pthread_barrier_wait(&all_here);
    pthread_join(other, NULL);
}

static void *count_in_a_destructor(void *arg)
{
    pthread_setspecific(late_key, arg);
    metrics_add(shared_counter, 1);
    return NULL;
}

/* Another destructor of a dying thread may count: not in the shard that was left, for that may be
 * another thread's by then. */
TEST(a_dying_thread_may_still_count)
{
    pthread_t dying;

    shared_counter = metrics_counter(metrics, METRICS_ALWAYS, "shared_total", "Shared.", "");
    assert_int_equal(pthread_barrier_init(&all_here, NULL, 2), 0);
    assert_int_equal(pthread_key_create(&late_key, count_late), 0);
    assert_int_equal(pthread_create(&dying, NULL, count_in_a_destructor, &late_key), 0);
    assert_int_equal(pthread_join(dying, NULL), 0);
    assert_int_equal(metrics_read(shared_counter), 3);
    assert_int_equal(metrics_shards(metrics), 2);
    pthread_key_delete(late_key);
    pthread_barrier_destroy(&all_here);
}

/* A thread may count in several, and in one that stands where another was. */
TEST(instances_know_nothing_of_each_other)
{
    struct metrics *other = metrics_create();
    struct metric here = metrics_counter(metrics, METRICS_ALWAYS, "one_total", "One.", "");
    struct metric there = metrics_counter(other, METRICS_ALWAYS, "one_total", "One.", "");
    struct metric wait = metrics_histogram(other, METRICS_ALWAYS, "wait_seconds", "Waits.", "");

    for (int i = 0; i < 3; i++) {
        metrics_add(here, 1);
        metrics_add(there, 10);
        metrics_observe(wait, 5);
    }
    assert_int_equal(metrics_read(here), 3);
    assert_int_equal(metrics_read(there), 30);
    assert_int_equal(metrics_shards(other), 1);
    assert_null(strstr(render(), "wait_seconds"));
    metrics_add(there, 1);
    metrics_destroy(other);

    other = metrics_create();
    there = metrics_counter(other, METRICS_ALWAYS, "two_total", "Two.", "");
    assert_int_equal(metrics_read(there), 0);
    metrics_add(there, 1);
    metrics_add(here, 1);
    assert_int_equal(metrics_read(there), 1);
    assert_int_equal(metrics_read(here), 4);
    metrics_destroy(other);
}

/* The shard of one that says so is the next thread's, though it goes on. */
TEST(who_leaves_counts_anew)
{
    shared_counter = metrics_counter(metrics, METRICS_ALWAYS, "shared_total", "Shared.", "");
    assert_int_equal(pthread_barrier_init(&all_here, NULL, 1), 0);
    metrics_add(shared_counter, 1);
    metrics_leave(metrics);
    metrics_leave(metrics);
    run_threads(1, count_one_together);
    assert_int_equal(metrics_shards(metrics), 1);
    metrics_add(shared_counter, 1);
    assert_int_equal(metrics_read(shared_counter), 3);
    pthread_barrier_destroy(&all_here);
}

TEST_EACH(NULL, forget)

int main(void)
{
    metrics = metrics_create();
    return t_run_all(NULL, NULL);
}
