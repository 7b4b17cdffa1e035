/* See clock_step.h. */
#include "loadtest/fleet/clock_step.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_LIMIT_S = 10 };

static bool find_library(char *out, size_t size, struct error *error)
{
    glob_t found;
    bool there = glob("/usr/lib/*/faketime/libfaketimeMT.so.1", 0, NULL, &found) == 0;

    if (!there)
        return error_fail(error, "a clock cannot be stepped without libfaketime: "
                                 "apt-get install libfaketime");
    snprintf(out, size, "%s", found.gl_pathv[0]);
    globfree(&found);
    return true;
}

/* In one step: whoever reads the file meanwhile finds one or the other. */
static bool write_offset(const char *path, int64_t ahead_s, struct error *error)
{
    char next[1200];

    snprintf(next, sizeof next, "%s.next", path);
    FILE *to = fopen(next, "w");
    bool written = to && fprintf(to, "%+lld\n", (long long)ahead_s) > 0;
    written = to && fclose(to) == 0 && written && rename(next, path) == 0;
    return written || error_fail(error, "%s cannot be written: %s", path, strerror(errno));
}

bool clock_step_prepare(struct instance *instance, const char *path, struct error *error)
{
    if (!find_library(instance->clock_library, sizeof instance->clock_library, error) ||
        !write_offset(path, 0, error))
        return false;
    snprintf(instance->clock_file, sizeof instance->clock_file, "%s", path);
    return true;
}

bool clock_step_set(const struct instance *instance, int64_t ahead_s, struct error *error)
{
    if (!*instance->clock_file)
        return error_fail(error, "this server's clock was not prepared to be stepped");
    return write_offset(instance->clock_file, ahead_s, error);
}

static int connect_to(const char *url)
{
    static const struct timeval limit = {.tv_sec = ANSWER_LIMIT_S};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_port = htons((uint16_t)strtol(strrchr(url, ':') + 1, NULL, 10));
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
        connect(fd, (const struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool ask_date(const char *url, struct tm *date)
{
    static const char request[] =
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    char answer[4096];
    size_t length = 0;
    int fd = connect_to(url);

    if (fd < 0)
        return false;
    ssize_t got = send(fd, request, sizeof request - 1, MSG_NOSIGNAL);
    while (got > 0 && length < sizeof answer - 1) {
        got = recv(fd, answer + length, sizeof answer - 1 - length, 0);
        length += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    answer[length] = '\0';
    const char *at = strcasestr(answer, "\nDate: ");
    *date = (struct tm){.tm_isdst = 0};
    return at && strptime(at + strlen("\nDate: "), "%a, %d %b %Y %H:%M:%S GMT", date) != NULL;
}

bool clock_step_look(const struct instance *instance, int64_t *ahead_s, struct error *error)
{
    struct tm date;

    if (!ask_date(instance->url, &date))
        return error_fail(error, "%s does not say what time it is", instance->url);
    *ahead_s = (int64_t)timegm(&date) - (int64_t)time(NULL);
    return true;
}
