/*
 * A phase: one product (or a run of them) put on sale, loaded with wrk, at a given rate or with a
 * counted list of calls, left to settle, and audited.
 *
 * Nothing is in flight before the PUT and before the audit, and no rows of an earlier sale are left
 * to be deleted while time is taken. The servers' metrics, wrk's own counts, PostgreSQL's rows and
 * the server's audit must agree with one another; where they do not, the phase is no run, and says
 * why.
 */
#ifndef SECKILL_LOADTEST_PHASE_PHASE_H
#define SECKILL_LOADTEST_PHASE_PHASE_H

#include "loadtest/base/options.h"
#include "loadtest/fleet/fleet.h"
#include "loadtest/judge/threshold.h"
#include "loadtest/judge/verdict.h"
#include "loadtest/load/load.h"

enum phase_kind { PHASE_SPEED, PHASE_TRUTH, PHASE_LOAD, PHASE_COUNTED };

struct phase_plan {
    enum scenario scenario;
    enum phase_kind kind;
    const struct api_strategy *strategy; /* borrowed */
    const char *body;                    /* "": the strategy has no choice, or its default */
    const char *flush;                   /* "own", "shared"; NULL: its default */
    int64_t wait_ms;                     /* -1: the server's own */
    struct load load;   /* buyers, products, requests and the seed; the rest is phase_run's */
    int64_t rate_per_s; /* 0: wrk makes the load; else the open-loop generator at this rate */
    int64_t surge;      /* bell: times the rate */
    int64_t lead_s;     /* with a rate: offered first, for so long, and not in committed_in_time */
    int64_t stock;
    int64_t limit; /* units that a user may have of a product; 0: any number */
    int round;
    const struct thresholds *fail_if; /* borrowed: conditions that fail it; NULL: none */
    /* About five times a second under load; may be NULL. */
    void (*watch)(void *context, int64_t elapsed_ms);
    void *watch_context;
};

/* What else happened while a phase was under load: nobody ordered it, no row of the sale tells of
 * it, and a figure or a verdict may be owed to it alone. It is looked at before the load and after
 * it, and a line under the table says it. What cannot be looked at is not said. */
struct meanwhile {
    bool old_snapshot;    /* somebody kept one from before the load until after it */
    int64_t evicted_keys; /* of the Redis servers together */
};

/* What came of it: one element of "runs". */
struct phase_result {
    struct phase_plan plan;
    int instances;
    bool promised;
    struct load_result load; /* the sum of its runs */
    int64_t runs;
    int64_t connections_seen; /* that the servers had while wrk ran, each at its most; the harness's
                                 own are not among them */
    struct counts counts;
    struct costs costs;
    struct meanwhile meanwhile;
    struct books audit;
    int64_t settling_ms; /* from the end of the load until nothing was queued any more */
    bool complete;
    enum verdict verdict;
    char error[600]; /* why there is no run; "" */
    bool late;       /* there is none because of the generator, and for no other reason */
    bool again;      /* there is none because somebody else put a product on sale meanwhile */
};

static inline int64_t phase_last_product(const struct phase_plan *plan)
{
    return plan->load.first_product + plan->load.products - 1;
}

/* Makes it (run_phase.c). True when the phase was made, whatever its verdict, even "no run". False
 * when there is no going on: a server died, the database is gone, the harness was interrupted. */
bool phase_run(const struct fleet *fleet, const struct phase_plan *plan,
               struct phase_result *result, struct error *error);

/* After a PUT: waits until the rows of the products' earlier sales are deleted. */
bool phase_wait_clean(const struct fleet *fleet, int64_t first, int64_t last, struct error *error);

/* Until nothing that was accepted waits to be decided: PostgreSQL's rows tell of what waits there,
 * the server of what it holds elsewhere (202s that are reserved in Redis). */
bool phase_wait_settled(const struct fleet *fleet, int64_t first, int64_t last,
                        struct error *error);

const char *phase_name(enum phase_kind kind);

/* What the strategy promises with the body that the phase had. */
struct promise phase_promise(const struct phase_result *result);

/* Orders that are committed: those answered 201, and those answered 202 that have their row by now.
 */
int64_t phase_committed(const struct phase_result *result);
/* The same a second: orders answered 201 (or restocks) as wrk saw them in time; where there were
 * 202s, rows over the time until the last one was decided. */
double phase_committed_per_s(const struct phase_result *result);
double phase_per_s(const struct phase_result *result, int64_t count);

/* What thresholds are compared with. At a given rate, what was offered and how it ended, as buyers
 * saw it; else the servers' counts. False when there is nothing to compare: no run, or one of which
 * the generator was the limit. */
bool phase_measured(const struct phase_result *result, struct measured *out);

/* --- the steps of phase_run that have files of their own --- */

/* phase_open.c. */

/* Of all its products. `opens_at` NULL: at once; `epoch` gets the last one's. */
bool phase_put_on_sale(const struct fleet *fleet, const struct phase_plan *plan,
                       const char *opens_at, int64_t *epoch, struct error *error);

/* The parts of the bell scenario: a fifth of the time at the rate before the sale opens, three
 * tenths at `surge` times the rate, the rest at the rate again. Of all others: one, after its lead
 * if it has one. */
void phase_open_plan(const struct phase_plan *plan, int64_t duration_us, struct arrivals_plan *out);

/* A sale that opens when the bell comes, `idle_us` after the schedule has begun. One that took
 * longer to announce than its schedule waits is announced again. */
bool phase_open_announce(const struct fleet *fleet, const struct phase_plan *plan, int64_t idle_us,
                         int64_t *start_us, struct error *error);

/* reconcile.c. */

/* `deltas`: what each instance of the fleet counted during the phase. Fills result->counts. */
bool reconcile_counts(const struct scrape *deltas, const struct fleet *fleet,
                      struct phase_result *result, struct error *error);

/* Audits with the witness and with the server. Fills result->audit. */
bool reconcile_audits(const struct fleet *fleet, struct phase_result *result, struct error *error);

/* The rows against the answers: sets audit.missing. False when there are more rows than answers
 * explain. */
bool reconcile_rows(const struct counts *counts, bool counter, struct books *audit,
                    struct error *error);

/* After a counted load: sets audit.undersold when fewer were served than the stock (or, where some
 * may be shed, the others' number) says. False when the experiment did not come to its end: calls
 * were shed that should not have been, or none that should. */
bool reconcile_expected(const struct counted *counted, const struct counts *counts, bool counter,
                        struct books *audit);

/* repeats.c. */

/* `path`: of the orders' requests. Adds to audit->unrepeatable. */
bool repeats_check(const struct fleet *fleet, const struct phase_plan *plan, const char *path,
                   struct books *audit, struct error *error);

#endif
