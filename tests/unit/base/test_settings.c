#include "lib/t.h"

#include "settings/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 16, VARIABLES_MAX = 8 };

static struct settings settings;
static enum settings_action action;
static struct error error;

/* A fake environment: "NAME=value" each. */
static char *variables[VARIABLES_MAX];

static char *look_up(const char *name)
{
    for (int i = 0; i < VARIABLES_MAX && variables[i] != NULL; i++) {
        size_t length = strlen(name);
        if (strncmp(variables[i], name, length) == 0 && variables[i][length] == '=')
            return variables[i] + length + 1;
    }
    return NULL;
}

static int empty_environment(void **state)
{
    (void)state;
    memset(variables, 0, sizeof variables);
    return 0;
}

/* Splits `flags` at spaces; a lone '' stands for an empty argument. */
static bool load(const char *flags)
{
    static char line[512]; /* settings borrow from it until the next load */
    static char nothing[] = "";
    static char program[] = "seckill-server";
    char *argv[ARGUMENTS_MAX + 1] = {program};
    int argc = 1;
    char *rest;

    memset(&settings, 1, sizeof settings); /* as whatever was in the memory */
    memset(&error, 0, sizeof error);
    snprintf(line, sizeof line, "%s", flags);
    for (char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        assert_true(argc < ARGUMENTS_MAX);
        argv[argc++] = strcmp(word, "''") == 0 ? nothing : word;
    }
    return settings_load(&settings, &action, argc, argv, look_up, &error);
}

static void assert_refused(const char *flags, const char *text)
{
    if (load(flags))
        fail_msg("taken: %s", flags);
    assert_int_equal(error.code, ERROR_INVALID);
    assert_string_equal(error.text, text);
}

TEST(defaults_hold)
{
    assert_true(load(""));
    assert_int_equal(action, SETTINGS_RUN);
    assert_string_equal(settings.listen, "127.0.0.1:8080");
    assert_string_equal(settings.database, "");
    assert_string_equal(settings.redis, "");
    assert_string_equal(settings.stock_redis, "");
    assert_string_equal(settings.default_strategy, "conditional");
    assert_string_equal(settings.system_name, "seckill");
    assert_string_equal(settings.admin_token, "");
    assert_string_equal(settings.log_level, "info");
    assert_int_equal(settings.max_batch, 500);
    assert_int_equal(settings.queue_capacity, 10000);
    assert_int_equal(settings.in_flight_per_product, 0);
    assert_int_equal(settings.pg_sessions, 24);
    assert_int_equal(settings.lock_wait_ms, 5000);
    assert_int_equal(settings.lock_ttl_ms, 10000);
    assert_int_equal(settings.work_timeout_ms, 5000);
    assert_int_equal(settings.work_ms, 0);
    assert_int_equal(settings.max_connections, 16384);
    assert_int_equal(settings.cells, 0);
}

TEST(a_cell_is_read_apart)
{
    assert_true(load("--cell 2/3"));
    assert_int_equal(settings.cell_number, 2);
    assert_int_equal(settings.cells, 3);
    assert_refused(
        "--cell 3/2",
        "--cell takes K/N, cell K of N, with 1 <= K <= N <= 64, or nothing, not \"3/2\"");
}

TEST(both_spellings_work)
{
    assert_true(load("--listen 0.0.0.0:0 --max-batch=7 --redis=unix:///run/r.sock --work-ms 10"));
    assert_string_equal(settings.listen, "0.0.0.0:0");
    assert_int_equal(settings.max_batch, 7);
    assert_string_equal(settings.redis, "unix:///run/r.sock");
    assert_int_equal(settings.work_ms, 10);

    /* A value may hold '=', be empty, and begin with dashes when it says so. */
    assert_true(load("--database=host=db --admin-token=--x="));
    assert_string_equal(settings.database, "host=db");
    assert_string_equal(settings.admin_token, "--x=");
    assert_true(load("--redis= --database ''"));
    assert_string_equal(settings.redis, "");
    assert_true(load("--max-batch 3 --max-batch 4"));
    assert_int_equal(settings.max_batch, 4);
}

