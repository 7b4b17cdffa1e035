/* What a run found, as results.json; and results.csv and arrivals.csv, made of what that says. */
#ifndef SECKILL_LOADTEST_REPORT_RESULTS_H
#define SECKILL_LOADTEST_REPORT_RESULTS_H

#include "loadtest/fleet/machine.h"
#include "loadtest/phase/phase.h"
#include "loadtest/report/document/document.h"

#include <jansson.h>
#include <stdio.h>

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
 * (files_write_csv), and report.html. As document_write: *out is there also when something could
 * not be written. */
struct results_csv {
    const char *name, *columns;
    bool arrivals; /* and with a rate arrivals.csv */
};
bool results_publish(const char *folder, json_t *json, const struct results_csv *csv,
                     struct document *out, struct error *error);

/* --- table.c: the table for people: a line for each strategy and number of instances, over all
 * rounds. One list of columns says what both forms of it have: seven that choose, or every figure.
 * Speed columns are medians over the rounds (± half the spread). Lines with as many instances stand
 * together, the fastest first --- */

struct table_style {
    enum options_format format; /* wide: every figure; md: Markdown; else the seven columns */
    bool colours;               /* of a terminal */
};

/* Prints the table, with what went wrong below each line, and fills the tally of its verdicts. */
void table_print(FILE *to, const struct document *document, const struct table_style *style,
                 struct verdict_tally *tally);
/* What stands below the table: how many lines have which verdict, and what the words mean. */
void table_print_legend(FILE *to, const struct table_style *style,
                        const struct verdict_tally *tally);
/* What else happened meanwhile, a line each; nothing where nothing did. */
void table_print_meanwhile(FILE *to, const struct document *document);

/* What went wrong that has no column, a line each with `before` in front. */
void table_print_alarms(FILE *to, const char *before, const struct line *line);

/* --- open_results.c: what the open-loop generator found, for people and for files: a line for each
 * part of the schedule and each class of answers in it --- */

/* Medians over the rounds, of the phases that take time; nothing where no run had a rate.
 * `wide`: with p90 and the maximum. */
void open_results_print(FILE *to, const struct document *document, bool wide);

/* arrivals.csv. Nothing is written where no run had a rate. */
bool open_results_write_csv(const char *folder, const struct document *document,
                            struct error *error);

/* The run's "open_loop" member; owned by the caller. */
json_t *open_results_json(const struct phase_result *run);

/* A histogram as a text of its steps (latency_write); owned by the caller. */
json_t *open_results_steps(const struct latency *latency);

#endif
