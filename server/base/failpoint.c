#include "base/failpoint.h"

#include <stddef.h>

#ifndef SECKILL_FAILPOINTS

bool failpoint_check(const char *spec)
{
    return !spec || !*spec;
}

#else

#include "base/clock.h"
#include "base/log.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_MAX = 8 };

static struct point {
    char name[64];
    long long id;    /* 0: any */
    char action[16]; /* kill, stop, pause, hold, fail, skew */
    long ms;         /* of a pause or a skew */
    bool goes_on;    /* at every later passage, too */
    int passages_left;
} points[POINTS_MAX];
static int point_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* A passage counts for all points of its name at once: else two that pass together could be the
 * first to one point and the second to the other, and both points act for one of them. */
static pthread_mutex_t passing = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool let_go;

/* NAME[#ID]=ACTION[:MS][@N[+]] */
static bool parse_point(const char *text, size_t length, struct point *out)
{
    char copy[128];
    char name[64];
    char action[16];
    char *end = NULL;
    int passage = 1;

    if (length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    char *at = strchr(copy, '@');
    if (at) {
        *at = '\0';
        passage = (int)strtol(at + 1, &end, 10);
    }
    char *colon = strchr(copy, ':');
    out->ms = colon ? strtol(colon + 1, NULL, 10) : 0;
    if (colon)
        *colon = '\0';
    if (passage < 1 || sscanf(copy, "%63[^=]=%15s", name, action) != 2)
        return false;
    char *id = strchr(name, '#');
    out->id = id ? strtoll(id + 1, NULL, 10) : 0;
    if (id)
        *id = '\0';
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(out->action, sizeof out->action, "%s", action);
    out->goes_on = (end && *end == '+') || strcmp(action, "skew") == 0;
    out->passages_left = passage;
    if (id && out->id <= 0)
        return false;
    return strcmp(action, "kill") == 0 || strcmp(action, "stop") == 0 ||
           strcmp(action, "hold") == 0 || strcmp(action, "fail") == 0 ||
           (strcmp(action, "skew") == 0 && out->ms != 0) ||
           (strcmp(action, "pause") == 0 && out->ms > 0);
}

static bool parse_all(const char *spec, struct point *out, int *count)
{
    *count = 0;
    while (spec && *spec) {
        size_t length = strcspn(spec, ",");
        if (*count == POINTS_MAX || !parse_point(spec, length, &out[*count]))
            return false;
        (*count)++;
        spec += length + (spec[length] == ',');
    }
    return true;
}

static void on_let_go(int number)
{
    (void)number;
    atomic_store(&let_go, true);
}

bool failpoint_check(const char *spec)
{
    struct sigaction action = {.sa_handler = on_let_go, .sa_flags = SA_RESTART};
    struct point scratch[POINTS_MAX];
    int count;

    if (!parse_all(spec, scratch, &count))
        return false;
    if (count > 0)
        sigaction(SIGUSR1, &action, NULL);
    return true;
}

static void read_environment(void)
{
    if (!parse_all(getenv("SECKILL_FAILPOINTS"), points, &point_count))
        point_count = 0;
}

static void act(const struct point *point)
{
    log_warn("failpoint %s: %s", point->name, point->action);
    if (strcmp(point->action, "kill") == 0)
        raise(SIGKILL);
    else if (strcmp(point->action, "stop") == 0)
        raise(SIGSTOP); /* to this thread: it must not get past the place before all have stopped */
    else if (strcmp(point->action, "pause") == 0)
        clock_sleep_until(clock_mono_us() + point->ms * CLOCK_US_PER_MS);
    else if (strcmp(point->action, "hold") == 0)
        while (!atomic_load(&let_go))
            clock_sleep_until(clock_mono_us() + CLOCK_US_PER_MS);
}

/* Counts a passage, with `passing` held. What goes on stays at its last one. */
static bool is_due(struct point *point)
{
    if (point->goes_on && point->passages_left <= 1)
        return true;
    if (point->passages_left <= 0)
        return false;
    point->passages_left--;
    return point->passages_left == 0;
}

/* What a passage concerns. */
struct concerned {
    const char *first; /* of `count` int64_t, each so many bytes from the one before */
    size_t stride;
    int count;
};

static bool concerns(const struct concerned *with, long long id)
{
    bool found = id == 0;

    for (int i = 0; !found && i < with->count; i++) {
        int64_t one;
        memcpy(&one, with->first + (size_t)i * with->stride, sizeof one);
        found = one == id;
    }
    return found;
}

/* The point of this name whose turn it is at this passage. */
static const struct point *pass(const char *name, struct concerned with)
{
    const struct point *due = NULL;

    pthread_once(&once, read_environment);
    pthread_mutex_lock(&passing);
    for (int i = 0; i < point_count; i++)
        if (strcmp(points[i].name, name) == 0 && concerns(&with, points[i].id) &&
            is_due(&points[i]))
            due = &points[i];
    pthread_mutex_unlock(&passing);
    return due;
}

void failpoint_reach_with(const char *name, const int64_t *first, size_t stride, int count)
{
    const struct point *point = pass(name, (struct concerned){(const char *)first, stride, count});

    if (point)
        act(point);
}

void failpoint_reach(const char *name)
{
    failpoint_reach_with(name, NULL, 0, 0);
}

bool failpoint_fails(const char *name)
{
    const struct point *point = pass(name, (struct concerned){.count = 0});

    if (point)
        act(point);
    return point && strcmp(point->action, "fail") == 0;
}

int64_t failpoint_skew_ms(const char *name)
{
    int64_t skew_ms = 0;

    pthread_once(&once, read_environment);
    pthread_mutex_lock(&passing);
    for (int i = 0; i < point_count; i++)
        if (strcmp(points[i].name, name) == 0 && strcmp(points[i].action, "skew") == 0 &&
            is_due(&points[i]))
            skew_ms = points[i].ms;
    pthread_mutex_unlock(&passing);
    return skew_ms;
}

#endif
