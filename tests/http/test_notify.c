/* What a service manager is told: a datagram each, at the socket that NOTIFY_SOCKET names. */
#include "lib/t.h"

#include "base/clock.h"
#include "http/lib/expect.h"
#include "http/lib/one_server.h"
#include "lib/stack.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int manager = -1;
static char name[108];

/* '@' in front: in no folder. */
static void manage(const char *beginning)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = SERVER_PATIENCE_US / 1000000};

    snprintf(name, sizeof name, "%s.%d", beginning, (int)getpid());
    memcpy(at.sun_path, name, strlen(name));
    if (*name == '@')
        at.sun_path[0] = '\0';
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(manager >= 0);
    assert_int_equal(setsockopt(manager, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(bind(manager, (struct sockaddr *)&at,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
                     0);
    setenv("NOTIFY_SOCKET", name, 1);
}

static void expect_told(const char *beginning)
{
    char lines[1024];
    ssize_t length = recv(manager, lines, sizeof lines - 1, 0);

    if (length < 0)
        fail_msg("nothing is told, where this should be: %s", beginning);
    lines[length] = '\0';
    if (strncmp(lines, beginning, strlen(beginning)) != 0)
        fail_msg("told \"%s\", where this should be: %s", lines, beginning);
}

static void expect_told_nothing_more(void)
{
    struct pollfd here = {.fd = manager, .events = POLLIN};

    assert_int_equal(poll(&here, 1, 0), 0);
}

static int leave(void **state)
{
    unsetenv("NOTIFY_SOCKET");
    if (manager >= 0)
        close(manager);
    manager = -1;
    if (*name == '/')
        unlink(name);
    return one_server_clear(state);
}

static void stop(void)
{
    server_stop(server);
    server = NULL;
    expect_told("STOPPING=1\nSTATUS=draining");
    expect_told_nothing_more();
}

TEST(a_start_and_a_stop_are_told)
{
    manage("/tmp/seckill-test-notify");
    server = server_start(NULL, NULL);
    expect_told("READY=1\nSTATUS=ready for orders");
    assert_int_equal(server_status(server, "GET", "/readyz", NULL, NULL), 200);
    stop();
}

TEST(a_name_without_a_file_will_do)
{
    manage("@seckill-test-notify");
    server = server_start(NULL, NULL);
    expect_told("READY=1");
    stop();
}

/* READY lets the service manager go on, in a rolling restart to the next server. */
TEST(it_is_ready_when_it_can_sell)
{
    char folder[] = "/tmp/seckill-test-notify.XXXXXX";
    char link[64];
    char target[512];
    char *sockets = stack_socket_folder();

    manage("/tmp/seckill-test-notify");
    assert_non_null(mkdtemp(folder));
    char *database = stack_database_through(one_server_database(), folder);
    server = server_start("--database", database);
    expect_told("STATUS=not ready for orders: PostgreSQL: out of reach");
    assert_int_equal(server_status(server, "GET", "/readyz", NULL, NULL), 503);
    expect_told_nothing_more();
    snprintf(link, sizeof link, "%s/.s.PGSQL.5432", folder);
    snprintf(target, sizeof target, "%s/.s.PGSQL.5432", sockets);
    assert_int_equal(symlink(target, link), 0);
    expect_told("READY=1");
    assert_int_equal(server_status(server, "GET", "/readyz", NULL, NULL), 200);
    stop();
    unlink(link);
    rmdir(folder);
    free(database);
    free(sockets);
}

TEST(nobody_need_listen)
{
    setenv("NOTIFY_SOCKET", "/tmp/seckill-test-notify.nobody/here", 1);
    server = server_start(NULL, NULL);
    server_stop(server);
    server = NULL;
    char longest[300];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    setenv("NOTIFY_SOCKET", longest, 1);
    server = server_start(NULL, NULL);
    server_stop(server);
    server = NULL;
}

TEST_EACH(NULL, leave)

int main(void)
{
    return one_server_run_bare("notify");
}
