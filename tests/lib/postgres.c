/*
 * A cluster is a folder under /tmp (short: a socket's path has 107 bytes) with the data, the socket
 * and the log in it. The first is made by initdb; the database and the role are put in once, and
 * what stands there then is kept as the template that others are copied from.
 *
 * A postmaster is a child of the test's that asks the kernel for SIGQUIT at its parent's end. Its
 * own children are sessions of their own, so who pauses or kills a cluster stops the postmaster
 * first, which starts no more of them then, and after it each process whose parent it is.
 */
#include "lib/t.h"

#include "lib/postgres.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SETTINGS_MAX = 16,
    CONNINFOS_MAX = 16,
    GROUPS_MAX = 64,
    ARGUMENTS_MAX = 2 * SETTINGS_MAX + 32,
    POLL_US = 10000
};

struct postgres {
    char folder[32];
    char data[48];
    char log[48];
    char *conninfos[CONNINFOS_MAX]; /* owned: each that was asked for */
    char *settings[SETTINGS_MAX];   /* owned: name=value */
    pid_t pid;                      /* 0: it is not running */
    bool paused;
    struct postgres *next;
};

static struct {
    char bin[64];
    char template[32]; /* the folder of a cluster that was shut down; "": none yet */
    struct postgres *first;
} here;

static void find_bin(void)
{
    glob_t found;
    long newest = 0;

    if (here.bin[0])
        return;
    if (glob("/usr/lib/postgresql/*/bin/postgres", 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            long version = strtol(found.gl_pathv[i] + strlen("/usr/lib/postgresql/"), NULL, 10);
            if (version > newest) {
                newest = version;
                snprintf(here.bin, sizeof here.bin, "/usr/lib/postgresql/%ld/bin", version);
            }
        }
        globfree(&found);
    }
    if (!here.bin[0])
        fail_msg("no PostgreSQL server in /usr/lib/postgresql");
}

/* Whom PostgreSQL runs as: it refuses root. NULL: ourselves. */
static const struct passwd *owner(void)
{
    if (geteuid() != 0)
        return NULL;
    const struct passwd *postgres = getpwnam("postgres");
    if (!postgres)
        fail_msg("there is no user postgres");
    return postgres;
}

static void give_to_owner(const char *path)
{
    const struct passwd *to = owner();

    if (to && chown(path, to->pw_uid, to->pw_gid) != 0)
        fail_msg("%s: %s", path, strerror(errno));
}

/* What a child becomes; made before it is there. Other threads of the test may hold any lock of the
 * C library's at that moment, so the child calls nothing that takes one. */
struct child {
    char program[sizeof here.bin + 32];
    char path[sizeof here.bin + 32];
    char *environment[3]; /* no setting of another server's may steer this one */
    char *argv[ARGUMENTS_MAX];
    const struct passwd *owner;
    gid_t groups[GROUPS_MAX];
    int group_count;
};

static void prepare(struct child *child, const char *const arguments[])
{
    static char locale[] = "LC_ALL=C.UTF-8";
    int n = 0;

    *child = (struct child){.owner = owner(), .group_count = GROUPS_MAX};
    for (; arguments[n]; n++) {
        assert_true(n < ARGUMENTS_MAX - 1);
        memcpy(&child->argv[n], &arguments[n], sizeof *child->argv);
    }
    snprintf(child->program, sizeof child->program, "%s/%s", here.bin, arguments[0]);
    if (access(child->program, X_OK) != 0) /* cp is the system's */
        snprintf(child->program, sizeof child->program, "/bin/%s", arguments[0]);
    snprintf(child->path, sizeof child->path, "PATH=%s:/usr/bin:/bin", here.bin);
    child->environment[0] = child->path;
    child->environment[1] = locale;
    if (child->owner && getgrouplist(child->owner->pw_name, child->owner->pw_gid, child->groups,
                                     &child->group_count) < 0)
        fail_msg("%s is in too many groups", child->owner->pw_name);
}

