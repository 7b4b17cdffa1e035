/* The cores that a process may use: those of its affinity, or less where its cgroup has a quota. */
#include "lib/t.h"

#include "loadtest/load/cpus.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char *root; /* stands in for /sys/fs/cgroup */

static void write_file(const char *name, const char *text)
{
    t_write(t_text("%s/%s", root, name), text);
}

static long cores_of(const char *groups)
{
    write_file("groups", groups);
    return cpus_usable_of(t_text("%s/groups", root), root);
}

TEST(a_quota_counts_where_it_is_less)
{
    long all = cores_of("0::/\n"); /* no quota anywhere yet */
    assert_true(all >= 1);
    write_file("outer/inner/cpu.max", "max 100000\n");
    assert_int_equal(cores_of("0::/outer/inner\n"), all);
    write_file("outer/cpu.max", "50000 100000\n"); /* what holds the folder holds what is in it */
    assert_int_equal(cores_of("0::/outer/inner\n"), 1);
    assert_int_equal(cores_of("0::/other\n"), all);
    write_file("outer/cpu.max", "6400000 100000\n");
    assert_int_equal(cores_of("0::/outer/inner\n"), all);
    assert_int_equal(cores_of("7:cpu:/outer\n0::/\n"), all);
    write_file("cpu.max", "100000 100000\n"); /* as in a container with a namespace of its own */
    assert_int_equal(cores_of("0::/\n"), 1);
    write_file("cpu.max", "max 100000\n");
    assert_int_equal(cpus_usable_of("/nonexistent", root), all);
}

TEST_WITH(affinity_counts, NULL, NULL)
{
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(cpus_usable(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

BEFORE_EACH()
{
    root = t_folder();
    assert_int_equal(mkdir(t_text("%s/outer", root), 0755), 0);
    assert_int_equal(mkdir(t_text("%s/outer/inner", root), 0755), 0);
}