/* Something the row takes that is not its default. */
static void other_value(const struct option_row *row, char *out, size_t size)
{
    const char *text = "warn";
    if (strcmp(row->flag, "listen") == 0)
        text = "[::1]:65535";
    if (strcmp(row->flag, "redis") == 0 || strcmp(row->flag, "stock-redis") == 0)
        text = "redis://h:1/2";
    if (strcmp(row->flag, "migrate") == 0)
        text = "never";
    if (strcmp(row->flag, "flush") == 0)
        text = "shared";
    if (strcmp(row->flag, "cell") == 0)
        text = "2/3";
    if (strcmp(row->flag, "amqp") == 0)
        text = "amqp://u:p@h:1/v";
    if (strcmp(row->flag, "redlock") == 0)
        text = "redis://a,redis://b,unix:///c";
    if (strcmp(row->flag, "memcached") == 0)
        text = "unix:///run/m.sock";
    if (strcmp(row->flag, "zookeeper") == 0)
        text = "a:2181,[::1]:2182/shop";
    if (!option_is_number(row)) {
        snprintf(out, size, "%s", text);
        return;
    }
    int64_t standard = strtoll(row->fallback, NULL, 10);
    snprintf(out, size, "%" PRId64, standard < row->max ? standard + 1 : standard - 1);
}

static void assert_member(const struct option_row *row, const char *expected)
{
    const char *member = (const char *)&settings + row->offset;
    if (!option_is_number(row)) {
        const char *text;
        memcpy(&text, member, sizeof text);
        assert_string_equal(text, expected);
    } else {
        int64_t number;
        memcpy(&number, member, sizeof number);
        assert_int_equal(number, strtoll(expected, NULL, 10));
    }
}

/* Left as it was in the memory, it would print instead of starting. */
TEST(a_switch_is_off)
{
    variables[0] = NULL;
    assert_true(load(""));
    assert_false(settings.print_schema);
    assert_true(load("--print-schema --schema x"));
    assert_true(settings.print_schema);
}

TEST(every_row_reaches_its_member)
{
    for (size_t i = 0; i < settings_table.count; i++) {
        const struct option_row *row = &settings_table.rows[i];
        char value[64];
        char flag[128];
        char variable[OPTION_VARIABLE_LENGTH];
        char assignment[192];

        other_value(row, value, sizeof value);
        snprintf(flag, sizeof flag, "--%s %s", row->flag, value);
        option_variable(row, variable);
        snprintf(assignment, sizeof assignment, "%s=%s", variable, value);

        variables[0] = NULL;
        assert_true(load(flag));
        assert_member(row, value);
        variables[0] = assignment;
        assert_true(load(""));
        assert_member(row, value);
    }
}

TEST(numbers_keep_their_range)
{
    for (size_t i = 0; i < settings_table.count; i++) {
        const struct option_row *row = &settings_table.rows[i];
        if (!option_is_number(row))
            continue;

        int64_t outside[] = {row->min - 1, row->max + 1};
        for (int j = 0; j < 2; j++) {
            char flag[128], takes[OPTION_TAKES_SIZE], expected[OPTION_TAKES_SIZE + 128];
            snprintf(flag, sizeof flag, "--%s=%" PRId64, row->flag, outside[j]);
            option_takes(row, takes, sizeof takes);
            snprintf(expected, sizeof expected, "--%s takes %s, not \"%" PRId64 "\"", row->flag,
                     takes, outside[j]);
            assert_refused(flag, expected);
        }

        /* The ends themselves are fine, but for what other settings say about them. */
        int64_t ends[] = {row->min, row->max};
        for (int j = 0; j < 2; j++) {
            char flag[128];
            snprintf(flag, sizeof flag, "--%s=%" PRId64, row->flag, ends[j]);
            if (!load(flag))
                assert_non_null(strstr(error.text, "must be less than"));
        }
    }
}

