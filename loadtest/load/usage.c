/* See usage.h. */
#include "loadtest/load/usage.h"

#include "base/clock.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* From here on a thread counts as never idle: what is left is the start and the end of a sleep. */
#define BUSY 0.90
/* Shorter than this the ends of the watch weigh too much. */
#define SHORTEST_S 0.5

static bool read_schedstat(struct usage_thread *thread)
{
    char path[80];
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)thread->process,
             (int)thread->id);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    char line[120] = "", *end = NULL;
    bool good = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    thread->ran_ns = strtoll(line, &end, 10);
    thread->waited_ns = strtoll(end, NULL, 10);
    return good;
}

static void look_process(struct usage_look *look, pid_t process)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *tasks = opendir(path);
    struct dirent *entry;
    while (tasks && (entry = readdir(tasks)) &&
           look->count < sizeof look->threads / sizeof look->threads[0]) {
        struct usage_thread *thread = &look->threads[look->count];
        *thread =
            (struct usage_thread){.process = process, .id = (pid_t)strtol(entry->d_name, NULL, 10)};
        if (thread->id > 0 && read_schedstat(thread))
            look->count++;
    }
    if (tasks)
        closedir(tasks);
}

/* nginx serves from a child. */
static void look_children(struct usage_look *look, pid_t process)
{
    char path[64], line[400] = "", *end = line;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)process);
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    if (fgets(line, sizeof line, file)) {
        for (long child = strtol(line, &end, 10); child > 0; child = strtol(end, &end, 10))
            look_process(look, (pid_t)child);
    }
    fclose(file);
}

void usage_watch_look(struct usage_watch *watch)
{
    struct usage_look look;
    look.at_us = clock_mono_us();
    look.count = 0;
    look_process(&look, watch->generator);
    look.generators = look.count;
    if (look.generators < (watch->looks ? watch->first.generators : 2))
        return; /* not loading yet, or no longer */
    for (size_t i = 0; i < watch->servers_count; i++) {
        look_process(&look, watch->servers[i]);
        look_children(&look, watch->servers[i]);
    }
    *(watch->looks++ ? &watch->last : &watch->first) = look;
}

/* What the thread had done at the first look; one that came later had done nothing. */
static struct usage_thread before(const struct usage_watch *watch, const struct usage_thread *of)
{
    for (size_t i = 0; i < watch->first.count; i++) {
        const struct usage_thread *thread = &watch->first.threads[i];
        if (thread->process == of->process && thread->id == of->id)
            return *thread;
    }
    return (struct usage_thread){.process = of->process, .id = of->id};
}

struct usage usage_watch_sum(const struct usage_watch *watch, size_t threads)
{
    struct usage usage = {0};
    double seconds = (double)(watch->last.at_us - watch->first.at_us) / 1e6;
    if (watch->looks < 2 || watch->last.count == 0 || seconds < SHORTEST_S || threads == 0)
        return usage;
    usage.seconds = seconds;
    for (size_t i = 0; i < watch->last.count; i++) {
        const struct usage_thread *thread = &watch->last.threads[i];
        struct usage_thread begin = before(watch, thread);
        double ran = (double)(thread->ran_ns - begin.ran_ns) / 1e9 / seconds;
        double busy = ran + (double)(thread->waited_ns - begin.waited_ns) / 1e9 / seconds;
        if (thread->process == watch->generator) {
            usage.generator_busy += busy / (double)threads;
        } else {
            usage.server_cpu += ran;
            usage.server_busy = busy > usage.server_busy ? busy : usage.server_busy;
        }
    }
    return usage;
}

enum usage_limit usage_limit(const struct usage *usage)
{
    static const enum usage_limit limits[2][2] = {{USAGE_NOBODY, USAGE_SERVER},
                                                  {USAGE_GENERATOR, USAGE_BOTH}};
    if (usage->seconds <= 0)
        return USAGE_UNKNOWN;
    return limits[usage->generator_busy >= BUSY][usage->server_busy >= BUSY];
}

const char *usage_limit_name(enum usage_limit limit)
{
    static const char *const names[] = {"unknown", "nobody", "server", "both", "generator"};
    return names[limit];
}
