/*
 * A load: what is sent, to whom and when; what was counted and timed; and what makes it.
 *
 * wrk sends as fast as the servers answer, for a time. The harness's own generator sends at the
 * times of a schedule, however slow the servers are, or each call of a list once, so many at a
 * time.
 */
#ifndef SECKILL_LOADTEST_LOAD_LOAD_H
#define SECKILL_LOADTEST_LOAD_LOAD_H

#include "base/error.h"
#include "loadtest/load/arrivals.h"
#include "loadtest/load/latency.h"
#include "loadtest/load/usage.h"

struct counted_call {
    int64_t product, user;
    int quantity;
    int wait_ms; /* sent as it is */
    int status;  /* what was answered */
    int64_t took_us;
};

/* Calls that are sent once each, and what must come of them. */
struct counted {
    struct counted_call *calls; /* owned by whoever made them */
    size_t count;
    int64_t
        expected;   /* rows: exactly these when nothing is shed, at least these when calls may be */
    bool may_shed;  /* 503 is part of the experiment; whoever does not get it must be served */
    bool must_shed; /* and without one the experiment showed nothing */
};

struct load {
    const char *const *targets; /* borrowed: http://HOST:PORT, one an instance */
    size_t targets_count;
    const char *path;    /* with its query; a counted call's wait_ms is added to it */
    const char *token;   /* "": none */
    const char *headers; /* borrowed: more lines of each request, as headers_read makes them; may be
                            NULL */
    bool restock;
    int64_t connections;
    int64_t first_user;       /* each order is another user's, from this one on */
    int64_t users, user_from; /* or, where users is not 0, a user's drawn from so many */
    int64_t first_product, products;
    bool keyed;     /* each order has an Idempotency-Key of its own */
    double repeats; /* 0 to 1: this share of them is sent again, with the same key and body */
    int64_t seed;   /* decides products, users and repeats */
    void (*tick)(void *context); /* about five times a second; may be NULL */
    void *context;
    int64_t *answers;           /* kept up by a generator that counts as it goes; may be NULL */
    struct load_detail *detail; /* borrowed: gets the latencies one by one; may be NULL */

    /* For wrk: */
    int64_t threads; /* and connections: from wrk_shape */
    int64_t duration_s;
    int64_t users_per_thread;
    bool watch_sold_out; /* of one product; it costs the generator, so the figures are not speed */
    int64_t sold_out_us; /* a sold_out_us of an earlier run of the same sale; 0: none */
    pid_t servers[USAGE_PROCESSES]; /* whose threads are watched */
    size_t servers_count;

    /* With a schedule: */
    struct arrivals_plan arrivals;
    int64_t lag_limit_us;
    /* The connections stand: says when the schedule begins (CLOCK_MONOTONIC), which has not passed
     * when it returns. NULL: at once. `context` is the load's. */
    bool (*announce)(const struct load *load, int64_t *start_us, struct error *error);

    struct counted *counted; /* borrowed: by count */
};

/* committed: 201 and 200. accepted: 202. refused: a final no (404, 409). failed: every other
 * answer, none, one that cannot be read, and orders that never started. */
enum load_class { LOAD_COMMITTED, LOAD_ACCEPTED, LOAD_REFUSED, LOAD_FAILED, LOAD_CLASSES };
const char *load_class_name(enum load_class class);

/* A part of a schedule. */
struct load_part {
    struct arrivals_part planned;
    int64_t arrivals; /* that fell due */
    int64_t late_starts, never_started;
    struct latency_figures classes[LOAD_CLASSES];
};

/* Requests are answers received; `not_2xx` is every status from 400 on. What a generator does not
 * know is 0. */
struct load_result {
    int64_t duration_us; /* a schedule's, or until the last answer if that came later */
    int64_t requests;
    int64_t not_2xx;
    int64_t repeats;   /* of the requests that were sent: orders once more */
    int64_t abandoned; /* sent, or perhaps sent, without an answer: at most so many */
    int64_t connect_errors, read_errors, write_errors, timeouts; /* wrk's */
    int64_t resold; /* orders sent after sold_out_us, and sold or accepted */
    int64_t p50_us, p90_us, p99_us, max_us; /* all before them are sums */

    /* wrk's: */
    int64_t sold_out_us; /* when "sold out" was first answered (CLOCK_MONOTONIC); 0: never */
    struct usage usage;

    /* A schedule's: */
    struct load_part parts[ARRIVALS_PARTS_MAX];
    size_t parts_count;
    struct latency_figures lag; /* from an arrival's time until the generator took it up */
    bool too_late;
    int64_t committed_in_time; /* after the lead and before the schedule's end */
};

/* Adds a run to a sum. Percentiles cannot be added; the worst is true of all of them. A schedule's
 * figures stay the last one's, but for a generator that was late once. */
void load_add(struct load_result *sum, const struct load_result *one);

/* Slices of equal width from the schedule's beginning, a hundred at the most, and some behind its
 * end for what was answered then. Offered counts in the slice in which an order was due, and so
 * does its latency; an answer counts when it came. */
enum { TIMELINE_SLICES = 100, TIMELINE_ROOM = TIMELINE_SLICES + TIMELINE_SLICES / 5 };

struct timeline_slice {
    int64_t offered, answered[LOAD_CLASSES];
    struct latency latencies[LOAD_CLASSES];
};

struct timeline {
    int64_t began_us, slice_us; /* CLOCK_MONOTONIC */
    size_t count; /* up to the last one with something in it; 0: there was no schedule */
    size_t room;
    struct timeline_slice slices[TIMELINE_ROOM];
};

/* Of a zeroed one. Times without a slice are not recorded; one that has not begun has no slices. */
void timeline_begin(struct timeline *timeline, int64_t began_us, int64_t duration_us);
void timeline_offered(struct timeline *timeline, int64_t due_us);
void timeline_answered(struct timeline *timeline, enum load_class class, int64_t due_us,
                       int64_t answered_us);

/* More of a load than its figures, where it is wanted: every latency, in a histogram, and of a
 * schedule what happened when. Curves are drawn from it. Begins as zeros. */
struct load_detail {
    struct latency answers; /* wrk's, which does not tell them apart */
    struct latency parts[ARRIVALS_PARTS_MAX][LOAD_CLASSES]; /* a schedule's */
    struct timeline timeline;
};

/* --- open_loop.c and wrk.c make it. Each is false when that could not be done: nobody listens, no
 * descriptors, interrupted. --- */

/* A load with a schedule, or with a list of calls. A server that dies meanwhile is a result of a
 * schedule; a call of a list without an answer ends the load, for nobody knows then what was done.
 */
bool open_loop_run(const struct load *load, struct load_result *result, struct error *error);

/* A load that lasts so many seconds. At its end as many requests as it has connections may be
 * abandoned. It opens its connections while it loads, and goes on without those that it cannot
 * open: the servers have to be asked how many there were. */
bool wrk_run(const struct load *load, struct load_result *result, struct error *error);

/* Threads become a multiple of the instances, connections a multiple of the threads: wrk would drop
 * the rest of the division silently. `threads` 0: one a core. */
void wrk_shape(int64_t *connections, int64_t *threads, int64_t instances);

/* Finds the done() line in what wrk wrote. */
bool wrk_parse(const char *output, struct load_result *result, struct error *error);

/* Every latency, from the line behind it; none where it is missing. */
bool wrk_parse_steps(const char *output, struct latency *out, struct error *error);

/* wrk's own word for its version; false when it is not installed. */
bool wrk_version(char *version, size_t size, struct error *error);

#endif