TEST(what_is_no_number_is_refused)
{
    static const char *const texts[] = {"five", "5x",    "0x10", "1e3", "5.0",
                                        "+5",   "--5",   "-",    "5,0", "99999999999999999999",
                                        "",     "\t500", "5\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char flag[64];
        snprintf(flag, sizeof flag, "--max-batch=%s", texts[i]);
        assert_false(load(flag));
        assert_memory_equal(error.text, "--max-batch takes a whole number from 1 to 500", 46);
    }
    /* Nothing is not 0, where 0 is allowed. */
    assert_refused("--work-ms=", "--work-ms takes a whole number from 0 to 60000 (milliseconds) or "
                                 "a duration like 500ms or 2s, not \"\"");
    assert_refused("--buckets=-", "--buckets takes a whole number from 1 to 64, not \"-\"");
    variables[0] = "SECKILL_MAX_BATCH=1 ";
    assert_refused("", "SECKILL_MAX_BATCH takes a whole number from 1 to 500, not \"1 \"");
}

TEST(a_duration_may_have_its_unit)
{
    static const struct {
        const char *flag;
        int64_t ms;
    } taken[] = {
        {"--lock-wait-ms 0", 0},       {"--lock-wait-ms 0s", 0},    {"--lock-wait-ms 500", 500},
        {"--lock-wait-ms 500ms", 500}, {"--lock-wait-ms 2s", 2000}, {"--lock-wait-ms 1m", 60000},
        {"--lock-wait-ms 3000us", 3},
    };
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        assert_true(load(taken[i].flag));
        assert_int_equal(settings.lock_wait_ms, taken[i].ms);
    }
    assert_true(load("--idle-timeout-s 2m"));
    assert_int_equal(settings.idle_timeout_s, 120);
    assert_true(load("--idle-timeout-s 3000ms"));
    assert_int_equal(settings.idle_timeout_s, 3);
    variables[0] = "SECKILL_LOCK_WAIT_MS=2s";
    assert_true(load(""));
    assert_int_equal(settings.lock_wait_ms, 2000);
    variables[0] = NULL;

    static const char *const refused[] = {
        "--lock-wait-ms 61s",
        "--lock-wait-ms 2m",
        "--lock-wait-ms 1.5s",
        "--lock-wait-ms s",
        "--lock-wait-ms 1h",
        "--lock-wait-ms -1s",
        "--lock-wait-ms 1500us",
        "--lock-wait-ms 2S",
        "--max-batch 5s",
        "--idle-timeout-s 1ms",
        "--idle-timeout-s 0s",
        "--lock-wait-ms 153722867280912931m", /* which would be 4 ms in 64 bits */
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (load(refused[i]))
            fail_msg("taken: %s", refused[i]);
    }
}

TEST(what_is_no_flag_is_refused)
{
    assert_refused("--bogus 1", "unknown flag --bogus (see --help)");
    assert_refused("--bogus=1", "unknown flag --bogus (see --help)");
    assert_refused("--max-batc 1",
                   "unknown flag --max-batc (see --help): did you mean --max-batch?");
    assert_refused("--max-batches 1",
                   "unknown flag --max-batches (see --help): did you mean --max-batch?");
    assert_refused("--MAX-BATCH 1",
                   "unknown flag --MAX-BATCH (see --help): did you mean --max-batch?");
    assert_refused("--max_batch 1",
                   "unknown flag --max_batch (see --help): did you mean --max-batch?");
    assert_refused("--=1", "unknown flag -- (see --help)");
    assert_refused("--help=html", "--help does not take that value (see --help)");
    assert_refused("--version=1", "--version does not take that value (see --help)");
    assert_refused("--verison", "unknown flag --verison (see --help): did you mean --version?");
    assert_refused("--pritn-schema 1",
                   "unknown flag --pritn-schema (see --help): did you mean --print-schema?");
    assert_refused("serve", "argument 1 is not a flag (see --help)");
    assert_refused("-x", "argument 1 is not a flag (see --help)");
    assert_refused("--", "argument 1 is not a flag (see --help)");
    assert_refused("''", "argument 1 is not a flag (see --help)");
    assert_refused("--database host=h password=sesame", "argument 3 is not a flag (see --help)");
}

