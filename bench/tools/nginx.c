/* See nginx.h. */
#include "bench/tools/nginx.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { START_LIMIT_MS = 10000, STOP_LIMIT_MS = 5000, TRIES = 5 };

/* Connections stay open as long as wrk likes, and nothing is logged: as the server does. */
static const char configuration[] = "worker_processes 1;\n"
                                    "daemon off;\n"
                                    "pid nginx.pid;\n"
                                    "error_log stderr error;\n"
                                    "worker_rlimit_nofile 16384;\n"
                                    "events { worker_connections 8192; }\n"
                                    "http {\n"
                                    "  access_log off;\n"
                                    "  keepalive_requests 1000000000;\n"
                                    "  client_body_temp_path body;\n"
                                    "  proxy_temp_path proxy;\n"
                                    "  fastcgi_temp_path fastcgi;\n"
                                    "  uwsgi_temp_path uwsgi;\n"
                                    "  scgi_temp_path scgi;\n"
                                    "  server {\n"
                                    "    listen 127.0.0.1:%d backlog=4096;\n"
                                    "    location / { return 200; }\n"
                                    "  }\n"
                                    "}\n";

bool nginx_find(char *out, size_t size)
{
    return process_find("nginx", "/usr/sbin", out, size);
}

static int connect_to(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int result = fd < 0 ? -1 : connect(fd, (const struct sockaddr *)&at, sizeof at);
    if (fd >= 0)
        close(fd);
    return result;
}

/* 0: none. Somebody may take it before nginx does; then another one is tried. */
static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = fd >= 0 && bind(fd, (const struct sockaddr *)&at, length) == 0 &&
                getsockname(fd, (struct sockaddr *)&at, &length) == 0;
    if (fd >= 0)
        close(fd);
    return good ? ntohs(at.sin_port) : 0;
}

static bool write_configuration(const char *folder, int port, struct error *error)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/nginx.conf", folder);
    FILE *file = fopen(path, "w");
    bool good = file && fprintf(file, configuration, port) > 0;
    good = file && fclose(file) == 0 && good;
    return good || error_fail(error, "cannot write %s: %s", path, strerror(errno));
}

static bool start_at(struct nginx *nginx, const char *program, const char *folder, int port,
                     struct error *error)
{
    char log[1200];
    const char *const argv[] = {program, "-p", folder, "-c", "nginx.conf", "-e", "stderr", NULL};
    snprintf(log, sizeof log, "%s/nginx.log", folder);
    snprintf(nginx->url, sizeof nginx->url, "http://127.0.0.1:%d", port);
    if (!write_configuration(folder, port, error) ||
        !process_start(&nginx->process, argv, log, NULL, error))
        return false;
    int64_t deadline_ms = clock_mono_ms() + START_LIMIT_MS;
    while (clock_mono_ms() < deadline_ms && process_sleep_ms(20)) {
        if (process_ended(&nginx->process, NULL))
            return error_fail(error, "nginx ended: see %s", log);
        if (connect_to(port) == 0)
            return true;
    }
    nginx_stop(nginx);
    return error_fail(error, "nginx does not answer: see %s", log);
}

bool nginx_start(struct nginx *nginx, const char *program, const char *folder, struct error *error)
{
    char own[1100];
    char absolute[4096];
    *nginx = (struct nginx){.process = {.out_fd = -1}};
    snprintf(own, sizeof own, "%s/nginx", folder);
    if ((mkdir(own, 0755) != 0 && errno != EEXIST) || !realpath(own, absolute))
        return error_fail(error, "cannot make %s: %s", own, strerror(errno));
    for (int i = 0; i < TRIES; i++) {
        if (start_at(nginx, program, absolute, free_port(), error))
            return true;
    }
    return false;
}

void nginx_stop(struct nginx *nginx)
{
    process_stop(&nginx->process, SIGTERM, STOP_LIMIT_MS, NULL);
}
