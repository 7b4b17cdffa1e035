/* See instance.h. */
#include "loadtest/fleet/instance.h"

#include "loadtest/base/pool.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_LIMIT_MS = 30000, STOP_LIMIT_MS = 90000, STALL_LIMIT_MS = 10000, ARGUMENTS_MAX = 24 };

bool instance_find_binary(const struct options *options, char *out, size_t size,
                          struct error *error)
{
    if (*options->server_binary) {
        snprintf(out, size, "%s", options->server_binary);
        return access(out, X_OK) == 0 || error_fail(error, "--server-binary %s cannot be run", out);
    }
    char self[1024];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return error_fail(error, "/proc/self/exe cannot be read; say --server-binary");
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    static const char *const places[] = {"", "/../server"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(out, size, "%s%s/seckill-server", self, places[i]);
        if (access(out, X_OK) == 0)
            return true;
    }
    return error_fail(error, "there is no seckill-server beside %s; say --server-binary", self);
}

bool instance_read_url(const char *line, char *url, size_t size)
{
    static const char front[] = "listening on ";
    if (strncmp(line, front, strlen(front)) != 0)
        return false;
    const char *at = line + strlen(front);
    size_t length = strcspn(at, " \r\n");
    if (strncmp(at, "http://", 7) != 0 || length >= size)
        return false;
    snprintf(url, size, "%.*s", (int)length, at);
    return true;
}

/* The last line of its log: where a server that gives up says why. */
static void last_words(const struct instance *instance, char *out, size_t size)
{
    snprintf(out, size, "(nothing written)");
    FILE *log = fopen(instance->log_path, "r");
    char line[512];
    while (log && fgets(line, sizeof line, log)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line)
            snprintf(out, size, "%.*s", (int)size - 1, line);
    }
    if (log)
        fclose(log);
}

static bool died(struct instance *instance, int status, struct error *error)
{
    char how[80], words[300];
    process_describe(status, how, sizeof how);
    last_words(instance, words, sizeof words);
    return error_fail(error, "a server ended with %s: %s (%s)", how, words, instance->log_path);
}

/* Its first line on stdout; the pipe stays open, so that a later line does not end it by SIGPIPE.
 */
static bool wait_listening(struct instance *instance, struct error *error)
{
    char line[400] = "";
    size_t length = 0;
    int64_t deadline_ms = clock_mono_ms() + START_LIMIT_MS;
    while (clock_mono_ms() < deadline_ms && !process_interrupted()) {
        int status = 0;
        struct pollfd ready = {.fd = instance->process.out_fd, .events = POLLIN};
        if (poll(&ready, 1, 50) > 0 && length + 1 < sizeof line) {
            ssize_t got = read(ready.fd, line + length, sizeof line - 1 - length);
            length += got > 0 ? (size_t)got : 0;
            line[length] = '\0';
            if (strchr(line, '\n') && instance_read_url(line, instance->url, sizeof instance->url))
                return true;
            if (got == 0)
                process_sleep_ms(20); /* its stdout is closed: it is about to end */
        }
        if (process_ended(&instance->process, &status))
            return died(instance, status, error);
    }
    if (process_interrupted())
        return error_fail(error, "interrupted");
    return error_fail(error, "a server did not say 'listening on http://…' within %d s (%s)",
                      START_LIMIT_MS / 1000, instance->log_path);
}

/* The backends and the token, in the environment: other users of the machine see a command line.
 * All of them, so that nothing that the harness itself was started with reaches a server that is to
 * have none, and no file of a secret, which would contradict the secret. The texts are the pool's.
 */
static const char *const *list_backends(struct pool *pool, const struct options *options)
{
    const char **texts = pool_take(pool, (2 * option_table_backends.count + 1) * sizeof *texts);
    size_t count = 0;
    for (size_t i = 0; i < option_table_backends.count; i++) {
        const struct option_row *row = &option_table_backends.rows[i];
        char variable[OPTION_VARIABLE_LENGTH];
        if (!row->environment)
            continue;
        option_variable(row, variable);
        texts[count++] = pool_text(pool, "%s=%s", variable, option_text(row, options));
        texts[count++] = pool_text(pool, "%s_FILE", variable);
    }
    return texts;
}

