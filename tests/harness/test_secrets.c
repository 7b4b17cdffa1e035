/*
 * Nobody but the harness's own user sees its passwords: in no command line of a process that it
 * starts, from exec on; in its own only until it has read them; in nothing that it prints or
 * writes, also when it fails.
 *
 * Every program that the harness starts is here a script that notes its own command line and the
 * harness's before it becomes the program.
 */
#include "lib/t.h"

#include "bench/tools/pgbench.h"
#include "harness/fixtures/program.h"
#include "lib/redis/redis_own.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct error error;

#define SECRET "hush"

static const char *programs;
static char noted[96], server[96], pgbench[96];
static char database[512], redis[128];

/* A script in `programs` that becomes `real`. */
static void write_script(const char *name, const char *real, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", programs, name);
    t_write(path, t_text("#!/bin/sh\n"
                         "tr '\\0' ' ' </proc/$$/cmdline >>%s\n"
                         "tr '\\0' ' ' </proc/$PPID/cmdline >>%s\n"
                         "exec %s \"$@\"\n",
                         noted, noted, real));
    assert_int_equal(chmod(path, 0755), 0);
}

BEFORE_ALL()
{
    char real[1024], wrk[96], path[4096];
    program = program_create(0);
    programs = t_folder();
    snprintf(noted, sizeof noted, "%s/noted", programs);
    write_script("seckill-server", SERVER, server, sizeof server);
    assert_true(process_find("wrk", "", real, sizeof real));
    write_script("wrk", real, wrk, sizeof wrk);
    assert_true(pgbench_find(real, sizeof real, &error));
    write_script("pgbench", real, pgbench, sizeof pgbench);
    snprintf(path, sizeof path, "%s:%s", programs, getenv("PATH"));
    setenv("PATH", path, 1);

    const struct redis_own *own =
        redis_own_start((const char *const[]){"--requirepass", SECRET "-redis", NULL});
    snprintf(redis, sizeof redis, "redis://:" SECRET "-redis@127.0.0.1:%d/0", redis_own_port(own));
    snprintf(database, sizeof database, "%s password=" SECRET "-postgres", program_database());
}

AFTER_ALL()
{
    program_destroy(program);
    redis_own_teardown(NULL);
}

static void assert_unseen(const char *where, const char *text)
{
    if (strstr(text, SECRET))
        fail_msg("%s has the secret: %s", where, text);
}

/* In what was printed, in every file of the out folder, and in every command line; the names of
 * `programs_run` stand there. */
static void assert_secret_kept(const char *const programs_run[])
{
    static char text[1 << 20];
    char path[400];
    const struct dirent *entry;
    assert_unseen("the output", program->output);
    DIR *folder = opendir(program->folder);
    if (!folder) {
        fail_msg("%s cannot be read", program->folder);
        return;
    }
    while ((entry = readdir(folder))) {
        snprintf(path, sizeof path, "%s/%s", program->folder, entry->d_name);
        if (entry->d_type != DT_REG)
            continue;
        assert_unseen(path, t_read(path, text, sizeof text));
    }
    closedir(folder);
    assert_unseen("a command line", t_read(noted, text, sizeof text));
    for (size_t i = 0; programs_run[i]; i++) {
        snprintf(path, sizeof path, "%s/%s ", programs, programs_run[i]);
        if (!strstr(text, path))
            fail_msg("%s was not run: %s", path, text);
    }
}

static int run(const char *path, const char *const arguments[], const char *const environment[])
{
    const char *argv[40] = {path};
    struct process process;
    unlink(noted); /* an earlier test's */
    for (size_t i = 0; arguments[i]; i++)
        argv[i + 1] = arguments[i];
    assert_true(process_start(&process, argv, NULL, environment, &error));
    return program_finish(&process);
}

#define SHORT_RUN                                                                                  \
    "--server-binary", server, "--out", program->folder, "--strategies", "redis-token",            \
        "--duration", "1s", "--instances", "2", "--connections", "4", "--stock", "5"

