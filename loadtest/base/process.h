/*
 * Child processes: servers, wrk, pgbench.
 *
 * Every child runs in a process group of its own, so that Ctrl-C reaches the harness alone and it
 * stops them in its own order; every child gets a signal from the kernel when the harness dies
 * without a word (PR_SET_PDEATHSIG); and process_end_all(), run at exit, ends whatever is still
 * there. Nothing is ever signalled but by a pid that is ours and not yet reaped.
 *
 * SIGINT and SIGTERM set a flag. Whatever waits looks at it (process_interrupted) and gives up. A
 * command that can come to an end of its own takes the first signal as a request (process_asked),
 * and only the second as an interrupt.
 */
#ifndef SECKILL_LOADTEST_BASE_PROCESS_H
#define SECKILL_LOADTEST_BASE_PROCESS_H

#include "base/clock.h"
#include "base/error.h"

#include <stddef.h>
#include <sys/types.h>

struct process {
    pid_t pid;  /* 0: none, or reaped */
    int out_fd; /* read end of its stdout; -1: closed */
};

void process_catch_signals(void);
bool process_interrupted(void);

void process_take_requests(void);
bool process_asked(void);

/* Finds a program in PATH, or in one more folder. */
bool process_find(const char *name, const char *folder, char *out, size_t size);

/* Starts argv[0], looked up in PATH. stderr goes to `log_path` (appended), or with NULL where
 * stdout goes: into out_fd. `environment` is a list of NAME=VALUE to add, and of NAME to take away,
 * NULL-terminated, or NULL. */
bool process_start(struct process *process, const char *const argv[], const char *log_path,
                   const char *const environment[], struct error *error);

/* True once it has ended; fills `status` as waitpid does. */
bool process_ended(struct process *process, int *status);

/* Sends `signal_number`, waits `grace_ms`, then kills. Fills `status` as waitpid does. */
void process_stop(struct process *process, int signal_number, int grace_ms, int *status);

void process_end_all(void);

/* Prints "seckill-loadtest: …" to stderr and returns 2, the exit status of what could not be done.
 */
int process_fail(const char *text);

/* Runs a program to its end and collects what it writes (stdout and, without a log_path, stderr;
 * the first `size` - 1 bytes). `tick` (may be NULL) is called about five times a second. False when
 * it could not be started, did not end with status 0, or did not end within `limit_ms`. */
struct process_capture {
    const char *const *environment; /* as process_start takes it */
    const char *log_path;           /* the same; NULL: stderr goes where stdout goes */
    char *output;
    size_t size;
    int limit_ms;
    bool to_its_end; /* an interrupt does not end it: what heals, and has to be done all the same */
    void (*tick)(void *context);
    void *context;
    pid_t *child; /* gets its id before the first tick; may be NULL */
};
bool process_capture(const char *const argv[], const struct process_capture *capture,
                     struct error *error);

/* "exit status 3", "signal 9 (Killed)". */
void process_describe(int status, char *out, size_t size);

/* Sleeps; false when interrupted by SIGINT or SIGTERM. */
bool process_sleep_ms(int ms);

#endif
