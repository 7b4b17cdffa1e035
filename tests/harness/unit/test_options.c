/* The command line: defaults, what is read, and that every bad argument is named. */
#include "harness/fixtures/has.h"
#include "lib/t.h"

#include "bench/flags.h"
#include "loadtest/commands/line/command_line.h"
#include "loadtest/commands/sweep.h"
#include "settings/settings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *no_environment(const char *name)
{
    (void)name;
    return NULL;
}

static char *some_environment(const char *name)
{
    static char database[] = "host=/there";
    return strcmp(name, "SECKILL_DATABASE") == 0 ? database : NULL;
}

static char *redis_file;

static char *redis_in_a_file(const char *name)
{
    return strcmp(name, "SECKILL_REDIS_FILE") == 0 ? redis_file : NULL;
}

static union command_options all;
#define options all.shared
static enum options_action action;
static struct error error;

struct command_line {
    char text[512];
    char *argv[32];
    int argc;
};

static struct command_line split_line;

/* "run --stock 3" as argv. The values read from it stay until the next call. */
static struct command_line *split(char *program, const char *text)
{
    struct command_line *line = &split_line;
    char *rest = NULL;
    line->argc = 0;
    line->argv[line->argc++] = program;
    snprintf(line->text, sizeof line->text, "%s", text);
    for (char *word = strtok_r(line->text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        line->argv[line->argc++] = word;
    error.text[0] = '\0';
    return line;
}

static bool parse(const char *text, char *(*environment)(const char *))
{
    static char program[] = "seckill-loadtest";
    struct command_line *line = split(program, text);
    return command_line_parse(&all, &action, line->argc, line->argv, environment, &error);
}

static void takes(const char *text)
{
    if (!parse(text, no_environment))
        fail_msg("'%s': %s", text, error.text);
}

static void refuses(const char *text, const char *said)
{
    if (parse(text, no_environment))
        fail_msg("'%s' was taken", text);
    if (!strstr(error.text, said))
        fail_msg("'%s' gave '%s'", text, error.text);
}

TEST(defaults)
{
    takes("run");
    HAS(options, command, COMMAND_RUN, scenario, SCENARIO_HOT);
    HAS(all.run.strategies, count, 1, items[0], "usual");
    HAS(options, instances.count, 1, instances.items[0], 1, connections, 64, duration_s, 10, stock,
        100, wait_ms, -1, database, "", rate_per_s, 0);
    takes("run --rate 300 --arrivals constant");
    HAS(options, rate_per_s, 300, arrivals, ARRIVALS_CONSTANT, connections, 1024);
    takes("run --scenario bell");
    HAS(options, rate_per_s, 500, arrivals, ARRIVALS_POISSON);
}

TEST(reads_every_kind)
{
    assert_true(parse("run --strategies none,conditional --scenario=spread --instances 1,3 "
                      "--duration 2m --wait-ms 500ms --body guarded --server http://a:1,http://b:2,"
                      "http://c:3 --reset --database host=/here",
                      some_environment));
    HAS(all.run.strategies, count, 2, items[1], "conditional");
    HAS(options, scenario, SCENARIO_SPREAD, instances.count, 2, instances.items[1], 3, duration_s,
        120, wait_ms, 500, servers.count, 3, reset, true, database, "host=/here");
    takes("run --wait-ms 0 --work-ms 1s --duration 2000ms");
    HAS(options, wait_ms, 0, work_ms, 1000, duration_s, 2);
    /* As large as a server's ids. */
    assert_true(parse("audit --product 9223372036854775807", some_environment));
    assert_false(parse("audit --product 9223372036854775808", some_environment));
    assert_true(parse("audit", some_environment));
    assert_string_equal(options.databases.items[0], "host=/there");
    refuses("record --database host=/one --database host=/two", "--server names what is before");
    takes("run --scenario articles --seed 7 --database host=/here");
    assert_int_equal(options.scenario, SCENARIO_ARTICLES);
    takes("run --server http://a:1,http://b:2");
    assert_int_equal(options.instances.items[0], 2);
}

TEST(a_ledger_is_named)
{
    takes("check out/ledger.jsonl --show 9 --schema sold");
    HAS(options, command, COMMAND_CHECK, words.items[0], "out/ledger.jsonl", schema, "sold");
    HAS(all.check, show, 9, exact, 200);
    refuses("check", "which ledger");
    refuses("check one two", "");
    refuses("check one --exact 513", "");

    takes("record --strategy none --limit 2 --operations 7");
    HAS(options, command, COMMAND_RECORD, limit, 2, connections, 16, instances.items[0], 1);
    HAS(all.record, strategy, "none", operations, 7);
    assert_false(options_use_wrk(&options));
    refuses("record --strategies none", "");
    refuses("record --instances 1,3", "--instances");

    takes("oasis --tickets 20000");
    HAS(options, command, COMMAND_OASIS, products, 17, connections, 256);
    HAS(all.oasis, strategy, "batch", tickets, 20000);
    assert_false(options_use_wrk(&options));
    refuses("oasis --tickets 16", "--tickets");
    refuses("oasis --rounds 2", "");
}

TEST(a_target_is_judged)
{
    takes("shop out/shop.yaml");
    HAS(options, command, COMMAND_SHOP, words.count, 1, words.items[0], "out/shop.yaml",
        connections, 64, rate_per_s, 0, seed, 1, out, "", fail_if, "", junit, "");
    HAS(all.shop, buyers, 0, timeout_s, 30, ca_file, "", judge, "");

    takes("shop a --buyers 9 --connections 3 --timeout 1m --ca-file c.pem --seed 4");
    HAS(all.shop, buyers, 9, timeout_s, 60, ca_file, "c.pem");
    HAS(options, connections, 3, seed, 4);

    takes("shop a --rate 5 --duration 2m --arrivals constant");
    HAS(options, rate_per_s, 5, duration_s, 120, arrivals, ARRIVALS_CONSTANT);
    takes("shop a --rate 5");
    HAS(options, duration_s, 10, arrivals, ARRIVALS_POISSON);

    takes("shop a --out c --judge=b --fail-if p99>1s --junit d");
    assert_string_equal(all.shop.judge, "b");
    HAS(options, out, "c", fail_if, "p99>1s", junit, "d");
}

TEST(a_sweep_is_read)
{
    struct sweep_plan plan;
    takes("sweep --over instances=1,3 --set work-ms=5,redis-delay-us=200");
    HAS(options, command, COMMAND_SWEEP, connections, 64);
    assert_string_equal(all.sweep.strategies.items[0], "conditional");
    assert_true(sweep_plan_read(&plan, &all.sweep, &error));
    HAS(plan, over, SWEEP_INSTANCES, count, 2, values[1], 3, delayed, true);
    assert_int_equal(options.work_ms, 5);
    assert_int_equal(all.sweep.redis_delay_us, 200);
    takes("sweep --over work-ms=0,20ms,1s --set redis-delay-us=2ms");
    assert_true(sweep_plan_read(&plan, &all.sweep, &error));
    assert_int_equal(plan.values[2], 1000);
    assert_int_equal(all.sweep.redis_delay_us, 2000);
    sweep_apply(&all.sweep, SWEEP_MAX_BATCH, 9);
    HAS(options, max_batch, 9, in_flight_per_product, 0);

    takes("sweep --over instanses=1");
    assert_false(sweep_plan_read(&plan, &all.sweep, &error));
    t_says(error.text, "did you mean instances?");
    static const char *const bad[] = {
        "sweep",
        "sweep --over pg-sessions=5ms",
        "sweep --over instances",
        "sweep --over instances=",
        "sweep --over instances=1,99",
        "sweep --over colour=1",
        "sweep --over pg-sessions=3",
        "sweep --over work-ms=1 --set work-ms=2",
        "sweep --over work-ms=1 --set colour=2",
        "sweep --over work-ms=1 --set max-batch=x",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        takes(bad[i]);
        if (sweep_plan_read(&plan, &all.sweep, &error))
            fail_msg("'%s' was taken", bad[i]);
        if (!strstr(error.text, "--over") && !strstr(error.text, "--set"))
            fail_msg("'%s' gave '%s'", bad[i], error.text);
    }
}

TEST(help_and_version)
{
    static const struct {
        const char *line;
        enum options_action action;
        unsigned command;
    } cases[] = {
        {"--help", OPTIONS_HELP, 0},
        {"--version", OPTIONS_VERSION, 0},
        {"-h", OPTIONS_HELP, 0},
        {"help", OPTIONS_HELP, 0},
        {"run -h", OPTIONS_HELP, COMMAND_RUN},
        {"help run", OPTIONS_HELP, COMMAND_RUN},
        {"sweep --help", OPTIONS_HELP, COMMAND_SWEEP},
        {"", OPTIONS_USAGE, 0}, /* nothing is asked for, and nothing is done */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        takes(cases[i].line);
        assert_int_equal(action, cases[i].action);
        assert_int_equal(options.command, cases[i].command);
    }
}

#define SENDS_NOTHING                                                                              \
    " is for a load, and with --judge nothing is sent: there are --out, --fail-if and --junit"

static const struct {
    const char *line, *named;
} bad_arguments[] = {
    {"ran", "there is no command ran; there are run, "},
    {"r=n", "argument 1 is no command"},
    {"help auidt", "there is no command auidt"},
    {"help auidt", "did you mean audit?"},
    {"run --conections 3", "did you mean --connections?"},
    {"run --strategy none", "did you mean --strategies?"},
    {"run --connections 0", "--connections"},
    {"run --duration 0s", "--duration"},
    {"run --duration 500ms", "a duration of whole seconds"}, /* wrk's least */
    {"run --strategies a,,b", "--strategies"},
    {"run --scenario cold", "--scenario"},
    {"run --scenario unpaid --format json", "--scenario unpaid"},
    {"run --scenario unpaid --wide", "--scenario unpaid"},
    {"run --scenario unpaid --rate 5", "--scenario unpaid"},
    {"run --instances 0", "--instances"},
    {"run --instances 1,99", "--instances"},
    {"run --instances 3 --server http://a:1", "--instances"},
    {"run --body raw", "--body"},
    {"run --wait-ms 60001", "--wait-ms"},
    {"run --server ftp://a", "--server"},
    {"run --server http://a:1 --work-ms 5", "--work-ms"},
    {"run --balancer http://a:1", "--balancer needs --server"},
    {"run --server http://a:1 --balancer ftp://b", "--balancer takes an http:// URL"},
    {"run --server http://a:1 --balancer http://b --scenario unpaid", "--balancer is not for"},
    {"run --server http://a:1 --database 1 --database 2", "which have a --balancer before them"},
    {"run --server http://a:1 --server-binary x", "--server-binary"},
    {"run --reset", "--reset"},
    {"run --reset=yes", "--reset takes no value"},
    {"run --rate 0", "--rate"},
    {"run --rate 1000001", "--rate"},
    {"run --surge 0", "--surge"},
    {"run --product 1", "--product"},
    {"run --stock 1 stock", "argument 3 is not a flag (see run --help)"},
    {"run --scenario articles --strategies none", "--strategies"},
    {"run --stock 100 --scenario articles", "--stock"},
    {"run --scenario articles --duration 10s", "--duration"},
    {"run --scenario articles --instances 1", "--instances"},
    {"run --scenario articles --work-ms 0", "--work-ms"},
    {"run --scenario articles --server http://a:1", "--server"},
    {"run --scenario articles --reset", "--reset"},
    {"run --scenario articles --fail-if p99>1s", "--fail-if is not for --scenario articles"},
    {"run --scenario unpaid --junit junit.xml", "--junit is not for --scenario unpaid"},
    {"audit --stock 5", "--stock"},
    {"audit --product 0", "--product"},
    {"run --header X-Shop", "--header takes 'Name: value'"},
    {"run --header :1", "--header takes 'Name: value'"},
    {"run --header X-Shop:", "the value of X-Shop is missing"},
    {"run --header X-Shop:1 --header x-shop:2", "x-shop is given twice"},
    {"run --header host:a", "host cannot be set: the harness sets it"},
    {"run --header Content-Type:text/plain", "Content-Type cannot be set"},
    {"run --header Content-Length:3", "Content-Length cannot be set"},
    {"run --header Idempotency-Key:k", "Idempotency-Key cannot be set"},
    {"run --header Accept-Encoding:gzip", "Accept-Encoding cannot be set"},
    {"run --header Connection:close", "Connection cannot be set"},
    {"run --header Expect:100-continue", "Expect cannot be set"},
    {"run --header Transfer-Encoding:chunked", "Transfer-Encoding cannot be set"},
    {"run --header Upgrade:h2c", "Upgrade cannot be set"},
    {"run --scenario counter --header Authorization:x", "a restock's is --admin-token"},
    {"run --scenario unpaid --header X-Shop:1", "--header is not for --scenario unpaid"},
    {"run --scenario articles --header X-Shop:1", "--header is not for --scenario articles"},
    {"sweep --over work-ms=1 --header X-Shop:1", "unknown flag --header"},
    {"run --keys 5", "--keys takes a share of the orders from 0% to 100%, as 5%, not '5'"},
    {"run --keys 100.1%", "not '100.1%'"},
    {"run --keys %", "not '%'"},
    {"run --keys -1%", "not '-1%'"},
    {"run --keys nan%", "not 'nan%'"},
    {"run --keys 5%%", "not '5%%'"},
    {"sweep --over work-ms=1 --keys x", "--keys takes a share"},
    {"run --keys 5% --scenario counter", "--keys is not for --scenario counter"},
    {"run --keys 5% --scenario unpaid", "--keys is not for --scenario unpaid"},
    {"run --keys 5% --scenario articles", "--keys is not for --scenario articles"},
    {"run --users 0", "--users"},
    {"run --users 9 --limit 0", "--limit"},
    {"run --limit 2", "--limit needs --users"},
    {"run --users 10 --limit 3", "30 units of --stock 100, so that it cannot sell out: at least "
                                 "--users 34 or --limit 11 would do"},
    {"run --users 50 --limit 2", "--users 51 or --limit 3 would do"},
    {"run --users 9 --limit 2 --scenario soldout", "--limit is not for --scenario soldout"},
    {"run --users 9 --scenario counter", "--users is not for --scenario counter"},
    {"run --limit 9 --scenario counter", "--limit is not for --scenario counter"},
    {"run --users 9 --scenario unpaid", "--users is not for --scenario unpaid"},
    {"run --users 9 --scenario articles", "--users is not for --scenario articles"},
    {"run --limit 9 --scenario articles", "--limit is not for --scenario articles"},
    {"sweep --over work-ms=1 --users 9 --limit 2", "unknown flag --limit"},
    {"capacity --users 9 --limit 2", "unknown flag --limit"},
    {"shop", "shop: which one? Name its target file (docs/JUDGING.md#the-target-file)"},
    {"shop a --fail-if=", "--fail-if is empty"},
    {"shop a --junit=", "--junit is empty"},
    {"shop one.yaml two.yaml", "shop: at most 1 of them"},
    {"shop a --buyers 9 b", "is not a flag (see shop --help)"},
    {"shop a --database host=/here", "unknown flag --database"},
    {"shop a --strategies none", "unknown flag --strategies"},
    {"shop a --header X-Shop:1", "unknown flag --header"},
    {"shop a --buyers 0", "--buyers"},
    {"shop a --connections 0", "--connections"},
    {"shop a --connections 20001", "--connections"},
    {"shop a --rate 0", "--rate"},
    {"shop a --rate 1000001", "--rate"},
    {"shop a --rate 5 --duration 0s", "--duration"},
    {"shop a --timeout 0s", "--timeout"},
    {"shop a --timeout 2h", "--timeout"},
    {"shop a --seed -1", "--seed"},
    {"shop a --duration 5s", "--duration needs a --rate"},
    {"shop a --arrivals constant", "--arrivals needs a --rate"},
    {"shop a --buyers 9 --rate 5", "--buyers is a number of purchases: not with a --rate, which "
                                   "lasts for --duration"},
    {"shop a --judge=", "--judge: which ledger? Name its file"},
    {"shop a --judge= --out b", "--judge: which ledger? Name its file"},
    {"shop a --judge b --buyers 9", "--buyers" SENDS_NOTHING},
    {"shop a --connections 9 --judge b", "--connections" SENDS_NOTHING},
    {"shop a --judge b --rate 5", "--rate" SENDS_NOTHING},
    {"shop a --out c --judge b --ca-file d", "--ca-file" SENDS_NOTHING},
    {"run --judge b", "unknown flag --judge"},
    {"check a --judge b", "unknown flag --judge"},
    {"check a --database 1 --database 2 --redis redis://h", "not with more than one --database"},
    {"faults --database 1 --database 2", "more than one --database are cells"},
    {"bench", "there is no command bench"},
};

TEST(bad_arguments_are_named)
{
    for (size_t i = 0; i < sizeof bad_arguments / sizeof bad_arguments[0]; i++)
        refuses(bad_arguments[i].line, bad_arguments[i].named);
}

static struct bench_options bench;

static bool parse_bench(const char *text)
{
    static char program[] = "seckill-bench";
    struct command_line *line = split(program, text);
    return bench_options_parse(&bench, &action, line->argc, line->argv, some_environment, &error);
}

/* One table says what is secret, the server's; and what is, the harness hides in its argv too. */
TEST(secrets_are_those_of_the_server)
{
    size_t shared = 0;
    for (size_t i = 0; i < option_table_backends.count; i++) {
        const struct option_row *row = &option_table_backends.rows[i];
        for (size_t k = 0; k < settings_table.count; k++) {
            const struct option_row *setting = &settings_table.rows[k];
            if (strcmp(setting->flag, row->flag) != 0)
                continue;
            shared++;
            if ((row->kind == OPTION_SECRET) != (setting->kind == OPTION_SECRET))
                fail_msg("--%s is a secret of one alone", row->flag);
            assert_true(row->environment);
        }
    }
    assert_int_equal(shared, 9);
    takes("run --redis redis://:p@h --amqp=amqp://u:p@h --memcached h:1");
    assert_string_equal(options.redis, "redis://:p@h");
    assert_string_equal(split_line.argv[3], "************");
    assert_string_equal(options.amqp, "amqp://u:p@h");
    HAS(split_line, argv[4], "--amqp=************", argv[6], "h:1");
}

TEST(buyers_are_drawn_of_so_many)
{
    char text[120];
    takes("run");
    assert_int_equal(options.users, 0);
    options_buyers_text(&options, text, sizeof text);
    assert_string_equal(text, "");
    takes("run --users 51 --limit 2");
    options_buyers_text(&options, text, sizeof text);
    assert_string_equal(text, ", 51 users of at most 2 units each");
    assert_false(options.keyed);
    takes("run --users 9 --scenario soldout --keys 2.5%");
    assert_true(options.keyed && options.repeats > 0.0249 && options.repeats < 0.0251);
    options_buyers_text(&options, text, sizeof text);
    assert_string_equal(text, ", 9 users, 2.5% sent again");
    takes("capacity --keys 0%");
    assert_true(options.keyed && options.repeats >= 0 && options.repeats <= 0);
    takes("run --users 1000000000 --limit 1000000000 --stock 1000000000");
    takes("sweep --over work-ms=1 --users 9");
    assert_int_equal(options.users, 9);
    takes("capacity --users 9");
    takes("record --limit 2");
    assert_int_equal(options.users, 200);
}

TEST(headers_are_lines)
{
    char names[64];
    takes("run");
    assert_string_equal(options.headers, "");
    takes("run --header X-Shop:hush --header=Authorization:Basic= --stock 3");
    assert_string_equal(options.headers, "X-Shop: hush\r\nAuthorization: Basic=\r\n");
    HAS(split_line, argv[3], "***********", argv[4], "--header=********************");
    headers_names(options.headers, names, sizeof names);
    assert_string_equal(names, "X-Shop, Authorization");
    assert_true(headers_have(options.headers, "authorization"));
    assert_false(headers_have(options.headers, "X-Sho"));
}

/* What no word of a command line has in it. A value is not repeated. */
TEST(a_header_is_whole)
{
    static char lines[HEADERS_SIZE], much[HEADERS_SIZE];
    struct option_texts texts = {1, {"X-Shop: \t one, two;\tthree \t"}};
    assert_true(headers_read(&texts, lines, &error));
    assert_string_equal(lines, "X-Shop: one, two;\tthree\r\n");
    static const char *const bad[] = {"X-Shop: hush\r\nX-More: 1", "X-Shop: hush\x7f",
                                      "X-Shop: hush \xc3\xa9", "X Shop: hush", "X-Shop : hush"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        texts.items[0] = bad[i];
        if (headers_read(&texts, lines, &error))
            fail_msg("'%s' was taken", bad[i]);
        assert_null(strstr(error.text, "hush"));
    }
    memset(much, 'x', sizeof much - 1);
    memcpy(much, "A: ", 3);
    much[HEADERS_SIZE - 3] = '\0'; /* with its end it has HEADERS_SIZE - 1 bytes */
    texts.items[0] = much;
    assert_true(headers_read(&texts, lines, &error));
    assert_int_equal(strlen(lines), HEADERS_SIZE - 1);
    much[HEADERS_SIZE - 3] = 'x';
    much[HEADERS_SIZE - 2] = '\0';
    assert_false(headers_read(&texts, lines, &error));
    t_says(error.text, "more than 2047 bytes");
}

TEST(a_header_may_be_repeated_often)
{
    char text[512] = "run";
    for (int i = 0; i < OPTION_TEXTS_MAX; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " --header=H%d:1", i);
    takes(text);
    assert_int_equal(all.run.header.count, OPTION_TEXTS_MAX);
    strncat(text, " --header=Last:1", sizeof text - strlen(text) - 1);
    refuses(text, "--header may be given 16 times at most");
}

/* A flag wins over a file that is not even there; without the flag the file is missed. */
TEST(a_secret_may_stand_in_a_file)
{
    char path[64];
    snprintf(path, sizeof path, "%s/redis", t_folder());
    t_write(path, "redis://:p@h\n");
    redis_file = path;
    assert_true(parse("run", redis_in_a_file));
    assert_string_equal(options.redis, "redis://:p@h");
    unlink(path);
    assert_false(parse("run", redis_in_a_file));
    t_says(error.text, "SECKILL_REDIS_FILE");
    assert_true(parse("run --redis redis://flag", redis_in_a_file));
    assert_string_equal(options.redis, "redis://flag");
}

/* The bench has flags of its own, and the harness's about backends. */
TEST(the_bench_has_its_own)
{
    assert_true(parse_bench(""));
    HAS(bench, base.connections, 256, base.rounds, 3, more_rounds, 6, max_steal, 5, max_wait_s, 600,
        full, false, rows.count, 0, base.database, "host=/there");
    assert_true(parse_bench("--max-wait 0s --max-steal 0 --redis redis://a:1 --seed 3"));
    assert_int_equal(bench.max_wait_s + bench.max_steal, 0);
    HAS(bench.base, redis, "redis://a:1", seed, 3);
    assert_true(parse_bench("--full --rows 2,12"));
    HAS(bench, full, true, rows.items[1], "12");
    assert_true(parse_bench("--help"));
    assert_int_equal(action, OPTIONS_HELP);
    assert_true(parse_bench("--version"));
    assert_int_equal(action, OPTIONS_VERSION);

    static const char *const bad[][2] = {{"--max-wait -1s", "--max-wait"},
                                         {"--max-steal 101", "--max-steal"},
                                         {"--rate 5", "--rate"},
                                         {"--rounds 2", "--rounds"},
                                         {"--rows 2,,3", "--rows"},
                                         {"--strategies none", "--strategies"},
                                         {"--full=1", "--full"},
                                         {"--rounds", "--rounds"},
                                         {"full", "argument 1"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (parse_bench(bad[i][0]))
            fail_msg("'%s' was taken", bad[i][0]);
        if (!strstr(error.text, bad[i][1]))
            fail_msg("'%s' gave '%s'", bad[i][0], error.text);
    }
}
