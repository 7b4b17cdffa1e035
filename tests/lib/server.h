/*
 * seckill-server as a process of the test's.
 *
 * It listens on a free port of 127.0.0.1, gets --database, --redis and, where the stack has them,
 * the other backends of the test's stack unless the test names others, and nothing else from the
 * environment. Its stdout and stderr go to a file of its own. It dies with the test. A test stops
 * every server that it started; what is still there at teardown belongs to a test that failed: it
 * is killed and its log printed.
 */
#ifndef SECKILL_TESTS_LIB_SERVER_H
#define SECKILL_TESTS_LIB_SERVER_H

#include "lib/http/http_client.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Generous: builds with sanitizers on a busy machine are slow. */
#define SERVER_PATIENCE_US INT64_C(60000000)

struct server;

/* What servers get from now on when their flags name none; the stack's own at first. NULL: no
 * Redis. The text is borrowed. */
void server_use_database(const char *conninfo);
void server_use_redis(const char *url);

/* What SECKILL_FAILPOINTS says to servers that are started from now on (base/failpoint.h); NULL:
 * nothing. The text is borrowed. */
void server_use_failpoints(const char *spec);

/* Flags and values in turn: server_start("--work-ms", "50"), server_start(NULL) for none. A value
 * that is NULL leaves the flag out, also where there is a default: server_start("--redis", NULL).
 * Waits for "listening on"; not getting it ends the test. */
#define server_start(...) server_startv((const char *const[]){__VA_ARGS__, NULL})
struct server *server_startv(const char *const flags[]);
/* Starts it without waiting; server_wait_listening waits. */
struct server *server_launch(const char *const flags[]);
void server_wait_listening(struct server *server);

const char *server_address(const struct server *server); /* "http://127.0.0.1:PORT" */
pid_t server_pid(const struct server *server);
const char *server_log_path(const struct server *server);

void server_signal(struct server *server, int number);
/* Whether its process is over; server_wait is still to be called. */
bool server_has_ended(const struct server *server);
/* Waits for the process's end. Its exit status, or 128 + the signal that ended it. The server is
 * gone afterwards. `log`, if not NULL, gets the last part of what it wrote. */
int server_wait(struct server *server, char *log, size_t size);
/* SIGTERM, and it must exit with 0. Also looks at its metrics first: no order of it may have ended
 * as internal_error. */
void server_stop(struct server *server);
void server_kill(struct server *server); /* SIGKILL; gone afterwards */
void server_pause(struct server *server);
/* Waits until a failpoint has stopped the whole process; server_resume lets it go on. */
void server_wait_stopped(struct server *server);
/* The same at a look: true once. */
bool server_has_stopped(struct server *server);
void server_resume(struct server *server);
/* Lets go what failpoints hold, or would hold later. */
void server_let_go(struct server *server);

/* One call on a connection of its own; not getting a reply ends the test. Free with
 * http_reply_fini. */
struct http_reply server_call(struct server *server, const char *method, const char *target,
                              const char *headers, const char *body);
/* The same when only the status counts. */
int server_status(struct server *server, const char *method, const char *target,
                  const char *headers, const char *body);
/* Waits until /readyz answers with `status`, and its body holds `text`; NULL: whatever it holds. */
void server_wait_ready(struct server *server, int status, const char *text);
/* What /readyz, and with which status, says of a backend, by its name there. */
struct server_backend {
    int status;
    bool up;
    char detail[1024];
};
struct server_backend server_backend(struct server *server, const char *name);
/* Whether a line of its log holds `text`. */
bool server_says(const struct server *server, const char *text);
/* The sum of a family's series in /metrics whose labels contain `labels`. */
int64_t server_metric(struct server *server, const char *family, const char *labels);
/* The same of seconds, in microseconds. */
int64_t server_metric_us(struct server *server, const char *family, const char *labels);
/* Waits until that sum is `value`. */
void server_wait_metric(struct server *server, const char *family, const char *labels,
                        int64_t value);
/* Orders that this server has accepted since it started, answered or not. Unlike those in flight
 * they never become fewer, so who waits for a number of them cannot miss it. */
int64_t server_accepted(struct server *server);
/* No order and no reply of this server has ended as internal_error. */
void server_expect_sound(struct server *server);

int server_descriptors(const struct server *server);
int64_t server_resident_kib(const struct server *server);

/* For cmocka, as the teardown of every test that starts servers. */
int server_teardown(void **state);

#endif
