/*
 * What became of a sale to buyers who have yet to pay: a line for people, and an element of "runs"
 * in results.json, which has what a phase of another scenario has but rates and latencies, and its
 * own figures in "unpaid".
 */
#ifndef SECKILL_LOADTEST_COMMANDS_UNPAID_UNPAID_RESULTS_H
#define SECKILL_LOADTEST_COMMANDS_UNPAID_UNPAID_RESULTS_H

#include "loadtest/commands/unpaid/unpaid_crowd.h"
#include "loadtest/fleet/api.h"
#include "loadtest/fleet/machine.h"
#include "loadtest/judge/verdict.h"

#include <jansson.h>
#include <stdio.h>

struct unpaid_sale {
    const struct api_strategy *strategy; /* borrowed */
    const char *body; /* borrowed; "": the strategy has no choice, or its default */
    int instances;
    struct unpaid_tally told;
    struct books rows;   /* at the end */
    int64_t looks;       /* at the rows, while buyers were there */
    int64_t wrong_looks; /* of these, at which the books did not agree */
    int64_t most_held;   /* units, at one look */
};

enum verdict unpaid_verdict(const struct unpaid_sale *sale);

/* A line of the table, and one for each thing that is wrong at the end. */
void unpaid_print_head(FILE *to);
void unpaid_print(FILE *to, const struct unpaid_sale *sale);

/* Owned by the caller; NULL: out of memory. */
json_t *unpaid_json(const struct unpaid_sale *sale, const struct options *options);

/* results.csv, results.json and report.html. Takes `runs`, an array of unpaid_json's. */
bool unpaid_write(const char *folder, json_t *runs, const struct options *options,
                  const struct machine *machine, struct error *error);

#endif
