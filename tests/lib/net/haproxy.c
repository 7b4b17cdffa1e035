#include "lib/t.h"

#include "lib/net/haproxy.h"

#include "base/clock.h"
#include "lib/http/http_client.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct haproxy {
    pid_t pid; /* 0: it does not run */
    const char *folder;
    char address[64];
};

struct haproxy *haproxy_create(void)
{
    struct haproxy *proxy = calloc(1, sizeof *proxy);

    assert_non_null(proxy);
    proxy->folder = t_folder();
    return proxy;
}

const char *haproxy_path(const struct haproxy *proxy, const char *file)
{
    return t_text("%s/%s", proxy->folder, file);
}

static _Noreturn void become_proxy(const struct haproxy *proxy)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int fd = open(haproxy_path(proxy, "log"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
        _exit(126);
    execl(HAPROXY, HAPROXY, "-db", "-f", haproxy_path(proxy, "haproxy.cfg"), (char *)NULL);
    _exit(127);
}

static bool listens(const struct haproxy *proxy)
{
    enum { SOON_US = 10000 };
    struct http_client *client = http_client_open(proxy->address, clock_mono_us() + SOON_US);

    http_client_close(client);
    return client != NULL;
}

void haproxy_start(struct haproxy *proxy, int port)
{
    snprintf(proxy->address, sizeof proxy->address, "http://127.0.0.1:%d", port);
    proxy->pid = fork();
    if (proxy->pid == 0)
        become_proxy(proxy);
    assert_true(proxy->pid > 0);
    int64_t until_us = t_patience_ends_us();
    while (!listens(proxy)) {
        if (waitpid(proxy->pid, NULL, WNOHANG) != 0) {
            proxy->pid = 0;
            fail_msg("haproxy ended: %s", t_read_all(haproxy_path(proxy, "log")));
        }
        t_wait(until_us, "that haproxy listens");
    }
}

const char *haproxy_address(const struct haproxy *proxy)
{
    return proxy->address;
}

bool haproxy_says(const struct haproxy *proxy, const char *text)
{
    FILE *log = t_open(haproxy_path(proxy, "log"));
    char line[1024];
    bool says = false;

    while (!says && fgets(line, sizeof line, log))
        says = strstr(line, text) != NULL;
    fclose(log);
    return says;
}

void haproxy_destroy(struct haproxy *proxy)
{
    if (!proxy)
        return;
    if (proxy->pid > 0) {
        kill(proxy->pid, SIGTERM);
        waitpid(proxy->pid, NULL, 0);
    }
    free(proxy);
}
