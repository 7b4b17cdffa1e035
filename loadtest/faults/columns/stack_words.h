/* What the script that started the private backends is told to do to one of them (--stack). */
#ifndef SECKILL_LOADTEST_FAULTS_COLUMNS_STACK_WORDS_H
#define SECKILL_LOADTEST_FAULTS_COLUMNS_STACK_WORDS_H

#include "base/error.h"
#include <stdbool.h>

/* The words of --stack (`stack`), then these, of which the last is NULL; waits until it has ended.
 * False: it did not end well, or not in two minutes. */
bool stack_tell(const char *stack, const char *const words[], struct error *error);

#endif
