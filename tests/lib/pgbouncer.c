#include "lib/t.h"

#include "lib/pgbouncer.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_SKIPPED = 77, POLL_US = 10000 };

struct pgbouncer {
    const char *folder;
    char server[128];
    int pool;
    pid_t pid;
};

static const char *program(void)
{
    const char *given = getenv("SECKILL_TEST_PGBOUNCER");

    return given ? given : "/usr/sbin/pgbouncer";
}

bool pgbouncer_is_there(void)
{
    return access(program(), X_OK) == 0;
}

void pgbouncer_need(void)
{
    if (pgbouncer_is_there())
        return;
    fprintf(stderr, "%s is not there (package pgbouncer)\n", program());
    exit(EXIT_SKIPPED);
}

bool pgbouncer_can_keep_names(void)
{
    char command[192];
    int major = 0;
    int minor = 0;

    snprintf(command, sizeof command, "'%s' --version", program());
    /* The path is the tester's own. */
    FILE *from = popen(command, "r"); /* NOLINT(cert-env33-c) */
    assert_non_null(from);
    assert_int_equal(fscanf(from, "PgBouncer %d.%d", &major, &minor), 2);
    while (fgetc(from) != EOF)
        ;
    pclose(from);
    return major > 1 || (major == 1 && minor >= 21);
}

/* Whom it runs as: it refuses root. NULL: ourselves. */
static const struct passwd *owner(void)
{
    return geteuid() == 0 ? getpwnam("postgres") : NULL;
}

static void path_of(const struct pgbouncer *bouncer, const char *name, char path[64])
{
    snprintf(path, 64, "%s/%s", bouncer->folder, name);
}

static FILE *open_to_write(const struct pgbouncer *bouncer, const char *name)
{
    char path[64];

    path_of(bouncer, name, path);
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    return to;
}

static void write_settings(const struct pgbouncer *bouncer, bool names)
{
    FILE *to = open_to_write(bouncer, "ini");

    fprintf(to,
            "[databases]\n* = host=%s port=5432\n[pgbouncer]\nunix_socket_dir = %s\n"
            "listen_port = 5432\nauth_type = trust\nauth_file = %s/users\npool_mode = transaction\n"
            "default_pool_size = %d\nmax_client_conn = 400\nadmin_users = postgres\n",
            bouncer->server, bouncer->folder, bouncer->folder, bouncer->pool);
    if (pgbouncer_can_keep_names())
        fprintf(to, "max_prepared_statements = %d\n", names ? 200 : 0);
    fclose(to);
    to = open_to_write(bouncer, "users");
    fprintf(to, "\"postgres\" \"\"\n\"seckill\" \"\"\n");
    fclose(to);
}

static void print_log(const struct pgbouncer *bouncer)
{
    char path[64];
    int c;

    path_of(bouncer, "log", path);
    FILE *from = fopen(path, "r");
    while (from && (c = fgetc(from)) != EOF)
        fputc(c, stderr);
    if (from)
        fclose(from);
}

static void run(const struct pgbouncer *bouncer, const struct passwd *to)
{
    char settings[64];
    char log[64];

    path_of(bouncer, "ini", settings);
    path_of(bouncer, "log", log);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 || chdir("/tmp") != 0)
        _exit(126);
    if (to && (initgroups(to->pw_name, to->pw_gid) != 0 || setgid(to->pw_gid) != 0 ||
               setuid(to->pw_uid) != 0))
        _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl(program(), program(), settings, (char *)NULL);
    _exit(127);
}

/* The first row of a command to its console; false while it does not answer. */
static bool ask(const struct pgbouncer *bouncer, const char *command)
{
    char conninfo[128];

    snprintf(conninfo, sizeof conninfo,
             "host=%s port=5432 user=postgres dbname=pgbouncer connect_timeout=5", bouncer->folder);
    PGconn *conn = PQconnectdb(conninfo);
    PGresult *result = PQexec(conn, command);
    bool done = PQresultStatus(result) == PGRES_TUPLES_OK || /* of SHOW */
                PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    PQfinish(conn);
    return done;
}

static void wait_answer(struct pgbouncer *bouncer)
{
    int64_t until_us = clock_mono_us() + t_patience_us();

    while (!ask(bouncer, "SHOW VERSION")) {
        if (waitpid(bouncer->pid, NULL, WNOHANG) == bouncer->pid || clock_mono_us() >= until_us) {
            print_log(bouncer);
            fail_msg("pgbouncer does not answer");
        }
        clock_sleep_until(clock_mono_us() + POLL_US);
    }
}

struct pgbouncer *pgbouncer_start(const char *folder, int pool, bool names)
{
    struct pgbouncer *bouncer = calloc(1, sizeof *bouncer);
    const struct passwd *to = owner();

    assert_non_null(bouncer);
    bouncer->folder = t_folder();
    if (to)
        assert_int_equal(chown(bouncer->folder, to->pw_uid, to->pw_gid), 0);
    snprintf(bouncer->server, sizeof bouncer->server, "%s", folder);
    bouncer->pool = pool;
    write_settings(bouncer, names);
    bouncer->pid = fork();
    if (bouncer->pid == 0)
        run(bouncer, to);
    assert_true(bouncer->pid > 0);
    wait_answer(bouncer);
    return bouncer;
}

void pgbouncer_stop(struct pgbouncer *bouncer)
{
    if (!bouncer)
        return;
    kill(bouncer->pid, SIGKILL);
    waitpid(bouncer->pid, NULL, 0);
    free(bouncer);
}

const char *pgbouncer_folder(const struct pgbouncer *bouncer)
{
    return bouncer->folder;
}

void pgbouncer_keep_names(struct pgbouncer *bouncer, bool names)
{
    write_settings(bouncer, names);
    if (!ask(bouncer, "RELOAD"))
        fail_msg("pgbouncer does not read its settings again");
}
