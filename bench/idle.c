/*
 * What an open connection costs when nothing happens on it, and whether ten thousand of them are
 * all served.
 *
 * A server of its own, because memory that was used once stays with a process. A first hundred
 * connections bring in whatever is needed once; then the rest is opened, each has one order
 * answered and stays. The resident memory before and after, divided, is the figure. Then every
 * connection sends another order before the first answer is read.
 */
#include "bench/bench.h"

#include "loadtest/load/client.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { FIRST = 100, ANSWER_LIMIT_S = 30, SPARE_DESCRIPTORS = 500, ANSWER_MAX = 4096 };

bool bench_allow_descriptors(int count)
{
    struct rlimit limit;
    rlim_t needed = (rlim_t)count + SPARE_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    if (limit.rlim_cur >= needed)
        return true;
    struct rlimit wanted = {.rlim_cur = needed,
                            .rlim_max = limit.rlim_max > needed ? limit.rlim_max : needed};
    return setrlimit(RLIMIT_NOFILE, &wanted) == 0;
}

bool bench_allow_measure(struct bench_series *series, int count)
{
    if (bench_allow_descriptors(count))
        return true;
    series->absent = true;
    snprintf(series->why, sizeof series->why, "too few file descriptors are allowed (ulimit -n)");
    return false;
}

/* 0 when the system does not say. */
static double resident_kib(pid_t process)
{
    char path[40], line[200];
    double kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtod(line + 6, NULL);
    }
    if (file)
        fclose(file);
    return kib;
}

/* -1 when there is no connection. Closing it leaves no port waiting: there are not enough. */
static int open_connection(const struct addrinfo *at)
{
    struct timeval limit = {.tv_sec = ANSWER_LIMIT_S};
    struct linger abort = {.l_onoff = 1};
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
    if (connect(fd, at->ai_addr, at->ai_addrlen) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool send_order(int fd)
{
    static const char request[] = "POST /orders?strategy=bench-answer HTTP/1.1\r\n"
                                  "Host: localhost\r\nContent-Length: 29\r\n\r\n"
                                  "{\"product_id\":1,\"user_id\":42}";
    return write(fd, request, strlen(request)) == (ssize_t)strlen(request);
}

/* The whole of a 201; the server says how long its body is. */
static bool read_answer(int fd)
{
    static const char length_header[] = "\r\nContent-Length: ";
    char text[ANSWER_MAX];
    size_t length = 0;
    while (length + 1 < sizeof text) {
        ssize_t got = read(fd, text + length, sizeof text - 1 - length);
        if (got <= 0)
            return false;
        length += (size_t)got;
        text[length] = '\0';
        const char *body = strstr(text, "\r\n\r\n");
        const char *says = strstr(text, length_header);
        if (body && says && says < body &&
            length >= (size_t)(body + 4 - text) + strtoul(says + strlen(length_header), NULL, 10))
            return strncmp(text, "HTTP/1.1 201 ", 13) == 0;
    }
    return false;
}

/* Opens connections from .. to - 1 and has an order answered on each; how many were. */
static int hold(const struct addrinfo *at, int *fds, int from, int to)
{
    int served = 0;
    for (int i = from; i < to && !process_interrupted(); i++) {
        fds[i] = open_connection(at);
        served += fds[i] >= 0 && send_order(fds[i]) && read_answer(fds[i]);
    }
    return served;
}

static int serve_again(const int *fds, int count)
{
    int served = 0;
    for (int i = 0; i < count && !process_interrupted(); i++)
        (void)send_order(fds[i]);
    for (int i = 0; i < count && !process_interrupted(); i++)
        served += read_answer(fds[i]);
    return served;
}

static void measure_all(const struct instance *server, const struct addrinfo *at, int *fds,
                        int count, struct bench_series *series, struct bench_sample *sample)
{
    int held = hold(at, fds, 0, FIRST);
    double before = resident_kib(server->process.pid);
    held += hold(at, fds, FIRST, count + FIRST);
    double after = resident_kib(server->process.pid);
    if (held < count + FIRST || before <= 0)
        snprintf(series->why, sizeof series->why, "%d of %d connections were held and served", held,
                 count + FIRST);
    else
        sample->figures[FIGURE_SHARE] =
            (double)serve_again(fds, count + FIRST) / (double)(count + FIRST);
    sample->figures[FIGURE_KIB] = (after - before) / (double)count;
    for (int i = 0; i < count + FIRST; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
}

static struct addrinfo *find_address(const char *server, struct error *error)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    struct client_url url;
    if (!client_split_url(server, &url, error))
        return NULL;
    if (getaddrinfo(url.host, url.port, &hints, &found) == 0)
        return found;
    error_fail(error, "%s has no address", server);
    return NULL;
}

bool bench_take_idle(struct bench *bench, const struct bench_measure *measure,
                     struct bench_sample *sample, struct error *error)
{
    struct bench_series *series = bench_series_of(bench, measure);
    int count = measure->connections;
    struct instance server;
    if (!bench_allow_measure(series, count + FIRST))
        return true;
    if (!bench_start_ceiling(bench, &server, "idle", error))
        return false;
    struct addrinfo *at = find_address(server.url, error);
    int *fds = malloc(sizeof *fds * (size_t)(count + FIRST));
    bool made = at && fds;
    for (int i = 0; made && i < count + FIRST; i++)
        fds[i] = -1;
    if (made)
        measure_all(&server, at, fds, count, series, sample);
    if (at)
        freeaddrinfo(at);
    free(fds);
    return instance_stop_all(&server, 1, error) && made;
}
