#include "dispatch/tasks.h"

#include "base/clock.h"
#include "postgres/pg.h"

#include <pthread.h>
#include <stdlib.h>

/* FEW_SESSIONS: below it one thread a pool has to do. AGAIN_US, and EACH_US more for each that
 * waits: two thousand looks a second at the most. */
enum {
    CONNECT_TIMEOUT_US = 5000000,
    CLAIM_PAUSE_US = 50000,
    FEW_SESSIONS = 8,
    AGAIN_US = 2000,
    EACH_US = 500
};

struct queue {
    struct task *first;
    struct task *last;
    int count;
    int running;
    int most; /* so many may run at once */
};

struct tasks {
    struct store *store; /* borrowed: app; NULL: no sessions */
    void (*done)(void *context, struct task *task);
    void *context;
    pthread_t threads[TASKS_THREADS_MAX];
    int started;
    struct {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        struct queue queues[TURN_COUNT];
        int turn;       /* the one that is looked at next */
        int64_t due_us; /* no queued task's time is over before */
        bool stopping;
    } shared;
};

int tasks_threads(int64_t pg_sessions)
{
    return pg_sessions < FEW_SESSIONS ? 1 : TASKS_THREADS_MAX;
}

/* The mutex is held, in all that follows up to next_task. */
static bool is_empty(const struct tasks *tasks)
{
    for (int turn = 0; turn < TURN_COUNT; turn++)
        if (tasks->shared.queues[turn].first)
            return false;
    return true;
}

static bool has_room(const struct queue *queue)
{
    return queue->first && queue->running < queue->most;
}

static struct task *take(struct tasks *tasks)
{
    for (int i = 0; i < TURN_COUNT; i++) {
        int turn = (tasks->shared.turn + i) % TURN_COUNT;
        struct queue *queue = &tasks->shared.queues[turn];
        struct task *task = queue->first;
        if (!has_room(queue) || (task->due_us > clock_mono_us() && !tasks->shared.stopping))
            continue;
        queue->first = task->next;
        queue->count--;
        queue->running++;
        tasks->shared.turn = turn + 1;
        return task;
    }
    return NULL;
}

static void wait_for_work(struct tasks *tasks)
{
    const struct queue *again = &tasks->shared.queues[TURN_AGAIN];

    if (has_room(again)) {
        struct timespec due = clock_timespec(again->first->due_us);
        pthread_cond_timedwait(&tasks->shared.changed, &tasks->shared.mutex, &due);
    } else {
        pthread_cond_wait(&tasks->shared.changed, &tasks->shared.mutex);
    }
}

/* NULL: the server is stopping and nothing is left. */
static struct task *next_task(struct tasks *tasks, struct pg *pg)
{
    struct task *task;

    pthread_mutex_lock(&tasks->shared.mutex);
    while (!(task = take(tasks)) && !(tasks->shared.stopping && is_empty(tasks))) {
        wait_for_work(tasks);
        if (pg && is_empty(tasks) && store_wants_room(tasks->store)) {
            pthread_mutex_unlock(&tasks->shared.mutex);
            pg_make_room(pg);
            pthread_mutex_lock(&tasks->shared.mutex);
        }
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

/* The mutex is held. */
static void append(struct tasks *tasks, struct task *task)
{
    struct queue *queue = &tasks->shared.queues[task->turn];

    task->next = NULL;
    if (queue->first)
        queue->last->next = task;
    else
        queue->first = task;
    queue->last = task;
    queue->count++;
    tasks->shared.due_us = clock_earlier(tasks->shared.due_us, task->wait_until_us);
}

/* After a run. False: it has ended. */
static bool comes_again(struct tasks *tasks, struct task *task)
{
    struct queue *queue = &tasks->shared.queues[TURN_AGAIN];

    pthread_mutex_lock(&tasks->shared.mutex);
    tasks->shared.queues[task->turn].running--;
    bool again = task->again && queue->count < TASKS_AGAIN_MAX && !tasks->shared.stopping;
    if (again) {
        task->turn = TURN_AGAIN;
        task->due_us = clock_mono_us() + AGAIN_US + (int64_t)queue->count * EACH_US;
        append(tasks, task);
    }
    pthread_cond_signal(&tasks->shared.changed); /* there is room for one of its turn, too */
    pthread_mutex_unlock(&tasks->shared.mutex);
    return again;
}

static void *tasks_main(void *argument)
{
    struct tasks *tasks = argument;
    struct pg *pg = tasks->store ? pg_create(tasks->store) : NULL;

    for (struct task *task; (pg || !tasks->store) && (task = next_task(tasks, pg));) {
        run(task, pg);
        if (!comes_again(tasks, task))
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
    clock_cond_init(&tasks->shared.changed);
    for (int turn = 0; turn < TURN_COUNT; turn++)
        tasks->shared.queues[turn].most = turn >= TURN_LONG && threads > 1 ? threads - 1 : threads;
    for (int i = 0; i < threads; i++) {
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
    bool taken = tasks->shared.queues[task->turn].count < TASKS_CAPACITY && !tasks->shared.stopping;
    if (taken) {
        append(tasks, task);
        pthread_cond_signal(&tasks->shared.changed);
    }
    pthread_mutex_unlock(&tasks->shared.mutex);
    return taken;
}

/* Takes out of a queue the tasks whose time is over at `now_us`; the mutex is held. */
static struct task *take_late(struct tasks *tasks, struct queue *queue, int64_t now_us,
                              struct task *late)
{
    struct task *queued = queue->first;

    queue->first = NULL;
    queue->count = 0;
    for (struct task *next; queued; queued = next) {
        next = queued->next;
        if (queued->wait_until_us > now_us) {
            append(tasks, queued);
            continue;
        }
        queued->next = late;
        late = queued;
    }
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
    struct task *late = NULL;

    pthread_mutex_lock(&tasks->shared.mutex);
    /* It looks at every task, so only when the time of some task may be over. */
    if (tasks->shared.due_us <= now_us) {
        tasks->shared.due_us = INT64_MAX;
        for (int turn = 0; turn < TURN_COUNT; turn++)
            late = take_late(tasks, &tasks->shared.queues[turn], now_us, late);
    }
    pthread_mutex_unlock(&tasks->shared.mutex);
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
