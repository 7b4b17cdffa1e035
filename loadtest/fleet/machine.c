/* See machine.h. */
#include "loadtest/fleet/machine.h"

#include "loadtest/base/process.h"
#include "loadtest/load/cpus.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

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

bool machine_look(struct machine *machine, struct witness *witness, struct error *error)
{
    static const char *const names[] = {"server_version",   "synchronous_commit", "fsync",
                                        "full_page_writes", "shared_buffers",     "max_wal_size"};
    *machine = (struct machine){.cores = cpus_usable()};
    machine->memory_mib = sysconf(_SC_PHYS_PAGES) / (1024L * 1024 / sysconf(_SC_PAGESIZE));
    look_cpu(machine->cpu, sizeof machine->cpu);
    struct utsname kernel;
    if (uname(&kernel) == 0)
        snprintf(machine->kernel, sizeof machine->kernel, "%.60s %.60s", kernel.sysname,
                 kernel.release);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        machine->database_settings[i].name = names[i];
        if (!witness_setting(witness, names[i], machine->database_settings[i].value,
                             sizeof machine->database_settings[i].value, error))
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
    struct error ignored;
    if (process_capture(argv, &capture, &ignored))
        snprintf(machine->server, sizeof machine->server, "%.*s",
                 (int)(strcspn(output, "\n") % sizeof machine->server), output);
}

void machine_print(FILE *to, const struct machine *machine)
{
    fprintf(to, "%ld core%s of %s, %ld MiB, %s, PostgreSQL %s%s%s, durable: %s%s%s\n",
            machine->cores, machine->cores == 1 ? "" : "s", machine->cpu, machine->memory_mib,
            machine->kernel, machine->postgresql, *machine->wrk ? ", wrk " : "", machine->wrk,
            machine->durable ? "true"
                             : "false (fsync, full_page_writes or synchronous_commit is off)",
            *machine->unsafe ? "; " : "", machine->unsafe);
}