/* In the child. */
static void become(const struct child *child, const char *log, int at_parents_end)
{
    const struct passwd *to = child->owner;
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (fd < 0 || null < 0 || dup2(null, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 ||
        chdir("/tmp") != 0)
        _exit(126);
    if (to && (setgroups((size_t)child->group_count, child->groups) != 0 ||
               setgid(to->pw_gid) != 0 || setuid(to->pw_uid) != 0))
        _exit(126);
    /* After the user has changed, which takes it away. */
    if (at_parents_end)
        prctl(PR_SET_PDEATHSIG, at_parents_end);
}

static pid_t spawn(const char *log, int at_parents_end, const char *const arguments[])
{
    struct child child;

    prepare(&child, arguments);
    pid_t pid = fork();
    if (pid == 0) {
        become(&child, log, at_parents_end);
        execve(child.program, child.argv, child.environment);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

static void print_log(const char *log)
{
    FILE *from = fopen(log, "r");
    int c;

    fprintf(stderr, "--- %s ---\n", log);
    while (from && (c = fgetc(from)) != EOF)
        fputc(c, stderr);
    fprintf(stderr, "---\n");
    if (from)
        fclose(from);
}

/* A program of PostgreSQL's, or the system's, as the clusters' owner, to its end. */
#define run_program(log, ...) run_to_end(log, (const char *const[]){__VA_ARGS__, NULL})
static void run_to_end(const char *log, const char *const arguments[])
{
    int status = -1;
    pid_t pid = spawn(log, SIGKILL, arguments);

    if (waitpid(pid, &status, 0) != pid || status != 0) {
        print_log(log);
        fail_msg("%s failed (%d)", arguments[0], status);
    }
}

const char *postgres_both(const struct postgres *first, const struct postgres *second)
{
    static char conninfo[192];

    snprintf(conninfo, sizeof conninfo, "host=%s,%s port=5432,5432 user=seckill dbname=seckill",
             first->folder, second->folder);
    return conninfo;
}

const char *postgres_folder(const struct postgres *postgres)
{
    return postgres->folder;
}

const char *postgres_conninfo(struct postgres *postgres, const char *user, const char *database)
{
    char *conninfo = NULL;

    assert_true(asprintf(&conninfo, "host=%s port=5432 user=%s dbname=%s", postgres->folder,
                         user ? user : "seckill", database ? database : "seckill") > 0);
    for (int i = 0; i < CONNINFOS_MAX; i++) {
        if (!postgres->conninfos[i])
            return postgres->conninfos[i] = conninfo;
        if (strcmp(postgres->conninfos[i], conninfo) == 0) {
            free(conninfo);
            return postgres->conninfos[i];
        }
    }
    fail_msg("more than %d connections by name", CONNINFOS_MAX);
    return NULL;
}

static void make_folder(char folder[32])
{
    strcpy(folder, "/tmp/seckill-pg.XXXXXX");
    if (!mkdtemp(folder))
        fail_msg("%s: %s", folder, strerror(errno));
    give_to_owner(folder);
}

static struct postgres *new_cluster(const char *const settings[])
{
    struct postgres *postgres = calloc(1, sizeof *postgres);

    assert_non_null(postgres);
    make_folder(postgres->folder);
    snprintf(postgres->data, sizeof postgres->data, "%s/data", postgres->folder);
    snprintf(postgres->log, sizeof postgres->log, "%s/log", postgres->folder);
    for (int n = 0; settings && *settings; settings += 2) {
        assert_true(n < SETTINGS_MAX);
        assert_true(asprintf(&postgres->settings[n++], "%s=%s", settings[0], settings[1]) > 0);
    }
    postgres->next = here.first;
    here.first = postgres;
    return postgres;
}

/* As superuser; an empty text when it cannot be reached or says no. */
static void ask(struct postgres *postgres, const char *database, const char *sql, char *out,
                size_t size)
{
    char conninfo[192];

    snprintf(conninfo, sizeof conninfo, "%s connect_timeout=5",
             postgres_conninfo(postgres, "postgres", database));
    PGconn *conn = PQconnectdb(conninfo);
    PGresult *result = PQexec(conn, sql);
    bool has_row = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) > 0;
    snprintf(out, size, "%s", has_row ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    PQfinish(conn);
}

static void wait_until(struct postgres *postgres, const char *sql, const char *wanted)
{
    int64_t until_us = clock_mono_us() + t_patience_us();
    char found[256];

    for (;;) {
        ask(postgres, "postgres", sql, found, sizeof found);
        if (strcmp(found, wanted) == 0)
            return;
        if (waitpid(postgres->pid, NULL, WNOHANG) == postgres->pid) {
            postgres->pid = 0;
            break;
        }
        if (clock_mono_us() >= until_us)
            break;
        clock_sleep_until(clock_mono_us() + POLL_US);
    }
    print_log(postgres->log);
    fail_msg("%s: \"%s\" is not \"%s\" but \"%s\"", postgres->folder, sql, wanted, found);
}

void postgres_start(struct postgres *postgres)
{
    const char *arguments[ARGUMENTS_MAX] = {
        "postgres", "-D", postgres->data, "-k", postgres->folder, "-c", "listen_addresses=", "-c",
        /* Small, and quick to start and to stop. */
        "shared_buffers=16MB", "-c", "max_wal_size=64MB", "-c", "autovacuum=off", "-c",
        "wal_receiver_status_interval=100ms", "-c", "wal_retrieve_retry_interval=100ms"};
    int n = 0;

    assert_int_equal(postgres->pid, 0);
    while (arguments[n])
        n++;
    for (int i = 0; i < SETTINGS_MAX && postgres->settings[i]; i++) {
        arguments[n++] = "-c";
        arguments[n++] = postgres->settings[i];
    }
    postgres->pid = spawn(postgres->log, SIGQUIT, arguments);
    wait_until(postgres, "SELECT 'up'", "up");
}

/* `number` to each process that the postmaster has started. How many of them are alive. */
static int signal_children(pid_t postmaster, int number)
{
    DIR *processes = opendir("/proc");
    char path[300];
    int alive = 0;

    assert_non_null(processes);
    for (const struct dirent *at; (at = readdir(processes));) {
        int parent = 0;
        char what = 'Z';
        pid_t pid = (pid_t)strtol(at->d_name, NULL, 10);
        snprintf(path, sizeof path, "/proc/%s/stat", at->d_name);
        FILE *from = pid > 0 ? fopen(path, "r") : NULL;
        if (!from)
            continue;
        bool read = fscanf(from, "%*d (%*[^)]) %c %d", &what, &parent) == 2;
        fclose(from);
        if (!read || parent != postmaster)
            continue;
        kill(pid, number);
        alive += what != 'Z';
    }
    closedir(processes);
    return alive;
}

void postgres_pause(struct postgres *postgres)
{
    assert_int_equal(kill(postgres->pid, SIGSTOP), 0);
    signal_children(postgres->pid, SIGSTOP);
    postgres->paused = true;
}

void postgres_resume(struct postgres *postgres)
{
    signal_children(postgres->pid, SIGCONT);
    assert_int_equal(kill(postgres->pid, SIGCONT), 0);
    postgres->paused = false;
}

static void reap(struct postgres *postgres)
{
    int64_t until_us = clock_mono_us() + t_patience_us();

    while (waitpid(postgres->pid, NULL, WNOHANG) == 0) {
        if (clock_mono_us() >= until_us) {
            print_log(postgres->log);
            fail_msg("%s does not end", postgres->folder);
        }
        clock_sleep_until(clock_mono_us() + POLL_US);
    }
    postgres->pid = 0;
}

void postgres_stop(struct postgres *postgres)
{
    kill(postgres->pid, SIGINT);
    reap(postgres);
}

void postgres_quit(struct postgres *postgres)
{
    kill(postgres->pid, SIGQUIT);
    reap(postgres);
}

/* The postmaster comes last: it does not start again as long as one of them has its memory. */
void postgres_kill(struct postgres *postgres)
{
    int64_t until_us = clock_mono_us() + t_patience_us();

    if (!postgres->paused)
        postgres_pause(postgres);
    while (signal_children(postgres->pid, SIGKILL) > 0 && clock_mono_us() < until_us)
        clock_sleep_until(clock_mono_us() + CLOCK_US_PER_MS);
    kill(postgres->pid, SIGKILL);
    reap(postgres);
    postgres->paused = false;
}

void postgres_run(struct postgres *postgres, const char *database, const char *format, ...)
{
    char *text = NULL;
    va_list values;

    va_start(values, format);
    assert_true(vasprintf(&text, format, values) > 0);
    va_end(values);
    struct witness *witness = witness_open(postgres_conninfo(postgres, "postgres", database));
    witness_run(witness, "SET default_transaction_read_only = off");
    witness_run(witness, "SET synchronous_commit = local");
    witness_run(witness, "%s", text);
    witness_close(witness);
    free(text);
}

void postgres_set(struct postgres *postgres, const char *name, const char *value)
{
    char sql[128];

    if (value)
        postgres_run(postgres, "postgres", "ALTER SYSTEM SET %s = '%s'", name, value);
    else
        postgres_run(postgres, "postgres", "ALTER SYSTEM RESET %s", name);
    postgres_run(postgres, "postgres", "SELECT pg_reload_conf()");
    if (!value)
        return;
    snprintf(sql, sizeof sql, "SELECT current_setting('%s')", name);
    wait_until(postgres, sql, value);
}

static void delete_template(void)
{
    waitpid(spawn("/dev/null", SIGKILL, (const char *const[]){"rm", "-rf", here.template, NULL}),
            NULL, 0);
}

/* The template's data, and what a first start puts into it. */
static void make_template(struct postgres *postgres)
{
    run_program(postgres->log, "initdb", "-N", "-D", postgres->data, "-U", "postgres", "-A",
                "trust", "-E", "UTF8", "--locale=C.UTF-8");
    postgres_start(postgres);
    postgres_run(postgres, "postgres", "CREATE ROLE seckill LOGIN");
    postgres_run(postgres, "postgres", "CREATE DATABASE seckill OWNER seckill");
    postgres_stop(postgres);
    make_folder(here.template);
    atexit(delete_template);
    run_program(postgres->log, "cp", "-a", postgres->data, here.template);
}

struct postgres *postgres_create(const char *const settings[])
{
    char from[64];

    find_bin();
    struct postgres *postgres = new_cluster(settings);
    if (!here.template[0]) {
        make_template(postgres);
    } else {
        snprintf(from, sizeof from, "%s/data", here.template);
        run_program(postgres->log, "cp", "-a", from, postgres->folder);
    }
    postgres_start(postgres);
    return postgres;
}

void postgres_rejoin(struct postgres *postgres, struct postgres *primary, const char *name)
{
    char conninfo[256];
    char sql[160];

    snprintf(conninfo, sizeof conninfo, "%s application_name=%s",
             postgres_conninfo(primary, "postgres", "postgres"), name);
    run_program(postgres->log, "rm", "-rf", postgres->data);
    run_program(postgres->log, "pg_basebackup", "-D", postgres->data, "-d", conninfo, "-c", "fast",
                "-X", "stream", "-R", "-N");
    postgres_start(postgres);
    snprintf(sql, sizeof sql, "SELECT state FROM pg_stat_replication WHERE application_name = '%s'",
             name);
    wait_until(primary, sql, "streaming");
}

struct postgres *postgres_standby(struct postgres *primary, const char *name)
{
    struct postgres *standby = new_cluster(NULL);

    postgres_rejoin(standby, primary, name);
    return standby;
}

void postgres_demote(struct postgres *postgres)
{
    char path[80];

    snprintf(path, sizeof path, "%s/standby.signal", postgres->data);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    give_to_owner(path);
}

void postgres_promote(struct postgres *postgres)
{
    char ignored[16];

    ask(postgres, "postgres", "SELECT pg_promote(false)", ignored, sizeof ignored);
    wait_until(postgres, "SELECT pg_is_in_recovery()", "f");
}

static void discard(struct postgres *postgres)
{
    if (postgres->pid)
        postgres_kill(postgres);
    run_program("/dev/null", "rm", "-rf", postgres->folder);
    for (int i = 0; i < SETTINGS_MAX; i++)
        free(postgres->settings[i]);
    for (int i = 0; i < CONNINFOS_MAX; i++)
        free(postgres->conninfos[i]);
    free(postgres);
}

int postgres_teardown(void **state)
{
    (void)state;
    while (here.first) {
        struct postgres *postgres = here.first;
        here.first = postgres->next;
        discard(postgres);
    }
    return 0;
}
