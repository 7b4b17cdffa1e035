/* What a test asks of a running server: over HTTP, and of the kernel about its process. */
#include "lib/t.h"

#include "lib/server.h"

#include "base/clock.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct http_reply server_call(struct server *server, const char *method, const char *target,
                              const char *headers, const char *body)
{
    int64_t until_us = clock_mono_us() + SERVER_PATIENCE_US;
    struct http_client *client = http_client_open(server_address(server), until_us);
    struct http_reply reply;

    if (!client)
        fail_msg("nobody listens on %s", server_address(server));
    enum http_result result =
        http_client_call(client, method, target, headers, body, until_us, &reply);
    http_client_close(client);
    if (result != HTTP_REPLY)
        fail_msg("no reply to %s %s (%d)", method, target, (int)result);
    return reply;
}

/* A look is mostly one of many, until something is so: two thirds of the time are left to the
 * server, and to the tests beside this one. A page of metrics alone has 350 KB. */
static void leave_time(int64_t since_us)
{
    int64_t now_us = clock_mono_us();

    clock_sleep_until(now_us + 2 * (now_us - since_us));
}

int server_status(struct server *server, const char *method, const char *target,
                  const char *headers, const char *body)
{
    int64_t since_us = clock_mono_us();
    struct http_reply reply = server_call(server, method, target, headers, body);
    int status = reply.status;

    http_reply_fini(&reply);
    leave_time(since_us);
    return status;
}

void server_wait_ready(struct server *server, int status, const char *text)
{
    int64_t until_us = clock_mono_us() + t_patience_us();

    server_wait_listening(server);
    for (bool as_said = false; !as_said;) {
        int64_t since_us = clock_mono_us();
        struct http_reply reply = server_call(server, "GET", "/readyz", NULL, NULL);
        as_said = reply.status == status && (!text || strstr(reply.body, text));
        if (!as_said && since_us >= until_us)
            fail_msg("/readyz is not %d %s, but %d %s", status, text ? text : "", reply.status,
                     reply.body);
        http_reply_fini(&reply);
        leave_time(since_us);
    }
}

struct server_backend server_backend(struct server *server, const char *name)
{
    struct http_reply reply = server_call(server, "GET", "/readyz", NULL, NULL);
    struct server_backend found = {.status = reply.status};
    char path[64];
    char named[64] = "";
    int i = 0;

    for (; strcmp(named, name) != 0; i++) {
        if (i >= http_reply_count(&reply, "backends"))
            fail_msg("/readyz does not name %s: %s", name, reply.body);
        snprintf(path, sizeof path, "backends.%d.name", i);
        http_reply_text(&reply, path, named, sizeof named);
    }
    snprintf(path, sizeof path, "backends.%d.up", i - 1);
    found.up = http_reply_bool(&reply, path);
    snprintf(path, sizeof path, "backends.%d.detail", i - 1);
    http_reply_text(&reply, path, found.detail, sizeof found.detail);
    http_reply_fini(&reply);
    return found;
}

bool server_says(const struct server *server, const char *text)
{
    int64_t since_us = clock_mono_us();
    FILE *log = t_open(server_log_path(server));
    char line[512];
    bool found = false;

    while (!found && fgets(line, sizeof line, log))
        found = strstr(line, text) != NULL;
    fclose(log);
    if (!found)
        leave_time(since_us);
    return found;
}

static double sum_of(struct server *server, const char *family, const char *labels)
{
    int64_t since_us = clock_mono_us();
    struct http_reply reply = server_call(server, "GET", "/metrics", NULL, NULL);
    size_t length = strlen(family);
    double sum = 0; /* exact for whole numbers to 2^53 */

    for (char *line = strtok(reply.body, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, family, length) != 0 || !strchr("{ ", line[length]))
            continue;
        char *value = strrchr(line, ' ');
        *value = '\0';
        if (strstr(line + length, labels))
            sum += strtod(value + 1, NULL);
    }
    http_reply_fini(&reply);
    leave_time(since_us);
    return sum;
}

int64_t server_metric(struct server *server, const char *family, const char *labels)
{
    return (int64_t)sum_of(server, family, labels);
}

int64_t server_metric_us(struct server *server, const char *family, const char *labels)
{
    return (int64_t)(sum_of(server, family, labels) * 1e6 + 0.5);
}

void server_wait_metric(struct server *server, const char *family, const char *labels,
                        int64_t value)
{
    int64_t since_us = clock_mono_us();

    while (server_metric(server, family, labels) != value)
        t_wait(since_us, "%s{%s} never is %lld", family, labels, (long long)value);
}

int64_t server_accepted(struct server *server)
{
    /* In this order an order that is answered in between is missed, and counted the next time. */
    int64_t answered = server_metric(server, "seckill_orders_total", "");

    return answered + server_metric(server, "seckill_orders_in_flight", "");
}

void server_expect_sound(struct server *server)
{
    int64_t bugs = server_metric(server, "seckill_orders_total", "outcome=\"internal_error\"") +
                   server_metric(server, "seckill_http_responses_total", "status=\"500\"");

    if (bugs != 0)
        fail_msg("%lld orders or replies ended as internal_error", (long long)bugs);
}

int server_descriptors(const struct server *server)
{
    char path[64];
    int count = 0;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)server_pid(server));
    DIR *folder = opendir(path);
    if (!folder) {
        fail_msg("cannot read %s", path);
        return -1;
    }
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

int64_t server_resident_kib(const struct server *server)
{
    char path[64];
    char line[128];
    long long kib = -1;

    snprintf(path, sizeof path, "/proc/%d/status", (int)server_pid(server));
    FILE *from = t_open(path);
    while (kib < 0 && fgets(line, sizeof line, from))
        sscanf(line, "VmRSS: %lld", &kib);
    fclose(from);
    return kib;
}