TEST(a_missing_value_is_refused)
{
    for (size_t i = 0; i < settings_table.count; i++) {
        const struct option_row *row = &settings_table.rows[i];
        char flags[128];
        char expected[OPTION_VARIABLE_LENGTH + 32];
        snprintf(expected, sizeof expected, "--%s needs a value: ", row->flag);

        snprintf(flags, sizeof flags, "--%s", row->flag);
        assert_false(load(flags));
        assert_memory_equal(error.text, expected, strlen(expected));
        snprintf(flags, sizeof flags, "--%s --log-level debug", row->flag);
        assert_false(load(flags));
        assert_memory_equal(error.text, expected, strlen(expected));
    }
}

TEST(texts_are_checked)
{
    static const char *const refused[] = {
        "--listen=",          "--listen=8080",          "--listen=:8080",
        "--listen=host:",     "--listen=host:65536",    "--listen=host:8o",
        "--listen=host:-1",   "--listen=::1:8080",      "--listen=[]:80",
        "--listen=[::1:80",   "--listen=host:00000080", "--redis=localhost:6379",
        "--redis=http://x/",  "--default-strategy=",    "--system-name=",
        "--system-name=a:b",  "--system-name=a\tb",     "--system-name=\xc3\xa9",
        "--log-level=",       "--log-level=INFO",       "--admin-token=a\tb",
        "--admin-token=\xc3", "--log-level=warning",
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        size_t length = strcspn(refused[i], "=");
        if (load(refused[i]))
            fail_msg("taken: %s", refused[i]);
        assert_int_equal(error.code, ERROR_INVALID);
        assert_memory_equal(error.text, refused[i], length);
        assert_memory_equal(error.text + length, " takes ", 7);
    }
    assert_refused("--log-level=loud",
                   "--log-level takes error, warn, info or debug, not \"loud\"");
    assert_true(load("--listen localhost:1 --system-name Shop_2.eu-west --redis redis://h:6379/0"));
    assert_true(load("--listen=[::1]:8080 --log-level debug --default-strategy none"));
}

/* What may hold a password is never repeated. */
TEST(secrets_are_not_told)
{
    assert_refused("--admin-token=pa\tss",
                   "--admin-token takes up to 512 visible ASCII characters without spaces");
    assert_refused("--redis=http://:pass@host",
                   "--redis takes redis[s]://[USER:PASSWORD@]HOST:PORT/DB, "
                   "redis-sentinel://HOST,HOST/NAME, unix:///PATH, or nothing");
    assert_refused("--amqp=http://u:pass@host",
                   "--amqp takes amqp[s]://USER:PASSWORD@HOST:PORT/VHOST,…, or nothing");
    for (size_t i = 0; i < settings_table.count; i++) {
        const char *flag = settings_table.rows[i].flag;
        bool secret = strcmp(flag, "admin-token") == 0 || strcmp(flag, "redis") == 0 ||
                      strcmp(flag, "stock-redis") == 0 || strcmp(flag, "amqp") == 0 ||
                      strcmp(flag, "redlock") == 0 || strcmp(flag, "database") == 0;
        assert_int_equal(settings_table.rows[i].kind == OPTION_SECRET, secret);
    }
}

