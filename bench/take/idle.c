/*
 * What an open connection costs when nothing happens on it, and whether ten thousand of them are
 * all served.
 *
 * A server of its own, because memory that was used once stays with a process. A first hundred
 * connections bring in whatever is needed once; then the rest is opened, each has one order
 * answered and stays. The resident memory before and after, divided, is the figure. Then every
 * connection sends another order before the first answer is read.
 */
#include "bench/take/take.h"
#include "loadtest/engine/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST = 100, EVENTS_MAX = 256, ANSWER_LIMIT_MS = 30000 };

/* The connections, and the order that each sends. */
struct held {
    struct client *clients; /* owned */
    struct client_target target;
    int epoll_fd;
    char order[REQUEST_BYTES];
};

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

static bool send_order(const struct held *held, struct client *client)
{
    return client_send(client, held->epoll_fd, held->order, strlen(held->order));
}

/* How many of the orders that are under way are answered with 201. */
static int take_answers(const struct held *held, int under_way)
{
    int served = 0;
    while (under_way > 0 && !process_interrupted()) {
        struct epoll_event events[EVENTS_MAX];
        int count = epoll_wait(held->epoll_fd, events, EVENTS_MAX, ANSWER_LIMIT_MS);
        if (count <= 0)
            break;
        for (int i = 0; i < count; i++) {
            struct answer answer;
            enum client_event event = client_turn(events[i].data.ptr, held->epoll_fd, &answer);
            under_way -= event != CLIENT_WAITS;
            served += event == CLIENT_ANSWERS && answer.status == 201;
        }
    }
    return served;
}

/* Opens connections from .. to - 1 and has an order answered on each; how many were. */
static int hold(const struct held *held, int from, int to)
{
    int served = 0;
    struct error ignored;
    for (int i = from; i < to && !process_interrupted(); i++) {
        struct client *client = &held->clients[i];
        if (client_open(client, held->epoll_fd, &ignored) && send_order(held, client))
            served += take_answers(held, 1);
    }
    return served;
}

static int serve_again(const struct held *held, int count)
{
    int sent = 0;
    for (int i = 0; i < count && !process_interrupted(); i++)
        sent += send_order(held, &held->clients[i]);
    return take_answers(held, sent);
}

/* Closing them leaves no port waiting: there are not enough. */
static void let_go(const struct held *held, int count)
{
    const struct linger abort = {.l_onoff = 1};
    for (int i = 0; i < count; i++) {
        setsockopt(held->clients[i].fd, SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
        client_close(&held->clients[i]);
    }
}

static void measure_all(const struct instance *server, const struct held *held, int count,
                        struct bench_series *series, struct bench_sample *sample)
{
    int served = hold(held, 0, FIRST);
    double before = resident_kib(server->process.pid);
    served += hold(held, FIRST, count + FIRST);
    double after = resident_kib(server->process.pid);
    if (served < count + FIRST || before <= 0)
        snprintf(series->why, sizeof series->why, "%d of %d connections were held and served",
                 served, count + FIRST);
    else
        sample->figures[FIGURE_SHARE] =
            (double)serve_again(held, count + FIRST) / (double)(count + FIRST);
    sample->figures[FIGURE_KIB] = (after - before) / (double)count;
    let_go(held, count + FIRST);
}

static bool prepare(struct held *held, const char *url, int count, struct error *error)
{
    static const char body[] = "{\"product_id\":1,\"user_id\":42}";
    held->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    held->clients = calloc((size_t)count, sizeof *held->clients);
    if (!held->clients || held->epoll_fd < 0)
        return error_fail(error, "no resources for %d connections", count);
    if (!client_resolve(&held->target, url, error))
        return false;
    for (int i = 0; i < count; i++)
        client_init(&held->clients[i], &held->target);
    snprintf(held->order, sizeof held->order,
             "POST /orders?strategy=bench-answer HTTP/1.1\r\nHost: localhost\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    return true;
}

bool bench_take_idle(struct bench *bench, const struct bench_measure *measure,
                     struct bench_sample *sample, struct error *error)
{
    struct bench_series *series = bench_series_of(bench, measure);
    struct held held = {.epoll_fd = -1};
    struct instance server;
    if (!bench_allow(series, measure->connections + FIRST))
        return true;
    if (!bench_start_ceiling(bench, &server, "idle", error))
        return false;
    bool made = prepare(&held, server.url, measure->connections + FIRST, error);
    if (made)
        measure_all(&server, &held, measure->connections, series, sample);
    if (held.epoll_fd >= 0)
        close(held.epoll_fd);
    free(held.clients);
    return instance_stop_all(&server, 1, error) && made;
}
