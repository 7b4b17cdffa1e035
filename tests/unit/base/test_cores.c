/*
 * Who may run where, as the kernel has it. A test that needs two cores skips where there is one.
 * Claims belong to a thread and versions to the process, so each test is a process of its own.
 */
#include "lib/t.h"

#include "base/cores.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

static cpu_set_t all; /* before anything */

static cpu_set_t mine(void)
{
    cpu_set_t set;

    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return set;
}

static bool may_use_all(void)
{
    cpu_set_t set = mine();

    return CPU_EQUAL(&set, &all);
}

/* Whether this thread has what `claimed` does not. */
static bool is_apart_from(const cpu_set_t *claimed)
{
    cpu_set_t set = mine();
    cpu_set_t both;

    CPU_OR(&both, &set, claimed);
    CPU_AND(&set, &set, claimed);
    return CPU_COUNT(&set) == 0 && CPU_EQUAL(&both, &all);
}

/* A thread that does what it is told, step by step. */
struct other {
    pthread_t thread;
    sem_t go, done;
    void (*step)(struct other *other);
    bool apart;
    cpu_set_t set; /* after the step */
};

static void choose(struct other *other)
{
    cores_choose(other->apart);
}

static void claim(struct other *other)
{
    (void)other;
    cores_claim();
}

static void *other_main(void *argument)
{
    struct other *other = argument;

    while (sem_wait(&other->go) == 0 && other->step) {
        other->step(other);
        other->set = mine();
        sem_post(&other->done);
    }
    return NULL;
}

static void other_start(struct other *other)
{
    sem_init(&other->go, 0, 0);
    sem_init(&other->done, 0, 0);
    assert_int_equal(pthread_create(&other->thread, NULL, other_main, other), 0);
}

static cpu_set_t other_does(struct other *other, void (*step)(struct other *other), bool apart)
{
    other->step = step;
    other->apart = apart;
    sem_post(&other->go);
    assert_int_equal(sem_wait(&other->done), 0);
    return other->set;
}

static void other_end(struct other *other)
{
    other->step = NULL;
    sem_post(&other->go);
    pthread_join(other->thread, NULL);
    sem_destroy(&other->go);
    sem_destroy(&other->done);
}

/* As somebody might with taskset. */
static cpu_set_t keep_to_one(void)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    return one;
}

static void nothing_is_touched_before_a_claim(void **state)
{
    (void)state;
    cpu_set_t one = keep_to_one();

    cores_choose(true);
    cores_release();
    cores_choose(false);
    cpu_set_t set = mine();
    assert_true(CPU_EQUAL(&set, &one));
}

static void what_is_released_already_is_left_alone(void **state)
{
    (void)state;
    cores_claim();
    cores_release();
    cores_choose(true);
    cpu_set_t one = keep_to_one();
    cores_release();
    cores_choose(true);
    cores_choose(false);
    cpu_set_t set = mine();
    assert_true(CPU_EQUAL(&set, &one));
}

static void a_claim_keeps_one_core_and_the_others_from_it(void **state)
{
    (void)state;
    struct other worker;

    other_start(&worker);
    cpu_set_t loop = other_does(&worker, claim, false);
    assert_int_equal(CPU_COUNT(&loop), 1);
    cores_choose(true);
    assert_true(is_apart_from(&loop));
    cores_choose(true);
    assert_true(is_apart_from(&loop));
    /* A second claim is the first one still. */
    cpu_set_t again = other_does(&worker, claim, false);
    assert_true(CPU_EQUAL(&again, &loop));
    other_end(&worker);
}

/* What a thread may use that a claiming one has started, and that begins on its core. */
static cpu_set_t started_under_a_claim(bool apart)
{
    struct other worker;

    cores_claim();
    other_start(&worker);
    cpu_set_t set = other_does(&worker, choose, apart);
    other_end(&worker);
    return set;
}

static void who_need_not_keep_off_may_run_anywhere(void **state)
{
    (void)state;
    cpu_set_t set = started_under_a_claim(false);

    assert_true(CPU_EQUAL(&set, &all));
}

static void a_thread_that_begins_on_the_claimed_core_leaves_it(void **state)
{
    (void)state;
    cpu_set_t set = started_under_a_claim(true);
    cpu_set_t loop = mine();

    CPU_AND(&set, &set, &loop);
    assert_int_equal(CPU_COUNT(&set), 0);
}

static void whoever_does_something_else_chooses_anew(void **state)
{
    (void)state;
    struct other worker;

    cores_claim();
    cpu_set_t loop = mine();
    other_start(&worker);
    for (int i = 0; i < 2; i++) {
        cpu_set_t set = other_does(&worker, choose, true);
        CPU_AND(&set, &set, &loop);
        assert_int_equal(CPU_COUNT(&set), 0);
        set = other_does(&worker, choose, false);
        assert_true(CPU_EQUAL(&set, &all));
    }
    other_end(&worker);
}

static void a_release_gives_everybody_all_cores_back(void **state)
{
    (void)state;
    struct other worker;

    other_start(&worker);
    for (int i = 0; i < 3; i++) {
        cores_claim();
        cpu_set_t loop = mine();
        assert_int_equal(CPU_COUNT(&loop), 1);
        cpu_set_t set = other_does(&worker, choose, true);
        assert_int_equal(CPU_COUNT(&set), CPU_COUNT(&all) - 1);
        cores_release();
        assert_true(may_use_all());
        set = other_does(&worker, choose, true);
        assert_true(CPU_EQUAL(&set, &all));
    }
    other_end(&worker);
}

static void whoever_may_use_one_core_goes_on_using_it(void **state)
{
    (void)state;
    cpu_set_t one = keep_to_one();
    cpu_set_t set = started_under_a_claim(true);

    assert_true(CPU_EQUAL(&set, &one));
    /* Nothing was claimed: what it is allowed later it keeps. */
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    cores_release();
    assert_true(may_use_all());
}

struct in_a_process {
    CMUnitTestFunction test;
};

/* An assertion that fails ends the child with another status. */
static void run(void **state)
{
    const struct in_a_process *self = *state;
    int status = 0;

    if (CPU_COUNT(&all) < 2)
        skip();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        self->test(state);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define IN_A_PROCESS(its_test)                                                                     \
    .name = #its_test, .test_func = run, .initial_state = &(struct in_a_process)                   \
    {                                                                                              \
        its_test                                                                                   \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        {IN_A_PROCESS(nothing_is_touched_before_a_claim)},
        {IN_A_PROCESS(a_claim_keeps_one_core_and_the_others_from_it)},
        {IN_A_PROCESS(who_need_not_keep_off_may_run_anywhere)},
        {IN_A_PROCESS(a_thread_that_begins_on_the_claimed_core_leaves_it)},
        {IN_A_PROCESS(whoever_does_something_else_chooses_anew)},
        {IN_A_PROCESS(a_release_gives_everybody_all_cores_back)},
        {IN_A_PROCESS(what_is_released_already_is_left_alone)},
        {IN_A_PROCESS(whoever_may_use_one_core_goes_on_using_it)},
    };

    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
