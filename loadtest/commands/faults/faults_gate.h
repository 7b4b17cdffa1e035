/*
 * What lets a pipeline go on after a matrix of faults: each run that counts against --fail-if, and
 * the cells, the columns' controls and the thresholds as JUnit's cases.
 */
#ifndef SECKILL_LOADTEST_COMMANDS_FAULTS_FAULTS_GATE_H
#define SECKILL_LOADTEST_COMMANDS_FAULTS_FAULTS_GATE_H

#include "loadtest/faults/matrix.h"
#include "loadtest/report/pipeline/gate.h"

/* Begins as {0}. */
struct faults_gate {
    struct thresholds fail_if;
    struct junit junit;     /* owned */
    struct gate_load *runs; /* owned */
    size_t count, room;
};

/* A run of a cell, when it counts. False: out of memory. */
bool faults_gate_add(struct faults_gate *gate, const struct cell *cell,
                     const struct trial_result *result, struct error *error);

/* The exit status, from what the matrix asks for. */
int faults_gate_print(const struct faults_gate *gate, FILE *to, int status);

/* Adds the cases of a matrix. */
void faults_gate_add_cases(struct faults_gate *gate, const struct matrix *matrix);
/* Writes the file, as gate_close, and frees everything. */
bool faults_gate_close(struct faults_gate *gate, const char *ended, struct error *error);

#endif
