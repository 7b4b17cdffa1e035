/* See cores.h. */
#include "loadtest/cores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of proc(5). Where the kernel counts what was stolen, it has taken it out of the
 * others. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, TICKS };

bool cores_parse(const char *line, struct cores *out)
{
    int64_t ticks[TICKS];
    const char *at = line + strlen("cpu");

    *out = (struct cores){0, 0};
    if (strncmp(line, "cpu ", strlen("cpu ")) != 0)
        return false;
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

void cores_look(struct cores *out)
{
    char line[300] = "";
    FILE *file = fopen("/proc/stat", "r");

    if (file && !fgets(line, sizeof line, file))
        line[0] = '\0';
    if (file)
        fclose(file);
    (void)cores_parse(line, out);
}

double cores_stolen(const struct cores *before, const struct cores *after)
{
    int64_t stolen = after->stolen - before->stolen;
    int64_t wanted = after->ran - before->ran + stolen;

    return stolen > 0 && wanted > 0 ? (double)stolen / (double)wanted : 0;
}
