/*
 * Tasks that wait for something, and that take long: what others of their pool notice of it.
 *
 * They need no session. A task takes a while because the test holds it, or comes again until the
 * test says that what it waits for has happened.
 */
#include "dispatch/tasks.h"

#include "base/clock.h"
#include "lib/t.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { TASKS_MAX = TASKS_AGAIN_MAX + 8, FOR_EVER_S = 3600 };

struct work {
    struct task task;
    bool held;  /* until here.go */
    bool waits; /* for here.happened */
    int place;  /* of those that have ended; 0: it has not */
};

static struct {
    struct work works[TASKS_MAX];
    struct tasks *tasks;
    sem_t running, go, ended;
    atomic_bool happened;
    atomic_int looks;
    atomic_int ends;
} here;

static void run(struct task *task, struct pg *pg, struct error *error)
{
    struct work *work = (struct work *)task;

    (void)pg;
    (void)error;
    if (work->held) {
        sem_post(&here.running);
        sem_wait(&here.go);
    }
    atomic_fetch_add(&here.looks, 1);
    task->again = !task->late && work->waits && !atomic_load(&here.happened);
}

static void on_done(void *context, struct task *task)
{
    (void)context;
    ((struct work *)task)->place = atomic_fetch_add(&here.ends, 1) + 1;
    sem_post(&here.ended);
}

static struct work *put(int i, enum task_turn turn)
{
    struct work *work = &here.works[i];

    work->task.turn = turn;
    work->task.run = run;
    work->task.wait_until_us = clock_mono_us() + FOR_EVER_S * CLOCK_US_PER_S;
    work->task.until_us = work->task.wait_until_us;
    assert_true(tasks_put(here.tasks, &work->task));
    return work;
}

static void expect(sem_t *event)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += t_patience_us() / CLOCK_US_PER_S;
    assert_int_equal(sem_timedwait(event, &until), 0);
}

static void begin(int threads)
{
    memset(&here, 0, sizeof here);
    sem_init(&here.running, 0, 0);
    sem_init(&here.go, 0, 0);
    sem_init(&here.ended, 0, 0);
    here.tasks = tasks_create(NULL, threads, on_done, NULL);
    assert_non_null(here.tasks);
}

static void end(int count)
{
    tasks_destroy(here.tasks);
    assert_int_equal(here.ends, count);
}

TEST(long_ones_leave_a_thread)
{
    begin(2);
    for (int i = 0; i < 3; i++)
        here.works[i].held = true;
    for (int i = 0; i < 3; i++)
        put(i, TURN_LONG);
    expect(&here.running);
    for (int i = 3; i < 6; i++) { /* the first may have come before the second long one */
        put(i, TURN_QUICK);
        expect(&here.ended);
    }
    assert_int_equal(here.works[5].place, 3);
    for (int i = 0; i < 3; i++)
        sem_post(&here.go);
    end(6);
}

TEST(one_thread_takes_them_in_turn)
{
    begin(1);
    here.works[0].held = true;
    put(0, TURN_QUICK);
    expect(&here.running);
    for (int i = 1; i < 200; i++)
        put(i, i % 2 ? TURN_WRITE : TURN_LONG);
    put(200, TURN_QUICK);
    sem_post(&here.go);
    end(201);
    assert_in_range(here.works[200].place, 2, 4);
}

TEST(who_waits_stands_in_no_thread)
{
    begin(1);
    for (int i = 0; i < 100; i++) {
        here.works[i].waits = true;
        put(i, TURN_WRITE);
    }
    while (atomic_load(&here.looks) < 150) /* all have looked, and some again */
        clock_sleep_until(clock_mono_us() + 1000);
    put(100, TURN_QUICK);
    expect(&here.ended);
    assert_int_equal(here.works[100].place, 1);
    atomic_store(&here.happened, true);
    for (int i = 0; i < 100; i++)
        expect(&here.ended);
    end(101);
}

TEST(too_many_do_not_wait)
{
    begin(2);
    for (int i = 0; i < TASKS_MAX; i++) {
        here.works[i].waits = true;
        put(i, TURN_WRITE);
    }
    expect(&here.ended);
    int refused = 0;
    atomic_store(&here.happened, true);
    for (int i = 1; i < TASKS_MAX; i++)
        expect(&here.ended);
    for (int i = 0; i < TASKS_MAX; i++)
        refused += here.works[i].task.again;
    assert_in_range(refused, 1, TASKS_MAX - TASKS_AGAIN_MAX + 2); /* two may be running */
    end(TASKS_MAX);
}

TEST(a_wait_ends_at_its_time)
{
    begin(1);
    here.works[0].waits = true;
    put(0, TURN_WRITE);
    while (atomic_load(&here.looks) < 2)
        clock_sleep_until(clock_mono_us() + 1000);
    /* The thread may just have it in its hands. */
    for (int64_t us = 1; atomic_load(&here.ends) == 0; us++) {
        tasks_expire(here.tasks, clock_mono_us() + (FOR_EVER_S + us) * CLOCK_US_PER_S);
        clock_sleep_until(clock_mono_us() + 1000);
    }
    assert_true(here.works[0].task.late);
    end(1);
}