TEST(a_flag_wins_over_its_variable)
{
    variables[0] = "SECKILL_LOCK_TTL_MS=20000";
    variables[1] = "SECKILL_LISTEN=0.0.0.0:1";
    variables[2] = "SECKILL_ADMIN_TOKEN=";
    assert_true(load("--listen 0.0.0.0:2"));
    assert_int_equal(settings.lock_ttl_ms, 20000);
    assert_string_equal(settings.listen, "0.0.0.0:2");
    assert_string_equal(settings.admin_token, "");
    assert_int_equal(settings.max_batch, 500);

    /* Also over a variable that is wrong. */
    variables[0] = "SECKILL_LOCK_TTL_MS=soon";
    assert_true(load("--lock-ttl-ms 9000"));
    assert_int_equal(settings.lock_ttl_ms, 9000);
}

TEST(a_wrong_variable_is_named)
{
    variables[0] = "SECKILL_QUEUE_CAPACITY=0";
    assert_refused("", "SECKILL_QUEUE_CAPACITY takes a whole number from 1 to 1000000, not \"0\"");
    variables[0] = "SECKILL_QUEUE_CAPACITY=";
    assert_refused("", "SECKILL_QUEUE_CAPACITY takes a whole number from 1 to 1000000, not \"\"");
    variables[0] = "SECKILL_LOG_LEVEL=";
    assert_refused("", "SECKILL_LOG_LEVEL takes error, warn, info or debug, not \"\"");
}

TEST(contradictions_are_refused)
{
    assert_refused("--work-timeout-ms 10000",
                   "--work-timeout-ms (10000) must be less than --lock-ttl-ms (10000)");
    assert_true(load("--work-timeout-ms 9999"));
    assert_refused("--lock-ttl-ms 4000",
                   "--work-timeout-ms (5000) must be less than --lock-ttl-ms (4000)");
    assert_refused("--stall-ms 2500",
                   "twice --stall-ms (5000) must be less than --work-timeout-ms (5000)");
    assert_refused("--work-ms 5000", "--work-ms (5000) must be less than --work-timeout-ms (5000)");
    assert_true(load("--work-ms 4999"));
    variables[0] = "SECKILL_WORK_MS=50";
    assert_refused("--work-timeout-ms 50",
                   "--work-ms (50) must be less than --work-timeout-ms (50)");
    assert_true(load("--work-timeout-ms 60 --lock-ttl-ms 100"));
}

TEST(actions_are_seen)
{
    assert_true(load("--help"));
    assert_int_equal(action, SETTINGS_HELP);
    assert_true(load("--help=markdown"));
    assert_int_equal(action, SETTINGS_HELP_MARKDOWN);
    assert_true(load("--strategies"));
    assert_int_equal(action, SETTINGS_STRATEGIES);
    assert_true(load("--strategies=markdown"));
    assert_int_equal(action, SETTINGS_STRATEGIES_MARKDOWN);
    assert_true(load("--version"));
    assert_int_equal(action, SETTINGS_VERSION);

    /* A user who asks for help has often got something else wrong. */
    variables[0] = "SECKILL_MAX_BATCH=many";
    assert_true(load("--max-batch 0 --help"));
    assert_int_equal(action, SETTINGS_HELP);
}

static void assert_refused_for(const char *words)
{
    assert_false(load(""));
    if (!strstr(error.text, words))
        fail_msg("%s", error.text);
}

TEST(secrets_may_stand_in_a_file)
{
    static const struct {
        const char *text;
        const char *token; /* NULL: refused */
    } files[] = {{"open sesame", NULL}, {"sesame\n", "sesame"}, {"sesame", "sesame"},
                 {"a\nb\n", NULL},      {"a\n\n", NULL},        {"sesame\r\n", "sesame"},
                 {"sesame\r\r\n", NULL}};
    char path[] = "/tmp/seckill-settings.XXXXXX";
    char variable[128];
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    snprintf(variable, sizeof variable, "SECKILL_ADMIN_TOKEN_FILE=%s", path);
    variables[0] = variable;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        FILE *to = fopen(path, "w");
        assert_non_null(to);
        fputs(files[i].text, to);
        fclose(to);
        if (!files[i].token) {
            assert_refused_for("SECKILL_ADMIN_TOKEN_FILE");
            assert_null(strstr(error.text, "sesame"));
            continue;
        }
        assert_true(load(""));
        assert_string_equal(settings.admin_token, files[i].token);
        assert_true(load("--admin-token flag"));
        assert_string_equal(settings.admin_token, "flag");
    }
    variables[1] = (char[]){"SECKILL_ADMIN_TOKEN=x"};
    assert_refused_for("exclude each other");
    unlink(path);
    variables[1] = NULL;
    assert_refused_for("cannot be read");
    variables[0] = (char[]){"SECKILL_LISTEN_FILE=/nowhere"}; /* it is no secret */
    assert_true(load(""));
    variables[0] = NULL;
}

