#include "dispatch/tasks.h"

#include "base/clock.h"
#include "store/pg.h"

#include <pthread.h>
#include <stdlib.h>

enum { CONNECT_PATIENCE_US = 2000000 };

struct tasks {
    struct store *store; /* borrowed: app */
    void (*done)(void *context, struct task *task);
    void *context;
    pthread_t threads[TASKS_THREADS];
    int started;
    struct {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        struct task *first;
        struct task *last;
        int count;
        bool stopping;
    } shared;
};

/* NULL: the server is stopping and nothing is left. */
static struct task *next_task(struct tasks *tasks)
{
    pthread_mutex_lock(&tasks->shared.mutex);
    while (!tasks->shared.first && !tasks->shared.stopping)
        pthread_cond_wait(&tasks->shared.changed, &tasks->shared.mutex);
    struct task *task = tasks->shared.first;
    if (task) {
        tasks->shared.first = task->next;
        tasks->shared.count--;
    }
    pthread_mutex_unlock(&tasks->shared.mutex);
    return task;
}

static void run(struct task *task, struct pg *pg)
{
    int64_t now_us = clock_mono_us();
    int64_t patience_us = now_us + CONNECT_PATIENCE_US;
    struct error error = {ERROR_NONE, ""};

    if (now_us >= task->until_us) {
        error_set(&error, ERROR_TIMEOUT, "waited too long for a PostgreSQL session");
        task->run(task, NULL, &error);
    } else if (!pg_connect(pg, task->until_us < patience_us ? task->until_us : patience_us)) {
        error = *pg_error(pg);
        task->run(task, NULL, &error);
    } else {
        task->run(task, pg, &error);
    }
}

static void *tasks_main(void *argument)
{
    struct tasks *tasks = argument;
    struct pg *pg = pg_create(tasks->store);

    for (struct task *task; pg && (task = next_task(tasks));) {
        run(task, pg);
        tasks->done(tasks->context, task);
    }
    pg_destroy(pg);
    return NULL;
}

struct tasks *tasks_create(struct store *store, void (*done)(void *context, struct task *task),
                           void *context)
{
    struct tasks *tasks = calloc(1, sizeof *tasks);

    if (!tasks)
        return NULL;
    tasks->store = store;
    tasks->done = done;
    tasks->context = context;
    pthread_mutex_init(&tasks->shared.mutex, NULL);
    pthread_cond_init(&tasks->shared.changed, NULL);
    for (int i = 0; i < TASKS_THREADS; i++) {
        if (pthread_create(&tasks->threads[i], NULL, tasks_main, tasks) != 0) {
            tasks_destroy(tasks);
            return NULL;
        }
        tasks->started++;
    }
    return tasks;
}

bool tasks_put(struct tasks *tasks, struct task *task)
{
    pthread_mutex_lock(&tasks->shared.mutex);
    bool taken = tasks->shared.count < TASKS_CAPACITY && !tasks->shared.stopping;
    if (taken) {
        task->next = NULL;
        if (tasks->shared.first)
            tasks->shared.last->next = task;
        else
            tasks->shared.first = task;
        tasks->shared.last = task;
        tasks->shared.count++;
        pthread_cond_signal(&tasks->shared.changed);
    }
    pthread_mutex_unlock(&tasks->shared.mutex);
    return taken;
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
