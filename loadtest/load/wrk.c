/*
 * wrk as a child process: writes its script (built into this binary) to a private file, runs it,
 * reads the one line that the script's done() prints.
 */
#include "loadtest/load/load.h"

#include "gen/load_lua.h"
#include "loadtest/base/process.h"
#include "loadtest/engine/client.h"
#include "loadtest/load/cpus.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer than any order may take (60 s of waiting, then its work): wrk's own limit must never be
 * what ends a request, or its answer would be missing from the latencies. */
#define WRK_TIMEOUT "70s"

enum { SCRIPT_PATH_SIZE = 300 };

void wrk_shape(int64_t *connections, int64_t *threads, int64_t instances)
{
    if (*threads == 0) {
        long cores = cpus_usable();
        *threads = cores < *connections ? cores : *connections;
    }
    *threads = (*threads + instances - 1) / instances * instances;
    *connections = (*connections + *threads - 1) / *threads * *threads;
}

/* The number after " name=" in the line; false when it is not there. */
static bool read_figure(const char *line, const char *name, int64_t *out)
{
    char start[32];
    snprintf(start, sizeof start, " %s=", name);
    const char *at = strstr(line, start);
    char *end = NULL;
    *out = at ? strtoll(at + strlen(start), &end, 10) : 0;
    return at && end != at + strlen(start);
}

bool wrk_parse(const char *output, struct load_result *result, struct error *error)
{
    const struct {
        const char *name;
        int64_t *to;
    } figures[] = {
        {"duration_us", &result->duration_us},
        {"requests", &result->requests},
        {"connect", &result->connect_errors},
        {"read", &result->read_errors},
        {"write", &result->write_errors},
        {"status", &result->not_2xx},
        {"timeout", &result->timeouts},
        {"p50", &result->p50_us},
        {"p90", &result->p90_us},
        {"p99", &result->p99_us},
        {"max", &result->max_us},
        {"sold_out", &result->sold_out_us},
        {"resold", &result->resold},
        {"repeats", &result->repeats},
    };
    *result = (struct load_result){0};
    const char *line = strstr(output, "seckill-wrk ");
    bool good = line != NULL;
    for (size_t i = 0; good && i < sizeof figures / sizeof figures[0]; i++)
        good = read_figure(line, figures[i].name, figures[i].to);
    if (!good)
        return error_fail(error, "wrk did not print its figures: %.400s", output);
    if (result->duration_us <= 0 || result->not_2xx > result->requests)
        return error_fail(error, "wrk's figures make no sense: %.200s", line);
    return true;
}

bool wrk_parse_steps(const char *output, struct latency *out, struct error *error)
{
    const char *at = strstr(output, "\nseckill-wrk-steps ");
    char steps[16384] = "";
    *out = (struct latency){.count = 0};
    if (at) {
        at = strchr(at, ' ') + 1;
        snprintf(steps, sizeof steps, "%.*s", (int)strcspn(at, "\n"), at);
    }
    return latency_parse(steps, out) ||
           error_fail(error, "wrk's histogram cannot be read: %.200s", steps);
}

bool wrk_version(char *version, size_t size, struct error *error)
{
    /* wrk -v says its version and then, without a URL, ends with status 1. */
    char output[4096] = "";
    const char *const argv[] = {"wrk", "-v", NULL};
    struct process_capture capture = {.output = output, .size = sizeof output, .limit_ms = 10000};
    struct error ignored;
    (void)process_capture(argv, &capture, &ignored);
    if (strncmp(output, "wrk ", 4) != 0)
        return error_fail(error, "wrk is needed and does not run (Debian's package is wrk)");
    snprintf(version, size, "%.*s", (int)strcspn(output + 4, " \n"), output + 4);
    return true;
}

/* Lua's strings take C's escapes; everything that is not plain is written by its number. */
static void write_string(FILE *to, const char *text)
{
    fputc('"', to);
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
            fprintf(to, "\\%03u", c);
        else
            fputc(c, to);
    }
    fputc('"', to);
}

