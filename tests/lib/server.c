#include "lib/t.h"

#include "lib/server.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FLAGS_MAX = 64, LOG_TAIL = 16 * 1024, LOG_SHOWN = 4 * 1024, POLL_US = 5000 };

struct server {
    pid_t pid;
    char log[64];
    char address[64];
    struct server *next;
};

static struct {
    bool database_given;
    bool redis_given;
    const char *database;
    const char *redis;
    const char *failpoints;
    struct server *running;
} here;

void server_use_database(const char *conninfo)
{
    here.database_given = true;
    here.database = conninfo;
}

void server_use_redis(const char *url)
{
    here.redis_given = true;
    here.redis = url;
}

void server_use_failpoints(const char *spec)
{
    here.failpoints = spec;
}

/* Reads the end of the log. */
static void read_log(const struct server *server, char *out, size_t size)
{
    FILE *from = fopen(server->log, "r");
    size_t n = 0;

    if (from) {
        if (fseek(from, -(long)(size - 1), SEEK_END) == 0 || fseek(from, 0, SEEK_SET) == 0)
            n = fread(out, 1, size - 1, from);
        fclose(from);
    }
    out[n] = '\0';
}

static void print_log(const struct server *server)
{
    static char text[LOG_SHOWN];

    read_log(server, text, sizeof text);
    fprintf(stderr, "--- the log of seckill-server %d ---\n%s---\n", (int)server->pid, text);
}

static void forget(struct server *server)
{
    struct server **at = &here.running;

    while (*at != server)
        at = &(*at)->next;
    *at = server->next;
    unlink(server->log);
    free(server);
}

static bool names(const char *const flags[], const char *flag)
{
    for (int i = 0; flags[i]; i += 2)
        if (strcmp(flags[i], flag) == 0)
            return true;
    return false;
}

static void add(char *argv[], int *n, const char *flag, const char *value)
{
    if (!value)
        return;
    if (*n + 2 >= FLAGS_MAX)
        abort();
    /* execve takes char *, and changes nothing. */
    memcpy(&argv[(*n)++], &flag, sizeof flag);
    memcpy(&argv[(*n)++], &value, sizeof value);
}

/* The stores of locks elsewhere, as far as this stack has them. */
static void add_lock_stores(char *argv[], int *n, const char *const flags[])
{
    static const char *const stores[][2] = {{"--redlock", "SECKILL_TEST_REDLOCK"},
                                            {"--memcached", "SECKILL_TEST_MEMCACHED"},
                                            {"--zookeeper", "SECKILL_TEST_ZOOKEEPER"}};

    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++)
        if (!names(flags, stores[i][0]))
            add(argv, n, stores[i][0], getenv(stores[i][1]));
}

static void fill_argv(char *argv[], const char *const flags[])
{
    static const char program[] = SECKILL_SERVER;
    const char *name = program;
    int n = 1;

    memcpy(&argv[0], &name, sizeof name);
    add_lock_stores(argv, &n, flags);
    if (!names(flags, "--listen"))
        add(argv, &n, "--listen", "127.0.0.1:0");
    if (!names(flags, "--database"))
        add(argv, &n, "--database",
            here.database_given ? here.database : getenv("SECKILL_TEST_DATABASE"));
    if (!names(flags, "--redis"))
        add(argv, &n, "--redis", here.redis_given ? here.redis : getenv("SECKILL_TEST_REDIS"));
    if (!names(flags, "--amqp"))
        add(argv, &n, "--amqp", getenv("SECKILL_TEST_AMQP"));
    if (!names(flags, "--stock-redis") && !names(flags, "--redis") && !here.redis_given)
        add(argv, &n, "--stock-redis", getenv("SECKILL_TEST_STOCK_REDIS"));
    for (int i = 0; flags[i]; i += 2)
        add(argv, &n, flags[i], flags[i + 1]);
    argv[n] = NULL;
}

/* In the child: nothing of the test's environment may steer the server. */
static void become_server(char *argv[], int log, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    for (char **at = environ; *at;) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*at, "="), *at);
        if (strncmp(name, "SECKILL_", 8) == 0 || strncmp(name, "PG", 2) == 0)
            unsetenv(name);
        else
            at++;
    }
    if (here.failpoints)
        setenv("SECKILL_FAILPOINTS", here.failpoints, 1);
    if (dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
        _exit(127);
    execv(argv[0], argv);
    _exit(127);
}

