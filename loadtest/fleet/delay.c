/* See delay.h. */
#include "loadtest/fleet/delay.h"

#include "loadtest/relay/relay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct delay {
    char folder[128], path[136], url[192];
    struct relay *relay;
};

static bool make_place(struct delay *delay, const char *url, struct error *error)
{
    const char *root = getenv("TMPDIR");
    if (strncmp(url, "unix:///", 8) != 0)
        return error_fail(error, "a delay needs a Redis on a unix socket: unix:///PATH");
    snprintf(delay->folder, sizeof delay->folder, "%.60s/seckill-delay.XXXXXX",
             root && *root ? root : "/tmp");
    if (!mkdtemp(delay->folder)) {
        delay->folder[0] = '\0';
        return error_fail(error, "cannot make a folder for the delay: %s", strerror(errno));
    }
    snprintf(delay->path, sizeof delay->path, "%s/r", delay->folder);
    snprintf(delay->url, sizeof delay->url, "unix://%s", delay->path);
    return true;
}

struct delay *delay_create(const char *url, struct error *error)
{
    struct delay *delay = calloc(1, sizeof *delay);
    if (!delay) {
        error_fail(error, "out of memory");
        return NULL;
    }
    if (make_place(delay, url, error))
        delay->relay = relay_start(RELAY_BYTES, delay->path, url + strlen("unix://"), error);
    if (delay->relay)
        return delay;
    delay_destroy(delay);
    return NULL;
}

void delay_destroy(struct delay *delay)
{
    if (!delay)
        return;
    relay_stop(delay->relay);
    if (*delay->folder)
        rmdir(delay->folder);
    free(delay);
}

const char *delay_url(const struct delay *delay)
{
    return delay->url;
}

void delay_set(struct delay *delay, int64_t round_trip_us)
{
    struct error impossible; /* a latency that is not negative is always taken */
    struct relay_toxic latency = {.type = RELAY_LATENCY, .amount = round_trip_us / 2};
    for (latency.stream = RELAY_UPSTREAM; latency.stream <= RELAY_DOWNSTREAM; latency.stream++)
        relay_set(delay->relay, &latency, &impossible);
}
