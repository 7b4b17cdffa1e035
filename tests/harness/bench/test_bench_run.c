/* `bench` on real servers: a few rows, as short as can be. Whether a bound is reached says nothing
 * here; that there are figures, and what the files say of them, does. */
#include "lib/t.h"

#include "harness/fixtures/program.h"

#include "bench/tools/nginx.h"

#include <string.h>

/* Where no search_path looks. */
static const char schema[] = "Be\"nch";
#define IDENTIFIER "\"Be\"\"nch\""

static double number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static double figure(const json_t *object, const char *side, const char *name)
{
    return number(json_object_get(object, side), name);
}

static const char *text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value ? value : "";
}

static bool was_left_out(int row)
{
    const json_t *verdict = program_json(t_text("bench.json/rows/%d/verdict", row));
    return strcmp(json_string_value(verdict), "left out") == 0;
}

/* Met or missed, or wrk was the limit of a build with sanitizers. */
static void has_figures(const json_t *row)
{
    const char *verdict = text(row, "verdict");
    if (strcmp(verdict, "not measured") == 0 || strcmp(verdict, "left out") == 0)
        fail_msg("%s: %s", verdict, text(row, "why"));
    if (strcmp(verdict, "wrk's limit") == 0) {
        assert_true(json_is_null(json_object_get(row, "ratio")));
        return;
    }
    assert_true(figure(row, "of", "median") > 0);
    assert_true(figure(row, "of", "min") <= figure(row, "of", "median"));
    assert_true(figure(row, "of", "max") >= figure(row, "of", "median"));
    assert_true(figure(row, "ratio", "median") > 0);
    assert_true(json_is_boolean(json_object_get(row, "within_noise")));
}

static const json_t *rounds_of(const json_t *row, const char *side, const json_t *measures)
{
    const char *name =
        json_string_value(json_object_get(json_object_get(row, side), "measurement"));
    for (size_t i = 0; i < json_array_size(measures); i++) {
        const json_t *measure = json_array_get(measures, i);
        if (strcmp(json_string_value(json_object_get(measure, "name")), name) == 0)
            return json_object_get(measure, "rounds");
    }
    fail_msg("no measurement is called %s", name);
    return NULL;
}

static const json_t *of_round(const json_t *samples, int round)
{
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const json_t *sample = json_array_get(samples, i);
        if (json_integer_value(json_object_get(sample, "round")) == round)
            return sample;
    }
    return NULL;
}

enum { ROUNDS = 3, MORE_ROUNDS = 2 };
static const double max_steal_percent = 5;

/* What counts of a row's rounds, from the figures in the file. */
struct counting {
    int all, calm;  /* rounds that both sides have; of these, those without steal */
    int reached[2]; /* the bound: of all, of the calm */
    bool last;      /* the last that may be made was made */
};

static struct counting count_rounds(const json_t *row, const json_t *measures)
{
    struct counting counting = {0};
    for (int round = 1; round <= ROUNDS + MORE_ROUNDS; round++) {
        const json_t *of = of_round(rounds_of(row, "of", measures), round);
        const json_t *against = of_round(rounds_of(row, "against", measures), round);
        if (!of || !against)
            continue;
        bool reached = number(of, "per_s") >= number(row, "bound") * number(against, "per_s");
        bool calm = 100 * number(of, "stolen") <= max_steal_percent &&
                    100 * number(against, "stolen") <= max_steal_percent;
        counting.all++;
        counting.calm += calm;
        counting.reached[0] += reached;
        counting.reached[1] += reached && calm;
        counting.last = round == ROUNDS + MORE_ROUNDS;
    }
    return counting;
}

/* Three rounds without steal count alone. Where there are fewer, or they do not agree, there are
 * as many rounds as may be made. */
static void has_rounds_enough(const json_t *row, const json_t *measures)
{
    if (strcmp(text(row, "verdict"), "wrk's limit") == 0)
        return;
    struct counting counting = count_rounds(row, measures);
    bool enough = counting.calm >= ROUNDS;
    int counted = enough ? counting.calm : counting.all;
    int reached = counting.reached[enough];
    assert_int_equal(number(row, "rounds"), counted);
    assert_int_equal(number(row, "left_out"), counting.all - counted);
    assert_int_equal(json_is_true(json_object_get(row, "with_steal")), !enough);
    assert_int_equal(json_is_true(json_object_get(row, "within_noise")),
                     reached > 0 && reached < counted);
    if (!enough || (reached > 0 && reached < counted))
        assert_true(counting.last);
}

/* A sample with steal was the third attempt, as long as there was patience. */
static void has_takes_enough(const json_t *samples, bool patient)
{
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const json_t *sample = json_array_get(samples, i);
        double takes = number(sample, "takes");
        assert_true(takes >= 1 && takes <= 3);
        if (patient && 100 * number(sample, "stolen") > max_steal_percent)
            assert_true(takes == 3);
    }
}

TEST(a_row_against_pgbench)
{
    int status = program_bench("--rows 2 --duration 2s "
                               "--more-rounds 2 --max-wait 5s --connections 16");
    assert_true(status >= 0 && status <= 2);
    const json_t *rows = program_json("bench.json/rows");
    assert_int_equal(json_array_size(rows), 2);
    has_figures(json_array_get(rows, 0));
    has_figures(json_array_get(rows, 1));
    assert_int_equal(program_integer("bench.json/rows/1/row"), 2);
    assert_true(json_real_value(program_json("bench.json/rows/1/bound")) == 10);
    assert_true(json_is_null(program_json("bench.json/rows/1/aim")));
    const json_t *measures = program_json("bench.json/measurements");
    assert_int_equal(json_array_size(measures), 3); /* E, batch, pgbench: each once */
    for (size_t i = 0; i < 2; i++)
        has_rounds_enough(json_array_get(rows, i), measures);
    for (size_t i = 0; i < 3; i++)
        has_takes_enough(json_object_get(json_array_get(measures, i), "rounds"),
                         json_number_value(program_json("bench.json/waited_s")) < 5);
    assert_int_equal(json_array_size(program_json("bench.json/measurements/2/trial")), 5);
    assert_true(json_is_object(program_json("bench.json/machine")));
    assert_true(json_is_object(program_json("bench.json/settings")));
    program_says("bench.csv");
}

