/* See steal.h. */
#include "bench/tools/steal.h"

#include "loadtest/base/process.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROBE_THREADS = 256 };

/* In the order of proc(5). Where the kernel counts what was stolen, it has taken it out of the
 * others. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, TICKS };

bool steal_parse(const char *line, struct steal *out)
{
    int64_t ticks[TICKS];
    static const char name[] = "cpu ";

    *out = (struct steal){0, 0};
    if (strncmp(line, name, strlen(name)) != 0)
        return false;
    const char *at = line + strlen(name);
    for (int i = 0; i < TICKS; i++) {
        char *end = NULL;
        ticks[i] = strtoll(at, &end, 10);
        if (end == at)
            return false;
        at = end;
    }
    out->ran = ticks[USER] + ticks[NICE] + ticks[SYSTEM] + ticks[IRQ] + ticks[SOFTIRQ];
    out->stolen = ticks[STEAL];
    return true;
}

void steal_look(struct steal *out)
{
    char line[300] = "";
    FILE *file = fopen("/proc/stat", "r");

    if (file && !fgets(line, sizeof line, file))
        line[0] = '\0';
    if (file)
        fclose(file);
    (void)steal_parse(line, out);
}

double steal_share(const struct steal *before, const struct steal *after)
{
    int64_t stolen = after->stolen - before->stolen;
    int64_t wanted = after->ran - before->ran + stolen;

    return stolen > 0 && wanted > 0 ? (double)stolen / (double)wanted : 0;
}

static void *spin(void *context)
{
    const int64_t *until_ms = context;

    while (clock_mono_ms() < *until_ms)
        continue;
    return NULL;
}

double steal_probe(int ms)
{
    pthread_t threads[PROBE_THREADS];
    struct steal before, after;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int wanted = online < PROBE_THREADS ? (int)online : PROBE_THREADS;
    int count = 0;
    int64_t until_ms = clock_mono_ms() + ms;

    steal_look(&before);
    while (count < wanted && pthread_create(&threads[count], NULL, spin, &until_ms) == 0)
        count++;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    steal_look(&after);
    return steal_share(&before, &after);
}