static void write_file(const char *path, const char *bytes, size_t length)
{
    FILE *to = fopen(path, "w");
    int closed = to && fwrite(bytes, 1, length, to) == length ? fclose(to) : EOF;

    assert_int_equal(closed, 0);
}

/* A named file stands for its content: none of these is taken for a token that is not set. */
TEST(a_file_that_holds_no_secret_is_refused)
{
    enum { LONGEST = 4096 };
    char path[] = "/tmp/seckill-settings.XXXXXX";
    char variable[64];
    char big[LONGEST + 8];
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    snprintf(variable, sizeof variable, "SECKILL_DATABASE_FILE=%s", path);
    variables[0] = variable;
    assert_refused_for("is empty");
    write_file(path, "\n", 1);
    assert_refused_for("is empty");
    write_file(path, "\r\n", 2);
    assert_refused_for("is empty");
    write_file(path, "a\0b\n", 4);
    assert_refused_for("is not one line of at most 4096 bytes");
    memset(big, 'x', sizeof big);
    write_file(path, big, LONGEST + 1);
    assert_refused_for("is not one line of at most 4096 bytes");
    big[LONGEST] = '\r';
    big[LONGEST + 1] = '\n';
    write_file(path, big, LONGEST + 6);
    assert_refused_for("is not one line of at most 4096 bytes");
    write_file(path, big, LONGEST + 2);
    assert_true(load(""));
    assert_int_equal(strlen(settings.database), LONGEST);
    unlink(path);
    variables[0] = (char[]){"SECKILL_DATABASE_FILE=/tmp"};
    assert_refused_for("\"/tmp\" cannot be read: Is a directory");
    variables[0] = (char[]){"SECKILL_DATABASE_FILE="};
    assert_refused_for("cannot be read");
}

/* Those that a later one replaces, too, and also when something else is wrong. */
TEST(secrets_do_not_stay_in_the_arguments)
{
    char program[] = "seckill-server";
    char first[] = "--admin-token=older";
    char token[] = "--admin-token=sesame";
    char flag[] = "--redis";
    char again[] = "--redis";
    char older[] = "redis://:other@h";
    char url[] = "redis://:sesame@h";
    char wrong[] = "--bogus";
    char *argv[] = {program, first, flag, older, token, again, url, wrong, NULL};

    assert_false(settings_load(&settings, &action, 8, argv, look_up, &error));
    assert_string_equal(url, "*****************");
    strcpy(token, "--admin-token=sesame");
    strcpy(url, "redis://:sesame@h");
    strcpy(first, "--admin-token=older");
    strcpy(older, "redis://:other@h");
    variables[0] = (char[]){"SECKILL_ADMIN_TOKEN=environment"};
    assert_true(settings_load(&settings, &action, 7, argv, look_up, &error));
    assert_string_equal(settings.admin_token, "sesame");
    assert_string_equal(settings.redis, "redis://:sesame@h");
    assert_string_equal(first, "--admin-token=*****");
    assert_string_equal(older, "****************");
    assert_string_equal(token, "--admin-token=******");
    assert_string_equal(url, "*****************");
    assert_string_equal(flag, "--redis");
}

TEST_EACH(empty_environment, NULL)

int main(void)
{
    return t_run_all(NULL, NULL);
}
