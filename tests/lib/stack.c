#include "lib/t.h"

#include "lib/stack.h"

#include "lib/witness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_SKIPPED = 77 };

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    if (!value) {
        fprintf(stderr,
                "%s is not set: run this by ctest, or tests/with-stack.sh (tests/README.md)\n",
                name);
        exit(EXIT_SKIPPED);
    }
    return value;
}

const char *stack_database(void)
{
    return variable("SECKILL_TEST_DATABASE");
}

const char *stack_redis(void)
{
    return variable("SECKILL_TEST_REDIS");
}

const char *stack_stock_redis(void)
{
    return variable("SECKILL_TEST_STOCK_REDIS");
}

const char *stack_amqp(void)
{
    return getenv("SECKILL_TEST_AMQP");
}

const char *stack_redlock(void)
{
    return getenv("SECKILL_TEST_REDLOCK");
}

const char *stack_memcached(void)
{
    return getenv("SECKILL_TEST_MEMCACHED");
}

const char *stack_zookeeper(void)
{
    return getenv("SECKILL_TEST_ZOOKEEPER");
}

const char *stack_cluster(void)
{
    return variable("SECKILL_TEST_CLUSTER");
}

void stack_need_other_locks(void)
{
    variable("SECKILL_TEST_REDLOCK");
    variable("SECKILL_TEST_MEMCACHED");
    variable("SECKILL_TEST_ZOOKEEPER");
}

char *stack_socket_folder(void)
{
    const char *host = strstr(stack_database(), "host=");

    assert_non_null(host);
    return strndup(host + 5, strcspn(host + 5, " "));
}

char *stack_database_through(const char *conninfo, const char *folder)
{
    char *text = NULL;

    /* In a conninfo the last one counts. */
    assert_true(asprintf(&text, "%s host=%s", conninfo, folder) > 0);
    return text;
}

/* The superuser's conninfo; the stack trusts whoever reaches its socket. */
static struct witness *open_maintenance(void)
{
    char *folder = stack_socket_folder();
    char conninfo[256];

    snprintf(conninfo, sizeof conninfo, "host=%s dbname=postgres user=postgres", folder);
    free(folder);
    return witness_open(conninfo);
}

void stack_database_drop(const char *name)
{
    struct witness *postgres = open_maintenance();

    witness_run(postgres, "DROP DATABASE IF EXISTS %s WITH (FORCE)", name);
    witness_close(postgres);
}

char *stack_database_create(const char *name)
{
    char *conninfo = NULL;

    stack_database_drop(name);
    struct witness *postgres = open_maintenance();
    witness_run(postgres, "CREATE DATABASE %s OWNER seckill", name);
    witness_close(postgres);
    char *folder = stack_socket_folder();
    assert_true(asprintf(&conninfo, "host=%s port=5432 user=seckill dbname=%s", folder, name) > 0);
    free(folder);
    return conninfo;
}

pid_t stack_pid(const char *server)
{
    char path[512];
    int pid = 0;

    snprintf(path, sizeof path, "%s/%s.id", variable("SECKILL_TEST_STACK"), server);
    FILE *from = t_open(path);
    if (fscanf(from, "%d", &pid) != 1 || pid <= 1)
        fail_msg("%s does not name a process", path);
    fclose(from);
    return (pid_t)pid;
}

void stack_kill(const char *server, int number)
{
    assert_int_equal(kill(stack_pid(server), number), 0);
}

static int run_up(void)
{
    const char *script = variable("SECKILL_TEST_STACK_SH");
    const char *folder = variable("SECKILL_TEST_STACK");
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        execl(script, script, "--dir", folder, "up", (char *)NULL);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    return status;
}

void stack_up(void)
{
    assert_int_equal(run_up(), 0);
}

int stack_restore(void **state)
{
    static const char *const servers[] = {"postgres", "locks", "stock"};
    static const char *const nodes[] = {"redlock1", "redlock2", "redlock3"};
    static const char *const cluster[] = {"cluster1", "cluster2", "cluster3",
                                          "cluster4", "cluster5", "cluster6"};

    (void)state;
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
        kill(stack_pid(servers[i]), SIGCONT);
    for (size_t i = 0; stack_redlock() && i < sizeof nodes / sizeof *nodes; i++)
        kill(stack_pid(nodes[i]), SIGCONT);
    for (size_t i = 0; getenv("SECKILL_TEST_CLUSTER") && i < sizeof cluster / sizeof *cluster; i++)
        kill(stack_pid(cluster[i]), SIGCONT);
    if (stack_memcached())
        kill(stack_pid("memcached"), SIGCONT);
    if (stack_zookeeper())
        kill(stack_pid("zookeeper"), SIGCONT);
    return run_up() == 0 ? 0 : -1;
}
