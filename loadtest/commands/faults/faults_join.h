/* `faults --join`: matrices that were made in pieces, on several stacks at once or night after
 * night, added up in one. Nothing is run. */
#ifndef SECKILL_LOADTEST_COMMANDS_FAULTS_FAULTS_JOIN_H
#define SECKILL_LOADTEST_COMMANDS_FAULTS_FAULTS_JOIN_H

#include "loadtest/faults/matrix.h"

#include <jansson.h>

/* Reads the folders of --join. The cells are the caller's to free, also on failure, and so is
 * *made_on, which is the first's: all must have been made by the same version of the server. */
bool faults_join(const struct option_list *folders, struct matrix *out, json_t **made_on,
                 struct error *error);

#endif
