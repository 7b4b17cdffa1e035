#include "dispatch/tasks.h"

#include "base/clock.h"
#include "postgres/pg.h"

#include <pthread.h>
#include <stdlib.h>

/* FEW_SESSIONS: below it one thread a pool has to do. */
enum { CONNECT_TIMEOUT_US = 5000000, CLAIM_PAUSE_US = 50000, FEW_SESSIONS = 8 };

struct tasks {
    struct store *store; /* borrowed: app; NULL: no sessions */
    void (*done)(void *context, struct task *task);
    void *context;
    pthread_t threads[TASKS_THREADS_MAX];
    int started;
    struct {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        struct task *first;
        struct task *last;
        int count;
        int64_t due_us; /* no queued task's time is over before */
        bool stopping;
    } shared;
};

int tasks_threads(int64_t pg_sessions)
{
    return pg_sessions < FEW_SESSIONS ? 1 : TASKS_THREADS_MAX;
}

/* NULL: the server is stopping and nothing is left. */
static struct task *next_task(struct tasks *tasks, struct pg *pg)
{
    pthread_mutex_lock(&tasks->shared.mutex);
    while (!tasks->shared.first && !tasks->shared.stopping) {
        pthread_cond_wait(&tasks->shared.changed, &tasks->shared.mutex);
        if (pg && !tasks->shared.first && store_wants_room(tasks->store)) {
            pthread_mutex_unlock(&tasks->shared.mutex);
            pg_make_room(pg);
            pthread_mutex_lock(&tasks->shared.mutex);
        }
    }
    struct task *task = tasks->shared.first;
    if (task) {
        tasks->shared.first = task->next;
        tasks->shared.count--;
    }
    pthread_mutex_unlock(&tasks->shared.mutex);
    return task;
}

static void run_late(struct task *task)
{
    struct error error;

    task->late = true;
    error_set(&error, ERROR_TIMEOUT, "waited too long for a PostgreSQL session");
    task->run(task, NULL, &error);
}

/* Makes sure of a session. While PostgreSQL allows no more, it asks again until a worker has closed
 * one. */
static bool claim(struct pg *pg, int64_t until_us)
{
    while (!pg_connect(pg, until_us)) {
        if (!pg_is_refused(pg) || clock_mono_us() >= until_us)
            return false;
        clock_sleep_until(clock_earlier(until_us, clock_mono_us() + CLAIM_PAUSE_US));
    }
    return true;
}

static void run(struct task *task, struct pg *pg)
{
    int64_t now_us = clock_mono_us();
    int64_t timeout_us = now_us + CONNECT_TIMEOUT_US;
    struct error error = {ERROR_NONE, ""};

    if (now_us >= task->wait_until_us) {
        run_late(task);
    } else if (!pg) {
        task->run(task, NULL, &error);
    } else if (!claim(pg, clock_earlier(task->until_us, timeout_us))) {
        error = *pg_error(pg);
        task->run(task, NULL, &error);
    } else {
        task->run(task, pg, &error);
    }
}

static void *tasks_main(void *argument)
{
    struct tasks *tasks = argument;
    struct pg *pg = tasks->store ? pg_create(tasks->store) : NULL;

    for (struct task *task; (pg || !tasks->store) && (task = next_task(tasks, pg));) {
        run(task, pg);
        tasks->done(tasks->context, task);
    }
    pg_destroy(pg);
    return NULL;
}

struct tasks *tasks_create(struct store *store, int threads,
                           void (*done)(void *context, struct task *task), void *context)
{
    struct tasks *tasks = calloc(1, sizeof *tasks);

    if (!tasks)
        return NULL;
    tasks->store = store;
    tasks->done = done;
    tasks->context = context;
    tasks->shared.due_us = INT64_MAX;
    pthread_mutex_init(&tasks->shared.mutex, NULL);
    pthread_cond_init(&tasks->shared.changed, NULL);
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&tasks->threads[i], NULL, tasks_main, tasks) != 0) {
            tasks_destroy(tasks);
            return NULL;
        }
        tasks->started++;
    }
    return tasks;
}

/* The mutex is held. */
static void append(struct tasks *tasks, struct task *task)
{
    task->next = NULL;
    if (tasks->shared.first)
        tasks->shared.last->next = task;
    else
        tasks->shared.first = task;
    tasks->shared.last = task;
    tasks->shared.count++;
    tasks->shared.due_us = clock_earlier(tasks->shared.due_us, task->wait_until_us);
}

bool tasks_put(struct tasks *tasks, struct task *task)
{
    pthread_mutex_lock(&tasks->shared.mutex);
    bool taken = tasks->shared.count < TASKS_CAPACITY && !tasks->shared.stopping;
    if (taken) {
        append(tasks, task);
        pthread_cond_signal(&tasks->shared.changed);
    }
    pthread_mutex_unlock(&tasks->shared.mutex);
    return taken;
}

/* Takes out of the queue the tasks whose time is over at `now_us`. Looks at every task, so only
 * when the time of some task may be over. */
static struct task *take_late(struct tasks *tasks, int64_t now_us)
{
    struct task *late = NULL;

    pthread_mutex_lock(&tasks->shared.mutex);
    if (tasks->shared.due_us <= now_us) {
        struct task *queued = tasks->shared.first;
        tasks->shared.first = NULL;
        tasks->shared.count = 0;
        tasks->shared.due_us = INT64_MAX;
        for (struct task *next; queued; queued = next) {
            next = queued->next;
            if (queued->wait_until_us > now_us) {
                append(tasks, queued);
                continue;
            }
            queued->next = late;
            late = queued;
        }
    }
    pthread_mutex_unlock(&tasks->shared.mutex);
    return late;
}

void tasks_wake(struct tasks *tasks)
{
    pthread_mutex_lock(&tasks->shared.mutex);
    pthread_cond_broadcast(&tasks->shared.changed);
    pthread_mutex_unlock(&tasks->shared.mutex);
}

void tasks_expire(struct tasks *tasks, int64_t now_us)
{
    struct task *late = take_late(tasks, now_us);

    for (struct task *next; late; late = next) {
        next = late->next;
        run_late(late);
        tasks->done(tasks->context, late);
    }
}

void tasks_destroy(struct tasks *tasks)
{
    if (!tasks)
        return;
    pthread_mutex_lock(&tasks->shared.mutex);
    tasks->shared.stopping = true;
    pthread_cond_broadcast(&tasks->shared.changed);
    pthread_mutex_unlock(&tasks->shared.mutex);
    for (int i = 0; i < tasks->started; i++)
        pthread_join(tasks->threads[i], NULL);
    pthread_cond_destroy(&tasks->shared.changed);
    pthread_mutex_destroy(&tasks->shared.mutex);
    free(tasks);
}
