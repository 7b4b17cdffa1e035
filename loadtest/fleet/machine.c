/* See machine.h. */
#include "loadtest/fleet/machine.h"

#include "loadtest/base/process.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
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

long machine_cores_of(const char *cgroup_file, const char *root)
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

long machine_cores(void)
{
    return machine_cores_of("/proc/self/cgroup", "/sys/fs/cgroup");
}

static void look_cpu(char *out, size_t size)
{
    snprintf(out, size, "unknown CPU");
    FILE *info = fopen("/proc/cpuinfo", "r");
    char line[512];
    while (info && fgets(line, sizeof line, info)) {
        const char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10) != 0)
            continue;
        snprintf(out, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (info)
        fclose(info);
}

bool machine_look(struct machine *machine, struct witness *witness, struct problem *problem)
{
    static const char *const names[] = {"server_version",   "synchronous_commit", "fsync",
                                        "full_page_writes", "shared_buffers",     "max_wal_size"};
    *machine = (struct machine){.cores = machine_cores()};
    machine->memory_mib = sysconf(_SC_PHYS_PAGES) / (1024L * 1024 / sysconf(_SC_PAGESIZE));
    look_cpu(machine->cpu, sizeof machine->cpu);
    struct utsname kernel;
    if (uname(&kernel) == 0)
        snprintf(machine->kernel, sizeof machine->kernel, "%.60s %.60s", kernel.sysname,
                 kernel.release);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        machine->database_settings[i].name = names[i];
        if (!witness_setting(witness, names[i], machine->database_settings[i].value,
                             sizeof machine->database_settings[i].value, problem))
            return false;
    }
    machine->database_settings_count = sizeof names / sizeof names[0];
    const char *version = machine->database_settings[0].value;
    snprintf(machine->postgresql, sizeof machine->postgresql, "%.*s", (int)strcspn(version, " "),
             version);
    return true;
}

void machine_ask_server(struct machine *machine, const char *binary)
{
    char output[512] = "";
    const char *const argv[] = {binary, "--version", NULL};
    struct process_capture capture = {.output = output, .size = sizeof output, .limit_ms = 10000};
    struct problem ignored;
    if (process_capture(argv, &capture, &ignored))
        snprintf(machine->server, sizeof machine->server, "%.*s",
                 (int)(strcspn(output, "\n") % sizeof machine->server), output);
}

void machine_line(const struct machine *machine, char *out, size_t size)
{
    snprintf(out, size, "%ld core%s of %s, %ld MiB, %s, PostgreSQL %s%s%s, durable: %s",
             machine->cores, machine->cores == 1 ? "" : "s", machine->cpu, machine->memory_mib,
             machine->kernel, machine->postgresql, *machine->wrk ? ", wrk " : "", machine->wrk,
             machine->durable ? "true"
                              : "false (fsync, full_page_writes or synchronous_commit is off)");
}