struct server *server_launch(const char *const flags[])
{
    struct server *server = calloc(1, sizeof *server);
    char *argv[FLAGS_MAX];
    pid_t parent = getpid();

    if (!server)
        abort();
    strcpy(server->log, "/tmp/seckill-test-server.XXXXXX");
    int log = mkostemp(server->log, O_CLOEXEC | O_APPEND);
    if (log < 0)
        fail_msg("no log file: %s", strerror(errno));
    fill_argv(argv, flags);
    server->pid = fork();
    if (server->pid == 0)
        become_server(argv, log, parent);
    close(log);
    server->next = here.running;
    here.running = server;
    return server;
}

void server_wait_listening(struct server *server)
{
    int64_t until_us = clock_mono_us() + SERVER_PATIENCE_US;
    char text[LOG_TAIL];
    int status;

    while (!server->address[0]) {
        bool ended = waitpid(server->pid, &status, WNOHANG) == server->pid;
        read_log(server, text, sizeof text);
        const char *line = strstr(text, "listening on http://");
        if (line && strchr(line, '\n'))
            sscanf(line, "listening on %63s", server->address);
        else if (ended || clock_mono_us() >= until_us) {
            server->pid = ended ? 0 : server->pid;
            fail_msg("seckill-server %s",
                     ended ? "ended at its start" : "does not say its address");
        }
        clock_sleep_until(clock_mono_us() + POLL_US);
    }
}

struct server *server_startv(const char *const flags[])
{
    struct server *server = server_launch(flags);

    server_wait_listening(server);
    return server;
}

const char *server_address(const struct server *server)
{
    return server->address;
}

pid_t server_pid(const struct server *server)
{
    return server->pid;
}

const char *server_log_path(const struct server *server)
{
    return server->log;
}

void server_signal(struct server *server, int number)
{
    assert_int_equal(kill(server->pid, number), 0);
}

bool server_has_ended(const struct server *server)
{
    siginfo_t info = {0};

    assert_int_equal(waitid(P_PID, (id_t)server->pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    return info.si_pid == server->pid;
}

int server_wait(struct server *server, char *log, size_t size)
{
    int64_t until_us = clock_mono_us() + SERVER_PATIENCE_US;
    int status = 0;
    pid_t ended = 0;

    while (ended == 0 && clock_mono_us() < until_us) {
        ended = waitpid(server->pid, &status, WNOHANG);
        if (ended == 0)
            clock_sleep_until(clock_mono_us() + POLL_US);
    }
    if (ended != server->pid)
        fail_msg("seckill-server %d does not end", (int)server->pid);
    if (log)
        read_log(server, log, size);
    int result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (result != 0 && !log)
        print_log(server);
    forget(server);
    return result;
}

void server_stop(struct server *server)
{
    server_expect_sound(server);
    server_signal(server, SIGTERM);
    assert_int_equal(server_wait(server, NULL, 0), 0);
}

void server_kill(struct server *server)
{
    char log[1024];

    server_signal(server, SIGKILL);
    server_wait(server, log, sizeof log);
}

void server_pause(struct server *server)
{
    int status;

    server_signal(server, SIGSTOP);
    assert_int_equal(waitpid(server->pid, &status, WUNTRACED), server->pid);
}

bool server_has_stopped(struct server *server)
{
    int status = 0;

    if (waitpid(server->pid, &status, WUNTRACED | WNOHANG) != server->pid)
        return false;
    if (!WIFSTOPPED(status))
        fail_msg("seckill-server %d ended instead of stopping", (int)server->pid);
    return true;
}

void server_wait_stopped(struct server *server)
{
    int64_t since_us = clock_mono_us();

    while (!server_has_stopped(server))
        t_wait(since_us, "seckill-server %d does not stop", (int)server->pid);
}

void server_resume(struct server *server)
{
    server_signal(server, SIGCONT);
}

void server_let_go(struct server *server)
{
    server_signal(server, SIGUSR1);
}

int server_teardown(void **state)
{
    (void)state;
    while (here.running) {
        struct server *server = here.running;
        if (server->pid > 0) {
            kill(server->pid, SIGKILL);
            waitpid(server->pid, NULL, 0);
        }
        print_log(server);
        forget(server);
    }
    return 0;
}
