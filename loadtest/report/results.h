/* What a run found, as results.json; and results.csv and arrivals.csv, made of what that says. */
#ifndef SECKILL_LOADTEST_REPORT_RESULTS_H
#define SECKILL_LOADTEST_REPORT_RESULTS_H

#include "loadtest/fleet/machine.h"
#include "loadtest/phase/phase.h"
#include "loadtest/report/document/document.h"

#include <jansson.h>

/* All phases of a run, in the order in which they were made. Begins as (struct results){0}. */
struct results {
    struct phase_result *items; /* owned */
    size_t count;
    struct results_detail *details; /* owned: those that the items' plans have */
};
void results_fini(struct results *results);

/* A new one at the end, empty; NULL: out of memory. It moves with the next one. */
struct phase_result *results_next(struct results *results);
/* Where a phase's latencies go; the results keep it. NULL: out of memory. */
struct load_detail *results_detail(struct results *results);

/* The pieces that every JSON file of the harness has; the objects are owned by the caller. */
json_t *results_json_run(const struct phase_result *run);
json_t *results_json_audit(const struct books *audit);
json_t *results_json_promise(const struct promise *promise);
json_t *results_json_machine(const struct machine *machine);
json_t *results_json_versions(const struct machine *machine);
json_t *results_json_database(const struct machine *machine); /* PostgreSQL's settings */

/* A results.json of these runs, which it takes: with seed, machine, versions and settings. */
json_t *results_json_document(json_t *runs, const struct options *options,
                              const struct machine *machine);

/* Writes a results.json, which it takes, and of what was read from it a CSV file with these columns
 * (csv.h), and report.html. As document_write: *out is there also when something could not be
 * written. */
struct results_csv {
    const char *name, *columns;
};
bool results_publish(const char *folder, json_t *json, const struct results_csv *csv,
                     struct document *out, struct error *error);

/* Writes results.json, and of what was read from it results.csv, with a rate arrivals.csv, and
 * report.html. As results_publish. */
bool results_write(const char *folder, const struct results *results, const struct options *options,
                   const struct machine *machine, struct document *out, struct error *error);

#endif