static bool write_targets(FILE *to, const struct load *load, struct error *error)
{
    fputs("P = {targets = {", to);
    for (size_t i = 0; i < load->targets_count; i++) {
        struct client_url url = {.host = ""};
        if (!client_split_url(load->targets[i], &url, error))
            return false;
        fputs("{host = ", to);
        write_string(to, url.host);
        fprintf(to, ", port = \"%s\", authority = ", url.port);
        write_string(to, url.authority);
        fputs("}, ", to);
    }
    return true;
}

/* A new file, which the caller removes. */
static bool write_script(const struct load *load, char path[SCRIPT_PATH_SIZE], struct error *error)
{
    const char *root = getenv("TMPDIR");
    snprintf(path, SCRIPT_PATH_SIZE, "%s/seckill-loadtest.XXXXXX", root && *root ? root : "/tmp");
    int fd = mkstemp(path);
    FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
    if (!to) {
        error_fail(error, "cannot write %s", path);
        if (fd >= 0) {
            close(fd);
            unlink(path);
        }
        *path = '\0';
        return false;
    }
    bool good = write_targets(to, load, error);
    fputs("}, path = ", to);
    write_string(to, load->path);
    fputs(", token = ", to);
    write_string(to, load->token);
    fputs(", headers = ", to);
    write_string(to, load->headers ? load->headers : "");
    fprintf(to,
            ", restock = %s, user = %" PRId64 ", each = %" PRId64 ", users = %" PRId64
            ", user_from = %" PRId64 ", product = %" PRId64 ", products = %" PRId64
            ", seed = %" PRId64 ", watch = %s, sold_out = %" PRId64
            ", keys = %s, repeats = %.6f, later = %" PRId64 "}\n",
            load->restock ? "true" : "false", load->first_user, load->users_per_thread, load->users,
            load->user_from, load->first_product, load->products, load->seed,
            load->watch_sold_out ? "true" : "false", load->sold_out_us,
            load->keyed ? "true" : "false", load->repeats, 2 * load->connections / load->threads);
    fwrite(load_lua, 1, load_lua_length, to);
    bool written = !ferror(to);
    written = fclose(to) == 0 && written;
    return good && (written || error_fail(error, "cannot write %s", path));
}

struct watching {
    const struct load *load;
    struct usage_watch watch;
};

static void tick(void *context)
{
    struct watching *watching = context;
    usage_watch_look(&watching->watch);
    if (watching->load->tick)
        watching->load->tick(watching->load->context);
}

static bool run_script(const char *script, const struct load *load, struct load_result *result,
                       struct error *error)
{
    char threads[24], connections[24], duration[24];
    snprintf(threads, sizeof threads, "-t%" PRId64, load->threads);
    snprintf(connections, sizeof connections, "-c%" PRId64, load->connections);
    snprintf(duration, sizeof duration, "-d%" PRId64 "s", load->duration_s);
    const char *const argv[] = {"wrk",       threads, connections, duration,         "--timeout",
                                WRK_TIMEOUT, "-s",    script,      load->targets[0], NULL};
    char output[32768] = "";
    struct watching watching = {.load = load, .watch = {.servers_count = load->servers_count}};
    memcpy(watching.watch.servers, load->servers, sizeof load->servers);
    struct process_capture capture = {.output = output,
                                      .size = sizeof output,
                                      .limit_ms = (int)(load->duration_s * 1000 + 30000),
                                      .tick = tick,
                                      .context = &watching,
                                      .child = &watching.watch.generator};
    if (!process_capture(argv, &capture, error) || !wrk_parse(output, result, error))
        return false;
    if (load->detail) {
        struct latency steps;
        if (!wrk_parse_steps(output, &steps, error))
            return false;
        latency_merge(&load->detail->answers, &steps);
    }
    result->usage = usage_watch_sum(&watching.watch, (size_t)load->threads);
    result->abandoned = load->connections;
    return true;
}

bool wrk_run(const struct load *load, struct load_result *result, struct error *error)
{
    char script[SCRIPT_PATH_SIZE] = "";
    bool made = client_allow(load->connections, error) && write_script(load, script, error) &&
                run_script(script, load, result, error);
    unlink(script);
    return made;
}
