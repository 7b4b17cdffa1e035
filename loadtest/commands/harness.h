/*
 * The common part of the bench and of the commands that need servers: the out folder, wrk, the
 * witness, the HTTP client, the machine, a fleet of servers, started here or named by --server, the
 * runs found so far, and the line that says how far it is.
 */
#ifndef SECKILL_LOADTEST_COMMANDS_HARNESS_H
#define SECKILL_LOADTEST_COMMANDS_HARNESS_H

#include "loadtest/fleet/api.h"
#include "loadtest/fleet/machine.h"
#include "loadtest/phase/phase.h"
#include "loadtest/report/results.h"

enum { HARNESS_STRATEGIES_MAX = 64 };

/* How far a run is: the line that is rewritten on a terminal, "3 of 100, 12 min left, 274 oversold:
 * conditional, 8123 sold, 4260 answers/s, 1 instance, round 1, speed: 3 s". The time left is
 * reckoned from the phases that are over; what they oversold, all strategies together, is their
 * rows' word. Begins as {0}. Times are CLOCK_MONOTONIC. */
struct progress {
    size_t number, all; /* of the phase that goes on, from 1; 0: none has begun */
    int64_t began_ms;   /* the first phase */
    int64_t over_ms;    /* the last one that is over */
    int64_t oversold;   /* units, by those that are over */
};

/* A phase begins. */
void progress_next(struct progress *progress, size_t number, size_t all, int64_t now_ms);
/* The line, cut to `size` - 1 bytes, for what goes on in the phase. */
void progress_text(const struct progress *progress, int64_t now_ms, const char *what, char *out,
                   size_t size);

struct harness {
    const struct options *options; /* borrowed */
    char folder[1024];
    bool made_folder; /* it was not there before */
    char binary[1200];
    struct api *api;         /* owned */
    struct witness *witness; /* owned */
    struct machine machine;
    struct instance instances[OPTIONS_MAX_INSTANCES];
    struct fleet fleet;
    struct progress progress;
    json_t *runs; /* owned: what was found so far, as results.json has it (results_json_run) */
    struct api_strategy strategies[HARNESS_STRATEGIES_MAX];
    size_t strategies_count;
};

bool harness_init(struct harness *harness, const struct options *options, struct error *error);
/* Also stops a fleet that still runs. */
void harness_fini(struct harness *harness);

/* Starts `count` servers, or takes the first `count` of --server, and reads what strategies they
 * have. */
bool harness_open_fleet(struct harness *harness, int count, struct error *error);
/* False when a server did not end as it should. */
bool harness_close_fleet(struct harness *harness, struct error *error);

/* Where the files are; `more` stands behind their names. */
void harness_print_files(const struct harness *harness, FILE *to, const char *csv,
                         const char *more);
/* The exit status of a command, of that which its verdicts ask for: what ended it early is said,
 * and a verdict of BROKEN stands. */
int harness_status(bool made, int status, const struct error *error);

/* Takes the line that says what is going on off the terminal, if there is one. */
void harness_clear_progress(const struct harness *harness);

const struct api_strategy *harness_strategy(const struct harness *harness, const char *name);
/* The same for a name of --strategies. NULL, with a text, also when it is not available; where
 * there is none, the text names the one that may have been meant. */
const struct api_strategy *harness_choose(const struct harness *harness, const char *name,
                                          struct error *error);

/* Some of the servers' strategies. */
struct harness_chosen {
    const struct api_strategy *items[HARNESS_STRATEGIES_MAX]; /* borrowed: the harness's */
    size_t count;
};
/* Those of --strategies, which has names, or a word for several, `all` or `usual`: of these what is
 * not available is left out, and said so on the first fleet. False: there is none. */
bool harness_choose_all(const struct harness *harness, const struct option_list *wanted, bool first,
                        struct harness_chosen *out, struct error *error);

/* Whether a sale of so many products may be started: somebody else's orders are not ours to wipe
 * out. */
bool harness_may_reset(const struct harness *harness, int64_t products, struct error *error);

/* Stock that no duration sells out. */
#define HARNESS_STOCK INT64_C(1000000000)

/* A phase as the options say, with such a stock. */
struct phase_plan harness_plan(const struct harness *harness, const struct api_strategy *strategy,
                               int round);

/* Makes the phase, as phase_run, and adds it to the runs. Where no terminal shows what is going on,
 * a line on stderr says how it ended. `all`: how many there will be. */
bool harness_measure(struct harness *harness, const struct phase_plan *plan, size_t all,
                     struct phase_result *out, struct error *error);
/* Adds a run, which it takes. */
void harness_keep(struct harness *harness, json_t *run);

#endif
