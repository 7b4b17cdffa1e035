/* See process.h. */
#include "loadtest/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CHILDREN = 64 };

static pid_t children[MAX_CHILDREN];
static volatile sig_atomic_t signals;
static int requests; /* so many of the signals do not interrupt */

static void on_signal(int number)
{
    (void)number;
    if (signals < 2)
        signals++;
}

void process_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

bool process_interrupted(void)
{
    return signals > requests;
}

void process_take_requests(void)
{
    requests = 1;
}

bool process_asked(void)
{
    return signals > 0;
}

int process_fail(const char *text)
{
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
    return 2;
}

bool process_sleep_ms(int ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
    return !process_interrupted();
}

/* A child's place among them, which is free with 0. False: there is none. */
static bool replace(pid_t before, pid_t after)
{
    for (size_t i = 0; i < MAX_CHILDREN; i++) {
        if (children[i] == before) {
            children[i] = after;
            return true;
        }
    }
    return false;
}

/* In the child, between fork and exec. */
static _Noreturn void become(const char *const argv[], int out_fd, const char *log_path,
                             const char *const environment[], pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(127); /* the harness died before prctl took hold */
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGPIPE, &action, NULL);

    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    dup2(out_fd, STDOUT_FILENO);
    int log_fd =
        log_path ? open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : out_fd;
    if (log_fd >= 0)
        dup2(log_fd, STDERR_FILENO);
    for (size_t i = 0; environment && environment[i]; i++) {
        char *copy = strdup(environment[i]);
        if (copy)
            putenv(copy); /* to glibc a NAME alone takes it away */
    }
    /* execvp never writes to its argv; its type is older than const. */
    union {
        const char *const *from;
        char *const *to;
    } arguments = {.from = argv};
    execvp(argv[0], arguments.to);
    dprintf(STDERR_FILENO, "cannot start %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

bool process_start(struct process *process, const char *const argv[], const char *log_path,
                   const char *const environment[], struct error *error)
{
    *process = (struct process){.out_fd = -1};
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return error_fail(error, "pipe: %s", strerror(errno));
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0) {
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        return error_fail(error, "fork: %s", strerror(errno));
    }
    if (pid == 0)
        become(argv, pipe_fds[1], log_path, environment, parent);
    close(pipe_fds[1]);
    process->pid = pid;
    process->out_fd = pipe_fds[0];
    if (!replace(0, pid)) {
        process_stop(process, SIGKILL, 0, NULL);
        return error_fail(error, "more than %d child processes", MAX_CHILDREN);
    }
    return true;
}

bool process_find(const char *name, const char *folder, char *out, size_t size)
{
    const char *path = getenv("PATH");
    char places[4096];
    char *rest = NULL;
    snprintf(places, sizeof places, "%s:%s", path ? path : "", folder);
    for (char *at = strtok_r(places, ":", &rest); at; at = strtok_r(NULL, ":", &rest)) {
        snprintf(out, size, "%s/%s", at, name);
        if (access(out, X_OK) == 0)
            return true;
    }
    return false;
}

/* With WNOHANG it does not wait for its end. */
static bool reap(struct process *process, int options, int *status)
{
    int result = 0;
    if (waitpid(process->pid, &result, options) != process->pid)
        return false;
    if (status)
        *status = result;
    (void)replace(process->pid, 0);
    process->pid = 0;
    if (process->out_fd >= 0)
        close(process->out_fd);
    process->out_fd = -1;
    return true;
}

bool process_ended(struct process *process, int *status)
{
    return process->pid == 0 || reap(process, WNOHANG, status);
}

void process_stop(struct process *process, int signal_number, int grace_ms, int *status)
{
    if (process->pid == 0)
        return;
    int64_t deadline_ms = clock_mono_ms() + grace_ms;
    kill(process->pid, signal_number);
    while (clock_mono_ms() < deadline_ms) {
        if (process_ended(process, status))
            return;
        process_sleep_ms(10);
    }
    kill(process->pid, SIGKILL);
    while (!reap(process, 0, status) && errno == EINTR)
        ;
}

void process_end_all(void)
{
    for (size_t i = 0; i < MAX_CHILDREN; i++) {
        if (children[i] == 0)
            continue;
        struct process child = {.pid = children[i], .out_fd = -1};
        process_stop(&child, SIGTERM, 5000, NULL);
    }
}

void process_describe(int status, char *out, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(out, size, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(out, size, "exit status %d", WEXITSTATUS(status));
}

static bool gives_up(const struct process_capture *capture)
{
    return process_interrupted() && !capture->to_its_end;
}

/* Reads until the end of its output; what does not fit is read and dropped, so that it never
 * blocks. */
static bool collect(struct process *child, const struct process_capture *capture, size_t *length,
                    int64_t deadline_ms)
{
    for (;;) {
        if (gives_up(capture) || clock_mono_ms() > deadline_ms)
            return false;
        if (capture->tick)
            capture->tick(capture->context);
        struct pollfd ready = {.fd = child->out_fd, .events = POLLIN};
        if (poll(&ready, 1, 200) <= 0)
            continue;
        char piece[4096];
        ssize_t got = read(child->out_fd, piece, sizeof piece);
        if (got == 0)
            return true;
        size_t room = capture->size - 1 - *length;
        size_t taken = got > 0 ? (size_t)got : 0;
        taken = taken < room ? taken : room;
        memcpy(capture->output + *length, piece, taken);
        *length += taken;
        capture->output[*length] = '\0';
    }
}

bool process_capture(const char *const argv[], const struct process_capture *capture,
                     struct error *error)
{
    struct process child;
    capture->output[0] = '\0';
    if (!process_start(&child, argv, capture->log_path, capture->environment, error))
        return false;
    if (capture->child)
        *capture->child = child.pid;
    size_t length = 0;
    if (!collect(&child, capture, &length, clock_mono_ms() + capture->limit_ms)) {
        process_stop(&child, SIGKILL, 0, NULL);
        return gives_up(capture)
                   ? error_fail(error, "interrupted")
                   : error_fail(error, "%s did not end within %d ms", argv[0], capture->limit_ms);
    }
    int status = 0;
    while (!process_ended(&child, &status))
        process_sleep_ms(1);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        char how[80];
        process_describe(status, how, sizeof how);
        return error_fail(error, "%s ended with %s: %.300s", argv[0], how, capture->output);
    }
    return true;
}
