#include "base/notify.h"

#include "base/log.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify_manager(const char *lines)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};

    if (!path || !*path)
        return;
    size_t length = strlen(path);
    if (length >= sizeof to.sun_path) {
        log_debug("NOTIFY_SOCKET is too long for a socket's name");
        return;
    }
    memcpy(to.sun_path, path, length);
    if (*path == '@')
        to.sun_path[0] = '\0'; /* a name of Linux's, in no folder; it has no NUL at its end */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (const struct sockaddr *)&to,
                         (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0)
        log_debug("NOTIFY_SOCKET: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
}
