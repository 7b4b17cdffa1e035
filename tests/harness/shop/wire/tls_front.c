/* See tls_front.h. The port is this process's before HAProxy has it, so that nobody else is given
 * it in between. */
#include "harness/shop/wire/tls_front.h"

#include "lib/t.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t front;

/* A connection to the server for each request: HAProxy keeps none that the server may have closed
 * by then. */
static void write_settings(const char *path, const char *folder, const char *server, int fd)
{
    FILE *to = fopen(path, "we");

    assert_non_null(to);
    fprintf(to,
            "defaults\n"
            "  mode http\n"
            "  maxconn 200\n"
            "  option http-server-close\n"
            "  timeout connect 60s\n"
            "  timeout client 300s\n"
            "  timeout server 300s\n"
            "listen shop\n"
            "  bind fd@%d ssl crt %s/server.both\n"
            "  server shop %s\n",
            fd, folder, server + strlen("http://"));
    bool closed = fclose(to) == 0;
    assert_true(closed);
}

static _Noreturn void become_front(const char *settings, int fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fcntl(fd, F_SETFD, 0) == 0)
        execl(HAPROXY, HAPROXY, "-db", "-f", settings, (char *)NULL);
    _exit(127);
}

int tls_front_start(const char *folder, const char *server)
{
    char settings[256];
    int port = 0, fd = t_listen(&port);

    snprintf(settings, sizeof settings, "%s/front.cfg", folder);
    write_settings(settings, folder, server, fd);
    front = fork();
    if (front == 0)
        become_front(settings, fd);
    close(fd);
    assert_true(front > 0);
    return port;
}

void tls_front_stop(void)
{
    if (front <= 0)
        return;
    kill(front, SIGKILL);
    waitpid(front, NULL, 0);
    front = 0;
}