TEST(secrets_of_the_environment_are_kept)
{
    const char *const variables[] = {t_text("SECKILL_DATABASE=%s", database),
                                     t_text("SECKILL_REDIS=%s", redis),
                                     "SECKILL_ADMIN_TOKEN=" SECRET "-token", NULL};
    assert_int_equal(run(LOADTEST, (const char *const[]){"run", SHORT_RUN, NULL}, variables), 0);
    assert_secret_kept((const char *const[]){"seckill-server", "wrk", NULL});
}

/* The counter's wrk restocks, which takes the token. */
TEST(secrets_of_flags_are_kept)
{
    assert_int_equal(
        run(LOADTEST,
            (const char *const[]){"run", SHORT_RUN, "--scenario", "counter", "--database", database,
                                  "--redis", redis, t_text("--stock-redis=%s", redis),
                                  "--admin-token", (SECRET "-token"), NULL},
            NULL),
        0);
    assert_secret_kept((const char *const[]){"seckill-server", "wrk", NULL});
}

/* The servers must not be told of the file too: they would refuse a secret that is there twice. */
TEST(a_secret_may_stand_in_a_file)
{
    const char *path = t_text("%s/secret", programs);
    const char *const variables[] = {t_text("SECKILL_DATABASE=%s", database),
                                     t_text("SECKILL_REDIS_FILE=%s", path), NULL};
    t_write(path, redis);
    assert_int_equal(run(LOADTEST, (const char *const[]){"run", SHORT_RUN, NULL}, variables), 0);
    assert_secret_kept((const char *const[]){"seckill-server", "wrk", NULL});
}

/* It reaches the database that the conninfo says; that there is nothing to sell does not matter. */
TEST(pgbench_is_given_the_conninfo_unseen)
{
    double per_s = 0;
    unlink(noted); /* an earlier test's */
    struct witness *witness = witness_create(database, "seckill", &error);
    assert_non_null(witness);
    const struct pgbench_load load = {.program = pgbench,
                                      .conninfo = database,
                                      .strategy = "conditional",
                                      .folder = program->folder,
                                      .first_product = 1000001,
                                      .products = 1,
                                      .clients = 1,
                                      .duration_s = 1};
    t_done(pgbench_run(&load, witness, &per_s, &error), error);
    witness_destroy(witness);
    assert_secret_kept((const char *const[]){"pgbench", NULL});
}

TEST(no_message_has_a_secret)
{
    static const char broken_word[] = "host=/nowhere password=a " SECRET;
    static const char broken_uri[] = "postgresql://u:100%" SECRET "@/nowhere";
    static const char tls_redis[] = "rediss://:" SECRET "-redis@127.0.0.1:1/0";
    static const char broken_scheme[] = "--redis=http://u:" SECRET "@h";
    const struct {
        const char *path;
        const char *arguments[12];
        const char *says;
    } cases[] = {
        {LOADTEST, {"audit", "--database", broken_word}, "--database: missing"},
        {LOADTEST, {"audit", "--database", broken_uri}, "--database: invalid percent-encoded"},
        {LOADTEST,
         {"audit", "--database", "host=/x", "password=" SECRET},
         "argument 3 is not a flag"},
        {LOADTEST, {"password=" SECRET}, "argument 1 is no command"},
        {LOADTEST,
         {"sweep", "--server-binary", SERVER, "--over", "redis-delay-us=0", "--redis", tls_redis,
          "--database", database},
         "unix://"},
        {BENCH, {"--database", broken_uri, "--server-binary", SERVER}, "--database: invalid"},
        {SERVER, {"--database", broken_word}, "--database: missing"},
        {SERVER, {"--database", broken_uri}, "--database: invalid percent-encoded"},
        {SERVER, {"--database", "host=/x", "password=" SECRET}, "argument 3 is not a flag"},
        {SERVER, {broken_scheme}, "--redis takes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_not_equal(run(cases[i].path, cases[i].arguments, NULL), 0);
        assert_unseen(cases[i].path, program->output);
        t_says(program->output, cases[i].says);
    }
}
