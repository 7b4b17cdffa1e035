/*
 * What Prometheus' own client libraries tell of a process, by their names, read from /proc and the
 * kernel's limits at each scrape. What cannot be read is 0.
 */
#include "metrics/metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int64_t started_us; /* written before any other thread runs */

static int64_t micros(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

static int64_t read_cpu_us(void *context)
{
    struct rusage usage;

    (void)context;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
    return micros(usage.ru_utime) + micros(usage.ru_stime);
}

static int64_t read_start_us(void *context)
{
    (void)context;
    return started_us;
}

/* Its numbers are pages: all of the process's, then those in memory. */
enum { STATM_ALL, STATM_RESIDENT };

static int64_t read_statm(int number)
{
    FILE *from = fopen("/proc/self/statm", "re");
    char line[256] = "";
    char *at = line;
    int64_t pages = 0;

    if (!from)
        return 0;
    if (!fgets(line, sizeof line, from))
        line[0] = '\0';
    fclose(from);
    for (int i = 0; i <= number; i++)
        pages = strtoll(at, &at, 10);
    return pages * sysconf(_SC_PAGESIZE);
}

static int64_t read_virtual(void *context)
{
    (void)context;
    return read_statm(STATM_ALL);
}

static int64_t read_resident(void *context)
{
    (void)context;
    return read_statm(STATM_RESIDENT);
}

static int64_t count_entries(const char *path)
{
    DIR *folder = opendir(path);
    int64_t count = 0;

    if (!folder)
        return 0;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* The folder that is read is one of them for that moment. */
static int64_t read_open_fds(void *context)
{
    int64_t count = count_entries("/proc/self/fd");

    (void)context;
    return count > 0 ? count - 1 : 0;
}

static int64_t read_max_fds(void *context)
{
    struct rlimit limit;

    (void)context;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (int64_t)limit.rlim_cur : 0;
}

static int64_t read_threads(void *context)
{
    (void)context;
    return count_entries("/proc/self/task");
}

void metrics_process_init(struct metrics *metrics)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    started_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    metrics_reading(metrics, METRICS_COUNTER, METRICS_MICROSECONDS, "process_cpu_seconds_total",
                    "Processor time of the process, in user mode and in the kernel.", read_cpu_us,
                    NULL);
    metrics_reading(metrics, METRICS_GAUGE, METRICS_NUMBER, "process_resident_memory_bytes",
                    "Memory of the process that is in RAM.", read_resident, NULL);
    metrics_reading(metrics, METRICS_GAUGE, METRICS_NUMBER, "process_virtual_memory_bytes",
                    "Memory that the process has mapped.", read_virtual, NULL);
    metrics_reading(metrics, METRICS_GAUGE, METRICS_NUMBER, "process_open_fds",
                    "Open file descriptors.", read_open_fds, NULL);
    metrics_reading(metrics, METRICS_GAUGE, METRICS_NUMBER, "process_max_fds",
                    "Most file descriptors that may be open.", read_max_fds, NULL);
    metrics_reading(metrics, METRICS_GAUGE, METRICS_NUMBER, "process_threads",
                    "Threads of the process.", read_threads, NULL);
    metrics_reading(metrics, METRICS_GAUGE, METRICS_MICROSECONDS, "process_start_time_seconds",
                    "When the process began, since the Unix epoch.", read_start_us, NULL);
}
