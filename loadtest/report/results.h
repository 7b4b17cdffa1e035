/* What a run found, as results.json; and results.csv and arrivals.csv, made of what that says. */
#ifndef SECKILL_LOADTEST_REPORT_RESULTS_H
#define SECKILL_LOADTEST_REPORT_RESULTS_H

#include "loadtest/fleet/machine.h"
#include "loadtest/phase/phase.h"
#include "loadtest/report/document/document.h"

#include <jansson.h>

/* The pieces that every JSON file of the harness has; the objects are owned by the caller. */
json_t *results_json_run(const struct phase_result *run);
json_t *results_json_audit(const struct books *audit);
json_t *results_json_promise(const struct promise *promise);
json_t *results_json_machine(const struct machine *machine);
json_t *results_json_versions(const struct machine *machine);
json_t *results_json_database(const struct machine *machine); /* PostgreSQL's settings */

/* A results.json of these runs: with seed, machine, versions and settings. */
json_t *results_json_document(json_t *runs, const struct options *options,
                              const struct machine *machine);

/* Writes a results.json, which it takes, and of what was read from it a CSV file with these columns
 * (csv.h), and report.html. As document_write: *out is there also when something could not be
 * written. */
struct results_csv {
    const char *name, *columns;
    bool arrivals; /* and with a rate arrivals.csv */
};
bool results_publish(const char *folder, json_t *json, const struct results_csv *csv,
                     struct document *out, struct error *error);

#endif
