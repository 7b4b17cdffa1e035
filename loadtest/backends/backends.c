/* See backends.h. */
#include "loadtest/backends/backends.h"

#include "loadtest/base/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { ARGUMENTS_MAX = 12, OUTPUT_SIZE = 16384, LIMIT_MS = 180000, POLL_US = 10000 };

struct backends {
    char script[1024], folder[1024];
    char environment[OUTPUT_SIZE]; /* what stack.sh env writes */
};

/* stack.sh with these words. */
static void say(const struct backends *backends, const char *const words[],
                const char *argv[ARGUMENTS_MAX])
{
    size_t count = 0;

    argv[count++] = "bash";
    argv[count++] = backends->script;
    argv[count++] = "--dir";
    argv[count++] = backends->folder;
    while (*words && count < ARGUMENTS_MAX - 1)
        argv[count++] = *words++;
    argv[count] = NULL;
}

static bool call(const struct backends *backends, const char *const environment[],
                 char output[OUTPUT_SIZE], struct error *error, const char *const words[])
{
    const char *argv[ARGUMENTS_MAX];
    struct process_capture capture = {
        .environment = environment, .output = output, .size = OUTPUT_SIZE, .limit_ms = LIMIT_MS};

    say(backends, words, argv);
    return process_capture(argv, &capture, error);
}

#define CALL(backends, error, ...)                                                                 \
    call(backends, NULL, (char[OUTPUT_SIZE]){""}, error, (const char *const[]){__VA_ARGS__, NULL})

/* The same to its end, though the harness is interrupted: that is when it is wanted. */
static bool purge(const struct backends *backends, struct error *error)
{
    const char *argv[ARGUMENTS_MAX];
    struct process child;
    int64_t until_us = clock_mono_us() + LIMIT_MS * CLOCK_US_PER_MS;
    int status = 0;

    say(backends, (const char *const[]){"down", "--purge", NULL}, argv);
    if (!process_start(&child, argv, NULL, NULL, error))
        return false;
    while (!process_ended(&child, &status)) {
        if (clock_mono_us() >= until_us)
            process_stop(&child, SIGKILL, 0, &status);
        clock_sleep_until(clock_mono_us() + POLL_US);
    }
    return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
           error_fail(error, "the backends in %s do not all end: stack.sh --dir %s down --purge",
                      backends->folder, backends->folder);
}

/* Takes back what bash's %q has put before signs that it would read as its own; answers the length.
 */
static size_t unquote(char *text)
{
    size_t length = 0;

    for (size_t at = 0; text[at]; at++) {
        at += text[at] == '\\' && text[at + 1];
        text[length++] = text[at];
    }
    text[length] = '\0';
    return length;
}

/* Of each "export SECKILL_NAME=value" keeps "NAME=value" with a NUL behind it; one more ends all.
 */
static void read_environment(char environment[OUTPUT_SIZE])
{
    static const char front[] = "export SECKILL_";
    const size_t skip = sizeof front - 1;
    size_t used = 0;

    for (char *line = environment; *line;) {
        size_t length = strcspn(line, "\n");
        char *next = line + length + (line[length] != '\0');
        line[length] = '\0';
        if (strncmp(line, front, skip) == 0) {
            length = unquote(line + skip) + 1;
            memmove(environment + used, line + skip, length);
            used += length;
        }
        line = next;
    }
    environment[used] = '\0';
}

static bool read_addresses(struct backends *backends, struct error *error)
{
    bool read =
        call(backends, NULL, backends->environment, error, (const char *const[]){"env", NULL});

    if (read)
        read_environment(backends->environment);
    return read;
}

struct backends *backends_start(const char *script, const char *folder, struct error *error)
{
    struct backends *backends = calloc(1, sizeof *backends);
    struct error second;

    if (!backends) {
        error_fail(error, "out of memory");
        return NULL;
    }
    snprintf(backends->script, sizeof backends->script, "%s", script);
    snprintf(backends->folder, sizeof backends->folder, "%s", folder);
    if (CALL(backends, error, "up") && read_addresses(backends, error))
        return backends;
    (void)backends_stop(backends, &second);
    return NULL;
}

bool backends_add(struct backends *backends, const char *with, const char *standby_from,
                  struct error *error)
{
    char from[512], ignored[OUTPUT_SIZE];
    const char *const environment[] = {standby_from ? from : NULL, NULL};

    snprintf(from, sizeof from, "SECKILL_STANDBY_FROM=%s", standby_from ? standby_from : "");
    return call(backends, environment, ignored, error,
                (const char *const[]){"up", "--with", with, NULL}) &&
           read_addresses(backends, error);
}

bool backends_stop(struct backends *backends, struct error *error)
{
    bool stopped = !backends || purge(backends, error);

    free(backends);
    return stopped;
}

const char *backends_address(const struct backends *backends, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = backends->environment; *at; at += strlen(at) + 1) {
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}

bool backends_socket(const struct backends *backends, const char *name, char *out, size_t size)
{
    const char *address = backends_address(backends, name);
    int length = 0;

    if (!address)
        return false;
    if (strncmp(address, "unix://", 7) == 0)
        length = snprintf(out, size, "%s", address + 7);
    const char *port = strstr(address, " port=");
    if (strncmp(address, "host=", 5) == 0 && port)
        length = snprintf(out, size, "%.*s/.s.PGSQL.%.*s", (int)(port - address) - 5, address + 5,
                          (int)strspn(port + 6, "0123456789"), port + 6);
    return length > 0 && (size_t)length < size;
}

bool backends_signal(struct backends *backends, const char *server, enum backends_signal signal,
                     struct error *error)
{
    static const char *const names[] = {"STOP", "CONT", "KILL"};

    return CALL(backends, error, "signal", server, names[signal]);
}

bool backends_restart(struct backends *backends, const char *server, struct error *error)
{
    return CALL(backends, error, "start", server);
}

bool backends_limit_disk(struct backends *backends, const char *server, int64_t bytes,
                         struct error *error)
{
    char limit[24] = "unlimited";

    if (bytes >= 0)
        snprintf(limit, sizeof limit, "%lld", (long long)bytes);
    return CALL(backends, error, "fsize", server, limit);
}
