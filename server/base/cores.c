/* See cores.h. A claim and a release are a version each; threads follow when they see a new one. */
#include "base/cores.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static struct {
    pthread_mutex_t mutex;
    _Atomic unsigned version; /* 0: there was no claim yet */
    bool claimed;     /* written by the claiming thread alone, which may look without the mutex */
    cpu_set_t all;    /* so is this */
    cpu_set_t others; /* all but the claimed one */
} cores = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void use(const cpu_set_t *set)
{
    (void)sched_setaffinity(0, sizeof *set, set); /* else it goes on where it is allowed to */
}

static void publish(bool claimed, const cpu_set_t *all, const cpu_set_t *others)
{
    pthread_mutex_lock(&cores.mutex);
    cores.claimed = claimed;
    cores.all = *all;
    cores.others = *others;
    atomic_fetch_add(&cores.version, 1);
    pthread_mutex_unlock(&cores.mutex);
}

void cores_claim(void)
{
    cpu_set_t all, mine, others;
    int core = sched_getcpu();

    if (cores.claimed || core < 0 || sched_getaffinity(0, sizeof all, &all) != 0 ||
        CPU_COUNT(&all) < 2)
        return;
    CPU_ZERO(&mine);
    CPU_SET((size_t)core, &mine);
    CPU_XOR(&others, &all, &mine);
    if (sched_setaffinity(0, sizeof mine, &mine) == 0)
        publish(true, &all, &others);
}

void cores_release(void)
{
    if (!cores.claimed)
        return;
    use(&cores.all);
    publish(false, &cores.all, &cores.all);
}

void cores_choose(bool apart)
{
    static _Thread_local unsigned seen;
    static _Thread_local bool was_apart;
    cpu_set_t set;

    if (atomic_load(&cores.version) == seen && apart == was_apart)
        return;
    pthread_mutex_lock(&cores.mutex);
    bool changes = cores.claimed || atomic_load(&cores.version) != seen;
    seen = atomic_load(&cores.version);
    was_apart = apart;
    set = apart ? cores.others : cores.all;
    pthread_mutex_unlock(&cores.mutex);
    if (changes)
        use(&set);
}
