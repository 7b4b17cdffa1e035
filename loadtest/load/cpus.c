/* See cpus.h. */
#include "loadtest/load/cpus.h"

#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Cores that a cpu.max of cgroups' version 2 allows, "QUOTA PERIOD" or "max PERIOD"; 0: no quota.
 */
static double quota_in(const char *path)
{
    char line[80] = "", *end = line;
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    bool good = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    double quota = good ? strtod(line, &end) : 0; /* of "max" 0 */
    double period = strtod(end, NULL);
    return period > 0 ? quota / period : 0;
}

/* The least of all folders from the process's own up to the root. */
static double quota_of(const char *root, const char *path)
{
    double least = 0;
    char folder[600];
    snprintf(folder, sizeof folder, "%s", path);
    for (;;) {
        char file[800];
        snprintf(file, sizeof file, "%s%s/cpu.max", root, folder);
        double quota = quota_in(file);
        if (quota > 0 && (least <= 0 || quota < least))
            least = quota;
        char *slash = strrchr(folder, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

long cpus_usable_of(const char *cgroup_file, const char *root)
{
    cpu_set_t allowed;
    long cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0
                     ? CPU_COUNT(&allowed)
                     : sysconf(_SC_NPROCESSORS_ONLN);
    char line[600] = "";
    FILE *groups = fopen(cgroup_file, "r");
    while (groups && fgets(line, sizeof line, groups)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::/", 4) != 0)
            continue; /* version 1's; a machine with it alone counts by affinity */
        double quota = quota_of(root, strcmp(line + 3, "/") == 0 ? "" : line + 3);
        long whole = (long)ceil(quota);
        if (whole > 0 && whole < cores)
            cores = whole;
    }
    if (groups)
        fclose(groups);
    return cores > 0 ? cores : 1;
}

long cpus_usable(void)
{
    return cpus_usable_of("/proc/self/cgroup", "/sys/fs/cgroup");
}
