/*
 * A fault is a column of the matrix: an act on the servers or on their backends while they sell,
 * the promise that holds a strategy to it, and the controls that are known to fail it.
 *
 * A row of data and three functions. `begin` and `heal` are called by the nemesis, in turn, at the
 * times of the schedule; `did_it_bite` when the run is over and everything has come to rest. A
 * fault that was made and met nobody proves nothing: it has to say by what it is known to have met
 * somebody, in figures that were taken during the run.
 */
#ifndef SECKILL_LOADTEST_FAULTS_FAULT_H
#define SECKILL_LOADTEST_FAULTS_FAULT_H

#include "loadtest/faults/way.h"
#include "loadtest/fleet/api.h"
#include "loadtest/fleet/instance.h"
#include "loadtest/ledger/ledger.h"

enum { FAULT_EVENTS_MAX = 16, FAULT_CONTROLS_MAX = 3, FAULT_WORDS_MAX = 3, FAULT_TEXT_SIZE = 300 };
enum { FAULT_INSTANCES = 2 };

/* What a strategy must promise to be held to this column (GET /strategies). */
enum fault_promise { FAULT_ASKS_MANY, FAULT_ASKS_PAUSED, FAULT_ASKS_FORGETS };

/* How the servers are set up, and how often and how long it is done in one run. */
struct fault_settings {
    int64_t lease_ms, work_timeout_ms, work_ms;
    int64_t lock_delay_us; /* round trip to where the lock is; 0: as it is */
    int64_t events;
    int64_t shortest_ms, longest_ms; /* from begin to heal */
    int64_t gap_ms;                  /* from heal to begin, and as much again at most */
    int64_t rest_ms;                 /* after the last heal */
};

/* One time that it is done; microseconds from the beginning of the load. */
struct fault_event {
    int64_t begin_us, heal_us;
    size_t victim; /* an index of an instance */
};

/* Backends that a relay can stand before. */
enum fault_way { FAULT_WAY_POSTGRES, FAULT_WAY_REDIS, FAULT_WAY_STOCK, FAULT_WAY_REDLOCK };
/* FAULT_WAY_REDLOCK is the first of its nodes. */
enum { FAULT_REDLOCK_MAX = 5, FAULT_WAYS = FAULT_WAY_REDLOCK + FAULT_REDLOCK_MAX };
enum { FAULT_RELAY_POSTGRES = 1, FAULT_RELAY_REDIS = 2 };

/* When something was done, by the monotonic clock. */
struct fault_interval {
    int64_t begin_us, heal_us;
};

/* What a run is to be; all of it is borrowed. */
struct trial_plan {
    const struct options *options;
    const struct fault *fault;
    const struct api_strategy *strategy;
    const struct fault_control *control; /* NULL: the strategy as it is */
    const char *binary, *folder;
    const char *stack; /* --stack */
    int64_t seed;
};

/* When a fault is made in one run: follows from the fault's settings and the seed alone, so the
 * same seed gives the same schedule on every machine. */
struct fault_plan {
    struct fault_event events[FAULT_EVENTS_MAX]; /* one after the other, never two at once */
    size_t count;
    int64_t duration_us; /* of the load */
};
void fault_plan_make(struct fault_plan *out, const struct fault_settings *settings,
                     size_t instances, int64_t seed);

/* A run: what a fault works on, what it remembers from one call to the next, and what there is to
 * judge by. Owned things are the trial's. */
struct fault_site {
    const struct trial_plan *plan; /* borrowed */
    struct options options;        /* as the servers are started: where they have relays, these */
    char redlock[2000];            /* its nodes' relays */
    char database[1000];           /* a control's */
    struct instance instances[FAULT_INSTANCES];
    size_t instances_count;
    struct api *api;             /* owned; the nemesis's alone while it works */
    struct way ways[FAULT_WAYS]; /* owned */
    struct fault_plan schedule;
    int64_t start_us;      /* of the load, by the monotonic clock */
    _Atomic bool stopping; /* any thread may set it */
    int64_t begun, forgotten, restarted;
    struct fault_interval frozen; /* from where it stood still until it was told to go on */
    struct fault_interval intervals[FAULT_EVENTS_MAX];
    size_t count;         /* of the intervals */
    struct ledger ledger; /* owned */
};

/* A control that no server offers by itself: a row of its own in the matrix, in its column and in
 * `calm`, where it has to be right. */
struct fault_control {
    const char *name;      /* of the row */
    const char *strategy;  /* what its orders ask for */
    const char *session;   /* libpq's `options` for its servers; NULL: as they are */
    bool needs_failpoints; /* the strategy is a test's: a release has it not */
};

struct fault {
    const char *name;    /* as --faults takes it */
    const char *summary; /* one line */
    enum fault_promise asks;
    /* Known to fail here: a run in which none of them did proves nothing of this column. */
    const char *controls[FAULT_CONTROLS_MAX + 1];
    const struct fault_control *own; /* as these; NULL: they are enough */
    unsigned relays;                 /* FAULT_RELAY_…: where one is needed */
    bool needs_stack;                /* --stack: a private backend is killed */
    struct fault_settings settings;
    /* Whether there is anything to be done to a strategy with these needs; NULL: always. */
    bool (*concerns)(const struct api_strategy *strategy);
    /* begin and heal NULL: nothing is done. */
    bool (*begin)(struct fault_site *site, const struct fault_event *event, struct error *error);
    bool (*heal)(struct fault_site *site, const struct fault_event *event, struct error *error);
    bool (*did_it_bite)(const struct fault_site *site, char evidence[FAULT_TEXT_SIZE]);
    /* Of a fault of the way (fault_ways.c): what the relays are told, each time with the next of
     * these words, and how evidence calls what it does. */
    enum relay_type toxic;
    const char *words[FAULT_WORDS_MAX];
    const char *done;
};

extern const struct fault fault_calm, fault_stall, fault_forget, fault_freeze, fault_kill,
    fault_database, fault_commit, fault_reply, fault_hold, fault_reset;

size_t fault_count(void);
const struct fault *fault_at(size_t index);
/* NULL with a text that names the nearest. */
const struct fault *fault_find(const char *name, struct error *error);

/* Of the column's controls, its own among them. */
bool fault_has_control(const struct fault *fault, const char *strategy);
/* NULL: no column has one of this name. */
const struct fault_control *fault_find_control(const char *name);

/* For the columns and the trial (columns/site.c). Whether the strategy's lock is a lease in a row
 * of PostgreSQL. */
bool fault_locks_a_row(const struct api_strategy *strategy);
/* Whether it keeps anything in Redis. */
bool fault_needs_redis(const struct api_strategy *strategy);
/* Has the script that started the private backends (--stack) do something to one of them, and waits
 * until it has ended; `signal` NULL: none. False: it did not end well, or not in two minutes. */
bool fault_tell_stack(const struct fault_site *site, const char *verb, const char *server,
                      const char *signal, struct error *error);
/* False when the run is to stop before that. */
bool fault_wait_until(struct fault_site *site, int64_t at_us);
/* Deletes the shop's keys from every Redis that the strategy needs, at once in each, so that nobody
 * sees a half; of Redlock's nodes a majority forgets: fewer may. `forgotten` grows by the keys. */
bool fault_forget_keys(struct fault_site *site, struct error *error);

#endif
