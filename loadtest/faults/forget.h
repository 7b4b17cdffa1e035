/* Deletes a shop's keys from every Redis that a strategy needs: at once in each, so that nobody
 * sees a half. */
#ifndef SECKILL_LOADTEST_FAULTS_FORGET_H
#define SECKILL_LOADTEST_FAULTS_FORGET_H

#include "loadtest/faults/fault.h"

/* `keys` gets how many there were. Of Redlock's nodes a majority forgets: fewer may. */
bool forget_keys(const struct fault_site *site, int64_t *keys, struct error *error);

#endif
