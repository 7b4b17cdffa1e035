/* Cores that this process may use: those of its affinity, or fewer where its cgroup (version 2) has
 * a quota. At least one. */
#ifndef SECKILL_LOADTEST_LOAD_CPUS_H
#define SECKILL_LOADTEST_LOAD_CPUS_H

long cpus_usable(void);

/* The same by other files than /proc/self/cgroup and /sys/fs/cgroup, for tests. */
long cpus_usable_of(const char *cgroup_file, const char *root);

#endif
