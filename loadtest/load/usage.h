/*
 * Whether wrk's own threads or the servers' were busy while wrk ran. A figure says something of a
 * server only when the generator had time to spare, or when the server had none.
 *
 * Linux counts for every thread how long it ran and how long it wanted a core and had to wait for
 * one (/proc/PID/task/TID/schedstat). Both together are the time it was not idle; on a machine
 * whose cores are all taken, the time it ran alone would make everybody look idle. What wrk does
 * before and after its load is left out: the first and the last look lie inside of it.
 */
#ifndef SECKILL_LOADTEST_LOAD_USAGE_H
#define SECKILL_LOADTEST_LOAD_USAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Shares of the time watched; 1 is one core or one thread all the time. */
struct usage {
    double seconds;        /* watched; 0: the system does not say, or it was too short */
    double generator_busy; /* mean of its threads: running, or wanting a core */
    double server_cpu;     /* cores that all servers took */
    double server_busy;    /* the busiest thread of any server */
};

enum { USAGE_PROCESSES = 18, USAGE_THREADS = 64 };

struct usage_thread {
    pid_t process, id;
    int64_t ran_ns, waited_ns;
};

struct usage_look {
    int64_t at_us;
    struct usage_thread threads[USAGE_PROCESSES * USAGE_THREADS];
    size_t count, generators; /* the generator's come first */
};

/* Over one run of wrk: usage_watch_look as often as one likes, then usage_watch_sum. wrk's main
 * thread sleeps; it loads as long as it has others. */
struct usage_watch {
    pid_t generator;
    pid_t servers[USAGE_PROCESSES]; /* their children are looked at too */
    size_t servers_count;
    size_t looks;
    struct usage_look first, last;
};

void usage_watch_look(struct usage_watch *watch);
/* `threads` of the generator make the load; what else it has is idle. */
struct usage usage_watch_sum(const struct usage_watch *watch, size_t threads);

enum usage_limit {
    USAGE_UNKNOWN,
    USAGE_NOBODY, /* both waited, for each other, a lock or a disk: that is the server's figure */
    USAGE_SERVER, /* a server's thread was never idle, the generator was */
    USAGE_BOTH,   /* neither was ever idle: they share the machine's cores */
    USAGE_GENERATOR, /* the generator was never idle and the servers were: no figure of theirs */
};
enum usage_limit usage_limit(const struct usage *usage);
const char *usage_limit_name(enum usage_limit limit);

#endif