/* Runs a short bench; whether its figures stand on the rows of those before them. */
static bool orders_grow(void)
{
    (void)program_bench("--rows 6 --duration 1s --more-rounds 0 --max-steal 100 "
                        "--connections 16");
    bool grew = json_is_true(program_json("bench.json/orders_grew"));
    assert_int_equal(grew, strstr(program->output, "grew from figure to figure") != NULL);
    return grew;
}

/* Between two figures the table of orders is emptied, but not of an order that is not ours, and not
 * the one that the search_path has. TRUNCATE gives a table a new file. */
TEST(orders_of_others_are_left_alone)
{
    static const char file_sql[] = "SELECT pg_relation_filenode(to_regclass('orders'))";
    program_ask("DROP SCHEMA IF EXISTS " IDENTIFIER " CASCADE");
    int64_t file = program_ask(file_sql);
    assert_false(orders_grow());
    assert_int_equal(program_ask(file_sql), file);
    program_ask("INSERT INTO " IDENTIFIER
                ".orders (id, product_id, epoch, user_id, quantity, strategy, status, created_at)"
                " VALUES (gen_random_uuid(), 1, 1, 1, 1, 'batch', 1, now())");
    assert_true(orders_grow());
    assert_int_equal(
        program_ask("DELETE FROM " IDENTIFIER ".orders WHERE product_id = 1 RETURNING user_id"), 1);
}

TEST(the_ceiling_against_nginx)
{
    char nginx[300];
    if (!nginx_find(nginx, sizeof nginx))
        skip();
    int status = program_bench("--rows 1 --duration 2s "
                               "--more-rounds 0 --max-steal 100 --connections 16");
    assert_true(status >= 0 && status <= 2);
    has_figures(program_json("bench.json/rows/0"));
    /* a machine that is very busy gives the harness no two looks at the threads */
    const json_t *cpu = program_json("bench.json/rows/1");
    if (strcmp(text(cpu, "verdict"), "told") == 0) {
        has_figures(cpu);
        assert_string_not_equal(text(json_object_get(cpu, "of"), "limit"), "unknown");
    }
}

TEST(idle_connections_are_held_and_served)
{
    int status = program_bench("--rows 16 --more-rounds 0 --max-steal 100");
    if (was_left_out(1))
        skip();                              /* ulimit -n */
    assert_true(status == 0 || status == 1); /* sanitizers take memory of their own */
    assert_string_equal(json_string_value(program_json("bench.json/rows/1/verdict")), "met");
}

TEST(goodput_under_overload)
{
    int status = program_bench("--rows 17 --duration 1s --more-rounds 0 --max-steal 100 "
                               "--connections 16 --max-lag-ms 60000");
    const json_t *rows = program_json("bench.json/rows");
    assert_int_equal(json_array_size(rows), 4);
    if (was_left_out(0))
        skip(); /* ulimit -n */
    assert_true(status == 0 || status == 1);
    static const char *const names[] = {"conditional-times-2", "conditional-times-10",
                                        "pessimistic-times-2", "pessimistic-times-10"};
    for (size_t i = 0; i < 4; i++) {
        const json_t *row = json_array_get(rows, i);
        const json_t *of = json_object_get(row, "of"), *against = json_object_get(row, "against");
        has_figures(row);
        assert_true(json_real_value(json_object_get(row, "bound")) == 0.9);
        assert_string_equal(text(of, "figure"), "overloaded_per_s");
        assert_string_equal(text(against, "figure"), "per_s");
        assert_string_equal(text(of, "measurement"), names[i]);
        assert_string_equal(text(against, "measurement"), names[i]);
    }
}

/* No generator is never late: such a figure must not be told. */
TEST(an_overload_that_was_not_offered_is_no_figure)
{
    int status = program_bench("--rows 17 --duration 1s --more-rounds 0 --max-steal 100 "
                               "--connections 16 --max-lag-ms 0");
    if (was_left_out(0))
        skip(); /* ulimit -n */
    assert_int_equal(status, 2);
    for (size_t i = 0; i < 4; i++) {
        const json_t *row = program_json(t_text("bench.json/rows/%zu", i));
        assert_string_equal(text(row, "verdict"), "not measured");
        t_says(text(row, "why"), "could not keep up");
        assert_true(json_is_null(json_object_get(row, "ratio")));
    }
}

TEST(a_strategy_that_is_absent_is_left_out)
{
    /* the stack's locks Redis is not given: redis-token cannot be measured, and that is no fault */
    const char *redis = program->options.redis;
    program->options.redis = "";
    assert_int_equal(program_bench("--rows 4 --duration 1s"), 0);
    program->options.redis = redis;
    const json_t *row = program_json("bench.json/rows/0");
    assert_string_equal(text(row, "verdict"), "left out");
    t_says(text(row, "why"), "redis-queue");
}

BEFORE_EACH()
{
    program = program_create(0);
    program->options.schema = schema;
}

TEST_EACH(NULL, program_end)