/* One that ran before listens where it did. */
static bool start_one(struct instance *instance, const struct options *options, const char *binary,
                      struct error *error)
{
    char address[sizeof instance->url] = "127.0.0.1:0";
    const char *argv[ARGUMENTS_MAX] = {binary, "--listen", address};
    size_t count = 3;
    if (*instance->url)
        snprintf(address, sizeof address, "%s", instance->url + strlen("http://"));
    if (options->system_name && *options->system_name) {
        argv[count++] = "--system-name";
        argv[count++] = options->system_name;
    }
    const struct {
        const char *flag;
        int64_t value, least;
    } numbers[] = {
        {"--work-ms", options->work_ms, 0},
        {"--queue-capacity", options->queue_capacity, 1},
        {"--in-flight-per-product", options->in_flight_per_product, 1},
        {"--pg-sessions", options->pg_sessions, 1},
        {"--max-batch", options->max_batch, 1},
        {"--lock-ttl-ms", options->lock_ttl_ms, 1},
        {"--work-timeout-ms", options->work_timeout_ms, 1},
    };
    char digits[sizeof numbers / sizeof numbers[0]][24];
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].value < numbers[i].least)
            continue;
        snprintf(digits[i], sizeof digits[i], "%lld", (long long)numbers[i].value);
        argv[count++] = numbers[i].flag;
        argv[count++] = digits[i];
    }
    struct pool pool = {NULL};
    bool started = process_start(&instance->process, argv, instance->log_path,
                                 list_backends(&pool, options), error);
    pool_fini(&pool);
    return started && wait_listening(instance, error);
}

bool instance_start_all(struct instance *instances, size_t count, const struct options *options,
                        const char *binary, const char *out_dir, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        instances[i] = (struct instance){.process = {.out_fd = -1}};
        snprintf(instances[i].log_path, sizeof instances[i].log_path, "%s/server-%zuof%zu.log",
                 out_dir, i + 1, count);
        unlink(instances[i].log_path); /* an earlier run's, in the same --out */
    }
    for (size_t i = 0; i < count; i++) {
        if (!start_one(&instances[i], options, binary, error)) {
            struct error second;
            (void)instance_stop_all(instances, count, &second);
            return false;
        }
    }
    return true;
}

void instance_kill(struct instance *instance)
{
    process_stop(&instance->process, SIGKILL, STOP_LIMIT_MS, NULL);
}

bool instance_start_again(struct instance *instance, const struct options *options,
                          const char *binary, struct error *error)
{
    bool started = start_one(instance, options, binary, error);
    if (!started)
        instance_kill(instance);
    return started;
}

bool instance_stall(struct instance *instance, struct error *error)
{
    pid_t pid = instance->process.pid;
    int64_t deadline_ms = clock_mono_ms() + STALL_LIMIT_MS;
    siginfo_t stopped = {.si_pid = 0};
    if (pid == 0 || kill(pid, SIGSTOP) != 0)
        return error_fail(error, "a server that is to be stopped does not run (%s)",
                          instance->log_path);
    /* The signal is sent before the kernel has stopped all of it. */
    while (waitid(P_PID, (id_t)pid, &stopped, WSTOPPED | WNOHANG | WNOWAIT) != 0 ||
           stopped.si_pid != pid) {
        if (clock_mono_ms() > deadline_ms)
            return error_fail(error, "a server did not stop (%s)", instance->log_path);
        clock_sleep_until(clock_mono_us() + 200);
    }
    return true;
}

void instance_resume(struct instance *instance)
{
    if (instance->process.pid > 0)
        kill(instance->process.pid, SIGCONT);
}

bool instance_all_alive(struct instance *instances, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        int status = 0;
        if (process_ended(&instances[i].process, &status))
            return died(&instances[i], status, error);
    }
    return true;
}

bool instance_stop_all(struct instance *instances, size_t count, struct error *error)
{
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        if (instances[i].process.pid > 0)
            kill(instances[i].process.pid, SIGTERM);
    }
    for (size_t i = 0; i < count; i++) {
        int status = 0;
        if (instances[i].process.pid == 0)
            continue;
        process_stop(&instances[i].process, 0, STOP_LIMIT_MS, &status);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            good = died(&instances[i], status, error);
    }
    return good;
}
